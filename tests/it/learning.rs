//! Caches that learn: what the answers to near prompts show moves the target that later pairs are judged by.

use serde_json::{Value, json};

use crate::support::{Provider, Refrain, Reply, ask, wait_until};

const CACHE: &str = "/v1/caches/default";
const LEARNS: &str = "[caches.default]\nlearning = true";

/// Questions and rewordings of which the default target serves hardly one.
pub const REWORDED: [(&str, &str); 12] = [
    ("How do I reset my password?", "I forgot my password, how can I get a new one?"),
    ("How can I cancel my subscription?", "What do I have to do to end my subscription?"),
    ("Where can I download my invoice?", "Where do I find the invoice to download?"),
    ("How do I change the language of the app?", "Can I switch the app to another language?"),
    ("How long does delivery take?", "When will my delivery arrive?"),
    ("How do I contact support?", "What is the way to reach the support team?"),
    ("How do I add a team member?", "How can I invite somebody to my team?"),
    ("Can I pay by bank transfer?", "Is it possible to pay with a bank transfer?"),
    ("How do I delete my account?", "What are the steps for deleting my account?"),
    ("How do I export my data?", "In which way can I get an export of my data?"),
    ("What is the size limit for uploads?", "How large may an uploaded file be?"),
    ("How do I connect my printer?", "How can I get my printer connected?"),
];
/// Another one, which is never taught.
const HELD_BACK: (&str, &str) = ("How do I update my billing address?", "How can I get my billing address updated?");

async fn lessons(refrain: &Refrain) -> Value {
    refrain.send("GET", &format!("{CACHE}/stats"), &[], None).await.json()["lessons"].clone()
}

