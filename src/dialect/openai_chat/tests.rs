//! What tells two requests apart, what may be similar, and why a request is not answered by meaning.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::reason::BypassReason::{EmptyText, LogProbs, ManyChoices, NoUserTurn, NonText, Tools};

fn read(body: &Json) -> Prompt {
    parse(body.to_string().as_bytes()).unwrap()
}

fn base() -> Json {
    json!({"model": "alpha-small", "messages": [{"role": "user", "content": "List the primary colours."}],
           "temperature": 0, "max_tokens": 200})
}

fn with(mut body: Json, changes: &Json) -> Json {
    for (name, value) in changes.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn asking(messages: &Json) -> Prompt {
    read(&json!({"model": "alpha-small", "messages": messages}))
}

fn all_differ(prompts: &[Prompt], part: impl Fn(&Prompt) -> &[u8]) {
    for (at, prompt) in prompts.iter().enumerate() {
        assert!(prompts[..at].iter().all(|earlier| part(earlier) != part(prompt)), "number {at} is not new");
    }
}

#[test]
fn every_member_that_shapes_the_answer_separates_requests() {
    let changes = [
        json!({}),
        json!({"max_tokens": 5}),
        json!({"max_completion_tokens": 5}),
        json!({"n": 3}),
        json!({"logprobs": true, "top_logprobs": 5}),
        json!({"seed": 7}),
        json!({"stop": ["blue"]}),
        json!({"top_p": 0.1}),
        json!({"presence_penalty": 2}),
        json!({"logit_bias": {"42": -100}}),
        json!({"service_tier": "flex"}),
        json!({"unknown_vendor_field": 1}),
        json!({"reasoning_effort": "low"}),
        json!({"reasoning_effort": "high"}),
        json!({"user": "u1"}),
        json!({"user": "U1"}),
        json!({"metadata": {"a": "b"}}),
        json!({"model": "Alpha-small"}),
        json!({"temperature": null}),
    ];
    let prompts: Vec<_> = changes.iter().map(|change| read(&with(base(), change))).collect();
    all_differ(&prompts, |prompt| &prompt.canonical);
    all_differ(&prompts, |prompt| &prompt.shape);
}

#[test]
fn transport_members_do_not_separate_requests() {
    let plain = read(&base());
    for change in [
        json!({"stream": true}),
        json!({"stream": false}),
        json!({"stream": null}),
        json!({"stream": true, "stream_options": {"include_usage": true}}),
    ] {
        let prompt = read(&with(base(), &change));
        assert_eq!((&prompt.canonical, &prompt.shape), (&plain.canonical, &plain.shape), "{change}");
    }
    let nested = with(base(), &json!({"metadata": {"stream": true}}));
    assert_ne!(read(&nested).canonical, read(&with(base(), &json!({"metadata": {}}))).canonical);
}

#[test]
fn only_true_is_true_for_stream_and_include_usage() {
    let flags = |change: Json| {
        let prompt = read(&with(base(), &change));
        (prompt.stream, prompt.include_usage)
    };
    assert_eq!(flags(json!({"stream": true, "stream_options": {"include_usage": true}})), (true, true));
    assert_eq!(flags(json!({"stream": true, "stream_options": {"include_usage": false}})), (true, false));
    assert_eq!(flags(json!({"stream": true, "stream_options": null})), (true, false));
    assert_eq!(flags(json!({"stream": "true", "stream_options": [true]})), (false, false));
    assert_eq!(flags(json!({"stream": 1})), (false, false));
    assert_eq!(flags(json!({})), (false, false));
}

#[test]
fn tools_choice_and_formats_separate_requests_and_bypass_meaning() {
    let tools = json!([{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]);
    let changes = [
        json!({}),
        json!({"tools": tools}),
        json!({"tools": tools, "tool_choice": "none"}),
        json!({"tools": tools, "tool_choice": "required"}),
        json!({"tools": tools, "parallel_tool_calls": false}),
        json!({"functions": [{"name": "f"}]}),
        json!({"functions": [{"name": "f"}], "function_call": "none"}),
        json!({"tool_choice": "auto"}),
        json!({"web_search_options": {}}),
    ];
    let prompts: Vec<_> = changes.iter().map(|change| read(&with(base(), change))).collect();
    all_differ(&prompts, |prompt| &prompt.canonical);
    assert_eq!(prompts[0].bypass, None);
    assert!(prompts[1..].iter().all(|prompt| prompt.bypass == Some(Tools)));
    for harmless in
        [json!({"tools": []}), json!({"tools": null}), json!({"tool_choice": "none"}), json!({"tool_choice": null})]
    {
        assert_eq!(read(&with(base(), &harmless)).bypass, None, "{harmless}");
    }
}

#[test]
fn another_schema_is_another_request_and_asks_for_json() {
    let schema = |name: &str, kind: &str| json!({"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": {"type": kind}}}});
    let changes = [
        json!({}),
        schema("a", "object"),
        schema("b", "object"),
        schema("a", "array"),
        json!({"response_format": {"type": "json_object"}}),
        json!({"response_format": {"type": "text"}}),
    ];
    let prompts: Vec<_> = changes.iter().map(|change| read(&with(base(), change))).collect();
    all_differ(&prompts, |prompt| &prompt.canonical);
    all_differ(&prompts, |prompt| &prompt.shape);
    let modes: Vec<_> = prompts.iter().map(|prompt| prompt.json_mode).collect();
    assert_eq!(modes, [false, true, true, true, true, false]);
    let plain: Vec<_> = prompts.iter().map(|prompt| prompt.plain).collect();
    assert_eq!(plain, [true, false, false, false, false, true]);
}

