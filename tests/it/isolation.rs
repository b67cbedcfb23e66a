//! One caller's answer is never another's, and an answer made under other settings is no answer.

use serde_json::{Value, json};

use crate::support::{Provider, Refrain, Reply, ask, completion, with};

const INVOICES: &str = "Please go through my last three invoices in detail and tell me which of them is still open and \
                        why it was not settled on time.";
const INVOICES_TOO: &str = "Hello, please go through my last three invoices in detail and tell me which of them is still \
                            open and why it was not settled on time. Thanks!";

#[tokio::test(flavor = "multi_thread")]
async fn a_callers_answer_is_never_another_callers() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let (alice, bob) = ([("authorization", "Bearer tenant-A")], [("authorization", "Bearer tenant-B")]);
    assert_eq!(refrain.keep_with(&alice, &ask(INVOICES)).await.said(), "answer 1");
    assert_eq!(refrain.keep_with(&bob, &ask(INVOICES)).await.said(), "answer 2");
    assert_eq!(refrain.chat_with(&bob, &ask(INVOICES_TOO)).await.said(), "answer 2");
    assert_eq!(refrain.chat_with(&alice, &ask(INVOICES_TOO)).await.said(), "answer 1");
    assert_eq!(refrain.chat(&ask(INVOICES)).await.said(), "answer 3");
    assert_eq!(provider.calls(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_any_header_that_a_provider_takes_tells_callers_apart() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for (index, header) in ["api-key", "x-api-key", "x-goog-api-key", "authorization"].into_iter().enumerate() {
        let [one, other] = [format!("key-a-{index}"), format!("key-b-{index}")];
        assert_eq!(refrain.chat_with(&[(header, &one)], &ask(INVOICES)).await.outcome(), "miss", "{header}");
        assert_eq!(refrain.chat_with(&[(header, &other)], &ask(INVOICES)).await.outcome(), "miss", "{header}");
        assert_eq!(refrain.chat_with(&[(header, &one)], &ask(INVOICES)).await.outcome(), "hit", "{header}");
    }
    assert_eq!(provider.calls(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_is_shared_by_its_policy_is_shared() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "[caches.faq]\nsharing = \"cache\"").await;
    let send = async |key: &str, text: &str| {
        let headers = [("authorization", key), ("x-refrain-cache", "faq")];
        refrain.chat_with(&headers, &ask(text)).await
    };
    assert_eq!(send("Bearer tenant-A", INVOICES).await.outcome(), "miss");
    assert_eq!(send("Bearer tenant-B", INVOICES).await.outcome(), "hit");
    assert_eq!(refrain.chat_with(&[("authorization", "Bearer tenant-B")], &ask(INVOICES)).await.outcome(), "miss");
    assert_eq!(provider.calls(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_provider_has_other_answers() {
    let (first, second) = (Provider::start().await, Provider::start().await);
    let mut refrain = Refrain::start(&first, "").await;
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.outcome(), "miss");
    assert!(refrain.stop().success());
    refrain.edit_config(&first.base_url(), &second.base_url());
    refrain.start_again().await;
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.outcome(), "miss");
    assert_eq!((first.calls(), second.calls()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_member_of_the_request_has_a_say() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let base = with(ask("List the primary colours."), json!({"temperature": 0, "max_tokens": 200}));
    let changes = [
        json!({}),
        json!({"max_tokens": 5}),
        json!({"max_completion_tokens": 5}),
        json!({"logprobs": true, "top_logprobs": 5}),
        json!({"seed": 7}),
        json!({"stop": ["blue"]}),
        json!({"top_p": 0.1}),
        json!({"presence_penalty": 2}),
        json!({"logit_bias": {"42": -100}}),
        json!({"service_tier": "flex"}),
        json!({"unknown_vendor_field": 1}),
        json!({"unknown_vendor_field": null}),
        json!({"user": "u-1"}),
        json!({"metadata": {"a": "b"}}),
        json!({"model": "alpha-large"}),
        json!({"reasoning_effort": "low"}),
    ];
    for (index, change) in changes.iter().enumerate() {
        let body = with(base.clone(), change.clone());
        let answer = refrain.chat(&body).await;
        assert_ne!(answer.outcome(), "hit", "{change}");
        assert_eq!(refrain.chat(&body).await.said(), format!("answer {}", index + 1), "{change}");
    }
    assert_eq!(provider.calls(), changes.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn three_answers_are_replayed_as_three() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let mut three = completion("red");
    for (index, text) in [(1, "blue"), (2, "yellow")] {
        let choice =
            json!({"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"});
        three["choices"].as_array_mut().unwrap().push(choice);
    }
    provider.next(Reply::json(200, &three));
    let body = with(ask("Name a primary colour."), json!({"n": 3}));
    refrain.chat(&body).await;
    let hit = refrain.chat(&body).await;
    assert_eq!(hit.outcome(), "hit");
    assert_eq!(hit.json()["choices"], three["choices"]);
    assert_ne!(refrain.chat(&ask("Name a primary colour.")).await.outcome(), "hit");
}

fn weather_tool() -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    json!([{"type": "function", "function": {"name": "get_weather", "parameters": parameters}}])
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_neither_give_nor_take_an_answer() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let mut call = completion("");
    call["choices"][0]["message"] = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}}]});
    call["choices"][0]["finish_reason"] = json!("tool_calls");
    let plain = ask("What is the weather in Oslo?");
    let armed = with(plain.clone(), json!({"tools": weather_tool()}));
    provider.next(Reply::json(200, &call));
    assert_eq!(refrain.chat(&armed).await.json()["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(refrain.chat(&plain).await.said(), "answer 2");
    assert_eq!(refrain.chat(&armed).await.said(), "answer 3");
    let again = refrain.chat(&armed).await;
    assert_eq!((again.outcome(), again.said().as_str()), ("hit", "answer 3"));
    assert!(!again.header("cache-status").contains("semantic"));
    let near = with(ask("What's the weather in Oslo?"), json!({"tools": weather_tool()}));
    let near = refrain.chat(&near).await;
    assert_eq!(near.outcome(), "bypass");
    assert!(near.header("cache-status").contains("detail=tools"), "{}", near.header("cache-status"));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_schema_is_another_question() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let shaped = |property: &str| {
        let schema = json!({"type": "object", "properties": {property: {"type": "string"}}, "required": [property]});
        let format = json!({"type": "json_schema", "json_schema": {"name": "a", "strict": true, "schema": schema}});
        with(ask("Describe a green bottle."), json!({"response_format": format}))
    };
    provider.next(Reply::text("{\"colour\":\"green\"}")).next(Reply::text("{\"volume_ml\":500}"));
    assert_eq!(refrain.chat(&shaped("colour")).await.outcome(), "miss");
    assert_eq!(refrain.chat(&shaped("volume_ml")).await.said(), "{\"volume_ml\":500}");
    assert_eq!(refrain.chat(&shaped("colour")).await.said(), "{\"colour\":\"green\"}");
    assert_eq!(refrain.chat(&ask("Describe a green bottle.")).await.outcome(), "miss");
    assert_eq!(provider.calls(), 3);
}

fn talk(turns: &[(&str, &str)]) -> Value {
    let messages: Vec<Value> = turns.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
    json!({"model": "alpha-small", "messages": messages})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_belongs_to_its_conversation() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let about = |planet: &str, last: &str| {
        let first = format!("Tell me about {planet}.");
        talk(&[("user", &first), ("assistant", "It is a planet."), ("user", last)])
    };
    for last in ["How many moons does it have?", "continue", "yes", "Run the tests."] {
        assert_eq!(refrain.chat(&about("Mars", last)).await.outcome(), "miss", "{last}");
        assert_eq!(refrain.chat(&about("Jupiter", last)).await.outcome(), "miss", "{last}");
        assert_eq!(refrain.chat(&ask(last)).await.outcome(), "miss", "{last}");
        assert_eq!(refrain.chat(&about("Mars", last)).await.outcome(), "hit", "{last}");
    }
    assert_eq!(provider.calls(), 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_system_prompt_is_another_question() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let asked = |role: &str, system: &str| talk(&[(role, system), ("user", "Name a fruit.")]);
    for body in [
        asked("system", "Answer only in French."),
        asked("system", "Answer only in German."),
        asked("developer", "Answer only in German."),
        ask("Name a fruit."),
    ] {
        assert_eq!(refrain.chat(&body).await.outcome(), "miss", "{body}");
    }
    assert_eq!(refrain.chat(&asked("system", "Answer only in French.")).await.said(), "answer 1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tools_result_is_not_answered_with_the_call_for_it() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "load", "arguments": "{}"}}]});
    let after = |result: &str| {
        json!({"model": "alpha-small", "tools": weather_tool(), "messages": [
            {"role": "user", "content": "Summarise report 12."}, call,
            {"role": "tool", "tool_call_id": "call_1", "content": result}]})
    };
    assert_eq!(refrain.chat(&after("Sales rose.")).await.outcome(), "bypass");
    assert_eq!(refrain.chat(&after("Sales fell.")).await.outcome(), "bypass");
    assert_eq!(refrain.chat(&after("Sales rose.")).await.said(), "answer 1");
    assert_eq!(provider.calls(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_change_the_answer_keep_answers_apart() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for (index, headers) in [
        vec![],
        vec![("openai-beta", "x=1")],
        vec![("openai-organization", "org-1")],
        vec![("openai-project", "p-1")],
        vec![("x-refrain-attributes", "doc=handbook,rev=7")],
        vec![("x-refrain-attributes", "doc=handbook,rev=8")],
    ]
    .iter()
    .enumerate()
    {
        assert_eq!(refrain.chat_with(headers, &ask("Define NAT.")).await.outcome(), "miss", "{headers:?}");
        let again = refrain.chat_with(headers, &ask("Define NAT.")).await;
        assert_eq!((again.outcome(), again.said()), ("hit", format!("answer {}", index + 1)));
    }
    let unrelated = [("user-agent", "another"), ("x-request-id", "7")];
    assert_eq!(refrain.chat_with(&unrelated, &ask("Define NAT.")).await.said(), "answer 1");
    let queried = refrain.send("POST", "/v1/chat/completions?api-version=2", &[], Some(&ask("Define NAT."))).await;
    assert_eq!(queried.outcome(), "miss");
}
