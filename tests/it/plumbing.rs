//! Headers, encodings, lengths and protocols, in both directions.

use std::io::Write as _;

use serde_json::json;

use tokio::io::AsyncWriteExt;

use crate::support::provider::event;
use crate::support::{Provider, Refrain, Reply, Step, ask, ask_stream, completion, raw};

fn packed(encoding: &str, body: &[u8]) -> Vec<u8> {
    match encoding {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        "br" => {
            let mut out = Vec::new();
            brotli::BrotliCompress(&mut &*body, &mut out, &brotli::enc::BrotliEncoderParams::default()).unwrap();
            out
        }
        "zstd" => zstd::encode_all(body, 0).unwrap(),
        _ => body.to_vec(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encoded_answer_is_relayed_as_it_came_and_kept_decoded() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for encoding in ["identity", "gzip", "br", "deflate", "zstd"] {
        for stream in [false, true] {
            let said = format!("{encoding} {stream}");
            let plain = if stream {
                let done = event(&json!({}), Some("stop"));
                format!("{}{done}data: [DONE]\n\n", event(&json!({"content": said}), None))
            } else {
                completion(&said).to_string()
            };
            let bytes = packed(encoding, plain.as_bytes());
            let kind = if stream { "text/event-stream" } else { "application/json" };
            let mut headers = vec![("content-type", kind)];
            if encoding != "identity" {
                headers.push(("content-encoding", encoding));
            }
            provider.next(Reply::body(200, &headers, &bytes));
            let text = format!("Define {encoding} {stream}.");
            let question = if stream { ask_stream(&text) } else { ask(&text) };
            let accept = [("accept-encoding", "gzip, br, zstd, deflate")];
            let live = raw::post(&refrain.base, "/v1/chat/completions", &accept, &question).await;
            assert_eq!(live.body, bytes, "{said}: byte for byte");
            assert!(live.ended_well, "{said}");
            let expected: Vec<&str> = if encoding == "identity" { vec![] } else { vec![encoding] };
            assert_eq!(live.all("content-encoding"), expected, "{said}");
            assert!(live.all("content-length").len() + live.all("transfer-encoding").len() == 1, "{said}: one framing");
            let asked = provider.seen().last().unwrap().header("accept-encoding").map(str::to_owned);
            assert_eq!(asked.as_deref(), Some(accept[0].1), "{said}");
            for accept in ["", "identity", "gzip, br", "zstd", "*"] {
                let headers = if accept.is_empty() { vec![] } else { vec![("accept-encoding", accept)] };
                let hit = raw::post(&refrain.base, "/v1/chat/completions", &headers, &ask(&text)).await;
                assert_eq!(hit.all("x-refrain-outcome"), ["hit"], "{said}");
                let encoding = hit.all("content-encoding");
                assert!(encoding.is_empty() || encoding == ["identity"], "{said}: {encoding:?}");
                let body: serde_json::Value = serde_json::from_slice(&hit.body).unwrap();
                assert_eq!(body["choices"][0]["message"]["content"], said);
            }
        }
    }
    assert_eq!(provider.calls(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encoded_error_keeps_its_encoding_and_a_cut_one_is_no_answer() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let accept = [("accept-encoding", "gzip")];
    let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let error = packed("gzip", b"{\"error\":{\"message\":\"slow down\"}}");
    provider.next(Reply::body(429, &headers, &error));
    let answer = raw::post(&refrain.base, "/v1/chat/completions", &accept, &ask("Define NAT.")).await;
    assert_eq!((answer.status, answer.body), (429, error));
    let whole = packed("gzip", completion("cut").to_string().as_bytes());
    provider.next(Reply::body(200, &headers, &whole[..whole.len() - 6]));
    raw::post(&refrain.base, "/v1/chat/completions", &accept, &ask("Define NAT.")).await;
    let next = refrain.chat(&ask("Define NAT.")).await;
    assert_eq!((next.outcome(), next.said().as_str()), ("miss", "answer 3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn hop_by_hop_headers_and_our_own_stay_behind() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let theirs = [
        ("content-type", "application/json"),
        ("connection", "keep-alive, x-private"),
        ("keep-alive", "timeout=5"),
        ("x-private", "1"),
        ("proxy-authenticate", "Basic"),
        ("x-public", "2"),
    ];
    provider.next(Reply::body(200, &theirs, completion("So.").to_string()));
    let ours = [
        ("connection", "x-secret"),
        ("x-secret", "1"),
        ("te", "trailers"),
        ("proxy-authorization", "Basic eA=="),
        ("x-refrain-ttl", "60"),
        ("cache-control", "max-age=60"),
        ("authorization", "Bearer sk-own"),
        ("x-stainless-lang", "python"),
    ];
    let answer = raw::post(&refrain.base, "/v1/chat/completions", &ours, &ask("Define NAT.")).await;
    for name in ["keep-alive", "x-private", "proxy-authenticate"] {
        assert!(answer.all(name).is_empty(), "{name}: {answer:?}");
    }
    assert_eq!(answer.all("x-public"), ["2"]);
    let seen = provider.seen().remove(0);
    for name in ["x-secret", "te", "proxy-authorization", "x-refrain-ttl"] {
        assert_eq!(seen.header(name), None, "{name}");
    }
    assert_eq!(seen.header("authorization"), Some("Bearer sk-own"));
    assert_eq!(seen.header("x-stainless-lang"), Some("python"));
    assert_eq!(seen.header("host"), Some(provider.address.to_string().as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_framing_of_a_request_is_understood() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let body = ask("Define NAT.").to_string();
    let chunked = {
        let head = raw::head("/v1/chat/completions", &[("transfer-encoding", "chunked")]);
        let (a, b) = body.split_at(10);
        format!("{head}{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n", a.len(), b.len())
    };
    let first = raw::exchange(&refrain.base, chunked.as_bytes()).await;
    assert_eq!((first.status, first.all("x-refrain-outcome")), (200, vec!["miss"]));
    assert_eq!(provider.seen()[0].body, body.as_bytes());
    let length = body.len().to_string();
    let expecting =
        raw::head("/v1/chat/completions", &[("content-length", &length), ("expect", "100-continue")]) + &body;
    let second = raw::exchange(&refrain.base, expecting.as_bytes()).await;
    assert_eq!((second.status, second.all("x-refrain-outcome")), (200, vec!["hit"]));
    let zipped = packed("gzip", body.as_bytes());
    let length = zipped.len().to_string();
    let head = raw::head("/v1/chat/completions", &[("content-length", &length), ("content-encoding", "gzip")]);
    let third = raw::exchange(&refrain.base, &[head.as_bytes(), &zipped].concat()).await;
    assert_eq!((third.status, third.all("x-refrain-outcome")), (200, vec!["hit"]));
    let fresh = packed("gzip", ask("Define VPN.").to_string().as_bytes());
    let length = fresh.len().to_string();
    let head = raw::head("/v1/chat/completions", &[("content-length", &length), ("content-encoding", "gzip")]);
    raw::exchange(&refrain.base, &[head.as_bytes(), &fresh].concat()).await;
    let seen = provider.seen().remove(1);
    assert_eq!((seen.header("content-encoding"), &seen.body), (Some("gzip"), &fresh), "forwarded untouched");
    assert_eq!(provider.calls(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_announces_too_much_is_refused_before_it_comes() {
    let provider = Provider::start().await;
    let more = "[server]\nlisten = \"127.0.0.1:0\"\nmax_body_bytes = 5000";
    let refrain = Refrain::start(&provider, more).await;
    for path in ["/v1/chat/completions", "/v1/files", "/v1/caches/default/lookup", "/v1/caches/default/entries"] {
        let head = raw::head(path, &[("content-length", "5001")]);
        let answer = raw::exchange(&refrain.base, head.as_bytes()).await;
        assert_eq!(answer.status, 413, "{path}: {}", answer.text());
        assert!(answer.text().contains("max_body_bytes"), "{path}: {}", answer.text());
    }
    assert_eq!(provider.calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_outlives_a_refusal_that_comes_before_the_body() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    let body = ask("Define NAT.").to_string();
    let length = body.len().to_string();
    let head = |path: &str, more: (&str, &str)| raw::head(path, &[("content-length", &length), more]);
    let mut socket = raw::connect(&refrain.base).await;
    for (path, more, status) in [
        ("/v1/chat/completions", ("x-refrain-ttl", "soon"), 400),
        ("/v1/chat/completions", ("origin", "https://elsewhere.example"), 403),
        ("/v1/caches/default/nothing", ("x-more", "1"), 404),
        ("/v1/chat/completions", ("x-more", "1"), 200),
    ] {
        socket.write_all(head(path, more).as_bytes()).await.unwrap();
        let early = status != 200;
        let refused = if early { Some(raw::read(&mut socket).await) } else { None };
        socket.write_all(body.as_bytes()).await.unwrap();
        let answer = match refused {
            Some(answer) => answer,
            None => raw::read(&mut socket).await,
        };
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
    }
    assert_eq!(provider.calls(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_used_again_and_again() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    for number in 0..5 {
        refrain.chat(&ask(&format!("Define word {number}."))).await;
    }
    assert_eq!((provider.calls(), provider.connections()), (5, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_early_refusal_of_a_big_body_reaches_the_caller() {
    let provider = Provider::start().await;
    let refrain = Refrain::start(&provider, "").await;
    provider.next(Reply::json(413, &json!({"error": {"message": "too big for me"}})).then(Step::Close));
    let answer = refrain.chat(&ask(&"word ".repeat(20_000))).await;
    assert_eq!((answer.status, answer.json()["error"]["message"].as_str()), (413, Some("too big for me")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_speaks_only_http_2_is_spoken_to_in_it() {
    use axum::Router;
    use axum::routing::post;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = |request: axum::extract::Request| async move {
        let version = format!("{:?}", request.version());
        ([("content-type", "application/json")], completion(&version).to_string())
    };
    let router = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let provider = Provider::start().await;
    let upstream = format!(
        "[[upstreams]]\nname = \"two\"\ndialect = \"openai\"\nbase_url = \"http://{address}/v1\"\nhttp2_prior_knowledge = true"
    );
    let refrain = Refrain::start(&provider, &upstream).await;
    assert_eq!(refrain.chat(&ask("Which version?")).await.said(), "HTTP/2.0");
    assert_eq!(refrain.chat(&ask("Which version?")).await.outcome(), "hit");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_system_proxy_does_not_stand_before_a_provider_on_this_machine() {
    let provider = Provider::start().await;
    let refrain = Refrain::start_with(
        &provider,
        "",
        &[("HTTP_PROXY", "http://127.0.0.1:1"), ("http_proxy", "http://127.0.0.1:1")],
    )
    .await;
    assert_eq!(refrain.chat(&ask("Define NAT.")).await.said(), "answer 1");
}
