//! Reading request bodies: whole, within the configured limit.

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Invalid};

/// Reads a whole body of at most `limit` bytes.
///
/// # Errors
/// `TooLarge`, or `BadRequest` when the caller broke off.
pub async fn read(body: Body, limit: u64) -> Result<Bytes, Error> {
    let capped = usize::try_from(limit).unwrap_or(usize::MAX);
    match Limited::new(body, capped).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Error::TooLarge(limit)),
        Err(error) => Err(Invalid::new("body", format!("could not be read: {error}"), "a complete body").into()),
    }
}

/// Reads a JSON body of one of Refrain's own routes.
///
/// # Errors
/// `UnsupportedMediaType`, or `BadRequest` that says what is wrong with the JSON.
pub async fn read_json<T: DeserializeOwned>(headers: &HeaderMap, body: Body, limit: u64) -> Result<T, Error> {
    let bytes = read_json_bytes(headers, body, limit).await?;
    parse(&bytes)
}

/// Parses the JSON body of one of Refrain's own routes.
///
/// # Errors
/// Names the field that is wrong.
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "body".to_owned() } else { path };
        Invalid::new(field, error.into_inner().to_string(), "a JSON object of this route's fields")
    })?;
    json.end().map_err(|error| Invalid::new("body", error.to_string(), "one JSON object"))?;
    Ok(parsed)
}

/// The same, unparsed.
///
/// # Errors
/// As [`read_json`].
pub async fn read_json_bytes(headers: &HeaderMap, body: Body, limit: u64) -> Result<Bytes, Error> {
    let kind = headers.get(header::CONTENT_TYPE).map_or("application/json", |value| value.to_str().unwrap_or(""));
    let essence = kind.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    if essence != "application/json" && !essence.ends_with("+json") {
        return Err(Error::UnsupportedMediaType(format!(
            "content-type {kind:?} is not accepted; send application/json"
        )));
    }
    read(body, limit).await
}
