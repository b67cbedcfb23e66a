//! Reading request bodies: whole, within the configured limit.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;

use crate::error::{Error, Invalid};
use crate::http::state::App;

/// Work on so many bytes does not belong on an async thread.
const BIG: usize = 256 << 10;

/// Reads a whole body of at most `server.max_body_bytes`. One that announces more is refused before it comes.
///
/// # Errors
/// `TooLarge`, or `BadRequest` when the caller broke off.
pub async fn read(app: &App, mut body: Body) -> Result<Bytes, Error> {
    let limit = app.config.server.max_body_bytes;
    if body.size_hint().lower() > limit {
        return Err(Error::TooLarge(limit));
    }
    match Limited::new(&mut body, usize::try_from(limit).unwrap_or(usize::MAX)).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Error::TooLarge(limit)),
        Err(error) => Err(Invalid::new("body", format!("could not be read: {error}"), "a complete body").into()),
    }
}

/// Does `work`, which takes its time by `size` bytes: here when they are few, else off the async threads (I5).
///
/// # Errors
/// When the work panicked off the async threads.
pub async fn by_size<T: Send + 'static>(size: usize, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    if size < BIG {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Internal(error.to_string()))
}

/// Reads the JSON body of one of Refrain's own routes, and what `understand` makes of it: [`parse`] and the checks.
///
/// # Errors
/// As [`read_json_bytes`], and what `understand` says.
pub async fn read_json<T: Send + 'static>(
    app: &App,
    headers: &HeaderMap,
    body: Body,
    understand: impl FnOnce(&Bytes) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let bytes = read_json_bytes(app, headers, body).await?;
    by_size(bytes.len(), move || understand(&bytes)).await?
}

/// Parses the JSON body of one of Refrain's own routes.
///
/// # Errors
/// Names the field that is wrong.
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    // A list would be read as the fields in their order.
    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return Err(Invalid::new("body", "is a list", "a JSON object of this route's fields").into());
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "body".to_owned() } else { path };
        Invalid::new(field, error.into_inner().to_string(), "a JSON object of this route's fields")
    })?;
    json.end().map_err(|error| Invalid::new("body", error.to_string(), "one JSON object"))?;
    Ok(parsed)
}

/// Reads the JSON body of one of Refrain's own routes, unparsed.
///
/// # Errors
/// `UnsupportedMediaType`, and as [`read`].
pub async fn read_json_bytes(app: &App, headers: &HeaderMap, body: Body) -> Result<Bytes, Error> {
    let kind = headers.get(header::CONTENT_TYPE).map_or("application/json", |value| value.to_str().unwrap_or(""));
    let essence = kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    if essence != "application/json" && !essence.ends_with("+json") {
        return Err(Error::UnsupportedMediaType(format!(
            "content-type {kind:?} is not accepted; send application/json"
        )));
    }
    read(app, body).await
}
