//! What a path names: its parameters, with an error in the caller's dialect.

use axum::extract::{FromRequestParts, Path};
use axum::response::Response;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::Invalid;
use crate::http::render::{self, Style};

/// The parameters of a path, percent-decoded.
pub struct Named<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = Response;

    /// # Errors
    /// When a parameter is no UTF-8 once decoded.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Response> {
        let found = Path::from_request_parts(parts, state).await;
        found.map(|Path(named)| Self(named)).map_err(|_| refused(parts.uri.path()))
    }
}

fn refused(path: &str) -> Response {
    let why = Invalid::new("the path", format!("{path} names no text"), "names in percent-encoded UTF-8");
    render::render(&why.into(), Style::of_path(path))
}