async fn counted(refrain: &Refrain, result: &str) -> u64 {
    let metrics = refrain.send("GET", "/metrics", &[], None).await;
    let name = format!("refrain_lessons_total{{result=\"{result}\"}} ");
    metrics.text().lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

/// How many answers were looked at, whatever came of it.
async fn looked_at(refrain: &Refrain) -> u64 {
    let metrics = refrain.send("GET", "/metrics", &[], None).await;
    let lines = metrics.text().lines().filter(|line| line.starts_with("refrain_lessons_total{"));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Asks each question and its rewording past the cache, so that all of them are answered by the provider, and waits until
/// the answers have been looked at.
async fn teach(refrain: &Refrain, provider: &Provider, answers: impl Fn(usize, &str, bool) -> String) {
    let before = looked_at(refrain).await;
    for (at, (question, reworded)) in REWORDED.iter().enumerate() {
        for (text, again) in [(question, false), (reworded, true)] {
            provider.next(Reply::text(&answers(at, text, again)));
            refrain.keep_with(&[("cache-control", "no-cache")], &ask(text)).await;
        }
    }
    wait_until("all answers are looked at", async || looked_at(refrain).await >= before + 2 * REWORDED.len() as u64)
        .await;
}

/// Words of their own for each question, and so many that two of them never agree by chance.
fn own(at: usize) -> String {
    let topics = [
        "passwords",
        "plans",
        "invoices",
        "tongues",
        "parcels",
        "helpers",
        "members",
        "banks",
        "accounts",
        "archives",
        "files",
        "printers",
    ];
    format!("Open the page about {} and press the only button there.", topics[at])
}

/// A cache that learns, and keeps the question that is held back.
async fn start() -> (Provider, Refrain) {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, LEARNS).await;
    hold_back(&refrain, &provider).await;
    (provider, refrain)
}

/// Keeps the question that is held back.
async fn hold_back(refrain: &Refrain, provider: &Provider) {
    provider.next(Reply::text("Under your profile."));
    refrain.keep(&ask(HELD_BACK.0)).await;
}

/// What its rewording is judged by.
async fn target(refrain: &Refrain, headers: &[(&str, &str)]) -> f64 {
    let asked = json!({"request": ask(HELD_BACK.1), "explain": true});
    let told = refrain.send("POST", &format!("{CACHE}/lookup"), headers, Some(&asked)).await.json();
    told["candidates"][0]["targetErrorRate"].as_f64().unwrap_or_else(|| panic!("{told}"))
}

fn is(target: f64, wanted: f64) -> bool {
    (target / wanted - 1.0).abs() < 1e-6
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_agree_loosen_the_target_and_it_outlives_a_restart_but_not_a_flush() {
    let (provider, mut refrain) = start().await;
    assert!(is(target(&refrain, &[]).await, 0.01), "nothing is learnt yet");
    teach(&refrain, &provider, |at, _, _| own(at)).await;
    let learnt = lessons(&refrain).await;
    assert!(learnt["right"].as_u64() >= Some(8) && learnt["wrong"] == 0, "{learnt}");
    let loose = target(&refrain, &[]).await;
    assert!(loose > 0.02, "{loose}");

    refrain.stop();
    refrain.start_again().await;
    assert_eq!(lessons(&refrain).await, learnt);
    let kept = target(&refrain, &[]).await;
    assert!(is(kept, loose), "{kept} {loose}");

    let patched = refrain.send("PATCH", CACHE, &[], Some(&json!({"learning": false}))).await;
    assert_eq!(patched.status, 200, "{}", patched.text());
    assert!(is(target(&refrain, &[]).await, 0.01), "what was learnt has no effect where nothing is to be");
    refrain.send("PATCH", CACHE, &[], Some(&json!({"learning": true}))).await;
    assert!(is(target(&refrain, &[]).await, kept));

    refrain.send("POST", &format!("{CACHE}/flush"), &[], None).await;
    assert_eq!(lessons(&refrain).await, json!({"right": 0, "wrong": 0, "unclear": 0}));
    hold_back(&refrain, &provider).await;
    assert!(is(target(&refrain, &[]).await, 0.01));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_contradict_each_other_tighten_the_target() {
    let (provider, refrain) = start().await;
    teach(&refrain, &provider, |at, _, again| if again { format!("No, {at}.") } else { format!("Yes, {at}.") }).await;
    let learnt = lessons(&refrain).await;
    assert!(learnt["wrong"].as_u64() >= Some(8) && learnt["right"] == 0, "{learnt}");
    let strict = target(&refrain, &[]).await;
    assert!(strict < 0.005, "{strict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_everything_gets_teaches_nothing() {
    let (provider, refrain) = start().await;
    teach(&refrain, &provider, |_, _, _| "I cannot help with that, please write to our support team.".into()).await;
    assert_eq!(lessons(&refrain).await, json!({"right": 0, "wrong": 0, "unclear": 0}));
    assert!(counted(&refrain, "canned").await >= 8);
    assert!(is(target(&refrain, &[]).await, 0.01));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_do_not_show_whether_they_agree_move_nothing() {
    let (provider, refrain) = start().await;
    teach(&refrain, &provider, |at, text, _| format!("{} {text} ", own(at)).repeat(60)).await;
    let learnt = lessons(&refrain).await;
    assert!(learnt["unclear"].as_u64() >= Some(8) && learnt["right"] == 0 && learnt["wrong"] == 0, "{learnt}");
    assert!(is(target(&refrain, &[]).await, 0.01), "{learnt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_does_not_learn_looks_at_no_answers() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for text in [REWORDED[0].0, REWORDED[0].1] {
        provider.next(Reply::text(&own(0)));
        refrain.keep_with(&[("cache-control", "no-cache")], &ask(text)).await;
    }
    assert_eq!(looked_at(&refrain).await, 0);
    assert_eq!(lessons(&refrain).await, json!({"right": 0, "wrong": 0, "unclear": 0}));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_was_learnt_a_guard_forbids_what_it_forbids() {
    let (provider, refrain) = start().await;
    teach(&refrain, &provider, |at, _, _| own(at)).await;
    let loose = target(&refrain, &[]).await;
    assert!(loose > 0.02, "{loose}");
    for (stored, asked, guard) in [
        ("How do I enable notifications?", "How do I disable notifications?", "guard-negation"),
        ("How do I convert 5 miles to kilometers?", "How do I convert 6 miles to kilometers?", "guard-numbers"),
        ("How do I fly from Paris to London?", "How do I fly from London to Paris?", "guard-direction"),
    ] {
        refrain.keep(&ask(stored)).await;
        let answer = refrain.chat(&ask(asked)).await;
        assert_eq!(answer.outcome(), "miss", "{asked}");
        assert!(answer.header("cache-status").contains(guard), "{}", answer.header("cache-status"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_tenant_asks_moves_nothing_of_another_ones() {
    let (provider, refrain) = start().await;
    teach(&refrain, &provider, |at, _, _| own(at)).await;
    let other = [("authorization", "Bearer sk-somebody-else")];
    refrain.keep_with(&other, &ask(HELD_BACK.0)).await;
    assert!(is(target(&refrain, &other).await, 0.01));
    let own = target(&refrain, &[]).await;
    assert!(own > 0.02, "{own}");
}
