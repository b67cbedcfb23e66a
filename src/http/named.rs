//! What a path names: its parameters, with an error in this service's own form.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::Invalid;
use crate::http::render::Problem;

/// The parameters of a path, percent-decoded.
pub struct Named<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    /// # Errors
    /// When a parameter is no UTF-8 once decoded.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let found = Path::from_request_parts(parts, state).await;
        let why = |_| {
            Invalid::new("the path", format!("{} names no text", parts.uri.path()), "names in percent-encoded UTF-8")
        };
        Ok(Self(found.map_err(why)?.0))
    }
}
