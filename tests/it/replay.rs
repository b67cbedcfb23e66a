//! A hit looks like a live answer in the caller's own transport.

use serde_json::json;

use crate::support::{Provider, Refrain, ask, ask_stream, with};

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_came_as_json_is_replayed_as_a_stream_and_the_other_way_round() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let first = refrain.chat(&ask("Define RAM.")).await;
    assert_eq!((first.outcome(), first.said().as_str()), ("miss", "answer 1"));
    let streamed = refrain.chat(&ask_stream("Define RAM.")).await;
    assert_eq!((streamed.outcome(), streamed.said().as_str()), ("hit", "answer 1"));
    assert!(streamed.text().ends_with("data: [DONE]\n\n"));
    let live = refrain.chat(&ask_stream("Define ROM.")).await;
    assert_eq!((live.outcome(), live.said().as_str()), ("miss", "answer 2"));
    for stream in [json!(false), json!(null)] {
        let whole = refrain.chat(&with(ask("Define ROM."), json!({"stream": stream}))).await;
        assert_eq!((whole.outcome(), whole.said().as_str()), ("hit", "answer 2"));
        assert_eq!(whole.json()["object"], "chat.completion");
    }
    assert_eq!(provider.calls(), 2);
}