#[test]
fn cache_markers_are_dropped_from_blocks_and_kept_in_schemas() {
    let mark = json!({"type": "ephemeral"});
    let bare = json!({"model": "m", "messages": [{"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": "Run it."}], "tools": [{"type": "function", "function": {"name": "upkeep"}}]});
    let mut marked = bare.clone();
    marked["messages"][0]["content"][0]["cache_control"] = mark.clone();
    marked["messages"][1]["cache_control"] = mark.clone();
    marked["tools"][0]["cache_control"] = mark.clone();
    assert_eq!(read(&bare).canonical, read(&marked).canonical);
    let mut parameter = bare.clone();
    parameter["tools"][0]["function"]["parameters"] = json!({"properties": {"cache_control": {"type": "boolean"}}});
    let mut without = bare.clone();
    without["tools"][0]["function"]["parameters"] = json!({"properties": {}});
    assert_ne!(read(&parameter).canonical, read(&without).canonical);
    assert_ne!(read(&with(bare.clone(), &json!({"cache_control": mark}))).canonical, read(&bare).canonical);
}

#[test]
fn every_member_of_a_message_separates_requests() {
    let tool_turn =
        |id: &str| json!([{"role": "user", "content": "q"}, {"role": "tool", "tool_call_id": id, "content": "r"}]);
    let prompts: Vec<_> = [
        tool_turn("call_1"),
        tool_turn("call_2"),
        json!([{"role": "user", "content": "q"}]),
        json!([{"role": "user", "content": "q", "name": "ann"}]),
        json!([{"role": "user", "content": "q", "name": "bob"}]),
        json!([{"role": "assistant", "content": "a", "refusal": null}, {"role": "user", "content": "q"}]),
        json!([{"role": "assistant", "content": "a", "refusal": "no"}, {"role": "user", "content": "q"}]),
    ]
    .iter()
    .map(asking)
    .collect();
    all_differ(&prompts, |prompt| &prompt.canonical);
    all_differ(&prompts, |prompt| &prompt.shape);
}

