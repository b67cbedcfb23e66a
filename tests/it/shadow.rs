//! Shadow mode: every caller hears the provider, what would have answered is said, and clear cases become labels.

use serde_json::{Value, json};

use crate::support::service::run;
use crate::support::{Answer, Provider, Refrain, Reply, ask, ask_stream, completion, wait_until};

const STORED: &str = "How do I reset my password?";
const ASKED: &str = "How can I reset my password?";
const CACHE: &str = "/v1/caches/default";
const SHADOW: &str = "[caches.default]\nmode = \"shadow\"";

async fn labels(refrain: &Refrain, headers: &[(&str, &str)]) -> Vec<Value> {
    let told = refrain.send("GET", &format!("{CACHE}/feedback"), headers, None).await;
    told.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How many comparisons had this result.
async fn compared(refrain: &Refrain, result: &str) -> u64 {
    let metrics = refrain.send("GET", "/metrics", &[], None).await;
    let name = format!("refrain_shadow_comparisons_total{{result=\"{result}\"}} ");
    metrics.text().lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

async fn until_compared(refrain: &Refrain, result: &str, count: u64) {
    wait_until(result, async || compared(refrain, result).await >= count).await;
}

/// Asks both prompts, the second when the first one's answer is kept.
async fn pair(
    refrain: &Refrain,
    provider: &Provider,
    (stored, answer): (&str, Reply),
    (asked, other): (&Value, Reply),
) {
    provider.next(answer);
    refrain.keep(&ask(stored)).await;
    provider.next(other);
    let relayed = refrain.chat(asked).await;
    assert_eq!(shadow(&relayed), ("bypass", "hit", "semantic"), "{:?}", relayed.headers);
}

/// What happened, what would have happened, and which tier would have answered.
fn shadow(answer: &Answer) -> (&str, &str, &str) {
    (answer.outcome(), answer.header("x-refrain-shadow"), answer.header("x-refrain-shadow-tier"))
}

#[tokio::test(flavor = "multi_thread")]
async fn everybody_hears_the_provider_and_what_would_have_answered_is_told() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, SHADOW).await;
    let first = refrain.keep(&ask(STORED)).await;
    assert_eq!((first.said().as_str(), shadow(&first)), ("answer 1", ("miss", "miss", "")));
    assert!(first.header("cache-status").contains("fwd=miss"), "{}", first.header("cache-status"));
    let second = refrain.chat(&ask(STORED)).await;
    assert_eq!((second.said().as_str(), shadow(&second)), ("answer 2", ("bypass", "hit", "exact")));
    assert_eq!(second.header("cache-status"), "refrain; fwd=bypass; fwd-status=200; stored; detail=shadow");
    assert_eq!((second.header("x-refrain-tier"), second.header("age")), ("", ""), "nothing came from the cache");
    let near = refrain.chat(&ask(ASKED)).await;
    assert_eq!((near.said().as_str(), shadow(&near)), ("answer 3", ("bypass", "hit", "semantic")));
    assert!(near.header("x-refrain-similarity").starts_with("0.9"), "{}", near.header("x-refrain-similarity"));
    assert_eq!(provider.calls(), 3);
    let none = refrain.chat_with(&[("cache-control", "only-if-cached")], &ask(STORED)).await;
    assert_eq!((none.status, provider.calls()), (504, 3));

    let stats = refrain.send("GET", &format!("{CACHE}/stats"), &[], None).await.json();
    assert_eq!((&stats["hits"], &stats["misses"], &stats["bypasses"]), (&json!(0), &json!(1), &json!(2)));
    assert_eq!((&stats["shadowHits"], &stats["hitRate"]), (&json!(2), &json!(0.0)));
    let metrics = refrain.send("GET", "/metrics", &[], None).await;
    for line in [
        r#"refrain_requests_total{cache="default",route="chat/completions",outcome="bypass",tier="",reason="shadow"} 2"#,
        r#"refrain_shadow_requests_total{cache="default",route="chat/completions",outcome="hit",tier="exact",reason="exact"} 1"#,
        r#"refrain_shadow_requests_total{cache="default",route="chat/completions",outcome="hit",tier="semantic",reason="semantic"} 1"#,
        r#"refrain_shadow_requests_total{cache="default",route="chat/completions",outcome="miss",tier="",reason="no-candidate"} 1"#,
    ] {
        assert!(metrics.text().contains(line), "{line} is not in {}", metrics.text());
    }
    let log = refrain.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("reason=\"shadow\"")).collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].contains("shadow=\"hit\"") && lines[0].contains("shadow_tier=\"exact\""), "{}", lines[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn identical_requests_share_nothing() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, SHADOW).await;
    let request = ask(STORED);
    let (one, other) = tokio::join!(refrain.chat(&request), refrain.chat(&request));
    assert_eq!(provider.calls(), 2);
    assert_ne!(one.said(), other.said());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_says_the_same_makes_a_right_label_and_a_contradiction_a_wrong_one() {
    for (fresh, label) in [
        ("click the link in the mail", Some(1)),
        ("Click the links in 3 mails.", Some(0)),
        ("Your administrator sets a new one for you, so write to them.", Some(0)),
        ("Open the mail that we sent you, and follow the link that you find in it.", None),
    ] {
        let provider = Provider::start().await;
        let refrain = Refrain::start(&provider, SHADOW).await;
        let stored = if fresh.contains('3') { "Click the links in 2 mails." } else { "Click the link in the mail." };
        pair(&refrain, &provider, (STORED, Reply::text(stored)), (&ask(ASKED), Reply::text(fresh))).await;
        let result = ["wrong", "right"];
        until_compared(&refrain, label.map_or("unclear", |label: usize| result[label]), 1).await;
        let told = labels(&refrain, &[]).await;
        let brief = told.iter().map(|row| (row["a"].clone(), row["b"].clone(), row["label"].clone()));
        let wanted = label.map(|label| (json!(STORED), json!(ASKED), json!(label)));
        assert_eq!(brief.collect::<Vec<_>>(), Vec::from_iter(wanted), "{fresh}");
        assert!(told.iter().all(|row| row["source"] == "shadow" && row["similarity"].is_number()), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_relayed_kept_and_compared_like_the_rest() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, SHADOW).await;
    let fresh = Reply::says(&["Click ", "the link."]);
    pair(&refrain, &provider, (STORED, Reply::text("Click the link.")), (&ask_stream(ASKED), fresh)).await;
    until_compared(&refrain, "right", 1).await;
    assert_eq!(labels(&refrain, &[]).await[0]["label"], 1);
    provider.next(Reply::says(&["Click ", "that."]));
    let again = refrain.chat(&ask_stream(ASKED)).await;
    assert_eq!((again.said().as_str(), shadow(&again)), ("Click that.", ("bypass", "hit", "exact")));
    assert!(again.header("content-type").starts_with("text/event-stream"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_whole_or_not_to_be_kept_makes_no_label() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, SHADOW).await;
    provider.next(Reply::text("Click the link."));
    refrain.keep(&ask(STORED)).await;
    let mut cut = completion("Click the link.");
    cut["choices"][0]["finish_reason"] = json!("length");
    provider.next(Reply::json(200, &cut)).next(Reply::text("Click the link.")).next(Reply::json(500, &json!({})));
    for headers in [&[][..], &[("cache-control", "no-store")], &[]] {
        let relayed = refrain.chat_with(headers, &ask(ASKED)).await;
        assert_eq!(shadow(&relayed), ("bypass", "hit", "semantic"));
    }
    provider.next(Reply::text("Click the link."));
    refrain.chat(&ask(ASKED)).await;
    until_compared(&refrain, "right", 1).await;
    let metrics = refrain.send("GET", "/metrics", &[], None).await;
    let all = metrics.text().lines().filter(|line| line.starts_with("refrain_shadow_comparisons_total{"));
    assert_eq!(all.count(), 1, "only the last was compared: {}", metrics.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_refuses_nothing_and_mode_on_serves_what_shadow_stored() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    let set = async |refrain: &Refrain, mode: &str| {
        let answer = refrain.send("PATCH", CACHE, &[], Some(&json!({"mode": mode}))).await;
        assert_eq!((answer.status, &answer.json()["mode"]), (200, &json!(mode)));
    };
    set(&refrain, "shadow").await;
    let (two, three) = (Reply::text("It takes 2 days."), Reply::text("It takes 3 days."));
    pair(&refrain, &provider, (STORED, two), (&ask(ASKED), three)).await;
    until_compared(&refrain, "wrong", 1).await;
    assert!(refrain.stop().success());
    refrain.start_again().await;
    assert_eq!(labels(&refrain, &[]).await.len(), 1, "a label outlives a restart");
    set(&refrain, "on").await;
    for (text, answer) in [(STORED, "It takes 2 days."), (ASKED, "It takes 3 days.")] {
        let served = refrain.chat(&ask(text)).await;
        assert_eq!((served.outcome(), served.said().as_str()), ("hit", answer));
        assert_eq!(served.header("x-refrain-shadow"), "");
    }
    let third = refrain.chat(&ask("How could I reset my password?")).await;
    assert_eq!((third.outcome(), third.header("x-refrain-tier")), ("hit", "semantic"));
    refrain.send("DELETE", &format!("{CACHE}/entries/{}", served_id(&refrain, ASKED).await), &[], None).await;
    assert!(labels(&refrain, &[]).await.is_empty(), "what is deleted is in no label");
    let near = refrain.chat_with(&[("cache-control", "no-store")], &ask(ASKED)).await;
    assert_eq!((near.outcome(), near.said().as_str()), ("hit", "It takes 2 days."), "comparisons refuse no pair");
    assert_eq!(provider.calls(), 2);
}

async fn served_id(refrain: &Refrain, text: &str) -> String {
    refrain.chat(&ask(text)).await.header("x-refrain-entry-id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_word_stands_before_a_comparison() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let say = async |lookup: &str, verdict: &str| {
        let body = json!({"lookupId": lookup, "verdict": verdict});
        refrain.post(&format!("{CACHE}/feedback"), &body).await
    };
    provider.next(Reply::text("It takes 2 days."));
    refrain.keep(&ask(STORED)).await;
    let hit = refrain.chat(&ask(ASKED)).await;
    assert_eq!(say(hit.header("x-refrain-lookup-id"), "right").await.status, 200);
    refrain.send("PATCH", CACHE, &[], Some(&json!({"mode": "shadow"}))).await;
    provider.next(Reply::text("It takes 3 days."));
    let relayed = refrain.chat(&ask(ASKED)).await;
    until_compared(&refrain, "wrong", 1).await;
    let told = labels(&refrain, &[]).await;
    assert_eq!((told.len(), &told[0]["label"], &told[0]["source"]), (1, &json!(1), &json!("feedback")));
    let unknown = say(relayed.header("x-refrain-lookup-id"), "wrong").await;
    assert_eq!(unknown.status, 404, "nobody was served that entry");
    assert!(unknown.text().contains("shadow mode"), "{}", unknown.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_is_told_what_would_have_answered_and_its_own_answer_is_compared() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, SHADOW).await;
    let lookup = async |text: &str, explain: bool| {
        let body = json!({"request": ask(text), "explain": explain});
        refrain.post(&format!("{CACHE}/lookup"), &body).await.json()
    };
    let store = async |text: &str, answer: &str, lookup: &Value| {
        let body = json!({"request": ask(text), "response": completion(answer), "lookupId": lookup["lookupId"]});
        assert_eq!(refrain.post(&format!("{CACHE}/store"), &body).await.status, 201);
    };
    let miss = lookup(STORED, true).await;
    assert_eq!((&miss["outcome"], &miss["reason"]), (&json!("miss"), &json!("no-candidate")));
    assert_eq!(miss["shadow"], json!({"outcome": "miss"}));
    store(STORED, "It takes 2 days.", &miss).await;
    let near = lookup(ASKED, false).await;
    assert_eq!((&near["outcome"], &near["reason"]), (&json!("bypass"), &json!("shadow")), "{near}");
    let would = &near["shadow"];
    assert_eq!((&would["outcome"], &would["tier"]), (&json!("hit"), &json!("semantic")), "{near}");
    assert!(would["entryId"].is_string() && would["ttl"].is_u64() && would.get("response").is_none(), "{near}");
    assert!(near.get("response").is_none() && near.get("entryId").is_none() && near.get("tier").is_none(), "{near}");
    let explained = lookup(ASKED, true).await;
    assert_eq!(explained["shadow"]["response"]["choices"][0]["message"]["content"], "It takes 2 days.");
    assert_eq!(explained["candidates"][0]["verdict"], "hit");
    store(ASKED, "It takes 3 days.", &near).await;
    until_compared(&refrain, "wrong", 1).await;
    assert_eq!(labels(&refrain, &[]).await[0]["label"], 0);
    // Of what it was shown, a gateway can say what it is worth.
    let body = json!({"lookupId": explained["lookupId"], "verdict": "right"});
    let said = refrain.post(&format!("{CACHE}/feedback"), &body).await.json();
    assert_eq!(said["effect"], "labelled");
    let told = labels(&refrain, &[]).await;
    assert_eq!((told.len(), &told[0]["label"], &told[0]["source"]), (1, &json!(1), &json!("feedback")));
    assert_eq!(lookup(ASKED, false).await["shadow"]["tier"], "exact");
    assert_eq!(provider.calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_nothing_and_its_metrics_say_what_it_would_have_found() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, SHADOW).await;
    let body = json!({"prompt": STORED, "response": "Click the link."});
    assert_eq!(refrain.post(&format!("{CACHE}/entries"), &body).await.status, 201);
    for (route, prompt) in
        [("entries", STORED), ("entries", ASKED), ("conversations", STORED), ("entries", "Define NAT.")]
    {
        let found = refrain.post(&format!("{CACHE}/{route}/search"), &json!({"prompt": prompt})).await;
        assert_eq!((found.status, &found.json()["data"]), (200, &json!([])), "{prompt}");
    }
    let metrics = refrain.send("GET", "/metrics", &[], None).await;
    for (name, count) in [
        (r#"requests_total{cache="default",route="search",outcome="bypass",tier="",reason="shadow"}"#, 3),
        (r#"shadow_requests_total{cache="default",route="search",outcome="hit",tier="exact",reason="exact"}"#, 2),
        (r#"shadow_requests_total{cache="default",route="search",outcome="hit",tier="semantic",reason="semantic"}"#, 1),
        (r#"shadow_requests_total{cache="default",route="search",outcome="miss",tier="",reason="no-match"}"#, 1),
    ] {
        let line = format!("refrain_{name} {count}");
        assert!(metrics.text().contains(&line), "{line} is not in {}", metrics.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_two_tenants_are_never_compared() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, SHADOW).await;
    let (alice, bob) = ([("authorization", "Bearer tenant-A")], [("authorization", "Bearer tenant-B")]);
    provider.next(Reply::text("It takes 2 days.")).next(Reply::text("It takes 3 days."));
    refrain.keep_with(&alice, &ask(STORED)).await;
    let other = refrain.keep_with(&bob, &ask(ASKED)).await;
    assert_eq!(shadow(&other), ("miss", "miss", ""));
    provider.next(Reply::text("It takes 2 days."));
    let own = refrain.chat_with(&alice, &ask(ASKED)).await;
    assert_eq!(shadow(&own), ("bypass", "hit", "semantic"));
    until_compared(&refrain, "right", 1).await;
    assert_eq!(compared(&refrain, "wrong").await, 0);
    assert_eq!(labels(&refrain, &alice).await.len(), 1);
    assert!(labels(&refrain, &bob).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vetted_answer_is_not_judged_by_a_models() {
    let provider = Provider::start().await;
    let config = "[caches.default]\nmode = \"shadow\"\ncurated = true\n[caches.other]\nmode = \"shadow\"";
    let refrain = Refrain::start(&provider, config).await;
    let body = json!({"prompt": STORED, "response": "It takes 2 days."});
    assert_eq!(refrain.post(&format!("{CACHE}/entries"), &body).await.status, 201);
    for (asked, tier) in [(STORED, "exact"), (ASKED, "semantic")] {
        provider.next(Reply::text("It takes 3 days."));
        assert_eq!(shadow(&refrain.chat(&ask(asked)).await), ("bypass", "hit", tier));
    }
    // The next pair is compared after those: the queue keeps its order.
    let other = async |text: &str| {
        provider.next(Reply::text("Click the link."));
        refrain.chat_with(&[("x-refrain-cache", "other")], &ask(text)).await
    };
    other(STORED).await;
    wait_until("the entry", async || {
        refrain.send("GET", "/v1/caches/other/stats", &[], None).await.json()["entries"] == 1
    })
    .await;
    assert_eq!(shadow(&other(ASKED).await), ("bypass", "hit", "semantic"));
    until_compared(&refrain, "right", 1).await;
    assert_eq!((compared(&refrain, "wrong").await, compared(&refrain, "unclear").await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_threshold_is_calibrated_with_what_shadow_mode_found() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, SHADOW).await;
    let (two, three) = (Reply::text("It takes 2 days."), Reply::text("It takes 3 days."));
    pair(&refrain, &provider, (STORED, two), (&ask(ASKED), three)).await;
    until_compared(&refrain, "wrong", 1).await;
    let address = refrain.base.strip_prefix("http://").unwrap().to_owned();
    let models = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("models");
    let config = refrain.folder().join("calibrate.toml");
    let data = refrain.folder().join("data");
    let text =
        format!("[server]\nlisten = {address:?}\n[store]\ndata_dir = {data:?}\n[embedder]\nmodels_dir = {models:?}\n");
    std::fs::write(&config, text).unwrap();
    let pairs = refrain.folder().join("mine.jsonl");
    std::fs::write(&pairs, json!({"a": "x y", "b": "x z", "label": 0, "source": "shadow"}).to_string()).unwrap();
    let (config, pairs) = (config.to_str().unwrap(), pairs.to_str().unwrap());
    let calibrate =
        async |more: &[&str]| run(&[&["calibrate", "--config", config, "--target", "0.5"], more].concat()).await;
    for running in [true, false] {
        if !running {
            assert!(refrain.stop().success());
        }
        let (code, told) = calibrate(&["--shadow", "default", "--json"]).await;
        assert_eq!(code, Some(1), "{told}");
        let found: Value = serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
        assert_eq!(found[0]["labels"], json!({"shadow": {"same": 0, "other": 1}}), "running: {running}: {told}");
        assert_eq!(found[0]["falseHits"]["of"], 1, "{told}");
        let (code, told) = calibrate(&["--feedback", "default"]).await;
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("--feedback: nothing was said of any pair in the cache default"), "{told}");
    }
    let (_, told) = calibrate(&["--shadow", "default", "--pairs", pairs]).await;
    assert!(told.contains("pairs: 1 labels, 0 same, 1 other\nshadow: 1 labels, 0 same, 1 other\n"), "{told}");
    let (code, told) = calibrate(&["--shadow", "another"]).await;
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("--shadow: shadow mode has no label of any pair in the cache another"), "{told}");
    assert_eq!(calibrate(&["--shadow", "no such name"]).await.0, Some(2));
}
