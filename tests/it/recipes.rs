//! The README's three recipes, as they stand there.

use serde_json::{Value, json};

use crate::support::{Provider, Refrain, ask, ask_stream, completion};

#[tokio::test(flavor = "multi_thread")]
async fn a_faq_of_vetted_answers_answers_chat() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    assert_eq!(refrain.send("PUT", "/v1/caches/faq", &[], Some(&json!({}))).await.status, 201);
    let curated = json!({"curated": true});
    assert_eq!(refrain.send("PATCH", "/v1/caches/faq", &[], Some(&curated)).await.status, 200);
    for (prompt, response) in [
        ("How long is the warranty?", "Three years."),
        ("How do I enable notifications?", "In the settings."),
        ("How do I reset my password?", "Click the link."),
    ] {
        let body = json!({"prompt": prompt, "response": response});
        assert_eq!(refrain.post("/v1/caches/faq/entries", &body).await.status, 201);
    }
    let chat = async |body: &Value| {
        let caller = [("authorization", "Bearer sk-of-any-caller")];
        refrain.send("POST", "/caches/faq/v1/chat/completions", &caller, Some(body)).await
    };
    let mut system = ask("How can I reset my password?");
    system["messages"].as_array_mut().unwrap().insert(0, json!({"role": "system", "content": "You are a help desk."}));
    system["model"] = json!("any-model");
    for body in [ask("How do I reset my password?"), ask_stream("How can I reset my password?"), system] {
        let hit = chat(&body).await;
        assert_eq!((hit.outcome(), hit.said().as_str()), ("hit", "Click the link."), "{body}");
    }
    assert_eq!(provider.calls(), 0);
    assert_eq!(chat(&ask("How do I disable notifications?")).await.outcome(), "miss");
    let mut later = ask("How long is the warranty?");
    later["messages"] = json!([{"role": "user", "content": "I have a car."}, {"role": "assistant", "content": "Nice."},
        {"role": "user", "content": "How long is the warranty?"}]);
    assert_eq!(chat(&later).await.outcome(), "miss", "not a single turn");
    let mut format = ask("How long is the warranty?");
    format["response_format"] = json!({"type": "json_object"});
    assert_ne!(chat(&format).await.outcome(), "hit", "a response format");
    let mut tools = ask("How long is the warranty?");
    tools["tools"] = json!([{"type": "function", "function": {"name": "f"}}]);
    assert_ne!(chat(&tools).await.outcome(), "hit", "tools");
    assert_eq!(provider.calls(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn doc_qa_asks_before_retrieval_and_a_new_revision_misses() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    // The bare question is looked up; what the model is sent, with the retrieved text, is the app's own affair.
    let lookup = async |question: &str, rev: &str| {
        let body = json!({"request": ask(question), "attributes": {"doc": "handbook", "rev": rev}});
        refrain.post("/v1/caches/default/lookup", &body).await.json()
    };
    assert_eq!(lookup("How many days of leave do I have?", "7").await["outcome"], "miss");
    let body = json!({"request": ask("How many days of leave do I have?"), "response": completion("Thirty."),
        "attributes": {"doc": "handbook", "rev": "7"}});
    assert_eq!(refrain.post("/v1/caches/default/store", &body).await.status, 201);
    let hit = lookup("How many leave days do I have?", "7").await;
    assert_eq!((hit["outcome"].as_str(), hit["tier"].as_str()), (Some("hit"), Some("semantic")), "{hit}");
    assert_eq!(hit["response"]["choices"][0]["message"]["content"], "Thirty.");
    assert_eq!(lookup("How many days of leave do I have?", "8").await["outcome"], "miss");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_looks_up_calls_its_provider_and_stores() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut served = Vec::new();
    for question in ["Where is the nearest shop?", "Where is the nearest shop?", "Where's the nearest shop?"] {
        let request = ask(question);
        let told = refrain.post("/v1/caches/default/lookup", &json!({"request": request})).await.json();
        if told["outcome"] == "hit" {
            served.push(told["response"]["choices"][0]["message"]["content"].clone());
            continue;
        }
        let url = format!("{}/chat/completions", provider.base_url());
        let sent = http.post(url).header("content-type", "application/json").body(request.to_string()).send().await;
        let response: Value = serde_json::from_slice(&sent.unwrap().bytes().await.unwrap()).unwrap();
        served.push(response["choices"][0]["message"]["content"].clone());
        let body = json!({"request": request, "response": response, "lookupId": told["lookupId"]});
        assert_eq!(refrain.post("/v1/caches/default/store", &body).await.status, 201);
    }
    assert_eq!(served, ["answer 1", "answer 1", "answer 1"]);
    assert_eq!(provider.calls(), 1);
}
