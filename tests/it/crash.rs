//! What survives a crash, a damaged file, a second process and a restart.

use std::path::PathBuf;

use serde_json::json;

use crate::support::{Provider, Refrain, ask, wait_until};

fn store_file(refrain: &Refrain) -> PathBuf {
    let files = std::fs::read_dir(refrain.folder().join("data")).unwrap().flatten().map(|file| file.path());
    files
        .into_iter()
        .find(|path| path.extension().is_some_and(|extension| extension == "redb"))
        .expect("the store's file")
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_survives_a_clean_restart() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    let policy = json!({"similarityThreshold": 0.97, "ttl": 500});
    assert_eq!(refrain.send("PATCH", "/v1/caches/default", &[], Some(&policy)).await.status, 200);
    refrain.chat(&ask("How do I reset my password?")).await;
    let entry = refrain.post("/v1/caches/default/entries", &json!({"prompt": "Define NAT.", "response": "So."})).await;
    assert!(refrain.stop().success());
    refrain.start_again().await;
    let exact = refrain.chat(&ask("How do I reset my password?")).await;
    assert_eq!((exact.outcome(), exact.said().as_str()), ("hit", "answer 1"));
    assert_eq!(refrain.chat(&ask("How can I reset my password?")).await.header("x-refrain-tier"), "semantic");
    let kept = refrain.send("GET", "/v1/caches/default", &[], None).await.json();
    assert_eq!((kept["similarityThreshold"].as_f64(), kept["ttl"].as_u64()), (Some(0.97), Some(500)));
    let found = refrain.post("/v1/caches/default/entries/search", &json!({"prompt": "Define NAT."})).await.json();
    assert_eq!(found["data"][0]["id"], entry.json()["entryId"]);
    assert_eq!(provider.calls(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_entry_survives_kill_nine() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    for round in 0..5 {
        for number in 0..10 {
            let body =
                json!({"prompt": format!("Define word {round} {number}."), "response": format!("{round}/{number}")});
            assert_eq!(refrain.post("/v1/caches/default/entries", &body).await.status, 201);
        }
        refrain.kill();
        refrain.start_again().await;
        for number in 0..10 {
            let prompt = json!({"prompt": format!("Define word {round} {number}.")});
            let found = refrain.post("/v1/caches/default/entries/search", &prompt).await.json();
            assert_eq!(found["data"][0]["response"], format!("{round}/{number}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_is_set_aside_and_the_service_is_up() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    refrain.chat(&ask("Define NAT.")).await;
    assert!(refrain.stop().success());
    let file = store_file(&refrain);
    let whole = std::fs::read(&file).unwrap();
    let damages: [&[u8]; 4] = [&whole[..1], &whole[..4096], &whole[..whole.len() / 2], b"a text file"];
    for (number, damage) in damages.iter().enumerate() {
        std::fs::write(&file, damage).unwrap();
        refrain.start_again().await;
        let ready = refrain.send("GET", "/readyz", &[], None).await.json();
        assert_eq!(ready["status"], "degraded", "{number}");
        assert!(ready["reasons"].to_string().contains("set aside"), "{ready}");
        assert_ne!(refrain.chat(&ask(&format!("Define NAT {number}."))).await.outcome(), "hit");
        assert_eq!(refrain.chat(&ask(&format!("Define NAT {number}."))).await.outcome(), "hit");
        assert!(refrain.stop().success());
        let aside = std::fs::read_dir(file.parent().unwrap()).unwrap().flatten();
        let aside: Vec<_> = aside.filter(|file| file.file_name().to_string_lossy().contains("set-aside")).collect();
        assert_eq!(aside.len(), number + 1, "each is kept");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_on_the_same_folder_is_a_clear_error() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let data = refrain.folder().join("data");
    let (code, said) = Refrain::fails_to_start(&format!("[store]\ndata_dir = {data:?}")).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("in use") || said.contains("another process"), "{said}");
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.status, 200, "the first goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_a_stream_end_and_keeps_its_answer() {
    use crate::support::provider::event;
    use crate::support::{Gate, Reply, ask_stream};
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "").await;
    let gate = Gate::default();
    let reply = Reply::stream().chunk(event(&json!({"content": "one "}), None)).wait(&gate);
    let rest = event(&json!({"content": "two"}), None);
    provider.next(reply.chunk(rest).chunk(event(&json!({}), Some("stop"))).chunk("data: [DONE]\n\n").end());
    let mut stream = refrain.open(&[], &ask_stream("Count to two.")).await;
    stream.chunk().await.unwrap();
    refrain.terminate();
    wait_until("no new connections", async || {
        tokio::net::TcpStream::connect(refrain.base.trim_start_matches("http://")).await.is_err()
    })
    .await;
    gate.open();
    assert!(stream.text().await.unwrap().ends_with("data: [DONE]\n\n"));
    assert!(refrain.wait_end().success());
    refrain.start_again().await;
    let hit = refrain.chat(&ask_stream("Count to two.")).await;
    assert_eq!((hit.outcome(), hit.said().as_str()), ("hit", "one two"));
}
