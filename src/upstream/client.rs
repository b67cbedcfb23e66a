//! One provider and its pooled connections.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, header};

use crate::config;
use crate::types::Dialect;
use crate::upstream::headers::ProviderKey;

/// A provider: its address, its key, its connections.
pub struct Upstream {
    /// The name in logs, metrics and keys.
    pub name: String,
    /// The API it speaks.
    pub dialect: Dialect,
    /// The server's own key for it; without one the caller's is passed through.
    pub key: Option<ProviderKey>,
    /// The longest silence within an answer.
    pub idle: Duration,
    /// What keeps this provider's entries apart from another's.
    pub identity: Arc<str>,
    base_url: String,
    first_byte: Duration,
    client: reqwest::Client,
}

/// Why a provider gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// No connection, or it broke before the first byte.
    #[error("the provider {upstream:?} cannot be reached: {cause}")]
    Unreachable {
        /// Which one.
        upstream: String,
        /// What the connection said.
        cause: String,
    },
    /// The first byte did not come in time.
    #[error("the provider {upstream:?} sent no first byte within {limit:?} (first_byte_timeout)")]
    FirstByteTimeout {
        /// Which one.
        upstream: String,
        /// The configured limit.
        limit: Duration,
    },
}

impl UpstreamError {
    /// Did it take too long, rather than fail?
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::FirstByteTimeout { .. })
    }
}

impl Upstream {
    /// A provider as configured, with the server's own key for it.
    ///
    /// # Errors
    /// A message, when the key or a certificate cannot be used.
    pub fn new(config: &config::Upstream, key: Option<&str>) -> Result<Self, String> {
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(config.connect_timeout.0)
            .tcp_nodelay(true)
            .tcp_keepalive(Duration::from_secs(30))
            .pool_idle_timeout(Duration::from_mins(1));
        // A system proxy (HTTP_PROXY) is honoured, but it cannot reach this machine's own loopback.
        if config::is_loopback(&config.base_url) {
            builder = builder.no_proxy();
        }
        if config.http2_prior_knowledge {
            builder = builder.http2_prior_knowledge();
        }
        if let Some(path) = &config.ca_file {
            builder = builder.tls_certs_merge(certificates(path)?);
        }
        let client = builder.build().map_err(|e| format!("upstream {:?}: {}", config.name, chain(&e)))?;
        let base_url = config.base_url.trim_end_matches('/');
        Ok(Self {
            name: config.name.clone(),
            dialect: config.dialect,
            key: key.map(|key| provider_key(config, key)).transpose()?,
            idle: config.idle_timeout.0,
            identity: format!("{} {base_url}", config.name).into(),
            base_url: base_url.to_owned(),
            first_byte: config.first_byte_timeout.0,
            client,
        })
    }

    /// Sends a request for `path_and_query` under the base URL; resolves when the answer's headers are there.
    ///
    /// # Errors
    /// When no answer begins in time. An answer of any status is an answer.
    pub async fn send(
        &self,
        method: Method,
        path_and_query: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<reqwest::Response, UpstreamError> {
        let url = format!("{}/{path_and_query}", self.base_url);
        let mut request = self.client.request(method.clone(), url).headers(headers);
        if !body.is_empty() || matches!(method, Method::POST | Method::PUT | Method::PATCH) {
            request = request.body(body);
        }
        match tokio::time::timeout(self.first_byte, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                Err(UpstreamError::Unreachable { upstream: self.name.clone(), cause: chain(&error.without_url()) })
            }
            Err(_) => Err(UpstreamError::FirstByteTimeout { upstream: self.name.clone(), limit: self.first_byte }),
        }
    }
}

fn provider_key(config: &config::Upstream, key: &str) -> Result<ProviderKey, String> {
    let (name, text) = match config.dialect {
        Dialect::OpenAi => (header::AUTHORIZATION, format!("Bearer {key}")),
        Dialect::Anthropic => (header::HeaderName::from_static("x-api-key"), key.to_owned()),
    };
    let mut value: http::HeaderValue = text
        .parse()
        .map_err(|_| format!("upstream {:?}: its key has characters that no header can carry", config.name))?;
    value.set_sensitive(true);
    Ok(ProviderKey { header: name, value })
}

fn certificates(path: &std::path::Path) -> Result<Vec<reqwest::Certificate>, String> {
    let pem = std::fs::read(path).map_err(|e| format!("ca_file {}: {e}", path.display()))?;
    reqwest::Certificate::from_pem_bundle(&pem).map_err(|e| format!("ca_file {}: {}", path.display(), chain(&e)))
}

/// An error with all its causes: reqwest keeps the telling part ("connection refused") at the end of the chain.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = inner.source();
    }
    text
}
