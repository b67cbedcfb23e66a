//! Who may come in, and whose entries they see.
//!
//! Without keys Refrain listens on loopback only and is open to local programs, but not to web pages: a foreign
//! `Origin` or a `Host` that is not this machine (DNS rebinding) is turned away. With keys, every route but the
//! health checks wants one; it is compared in constant time by its hash.

use std::task::{Context, Poll};

use axum::extract::Request;
use axum::response::Response;
use futures_util::future::{Either, Ready, ready};
use http::{HeaderMap, HeaderName, Method, header};
use tower_layer::Layer;
use tower_service::Service;

use crate::error::Error;
use crate::http::render::{Style, render};
use crate::http::state::App;
use crate::types::TenantId;
use crate::upstream::{CREDENTIALS, Upstream};

/// The access rules of this installation.
#[derive(Clone)]
pub enum Access {
    /// No keys: local programs only.
    Local,
    /// One admin key, kept as its hash.
    Keyed {
        /// BLAKE3 of the admin key; `blake3::Hash` compares in constant time.
        admin: blake3::Hash,
    },
}

impl Access {
    /// Keyed when there is an admin key, else local.
    pub fn new(admin_key: Option<&str>) -> Self {
        admin_key.map_or(Self::Local, |key| Self::Keyed { admin: blake3::hash(key.as_bytes()) })
    }

    /// Are there keys of Refrain's own?
    pub fn has_keys(&self) -> bool {
        matches!(self, Self::Keyed { .. })
    }

    /// May this caller come in?
    ///
    /// # Errors
    /// What it lacks.
    pub fn admit(&self, method: &Method, headers: &HeaderMap, uri_host: Option<&str>) -> Result<(), Error> {
        match self {
            Self::Local => local_only(method, headers, uri_host),
            Self::Keyed { admin } => match credential(headers) {
                Some(key) if blake3::hash(key) == *admin => Ok(()),
                Some(_) => Err(Error::Unauthorized("this key is not known to Refrain".into())),
                None => Err(Error::Unauthorized(
                    "a key is needed: send it as `Authorization: Bearer KEY` or `x-api-key: KEY`".into(),
                )),
            },
        }
    }
}

/// The layer that turns away who may not come in. One of axum's own would be boxed and cloned for every request.
#[derive(Clone)]
pub struct Check(pub App);

impl<S> Layer<S> for Check {
    type Service = Checked<S>;

    fn layer(&self, inner: S) -> Checked<S> {
        Checked { app: self.0.clone(), inner }
    }
}

/// What is behind [`Check`].
#[derive(Clone)]
pub struct Checked<S> {
    app: App,
    inner: S,
}

impl<S: Service<Request, Response = Response>> Service<Request> for Checked<S> {
    type Response = Response;
    type Error = S::Error;
    type Future = Either<Ready<Result<Response, S::Error>>, S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match self.app.access.admit(request.method(), request.headers(), request.uri().host()) {
            Ok(()) => Either::Right(self.inner.call(request)),
            Err(error) => Either::Left(ready(Ok(render(&error, Style::of_path(request.uri().path()))))),
        }
    }
}

fn local_only(method: &Method, headers: &HeaderMap, uri_host: Option<&str>) -> Result<(), Error> {
    let named = headers.get_all(header::HOST).iter().map(|value| value.to_str().unwrap_or(""));
    if !named.chain(uri_host).all(is_loopback) {
        let message = "without keys Refrain serves this machine only; this Host is another one. Configure \
                       auth.admin_key_env to serve others";
        return Err(Error::Forbidden(message.into()));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let local = origin.to_str().ok().and_then(|o| o.split_once("://")).is_some_and(|(_, host)| is_loopback(host));
        if !local {
            let message = "without keys Refrain serves local programs only, not web pages of another origin";
            return Err(Error::Forbidden(message.into()));
        }
    }
    let starts = |kind: &str, with: &str| kind.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with));
    let simple = |kind: &str| starts(kind, "text/plain") || starts(kind, "application/x-www-form-urlencoded");
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    if method != Method::GET && simple(kind) {
        let message = format!("content-type {kind:?} is not accepted; send application/json");
        return Err(Error::UnsupportedMediaType(message));
    }
    Ok(())
}

