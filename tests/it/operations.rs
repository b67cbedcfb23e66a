//! What operators expect: commands, configuration, keys, logs, metrics, a clean end.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::support::service::run;
use crate::support::{Provider, Refrain, ask, raw};

const SECRET: &str = "My account number is 4711-0815, what is my balance?";

#[tokio::test(flavor = "multi_thread")]
async fn every_command_has_help_with_an_example_and_bad_use_is_two() {
    for arguments in [
        &["--help"][..],
        &["serve", "--help"],
        &["demo", "--help"],
        &["models", "fetch", "--help"],
        &["models", "list", "--help"],
        &["models", "verify", "--help"],
        &["check-config", "--help"],
        &["eval", "--help"],
        &["calibrate", "--help"],
    ] {
        let (code, said) = run(arguments).await;
        assert_eq!(code, Some(0), "{arguments:?}");
        assert!(said.contains("Example:\n  refrain "), "{arguments:?}: {said}");
    }
    for arguments in
        [&["fly"][..], &["serve", "--colour"], &["demo", "--first-token-ms", "soon"], &["models"], &["eval"]]
    {
        let (code, said) = run(arguments).await;
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(said.contains("--help"), "{arguments:?}: {said}");
    }
    let (code, said) = run(&["--version"]).await;
    assert_eq!((code, said.trim()), (Some(0), concat!("refrain ", env!("CARGO_PKG_VERSION"))));
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_and_verified() {
    Refrain::provision();
    let (code, said) = run(&["models", "list"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("all-minilm-l6-v2-int8") && said.contains("384") && said.contains("present"), "{said}");
    assert_eq!(run(&["models", "verify"]).await.0, Some(0));
    let empty = tempfile::tempdir().unwrap();
    let (code, said) = run(&["models", "verify", "--models-dir", empty.path().to_str().unwrap()]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no such file") && said.contains("models fetch"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verifiers_files_are_listed_and_verified_like_a_models() {
    let models = tempfile::tempdir().unwrap();
    let folder = models.path().join("opinion");
    std::fs::create_dir(&folder).unwrap();
    let mut manifest = String::from("name = \"opinion\"\nrevision = \"1\"\nembedder = \"00\"\n");
    manifest.push_str("max_tokens = 64\nlanguages = [\"en\"]\n");
    let tokenizer = ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];
    for name in ["reader.onnx", "judge.json", "token_weights.bin"].into_iter().chain(tokenizer) {
        std::fs::write(folder.join(name), name).unwrap();
        let sum: String = Sha256::digest(name).iter().map(|byte| format!("{byte:02x}")).collect();
        manifest.push_str(&format!("[[files]]\nname = {name:?}\nsize = {}\nsha256 = {sum:?}\n", name.len()));
    }
    std::fs::write(folder.join("verifier.toml"), manifest).unwrap();
    std::fs::write(folder.join("reader.onnx"), "READER.ONNX").unwrap();
    let place = ["--models-dir", models.path().to_str().unwrap()];
    let (code, said) = run(&[&["models", "list"][..], &place].concat()).await;
    let line = said.lines().find(|line| line.starts_with("opinion")).unwrap();
    assert_eq!(code, Some(0), "{said}");
    assert!(["verifier", "en", "altered"].iter().all(|word| line.contains(word)), "{line}");
    let (code, said) = run(&[&["models", "verify"][..], &place].concat()).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("reader.onnx: expected sha256"), "{said}");
    assert!(said.contains("judge.json: expected a judge for this version"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_option_before_a_command_is_refused_and_not_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("good.toml");
    std::fs::write(&path, "").unwrap();
    let file = ["--config", path.to_str().unwrap()];
    let (code, said) = run(&[&file[..], &["check-config"]].concat()).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--config"), "{said}");
    assert_eq!(run(&[&["check-config"], &file[..]].concat()).await.0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_configuration_names_file_line_field_and_what_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.toml");
    let check = async |text: &str| {
        std::fs::write(&path, text).unwrap();
        run(&["check-config", "--config", path.to_str().unwrap()]).await
    };
    for (text, words) in [
        ("[server]\nlisten = \"127.0.0.1:0\"\ncolour = 1", &["bad.toml", "line 3", "colour", "listen"][..]),
        ("[server]\nlisten = 7", &["bad.toml", "line 2", "listen"]),
        ("[store]\nbackend = \"redis\"", &["backend", "embedded"]),
        ("[caches.faq]\nttl = \"soon\"", &["line 2", "ttl"]),
        ("[caches.faq]\nsimilarity_threshold = 2", &["similarity_threshold", "0 to 1"]),
        ("[caches.faq]\nttl = \"30d\"\nmax_ttl = \"1d\"", &["ttl", "max_ttl"]),
        ("[[upstreams]]\nname = \"a\"\ndialect = \"openai\"\nbase_url = \"http://127.0.0.1:1\"", &["base_url", "/v1"]),
        (
            "[[upstreams]]\nname = \"a\"\ndialect = \"morse\"\nbase_url = \"http://127.0.0.1:1/v1\"",
            &["dialect", "morse", "openai"],
        ),
        ("[server]\nlisten = \"0.0.0.0:8080\"", &["server.listen", "auth.admin_key_env"]),
        ("[embedder]\nmodel = \"x\"\nremote = { base_url = \"http://127.0.0.1:1/v1\", model = \"m\" }", &["embedder"]),
        ("[auth]\nadmin_key_env = \"NO_SUCH_VARIABLE\"", &["NO_SUCH_VARIABLE"]),
        ("[embedder]\nmodel = \"nope\"", &["embedder.model", "nope", "all-minilm-l6-v2-int8"]),
        ("[caches.faq]\nttl = \"500ms\"", &["caches.faq.ttl", "whole seconds"]),
        (
            "[[upstreams]]\nname = \"a\"\ndialect = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nca_file = \"/nope\"",
            &["ca_file", "/nope"],
        ),
    ] {
        let (code, said) = check(text).await;
        let (code, said) =
            if code == Some(0) { run(&["serve", "--config", path.to_str().unwrap()]).await } else { (code, said) };
        assert!(matches!(code, Some(1 | 2)), "{text}: {said}");
        for word in words {
            assert!(said.contains(word), "{text}: {word} is not in {said}");
        }
    }
    let (code, said) = check("[caches.faq]\nttl = \"24h\"").await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("[caches.faq]") && said.contains("drain"), "{said}");
    let (code, said) = run(&["serve", "--config", "/nonexistent/refrain.toml"]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("/nonexistent/refrain.toml"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_open_what_they_should_and_are_never_shown() {
    let provider = Provider::start().await;
    let key = "an-admin-key-of-many-letters";
    let config = format!(
        "[auth]\nadmin_key_env = \"TEST_ADMIN\"\npass_through = true\n[[upstreams]]\nname = \"scripted\"\ndialect = \"openai\"\n\
         base_url = {:?}\napi_key_env = \"TEST_UPSTREAM\"",
        provider.base_url()
    );
    let refrain = Refrain::start_with(&provider, &config, &[("TEST_ADMIN", key), ("TEST_UPSTREAM", "sk-server")]).await;
    let bearer = format!("Bearer {key}");
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.status, 401);
    let wrong = refrain.chat_with(&[("authorization", "Bearer wrong")], &ask("Define NAT.")).await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.json()["error"]["message"].is_string());
    for path in ["/v1/caches", "/metrics", "/v1/config", "/v1/models"] {
        assert_eq!(refrain.send("GET", path, &[], None).await.status, 401, "{path}");
        assert_eq!(refrain.send("GET", path, &[("x-api-key", key)], None).await.status, 200, "{path}");
    }
    for path in ["/livez", "/readyz", "/"] {
        assert_eq!(refrain.send("GET", path, &[], None).await.status, 200, "{path}");
    }
    assert_eq!(refrain.chat_with(&[("authorization", &bearer)], &ask("Define NAT.")).await.status, 200);
    let sent = provider.seen().last().unwrap().clone();
    assert_eq!(sent.header("authorization"), Some("Bearer sk-server"), "the server's own key goes upstream");
    let own = [("authorization", bearer.as_str()), ("x-refrain-upstream-authorization", "Bearer sk-caller")];
    refrain.chat_with(&own, &ask("Define VPN.")).await;
    let sent = provider.seen().last().unwrap().clone();
    assert_eq!(sent.header("authorization"), Some("Bearer sk-caller"));
    assert_eq!(sent.header("x-refrain-upstream-authorization"), None);
    let config = refrain.send("GET", "/v1/config", &[("x-api-key", key)], None).await;
    assert!(config.text().contains("TEST_ADMIN"), "{}", config.text());
    let metrics = refrain.send("GET", "/metrics", &[("x-api-key", key)], None).await;
    for text in [config.text(), metrics.text(), &refrain.log()] {
        assert!(!text.contains(key) && !text.contains("sk-server") && !text.contains("sk-caller"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_web_pages_and_other_hosts_are_turned_away() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let foreign = refrain.chat_with(&[("origin", "https://evil.example")], &ask("Define NAT.")).await;
    assert_eq!(foreign.status, 403);
    let body = ask("Define NAT.").to_string();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: evil.example\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(raw::exchange(&refrain.base, request.as_bytes()).await.status, 403);
    let plain = [("content-type", "text/plain")];
    assert_eq!(refrain.send("POST", "/v1/caches/default/lookup", &plain, None).await.status, 415);
    assert_eq!(
        refrain.send("POST", "/v1/caches/default/flush", &plain, None).await.status,
        400,
        "LangCache knows no 415"
    );
    assert_eq!(provider.calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_line_a_request_and_no_prompt_in_logs_or_metrics() {
    let provider = Provider::start().await;
    let mut refrain = Refrain::start(&provider, "[log]\nformat = \"json\"\nfilter = \"debug\"").await;
    refrain.chat(&ask(SECRET)).await;
    refrain.chat(&ask(SECRET)).await;
    refrain.post("/v1/caches/default/entries", &json!({"prompt": SECRET, "response": SECRET})).await;
    refrain.post("/v1/caches/default/lookup", &json!({"request": ask(SECRET), "explain": true})).await;
    refrain.send_raw_json("/v1/caches/default/lookup", &format!("{{\"{SECRET}\": ")).await;
    let metrics = refrain.send("GET", "/metrics", &[], None).await.text().to_owned();
    for line in [
        "refrain_requests_total{cache=\"default\",route=\"chat/completions\",outcome=\"miss\",tier=\"\",reason=\"no-candidate\"} 1",
        "refrain_requests_total{cache=\"default\",route=\"chat/completions\",outcome=\"hit\",tier=\"exact\",reason=\"exact\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} is not in\n{metrics}");
    }
    assert!(metrics.contains("refrain_entries{cache=\"default\"} 2"), "{metrics}");
    assert!(refrain.stop().success());
    let log = refrain.log();
    assert!(!log.contains("4711") && !metrics.contains("4711"), "{log}");
    let lines: Vec<serde_json::Value> = log
        .lines()
        .filter(|line| line.contains("\"request\""))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 5, "{log}");
    let hit = &lines[1];
    assert_eq!(
        (hit["outcome"].as_str(), hit["tier"].as_str(), hit["complete"].as_bool()),
        (Some("hit"), Some("exact"), Some(true))
    );
    assert_eq!(lines[0]["complete"], true, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_and_flags_override_the_file_and_can_be_read_back() {
    let provider = Provider::start().await;
    let env = [("REFRAIN__EMBEDDER__DEADLINE", "750ms"), ("REFRAIN__INDEX__GRAPH_FROM", "77")];
    let refrain = Refrain::start_with(&provider, "", &env).await;
    let config = refrain.send("GET", "/v1/config", &[], None).await.json();
    assert_eq!(config["index"]["graph_from"], 77, "{config}");
    assert_eq!(config["embedder"]["deadline"], json!("750ms"), "{config}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_paths_and_methods_are_told_apart() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    assert_eq!(refrain.send("GET", "/nowhere", &[], None).await.status, 404);
    assert_eq!(refrain.send("GET", "/v1/caches/default/entries/search", &[], None).await.status, 405);
    assert_eq!(refrain.send("GET", "/v1/caches/default/nothing", &[], None).await.status, 404);
    assert_eq!(provider.calls(), 0);
    let page = refrain.send("GET", "/", &[], None).await;
    assert!(page.header("content-type").starts_with("text/html") && page.text().contains("Refrain"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_shows_which_guards_objected_to_those_who_may_see_metrics() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    refrain.keep(&ask("How do I enable the alarm?")).await;
    assert_eq!(refrain.chat(&ask("How do I disable the alarm?")).await.outcome(), "miss");
    let page = refrain.send("GET", "/", &[], None).await;
    let mine = page.text();
    assert!(mine.contains("<td>negation</td><td>1</td>"), "{mine}");
    assert!(mine.contains("<td>miss</td><td></td><td>guard-negation</td><td>1</td>"), "{mine}");
    let foreign = refrain.send("GET", "/", &[("origin", "https://elsewhere.example")], None).await;
    let foreign = foreign.text();
    assert!(foreign.contains("Refrain") && !foreign.contains("negation"), "{foreign}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_with_its_files_present_connects_to_nobody() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    assert_eq!(refrain.send("GET", "/readyz", &[], None).await.json()["status"], "ready");
    assert_eq!(provider.connections(), 0);
    let sockets = std::fs::read_dir(format!("/proc/{}/fd", refrain.pid())).unwrap().flatten();
    let sockets: Vec<_> = sockets.filter_map(|fd| std::fs::read_link(fd.path()).ok()).collect();
    let inodes: Vec<String> = sockets
        .iter()
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']').map(str::to_owned))
        .collect();
    let own = refrain.base.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let port = u16::from_str_radix(fields[1].rsplit(':').next().unwrap(), 16).unwrap();
            assert!(!inodes.iter().any(|inode| inode == fields[9]) || port == own, "{table}: {line}");
        }
    }
}
