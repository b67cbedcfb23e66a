//! Refrain's own errors as answers: one table from error to status, one shape for each dialect.
//!
//! The provider surface answers in the provider's shape, so that its SDKs raise the exception they would raise; the
//! LangCache routes answer as LangCache does, with its problem types, so that its SDKs can parse them; the other routes
//! answer `application/problem+json` (RFC 9457).

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, Uri, header};
use serde_json::json;

use crate::dialect::replay;
use crate::error::{Error, Invalid};

/// In which shape a caller expects an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `{"error": {"message", "type", "param", "code"}}`
    OpenAi,
    /// `{"type": "error", "error": {"type", "message"}}`
    Anthropic,
    /// LangCache's: a problem as `application/json`, statuses of its list only.
    LangCache,
    /// `application/problem+json`
    Problem,
}

/// Path endings of the LangCache routes under `/v1/caches/{id}/`.
const LANGCACHE: [&str; 3] = ["entries", "flush", "conversations"];

impl Style {
    /// The style of a path: the provider surface speaks the provider's dialect, the rest is Refrain's own.
    pub fn of_path(path: &str) -> Self {
        if let Some((_, rest)) = path.strip_prefix("/v1/caches/").and_then(|rest| rest.split_once('/')) {
            let first = rest.split('/').next().unwrap_or("");
            return if LANGCACHE.contains(&first) { Self::LangCache } else { Self::Problem };
        }
        let own = path == "/v1/caches" || path.starts_with("/v1/caches/") || path == "/v1/config";
        let provider = path.strip_prefix("/v1/").or_else(|| {
            let (_, rest) = path.strip_prefix("/caches/")?.split_once('/')?;
            rest.strip_prefix("v1/")
        });
        match provider {
            Some(_) if own => Self::Problem,
            Some(rest) if rest.starts_with("messages") => Self::Anthropic,
            Some(_) => Self::OpenAi,
            None => Self::Problem,
        }
    }
}

/// What the table says of one error: status, OpenAI's error type, the problem's type (LangCache's names where it has
/// one) and title.
struct Row(StatusCode, &'static str, &'static str, &'static str);

fn row(error: &Error) -> Row {
    const REQUEST: &str = "invalid_request_error";
    match error {
        Error::BadRequest(_) => Row(StatusCode::BAD_REQUEST, REQUEST, "invalid-data", "Invalid request"),
        Error::Unprocessable(_) => {
            Row(StatusCode::UNPROCESSABLE_ENTITY, REQUEST, "unprocessable", "A value cannot be accepted")
        }
        Error::Unauthorized(_) => {
            Row(StatusCode::UNAUTHORIZED, "authentication_error", "authentication-failed", "Authentication failed")
        }
        Error::Forbidden(_) => {
            Row(StatusCode::FORBIDDEN, "permission_error", "insufficient-permissions", "Not allowed")
        }
        Error::NotFound(_) => Row(StatusCode::NOT_FOUND, "not_found_error", "resource-not-found", "Not found"),
        Error::MethodNotAllowed(_) => {
            Row(StatusCode::METHOD_NOT_ALLOWED, REQUEST, "method-not-allowed", "Method not allowed")
        }
        Error::TooLarge(_) => Row(StatusCode::PAYLOAD_TOO_LARGE, REQUEST, "payload-too-large", "Request too large"),
        Error::UnsupportedMediaType(_) => {
            Row(StatusCode::UNSUPPORTED_MEDIA_TYPE, REQUEST, "unsupported-media-type", "Unsupported media type")
        }
        Error::OnlyIfCached => Row(StatusCode::GATEWAY_TIMEOUT, "not_cached", "not-cached", "Not in the cache"),
        Error::Upstream(_) => Row(StatusCode::BAD_GATEWAY, "upstream_error", "upstream", "The provider failed"),
        Error::UpstreamTimeout(_) => {
            Row(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout", "upstream-timeout", "The provider is too slow")
        }
        Error::Unavailable(_) => {
            Row(StatusCode::FAILED_DEPENDENCY, "service_unavailable", "resource-unavailable", "A part is not working")
        }
        Error::Internal(_) => {
            Row(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "unexpected-error", "Internal error")
        }
    }
}

/// LangCache knows neither 415 nor 422: both are malformed data there.
fn langcache_row(error: &Error) -> Row {
    let Row(status, kind, problem, title) = row(error);
    match status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE | StatusCode::UNPROCESSABLE_ENTITY => {
            Row(StatusCode::BAD_REQUEST, kind, "invalid-data", title)
        }
        _ => Row(status, kind, problem, title),
    }
}

/// An error as an answer in the caller's style.
pub fn render(error: &Error, style: Style) -> Response {
    let row = if style == Style::LangCache { langcache_row(error) } else { row(error) };
    if matches!(error, Error::Internal(_)) {
        tracing::error!(%error, "a fault of Refrain's own");
    }
    let (body, content_type) = match style {
        Style::OpenAi => {
            let (message, field) = (error.to_string(), invalid(error).map(|i| i.field.as_str()));
            (replay::error_body(&message, row.1, None, field).to_vec(), "application/json")
        }
        Style::Anthropic => {
            let body = json!({"type": "error", "error": {"type": row.1, "message": error.to_string()}});
            (body.to_string().into_bytes(), "application/json")
        }
        Style::LangCache => (problem(error, &row), "application/json"),
        Style::Problem => (problem(error, &row), "application/problem+json"),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = row.0;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn invalid(error: &Error) -> Option<&Invalid> {
    match error {
        Error::BadRequest(invalid) | Error::Unprocessable(invalid) => Some(invalid),
        _ => None,
    }
}

fn problem(error: &Error, row: &Row) -> Vec<u8> {
    let mut body = json!({
        "type": format!("/errors/{}", row.2),
        "title": row.3,
        "status": row.0.as_u16(),
        "detail": error.to_string(),
    });
    if let Some(invalid) = invalid(error) {
        body["field"] = json!(invalid.field);
        body["fields"] = json!([{"field": invalid.field, "rule": invalid.accepted, "message": invalid.problem}]);
    }
    body.to_string().into_bytes()
}

/// An error of a LangCache route.
pub struct LangCacheError(pub Error);

impl<E: Into<Error>> From<E> for LangCacheError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for LangCacheError {
    fn into_response(self) -> Response {
        render(&self.0, Style::LangCache)
    }
}

/// An error of one of Refrain's own routes.
pub struct Problem(pub Error);

impl<E: Into<Error>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        render(&self.0, Style::Problem)
    }
}

/// The answer for a path that leads nowhere.
pub async fn no_such_route(uri: Uri) -> Response {
    render(&Error::NotFound(format!("there is no route {}", uri.path())), Style::of_path(uri.path()))
}

/// The answer for a method that a route does not have.
pub async fn wrong_method(method: Method, uri: Uri) -> Response {
    render(&Error::MethodNotAllowed(format!("{} does not take {method}", uri.path())), Style::of_path(uri.path()))
}