#[test]
fn earlier_turns_and_instructions_must_be_equal_for_similarity() {
    let prompts: Vec<_> = [
        json!([{"role": "user", "content": "Tell me about Mars."}, {"role": "assistant", "content": "Red."},
               {"role": "user", "content": "How many moons does it have?"}]),
        json!([{"role": "user", "content": "Tell me about Jupiter."}, {"role": "assistant", "content": "Big."},
               {"role": "user", "content": "How many moons does it have?"}]),
        json!([{"role": "system", "content": "Answer only in French."}, {"role": "user", "content": "Name a fruit."}]),
        json!([{"role": "system", "content": "Answer only in German."}, {"role": "user", "content": "Name a fruit."}]),
        json!([{"role": "developer", "content": "Answer only in German."}, {"role": "user", "content": "Name a fruit."}]),
        json!([{"role": "user", "content": "Name a fruit."}]),
        json!([{"role": "user", "content": "Name a fruit."}, {"role": "user", "content": "Name a fruit."}]),
    ]
    .iter()
    .map(asking)
    .collect();
    all_differ(&prompts, |prompt| &prompt.shape);
    assert!(prompts.iter().all(|prompt| prompt.bypass.is_none()));
    let plain: Vec<_> = prompts.iter().map(|prompt| prompt.plain).collect();
    assert_eq!(plain, [false, false, true, true, true, true, false]);
}

#[test]
fn only_the_text_of_the_last_user_turn_may_differ_within_a_shape() {
    let one = asking(
        &json!([{"role": "system", "content": "s"}, {"role": "user", "content": "How can I reset my password?"}]),
    );
    let two = asking(&json!([{"role": "system", "content": "s"}, {"role": "user", "content": "What resets it?"}]));
    assert_eq!(one.shape, two.shape);
    assert_ne!(one.canonical, two.canonical);
    assert_eq!(one.text, "How can I reset my password?");
    let long =
        asking(&json!([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]));
    let short = asking(&json!([{"role": "user", "content": [{"type": "text", "text": "a"}]}]));
    assert_ne!(long.shape, short.shape);
    assert_eq!(long.text, "a\n\nb");
}

#[test]
fn a_string_and_a_lone_text_part_share_a_shape_and_not_a_key() {
    let string = asking(&json!([{"role": "user", "content": "Hi"}]));
    let part = asking(&json!([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]));
    let odd = asking(&json!([{"role": "user", "content": [{"type": "text", "text": "Hi", "x": 1}]}]));
    assert_eq!((&string.shape, &string.text), (&part.shape, &part.text));
    assert_ne!(string.canonical, part.canonical);
    assert_ne!(odd.shape, string.shape);
    let null = asking(&json!([{"role": "user", "content": null}]));
    assert_ne!(null.shape, string.shape);
}

#[test]
fn the_text_is_composed_and_trimmed() {
    let decomposed = asking(&json!([{"role": "user", "content": " \u{a0}cafe\u{301}\n"}]));
    let composed = asking(&json!([{"role": "user", "content": "caf\u{e9}"}]));
    assert_eq!(decomposed.text, composed.text);
    assert_ne!(decomposed.canonical, composed.canonical);
}

#[test]
fn a_tool_call_or_result_after_the_last_user_turn_bypasses_meaning() {
    let call = json!([{"id": "call_1", "type": "function", "function": {"name": "load", "arguments": "{}"}}]);
    let user = json!({"role": "user", "content": "Summarise report 12."});
    let caller = json!({"role": "assistant", "content": null, "tool_calls": call});
    let result = json!({"role": "tool", "tool_call_id": "call_1", "content": "Sales rose."});
    let first = asking(&json!([user]));
    let second = asking(&json!([user, caller, result]));
    assert_ne!(first.canonical, second.canonical);
    assert_eq!(second.bypass, Some(Tools));
    assert_eq!(asking(&json!([user, caller])).bypass, Some(Tools));
    assert_eq!(asking(&json!([user, {"role": "function", "name": "f", "content": "x"}])).bypass, Some(Tools));
    assert_eq!(
        asking(&json!([user, {"role": "assistant", "content": null, "function_call": {"name": "f"}}])).bypass,
        Some(Tools)
    );
    assert_eq!(asking(&json!([user, caller, result, {"role": "assistant", "content": "Done."}, user])).bypass, None);
}

