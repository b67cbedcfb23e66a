//! Lifetimes: counted from the provider's answer, the same in both tiers, before and after a restart.

use std::time::Duration;

use serde_json::json;

use crate::support::{Gate, Provider, Refrain, Reply, ask, wait_until};

async fn after(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_entry_is_invisible_to_both_tiers_and_the_next_nearest_is_served() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let soon = [("x-refrain-ttl", "1")];
    refrain.chat_with(&soon, &ask("How do I reset my password?")).await;
    let lasting = [("cache-control", "no-cache"), ("x-refrain-ttl", "60")];
    refrain.keep_with(&lasting, &ask("How can I reset my password?")).await;
    after(1100).await;
    let near = refrain.chat_with(&[("cache-control", "no-store")], &ask("How do I reset my password")).await;
    assert_eq!((near.outcome(), near.said().as_str()), ("hit", "answer 2"));
    let exact = refrain.chat_with(&[("cache-control", "no-store")], &ask("How do I reset my password?")).await;
    assert_eq!((exact.outcome(), exact.said().as_str()), ("hit", "answer 2"));
    assert_eq!(exact.header("x-refrain-tier"), "semantic");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hit_does_not_renew_a_lifetime() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.default]\nttl = 4").await;
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.outcome(), "miss");
    after(1800).await;
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.outcome(), "hit");
    after(1200).await;
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.outcome(), "hit");
    after(1300).await;
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.outcome(), "miss");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_neither_shortens_nor_prolongs_a_lifetime() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    refrain.chat_with(&[("x-refrain-ttl", "3")], &ask("Define NAT.")).await;
    refrain.chat_with(&[("x-refrain-ttl", "300")], &ask("What is a switch?")).await;
    let begun = std::time::Instant::now();
    assert!(refrain.stop().success());
    refrain.start_again().await;
    if begun.elapsed() < Duration::from_millis(2500) {
        assert_eq!(refrain.chat(&ask("Define NAT.")).await.outcome(), "hit");
    }
    tokio::time::sleep_until((begun + Duration::from_millis(3100)).into()).await;
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.outcome(), "miss");
    assert_eq!(refrain.chat(&ask("What is a switch?")).await.outcome(), "hit");
}

