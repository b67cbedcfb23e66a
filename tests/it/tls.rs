//! A provider behind TLS: its certificate is checked, and HTTP/2 is spoken where it is offered.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

use crate::support::{Provider, Refrain, ask, completion};

/// Accepts TLS connections for axum.
struct Secure(TcpListener, TlsAcceptor);

impl axum::serve::Listener for Secure {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (socket, address) = self.0.accept().await.unwrap();
            // A caller that does not trust the certificate hangs up.
            if let Ok(stream) = self.1.accept(socket).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A provider that says which HTTP version it was asked in; its address and its certificate's file.
async fn provider(protocols: &[&str], folder: &tempfile::TempDir) -> (SocketAddr, PathBuf) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let file = folder.path().join("ca.pem");
    std::fs::write(&file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key);
    let mut config = config.unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = |request: axum::extract::Request| async move {
        let version = format!("{:?}", request.version());
        ([("content-type", "application/json")], completion(&version).to_string())
    };
    let router = Router::new().route("/v1/chat/completions", post(answer));
    let secure = Secure(listener, TlsAcceptor::from(Arc::new(config)));
    tokio::spawn(async move { axum::serve(secure, router).await });
    (address, file)
}

fn upstream(address: SocketAddr, more: &str) -> String {
    let port = address.port();
    format!("[[upstreams]]\nname = \"tls\"\ndialect = \"openai\"\nbase_url = \"https://localhost:{port}/v1\"\n{more}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_behind_tls_is_asked_in_the_best_protocol_it_offers() {
    let folder = tempfile::tempdir().unwrap();
    for (protocols, version) in [(&["h2", "http/1.1"][..], "HTTP/2.0"), (&["http/1.1"][..], "HTTP/1.1")] {
        let (address, file) = provider(protocols, &folder).await;
        let refrain =
            Refrain::start(&Provider::start().await, &upstream(address, &format!("ca_file = {file:?}"))).await;
        assert_eq!(refrain.chat(&ask("Which version?")).await.said(), version);
        assert_eq!(refrain.chat(&ask("Which version?")).await.outcome(), "hit");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_nobody_vouches_for_is_refused_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let (address, _) = provider(&["http/1.1"], &folder).await;
    let refrain = Refrain::start(&Provider::start().await, &upstream(address, "")).await;
    let refused = refrain.chat(&ask("Which version?")).await;
    assert_eq!(refused.status, 502);
    assert!(refused.text().contains("certificate"), "{}", refused.text());
}
