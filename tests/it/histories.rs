//! Conversations: what was said before tells requests apart, unless the policy lets a turn stand alone that can.

use serde_json::{Value, json};

use crate::support::{Provider, Refrain};

const ASKED: &str = "How many screens can stream on the Family plan?";

/// A conversation whose last turn is `asked`, after these turns.
fn after(before: &[(&str, &str)], asked: &str) -> Value {
    let turns = before.iter().map(|(role, said)| json!({"role": role, "content": said}));
    let messages: Vec<Value> = turns.chain([json!({"role": "user", "content": asked})]).collect();
    json!({"model": "alpha-small", "messages": messages})
}

const PAYMENT: [(&str, &str); 2] =
    [("user", "Where do I enter a new card?"), ("assistant", "You do so under Payment.")];
const CHILDREN: [(&str, &str); 2] = [("user", "Is there a profile for kids?"), ("assistant", "Yes, one each.")];

async fn started(history: &str) -> (Provider, Refrain) {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.send("PATCH", "/v1/caches/default", &[], Some(&json!({"history": history}))).await;
    (provider, refrain)
}

#[tokio::test(flavor = "multi_thread")]
async fn by_default_another_history_is_another_request() {
    let (_provider, refrain) = started("exact").await;
    refrain.keep(&after(&PAYMENT, ASKED)).await;
    assert_eq!(refrain.chat(&after(&CHILDREN, ASKED)).await.outcome(), "miss");
    assert_eq!(refrain.chat(&after(&[], ASKED)).await.outcome(), "miss");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_stands_alone_is_answered_whatever_was_said_before() {
    let (provider, refrain) = started("self-contained").await;
    refrain.keep(&after(&PAYMENT, ASKED)).await;
    let calls = provider.calls();
    for request in [
        after(&CHILDREN, ASKED),
        after(&[], ASKED),
        after(&CHILDREN, "Tell me how many screens can stream on the Family plan"),
    ] {
        let answer = refrain.chat(&request).await;
        let expected = if request["messages"].to_string().contains("Tell me") { "miss" } else { "hit" };
        assert_eq!(answer.outcome(), expected, "{request}");
    }
    assert_eq!(provider.calls(), calls + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_points_back_needs_its_own_history() {
    let (_provider, refrain) = started("self-contained").await;
    for asked in ["How much is it?", "Can I add my sister to the Family plan?", "And the Duo plan?"] {
        refrain.keep(&after(&PAYMENT, asked)).await;
        assert_eq!(refrain.chat(&after(&CHILDREN, asked)).await.outcome(), "miss", "{asked}");
        assert_eq!(refrain.chat(&after(&PAYMENT, asked)).await.outcome(), "hit", "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn instructions_still_tell_conversations_apart() {
    let (_provider, refrain) = started("self-contained").await;
    refrain.keep(&after(&PAYMENT, ASKED)).await;
    let told = [("user", "Please answer in French from now on."), ("assistant", "D'accord.")];
    assert_eq!(refrain.chat(&after(&told, ASKED)).await.outcome(), "miss");
    let system = [("system", "You are terse."), ("user", "Hello"), ("assistant", "Hi.")];
    assert_eq!(refrain.chat(&after(&system, ASKED)).await.outcome(), "miss");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_stated_before_tells_conversations_apart() {
    let (_provider, refrain) = started("self-contained").await;
    refrain.keep(&after(&CHILDREN, ASKED)).await;
    for stated in ["I mean the plan of 2019.", "Bitte auf Deutsch.", "Explain things like I'm five.", "yes please"] {
        let history = [("user", stated), ("assistant", "Noted.")];
        assert_eq!(refrain.chat(&after(&history, ASKED)).await.outcome(), "miss", "{stated}");
    }
    assert_eq!(refrain.chat(&after(&PAYMENT, ASKED)).await.outcome(), "hit");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_to_more_than_its_turn_says_is_none_to_the_turn_alone() {
    let (_provider, refrain) = started("self-contained").await;
    let history = [("user", "Today we discuss the plans of 2019."), ("assistant", "Fine.")];
    refrain.keep(&after(&history, ASKED)).await;
    assert_eq!(refrain.chat(&after(&[], ASKED)).await.outcome(), "miss");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_turn_that_does_not_stand_alone_answers_no_conversation() {
    let (_provider, refrain) = started("self-contained").await;
    refrain.keep(&after(&[], "How many screens can it stream on the Family plan?")).await;
    let body = json!({"request": after(&CHILDREN, ASKED)});
    let told = refrain.post("/v1/caches/default/lookup", &body).await.json();
    assert_eq!((told["outcome"].as_str(), told["reason"].as_str()), (Some("miss"), Some("history")), "{told}");
}
