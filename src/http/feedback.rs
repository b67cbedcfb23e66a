//! `feedback`: what a caller says of an answer that it was served.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use serde::Deserialize;
use serde_json::json;

use crate::cache::{FeedbackError, Verdict};
use crate::error::Error;
use crate::http::body;
use crate::http::render::Problem;
use crate::http::state::App;
use crate::types::{CacheId, Dialect, LookupId};
use crate::upstream::Upstream;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Said {
    lookup_id: LookupId,
    verdict: Verdict,
}

/// `POST /v1/caches/{cache}/feedback`
pub async fn give(
    State(app): State<App>,
    Path(cache): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let said: Said = body::read_json(&app, &headers, body, |bytes| body::parse(bytes)).await?;
    let id: CacheId = cache.parse()?;
    if app.cache.policies().get(&id).is_none() {
        return Err(Error::NotFound(format!("there is no cache {cache:?}")).into());
    }
    let caller = app.tenant(&headers, app.upstreams.for_dialect(Dialect::OpenAi).map(AsRef::<Upstream>::as_ref));
    let effect = app.cache.feedback(&id, caller, said.lookup_id, said.verdict).await.map_err(|error| match error {
        FeedbackError::Unknown => Error::NotFound(error.to_string()),
        FeedbackError::Store(error) => Error::Unavailable(format!("the store failed: {error}")),
    })?;
    Ok(Json(json!({"verdict": said.verdict, "effect": effect})).into_response())
}