#[test]
fn parts_that_are_not_text_separate_requests_and_bypass_meaning() {
    let picture = |url: &str, detail: &str| {
        asking(&json!([{"role": "user", "content": [{"type": "text", "text": "Describe this image."},
            {"type": "image_url", "image_url": {"url": url, "detail": detail}}]}]))
    };
    let prompts = [
        picture("data:image/png;base64,AAAA", "low"),
        picture("data:image/png;base64,AAAB", "low"),
        picture("https://img.example/a.png", "low"),
        picture("https://img.example/a.png", "high"),
    ];
    all_differ(&prompts, |prompt| &prompt.canonical);
    all_differ(&prompts, |prompt| &prompt.shape);
    assert!(prompts.iter().all(|prompt| prompt.bypass == Some(NonText) && !prompt.plain));
    for part in [
        json!({"type": "input_audio"}),
        json!({"type": "file"}),
        json!({"type": "future_part", "x": 1}),
        json!("bare string"),
        json!(7),
        json!({"text": "untyped"}),
        json!({"type": "text", "text": null}),
    ] {
        let earlier = json!([{"role": "user", "content": [part]}, {"role": "assistant", "content": "ok"}, {"role": "user", "content": "Hi"}]);
        assert_eq!(asking(&earlier).bypass, Some(NonText), "{part}");
    }
    for change in [json!({"modalities": ["text", "audio"]}), json!({"prediction": {"type": "content", "content": "x"}})]
    {
        assert_eq!(read(&with(base(), &change)).bypass, Some(NonText), "{change}");
    }
    assert_eq!(read(&with(base(), &json!({"modalities": ["text"]}))).bypass, None);
}

