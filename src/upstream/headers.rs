//! Which headers travel on and which end here (RFC 9110, 7.6.1).

use http::header::{self, HeaderMap, HeaderName};

use crate::policy::directives::UPSTREAM_AUTHORIZATION;

const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that may carry a provider's credential, as OpenAI, Anthropic, Azure and Google name them; and a session's.
pub static CREDENTIALS: [HeaderName; 5] = [
    header::AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
    header::COOKIE,
];

/// A copy of `headers` without those that concern a single hop, the ones that `Connection` names included.
pub fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        if !HOP_BY_HOP.contains(&name.as_str()) && !named.contains(name) {
            kept.append(name, value.clone());
        }
    }
    kept
}

/// The request headers that go upstream: end-to-end ones, without Refrain's own, and with the provider's credential.
///
/// `key` is the server's own provider key. With `refrain_keys` the caller's `Authorization` and `x-api-key` were meant
/// for Refrain and stay here; with `pass_through` its provider key may have come in `x-refrain-upstream-authorization`,
/// and goes before the server's own.
pub fn forwarded(headers: &HeaderMap, key: Option<&ProviderKey>, refrain_keys: bool, pass_through: bool) -> HeaderMap {
    let mut kept = end_to_end(headers);
    let passed_through = headers.get(UPSTREAM_AUTHORIZATION).cloned();
    let ours: Vec<HeaderName> = kept.keys().filter(|name| name.as_str().starts_with("x-refrain-")).cloned().collect();
    for name in ours {
        kept.remove(name);
    }
    for name in [header::HOST, header::CONTENT_LENGTH, header::EXPECT] {
        kept.remove(name);
    }
    if refrain_keys || key.is_some() {
        for name in &CREDENTIALS {
            kept.remove(name);
        }
    }
    match (passed_through.filter(|_| refrain_keys && pass_through), key) {
        (Some(value), _) => {
            kept.insert(header::AUTHORIZATION, value);
        }
        (None, Some(key)) => {
            kept.insert(key.header.clone(), key.value.clone());
        }
        (None, None) => {}
    }
    kept
}

/// The server's own key for a provider, as the header that carries it.
#[derive(Clone)]
pub struct ProviderKey {
    /// `authorization` or `x-api-key`.
    pub header: HeaderName,
    /// The key, marked as sensitive.
    pub value: http::HeaderValue,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn headers_of_a_single_hop_end_here() {
        let came = headers(&[
            ("connection", "close, x-private"),
            ("x-private", "1"),
            ("transfer-encoding", "chunked"),
            ("content-encoding", "gzip"),
            ("x-request-id", "7"),
        ]);
        let kept = end_to_end(&came);
        let names: Vec<_> = kept.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["content-encoding", "x-request-id"]);
    }

    #[test]
    fn the_servers_key_replaces_the_callers() {
        let came = headers(&[("authorization", "Bearer mine"), ("x-api-key", "mine"), ("x-refrain-ttl", "5")]);
        let key = ProviderKey { header: header::AUTHORIZATION, value: "Bearer server".parse().unwrap() };
        let sent = forwarded(&came, Some(&key), false, false);
        assert_eq!(sent.get("authorization").unwrap(), "Bearer server");
        assert_eq!(sent.len(), 1);
    }

    #[test]
    fn a_refrain_key_never_reaches_a_provider() {
        let came = headers(&[("authorization", "Bearer refrain"), (UPSTREAM_AUTHORIZATION, "Bearer provider")]);
        assert_eq!(forwarded(&came, None, true, true).get("authorization").unwrap(), "Bearer provider");
        let own = ProviderKey { header: header::AUTHORIZATION, value: "Bearer server".parse().unwrap() };
        assert_eq!(forwarded(&came, Some(&own), true, true).get("authorization").unwrap(), "Bearer provider");
        assert_eq!(forwarded(&came, Some(&own), true, false).get("authorization").unwrap(), "Bearer server");
        assert!(forwarded(&came, None, true, false).is_empty());
        let without = headers(&[("authorization", "Bearer refrain")]);
        assert!(forwarded(&without, None, true, true).is_empty());
    }

    #[test]
    fn the_callers_key_passes_through_when_nobody_holds_another() {
        let came = headers(&[("authorization", "Bearer caller"), ("host", "refrain"), ("content-length", "3")]);
        let sent = forwarded(&came, None, false, false);
        assert_eq!(sent.get("authorization").unwrap(), "Bearer caller");
        assert_eq!(sent.len(), 1);
    }
}