/// Is this `host[:port]` a name of this machine?
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.trim_end_matches('.');
    name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        || name.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("localhost"))
}

/// The key in `Authorization: Bearer` or `x-api-key`.
fn credential(headers: &HeaderMap) -> Option<&[u8]> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| bearer(value.as_bytes()));
    bearer.or_else(|| headers.get("x-api-key").map(http::HeaderValue::as_bytes)).filter(|key| !key.is_empty())
}

impl App {
    /// Whose entries a caller sees: the Refrain key's with keys, else the passed-through credential's; the local
    /// tenant when the server holds the provider's key, or none was sent.
    pub fn tenant(&self, headers: &HeaderMap, upstream: Option<&Upstream>) -> TenantId {
        if let Access::Keyed { .. } = self.access {
            return self.cache.tenant(Some(b"refrain-key:admin"));
        }
        if upstream.is_some_and(|upstream| upstream.key.is_some()) {
            return TenantId::LOCAL;
        }
        let sent = passed_through(headers);
        self.cache.tenant((!sent.is_empty()).then_some(&sent))
    }
}

/// Everything in a request that a provider may take for a credential.
fn passed_through(headers: &HeaderMap) -> Vec<u8> {
    let place = |name: &HeaderName| CREDENTIALS.iter().position(|known| known == name);
    let mut sent: Vec<_> = headers.iter().filter_map(|(name, value)| Some((place(name)?, value.as_bytes()))).collect();
    sent.sort_by_key(|(place, _)| *place);
    sent.into_iter().map(|(_, value)| bearer(value).unwrap_or(value)).collect::<Vec<_>>().join(&0)
}

/// The token of a `Bearer` value.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let scheme = value.get(..7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| value[7..].trim_ascii())
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
    fn without_keys_web_pages_and_other_hosts_are_turned_away() {
        let admit = |pairs: &[_]| Access::Local.admit(&Method::POST, &headers(pairs), None);
        for pairs in [
            vec![("host", "127.0.0.1:8080"), ("content-type", "application/json")],
            vec![("host", "[::1]:8080")],
            vec![("host", "localhost")],
            vec![("host", "LOCALHOST:1"), ("origin", "http://localhost:3000")],
        ] {
            assert!(admit(&pairs).is_ok(), "{pairs:?}");
        }
        for pairs in [
            vec![("host", "evil.example")],
            vec![("host", "127.0.0.1"), ("host", "evil.example")],
            vec![("host", "127.0.0.1.evil.example:80")],
            vec![("host", "127.0.0.1"), ("origin", "https://evil.example")],
            vec![("host", "127.0.0.1"), ("origin", "null")],
            vec![("host", "127.0.0.1"), ("content-type", "text/plain;charset=UTF-8")],
        ] {
            assert!(admit(&pairs).is_err(), "{pairs:?}");
        }
    }

    #[test]
    fn every_credential_that_goes_upstream_tells_callers_apart() {
        let one = passed_through(&headers(&[("authorization", "Bearer a")]));
        assert_eq!(one, passed_through(&headers(&[("authorization", "bearer a")])));
        for other in [
            vec![],
            vec![("authorization", "Bearer b")],
            vec![("authorization", "Bearer a"), ("api-key", "b")],
            vec![("api-key", "b")],
            vec![("x-goog-api-key", "c")],
            vec![("authorization", "Basic a")],
        ] {
            assert_ne!(one, passed_through(&headers(&other)), "{other:?}");
        }
    }

    #[test]
    fn with_keys_only_the_right_key_comes_in() {
        let access = Access::new(Some("a-long-admin-key-1"));
        let admit = |pairs: &[_]| access.admit(&Method::GET, &headers(pairs), None);
        assert!(admit(&[("authorization", "Bearer a-long-admin-key-1")]).is_ok());
        assert!(admit(&[("authorization", "bearer  a-long-admin-key-1 ")]).is_ok());
        assert!(admit(&[("x-api-key", "a-long-admin-key-1")]).is_ok());
        assert!(admit(&[("authorization", "Bearer a-long-admin-key-2")]).is_err());
        assert!(admit(&[]).is_err());
    }
}