#[test]
fn odd_contents_are_read_and_never_panic() {
    let cases = [
        (json!([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]), None, "Hi"),
        (
            json!([{"role": "system", "content": "x"}, {"role": "user",
            "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]}]),
            None,
            "Hi\n\nthere",
        ),
        (
            json!([{"role": "assistant", "content": null, "tool_calls": []}, {"role": "user", "content": "Hi"}]),
            None,
            "Hi",
        ),
        (json!([{"role": "user"}]), Some(EmptyText), ""),
        (json!([{"role": "user", "content": []}]), Some(EmptyText), ""),
        (json!([{"role": "user", "content": " \n"}]), Some(EmptyText), ""),
        (json!([{"role": "user", "content": ["bare string"]}]), Some(NonText), ""),
        (json!([{"role": "user", "content": [{"type": "future_part", "x": 1}]}]), Some(NonText), ""),
        (json!([{"role": "user", "content": {"text": "Hi"}}]), Some(NonText), ""),
        (json!(["Hi"]), Some(NonText), ""),
        (json!([]), Some(NoUserTurn), ""),
        (json!(null), Some(NoUserTurn), ""),
        (json!("Hi"), Some(NoUserTurn), ""),
        (json!([{"role": "User", "content": "Hi"}]), Some(NoUserTurn), ""),
        (
            json!([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Sure: "}]),
            Some(NoUserTurn),
            "Hi",
        ),
    ];
    for (messages, bypass, text) in cases {
        let prompt = asking(&messages);
        assert_eq!((prompt.bypass, prompt.text.as_str()), (bypass, text), "{messages}");
    }
    assert_eq!(parse(b"{}").unwrap().bypass, Some(NoUserTurn));
}

#[test]
fn reasons_have_a_fixed_precedence() {
    let mut body = json!({"model": "m", "messages": [{"role": "assistant", "content": [{"type": "future"}]}],
        "tools": [{"type": "function"}], "n": 2, "logprobs": true});
    assert_eq!(read(&body).bypass, Some(Tools));
    body["tools"] = json!([]);
    assert_eq!(read(&body).bypass, Some(NonText));
    body["messages"] = json!([{"role": "assistant", "content": ""}]);
    assert_eq!(read(&body).bypass, Some(ManyChoices));
    body["n"] = json!(1.0);
    assert_eq!(read(&body).bypass, Some(LogProbs));
    body["logprobs"] = json!(false);
    assert_eq!(read(&body).bypass, Some(NoUserTurn));
    body["messages"] = json!([{"role": "user", "content": ""}]);
    assert_eq!(read(&body).bypass, Some(EmptyText));
    for n in [json!("1"), json!(0), json!(1.5), json!([1])] {
        assert_eq!(read(&with(base(), &json!({"n": n}))).bypass, Some(ManyChoices), "{n}");
    }
    assert_eq!(read(&with(base(), &json!({"top_logprobs": 2}))).bypass, Some(LogProbs));
}

#[test]
fn one_meaning_has_one_key_in_every_spelling() {
    let one = br#"{"model":"alpha-small","messages":[{"role":"user","content":"caf\u00e9"}],"top_p":1.0,"tools":[{"a":1,"b":{"x":1,"y":2}}]}"#;
    let two = "{ \"tools\" : [ {\"b\":{\"y\":2,\"x\":1},\"a\":1} ],\n\"top_p\":1,\"messages\":[{\"content\":\"caf\u{e9}\",\"role\":\"user\"}],\"model\":\"alpha-small\"}";
    assert_eq!(parse(one).unwrap().canonical, parse(two.as_bytes()).unwrap().canonical);
}

#[test]
fn temperature_and_model_are_read() {
    let prompt = read(&with(base(), &json!({"temperature": 0.7})));
    assert_eq!((prompt.model.as_str(), prompt.temperature), ("alpha-small", Some(0.7)));
    let bare = read(&json!({"messages": [], "model": 7, "temperature": "hot"}));
    assert_eq!((bare.model.as_str(), bare.temperature), ("", None));
}

#[test]
fn bodies_that_cannot_be_told_apart_are_unreadable() {
    for body in
        [&b""[..], b"[]", b"null", b"\"x\"", b"{", b"{\"a\":1,\"a\":2}", b"{\"a\":\"\xff\"}", b"{\"a\":\"\\ud800\"}"]
    {
        assert!(parse(body).is_err(), "{body:?}");
    }
    let deep = "{\"a\":".repeat(5000);
    assert!(parse(deep.as_bytes()).is_err());
}

proptest! {
    #[test]
    fn arbitrary_bodies_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn broken_requests_never_panic(at in 0..400usize, byte: u8, cut in 0..400usize) {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi 🙂"}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c"}]}, {"role": "user", "content": "é"}],
            "n": 1, "stream": true, "stream_options": {"include_usage": true}}).to_string().into_bytes();
        let length = body.len();
        body[at % length] = byte;
        body.truncate(length - cut % length);
        let _ = parse(&body);
    }
}

#[test]
fn alone_a_turn_has_the_shape_of_a_first_one() {
    let said = |messages: Json| asking(&messages);
    let first = said(json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is NAT?"}]));
    let later = said(json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is TCP?"},
        {"role": "assistant", "content": "A protocol."},
        {"role": "user", "content": [{"type": "text", "text": "What is NAT?"}]},
    ]));
    assert_eq!(alone(&later).as_ref(), Some(&first.shape));
    assert_ne!(later.shape, first.shape);
    assert_eq!(alone(&first), None, "nothing stands before it");
}

#[test]
fn a_history_that_reaches_further_is_kept() {
    for turn in [
        json!({"role": "user", "content": "Please answer in French."}),
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1"}]}),
        json!({"role": "tool", "content": "42"}),
    ] {
        let prompt = asking(&json!([turn, {"role": "user", "content": "What is NAT?"}]));
        assert_eq!(alone(&prompt), None, "{turn}");
    }
}
