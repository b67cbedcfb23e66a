//! Caches that learn: what the answers to near prompts show moves the target that later pairs are judged by.

use serde_json::{Value, json};

use crate::support::{Provider, Refrain, Reply, ask, wait_until};

const CACHE: &str = "/v1/caches/default";
const LEARNS: &str = "[caches.default]\nlearning = true";

/// Questions and rewordings, near and guarded by nothing.
pub const REWORDED: [(&str, &str); 26] = [
    ("How do I reset my password?", "I forgot my password, how can I get a new one?"),
    ("How can I cancel my subscription?", "What do I have to do to end my subscription?"),
    ("Where can I download my invoice?", "Where do I find the invoice to download?"),
    ("How do I change the language of the app?", "Can I switch the app to another language?"),
    ("How long does delivery take?", "When will my delivery arrive?"),
    ("How do I delete my account?", "What are the steps for deleting my account?"),
    ("How do I export my data?", "In which way can I get an export of my data?"),
    ("How large may uploads be?", "What is the size limit for uploads?"),
    ("How do I connect my printer?", "How can I get my printer connected?"),
    ("How do I change my email address?", "What must I do to get my email address changed?"),
    ("How do I rename a folder?", "Please tell me the way to give a folder another name"),
    ("How do I turn on dark mode?", "I would like to use dark mode, how does that go?"),
    ("How do I archive a project?", "I want a project archived, how does one do it?"),
    ("How do I print a label?", "I have to get a label printed, how?"),
    ("How do I merge two contacts?", "What is the way of merging two contacts into one?"),
    ("How do I install the update?", "The update, how is it installed?"),
    ("How do I mute a channel?", "Is there some way in which a channel gets muted?"),
    ("How do I restore a backup?", "My backup has to be restored, what do I do?"),
    ("How do I unlock the screen?", "The screen is locked, how do I get it unlocked?"),
    ("How do I calibrate the scanner?", "What does one do for calibrating the scanner?"),
    ("How do I book a meeting room?", "A meeting room has to be booked, how?"),
    ("How do I renew my licence?", "My licence needs renewing, how do I go about it?"),
    ("How do I replace the battery?", "I need to put in another battery, how is the battery replaced?"),
    ("How do I clean the filter?", "The filter is dirty, how does one clean it?"),
    ("How do I register for the webinar?", "In what way do I sign up for the webinar?"),
    ("How do I track my parcel?", "I want to see where my parcel is, how can I track it?"),
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

/// Words of its own for each question, and so many that two of them never agree by chance.
fn own(at: usize) -> String {
    let question = REWORDED[at].0.trim_end_matches('?');
    let topic = question.rsplit(' ').next().unwrap_or_default();
    format!("Open the page about the {topic} and press the only button there.")
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
async fn answers_that_differ_in_a_counter_or_repeat_the_prompt_teach_nothing() {
    let counter = |at: usize, _: &str, again| format!("Answer {}.", 1371 + 2 * at + usize::from(again));
    let echo = |_: usize, text: &str, _| format!("You asked: {text}");
    for (name, answers) in [("counter", &counter as &dyn Fn(usize, &str, bool) -> String), ("echo", &echo)] {
        let (provider, refrain) = start().await;
        teach(&refrain, &provider, answers).await;
        let learnt = lessons(&refrain).await;
        assert_eq!((&learnt["right"], &learnt["wrong"]), (&json!(0), &json!(0)), "{name}: {learnt}");
        assert!(is(target(&refrain, &[]).await, 0.01), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_words_around_every_answer_teach_nothing() {
    let (provider, refrain) = start().await;
    let answer = |at: usize, _: &str, again: bool| {
        let letter =
            |n: usize| char::from(b"abcdefghijklmnopqrstuvwxyz"[(at * 5 + usize::from(again) * 11 + n * 7) % 26]);
        let around = "Thank you for your question, which we are always glad to answer. This was written by an assistant, it \
                      is no advice of the company, and the terms of use hold for all that is said here, so please ask \
                      somebody who knows before you rely on it.";
        let (x, y, z) = (letter(0), letter(1), letter(2));
        format!(
            "{around} The short answer to this is a likely {x} {y} {z}. If it did not help, write to us again at any time."
        )
    };
    teach(&refrain, &provider, answer).await;
    let learnt = lessons(&refrain).await;
    assert!(counted(&refrain, "canned").await >= 2, "{learnt}");
    assert_eq!(learnt["right"], 0, "{learnt}");
    assert!(target(&refrain, &[]).await <= 0.0101, "{learnt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pairs_that_a_guard_forbids_are_no_labels() {
    let (provider, refrain) = start().await;
    let before = looked_at(&refrain).await;
    for (at, (thing, _)) in REWORDED.iter().enumerate() {
        for way in ["enable", "disable"] {
            provider.next(Reply::text(&own(at)));
            let asked = format!("{thing} I have to {way} it first.");
            refrain.keep_with(&[("cache-control", "no-cache")], &ask(&asked)).await;
        }
    }
    wait_until("all are looked at", async || looked_at(&refrain).await >= before + 2 * REWORDED.len() as u64).await;
    assert!(counted(&refrain, "not-judged").await >= 20);
    assert_eq!(lessons(&refrain).await["right"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handful_of_answers_that_agree_loosens_nothing() {
    let (provider, refrain) = start().await;
    let before = looked_at(&refrain).await;
    for (at, (question, reworded)) in REWORDED.iter().enumerate().take(8) {
        for text in [question, reworded] {
            provider.next(Reply::text(&own(at)));
            refrain.keep_with(&[("cache-control", "no-cache")], &ask(text)).await;
        }
    }
    wait_until("all are looked at", async || looked_at(&refrain).await >= before + 16).await;
    let learnt = lessons(&refrain).await;
    assert!(learnt["right"].as_u64() >= Some(3), "{learnt}");
    assert!(is(target(&refrain, &[]).await, 0.01), "{learnt}");
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
        let lookup = json!({"request": ask(asked), "explain": true});
        let told = refrain.send("POST", &format!("{CACHE}/lookup"), &[], Some(&lookup)).await.json();
        assert_eq!(told["outcome"], "miss", "{told}");
        assert_eq!(told["candidates"][0]["verdict"], guard, "{told}");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_a_verifier_refuses_a_policy_that_learns() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[verifier]\nmodel = \"none\"").await;
    let asked = json!({"learning": true});
    for method in ["PUT", "PATCH"] {
        let refused = refrain.send(method, CACHE, &[], Some(&asked)).await;
        assert_eq!(refused.status, 422, "{method}: {}", refused.text());
        assert!(refused.text().contains("learning") && refused.text().contains("verifier"), "{}", refused.text());
    }
    let policy = refrain.send("GET", CACHE, &[], None).await.json();
    assert_eq!(policy["learning"], false);
}