#[tokio::test(flavor = "multi_thread")]
async fn cache_control_refreshes_and_keeps_out() {
    let provider = Provider::start().await;
    for text in ["one", "two", "y", "z", "w"] {
        provider.next(Reply::text(text));
    }
    let refrain = Refrain::start(&provider, "").await;
    let say = async |control: &str, text: &str| refrain.chat_with(&[("cache-control", control)], &ask(text)).await;
    assert_eq!(say("", "Suggest a slogan.").await.said(), "one");
    let refreshed = say("No-Cache", "Suggest a slogan.").await;
    assert_eq!((refreshed.outcome(), refreshed.said().as_str()), ("miss", "two"));
    assert!(refreshed.header("cache-status").contains("fwd=request"), "{}", refreshed.header("cache-status"));
    wait_until("the refreshed answer", async || say("", "Suggest a slogan.").await.said() == "two").await;
    assert_eq!(say("no-store", "Name a mountain in Peru.").await.said(), "y");
    assert_eq!(say("no-cache, NO-STORE", "Name a mountain in Peru.").await.said(), "z");
    assert_eq!(say("", "Name a mountain in Peru.").await.said(), "w");
    assert_eq!(say("", "Name a mountain in Peru.").await.outcome(), "hit");
    assert_eq!(provider.calls(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_does_not_undo_a_later_refresh() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let gate = Gate::default();
    provider.next(Reply::default().wait(&gate).then_reply(Reply::text("old"))).next(Reply::text("new"));
    let question = ask("Suggest a slogan.");
    let (slow, ()) = tokio::join!(refrain.chat(&question), async {
        wait_until("the slow call", async || provider.calls() == 1).await;
        assert_eq!(refrain.chat_with(&[("cache-control", "no-cache")], &question).await.said(), "new");
        wait_until("the refreshed entry", async || {
            refrain.send("GET", "/v1/caches/default/stats", &[], None).await.json()["entries"] == 1
        })
        .await;
        gate.open();
    });
    assert_eq!(slow.said(), "old");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(refrain.chat(&question).await.said(), "new");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_if_cached_never_calls() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let only = [("cache-control", "only-if-cached")];
    let nothing = refrain.chat_with(&only, &ask("Define NAT.")).await;
    assert_eq!((nothing.status, provider.calls()), (504, 0));
    assert!(nothing.json()["error"]["message"].is_string(), "{}", nothing.text());
    refrain.chat(&ask("Define NAT.")).await;
    assert_eq!(refrain.chat_with(&only, &ask("Define NAT.")).await.outcome(), "hit");
    let models = refrain.send("GET", "/v1/models", &only, None).await;
    assert_eq!((models.status, provider.calls()), (504, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn max_age_min_fresh_and_max_stale_are_honoured() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let say = async |control: &str| {
        let only = format!("only-if-cached, {control}");
        refrain.chat_with(&[("cache-control", &only)], &ask("Define NAT.")).await
    };
    refrain.chat_with(&[("x-refrain-ttl", "2")], &ask("Define NAT.")).await;
    after(1100).await;
    assert_eq!(say("max-age=60").await.outcome(), "hit");
    assert_eq!(say("max-age=0").await.status, 504);
    assert_eq!(say("min-fresh=60").await.status, 504);
    after(1100).await;
    assert_eq!(say("max-age=60").await.status, 504);
    let stale = say("max-stale").await;
    assert_eq!((stale.status, stale.outcome()), (200, "stale"));
    assert_eq!(say("max-stale=30").await.outcome(), "stale");
    assert_eq!(say("max-stale=0").await.status, 504);
    assert_eq!(provider.calls(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fresh_entry_that_the_caller_refuses_is_not_called_expired() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.keep_with(&[("x-refrain-ttl", "60")], &ask("Define NAT.")).await;
    for (control, detail) in
        [("no-store, max-age=0", "detail=max-age"), ("no-store, min-fresh=600", "detail=min-fresh")]
    {
        let answer = refrain.chat_with(&[("cache-control", control)], &ask("Define NAT.")).await;
        let status = answer.header("cache-status");
        assert!(answer.outcome() == "miss" && status.contains(detail), "{control}: {status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requests_ttl_is_seconds_within_the_maximum_and_nothing_else() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.default]\nttl = 60\nmax_ttl = 100").await;
    let ttl_of = |status: &str| status.split("ttl=").nth(1).and_then(|s| s.split(';').next()?.parse::<i64>().ok());
    for (given, expected) in [("50", 50), ("100", 100), ("5000", 100)] {
        let text = format!("Define word {given}.");
        refrain.chat_with(&[("x-refrain-ttl", given)], &ask(&text)).await;
        let hit = refrain.chat(&ask(&text)).await;
        let ttl = ttl_of(hit.header("cache-status")).unwrap();
        assert!((expected - 2..=expected).contains(&ttl), "{given}: {ttl}");
    }
    refrain.chat_with(&[("x-refrain-ttl", "0")], &ask("Define zero.")).await;
    assert_eq!(refrain.chat(&ask("Define zero.")).await.outcome(), "miss");
    let calls = provider.calls();
    for bad in ["-1", "1.5", "soon", "", "1h", "99999999999999999999"] {
        let answer = refrain.chat_with(&[("x-refrain-ttl", bad)], &ask("Define NAT.")).await;
        assert_eq!((answer.status, provider.calls()), (400, calls), "{bad:?}");
        assert!(answer.text().contains("x-refrain-ttl"), "{}", answer.text());
    }
    for (name, value) in [("cache-control", "max-age=soon"), ("x-refrain-unknown", "1"), ("x-refrain-attributes", "a")]
    {
        let answer = refrain.chat_with(&[(name, value)], &ask("Define NAT.")).await;
        assert_eq!((answer.status, provider.calls()), (400, calls), "{name}");
        assert!(answer.text().contains(name), "{}", answer.text());
    }
    let twice = [("x-refrain-ttl", "5"), ("x-refrain-ttl", "6")];
    let answer = refrain.chat_with(&twice, &ask("Define NAT.")).await;
    assert_eq!((answer.status, provider.calls()), (400, calls));
    let ignored = refrain.chat_with(&[("cache-control", "no-transform, something=else")], &ask("Define NAT.")).await;
    assert_eq!(ignored.outcome(), "miss");
}

#[tokio::test(flavor = "multi_thread")]
async fn langcache_entries_live_in_milliseconds() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let stored = json!({"prompt": "Define NAT.", "response": "So.", "ttlMillis": 1500});
    assert_eq!(refrain.post("/v1/caches/default/entries", &stored).await.status, 201);
    let search = async || {
        let found = refrain.post("/v1/caches/default/entries/search", &json!({"prompt": "Define NAT."})).await;
        found.json()["data"].as_array().unwrap().len()
    };
    assert_eq!(search().await, 1);
    after(1600).await;
    assert_eq!(search().await, 0);
}
