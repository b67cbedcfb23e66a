//! The operator API: caches and their policies, effective for the next request.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use crate::cache::PolicyError;
use crate::error::{Error, Invalid};
use crate::http::body;
use crate::http::named::Named;
use crate::http::render::Problem;
use crate::http::state::App;
use crate::policy::document;
use crate::settings::CachePolicy;
use crate::types::CacheId;

/// `GET /v1/caches`
pub async fn list(State(app): State<App>) -> Json<Value> {
    let caches = app.cache.policies().list();
    let data: Vec<Value> = caches
        .iter()
        .map(|(id, policy)| json!({"id": id, "policy": document::to_json(policy), "stats": stats_of(&app, id)}))
        .collect();
    Json(json!({"data": data, "nextCursor": null}))
}

/// `GET /v1/caches/{cache}`
pub async fn get(State(app): State<App>, Named(cache): Named<String>) -> Result<Json<Value>, Problem> {
    let (_, policy) = known(&app, &cache)?;
    Ok(Json(document::to_json(&policy)))
}

/// `PUT /v1/caches/{cache}`: the whole policy; creates the cache when there is none.
pub async fn put(
    State(app): State<App>,
    Named(cache): Named<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let id: CacheId = cache.parse()?;
    let bytes = body::read_json_bytes(&app, &headers, body).await?;
    let policy = document::put(&bytes).and_then(|policy| workable(&app, policy)).map_err(Error::Unprocessable)?;
    let (cache, named) = (app.cache.clone(), id.clone());
    let change = async move { cache.change_policy::<PolicyError>(&named, |_| Ok(policy)).await };
    let (policy, created) = whole(&app, change).await?.map_err(changed)?;
    tracing::info!(cache = %id, created, "policy replaced");
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(document::to_json(&policy))).into_response())
}

/// `PATCH /v1/caches/{cache}`: a JSON merge patch (RFC 7396).
pub async fn patch(
    State(app): State<App>,
    Named(cache): Named<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let id: CacheId = cache.parse()?;
    let bytes = body::read_json_bytes(&app, &headers, body).await?;
    let (engine, named, service) = (app.cache.clone(), id.clone(), app.clone());
    let change = move |current: Option<&CachePolicy>| {
        let current = current.ok_or_else(|| Patched(unknown(&cache)))?;
        let patched = document::patch(current, &bytes).and_then(|policy| workable(&service, policy));
        patched.map_err(|invalid| Patched(Error::Unprocessable(invalid)))
    };
    let changing = async move { engine.change_policy(&named, change).await };
    let (policy, _) = whole(&app, changing).await?.map_err(|p: Patched| p.0)?;
    tracing::info!(cache = %id, "policy changed");
    Ok(Json(document::to_json(&policy)))
}

/// An error out of a patch, whichever side it came from.
struct Patched(Error);

impl From<PolicyError> for Patched {
    fn from(error: PolicyError) -> Self {
        Self(changed(error))
    }
}

/// `DELETE /v1/caches/{cache}`: the policy and all entries. A cache of the config file keeps its configured policy.
pub async fn delete(State(app): State<App>, Named(cache): Named<String>) -> Result<StatusCode, Problem> {
    let id: CacheId = cache.parse()?;
    let (engine, named) = (app.cache.clone(), id.clone());
    whole(&app, async move { engine.delete_cache(&named).await }).await?.map_err(changed)?;
    tracing::info!(cache = %id, "cache deleted");
    Ok(StatusCode::NO_CONTENT)
}

/// `GET /v1/caches/{cache}/stats`
pub async fn stats(State(app): State<App>, Named(cache): Named<String>) -> Result<Json<Value>, Problem> {
    let (id, _) = known(&app, &cache)?;
    Ok(Json(stats_of(&app, &id)))
}

/// `GET /v1/config`
pub async fn config(State(app): State<App>) -> Json<Value> {
    Json(app.config.masked())
}

/// The policy, if this service can follow it.
fn workable(app: &App, policy: CachePolicy) -> Result<CachePolicy, Invalid> {
    if policy.learning && !app.cache.verifier().is_there() {
        return Err(Invalid::new("learning", "has no effect in a service without a verifier", "false"));
    }
    Ok(policy)
}

/// A change that is made whole even when its caller leaves half way.
pub(super) async fn whole<T: Send + 'static>(
    app: &App,
    change: impl Future<Output = T> + Send + 'static,
) -> Result<T, Error> {
    let done = app.tasks.complete("change", change).await;
    done.ok_or_else(|| Error::Unavailable("the service is shutting down".into()))
}

fn stats_of(app: &App, id: &CacheId) -> Value {
    let stats = app.cache.store().stats(id);
    let outcomes = app.cache.outcomes(id);
    json!({
        "hits": outcomes.hits,
        "stale": outcomes.stale,
        "misses": outcomes.misses,
        "bypasses": outcomes.bypasses,
        "shadowHits": outcomes.shadow_hits,
        "hitRate": outcomes.hit_rate(),
        "entries": stats.entries,
        "bytes": stats.bytes,
        "vectors": stats.vectors,
        "evictions": stats.evictions,
        "expirations": stats.expirations,
        "lessons": app.cache.lessons(id),
    })
}

/// The cache of this name and its policy.
///
/// # Errors
/// When there is none, or none can have this name.
pub(super) fn known(app: &App, cache: &str) -> Result<(CacheId, Arc<CachePolicy>), Problem> {
    let id: CacheId = cache.parse()?;
    let policy = app.cache.policies().get(&id).ok_or_else(|| unknown(cache))?;
    Ok((id, policy))
}

fn unknown(cache: &str) -> Error {
    Error::NotFound(format!("there is no cache {cache:?}"))
}

fn changed(error: PolicyError) -> Error {
    match error {
        PolicyError::UnknownCache(name) => unknown(&name),
        PolicyError::Store(error) => Error::Unavailable(format!("the change could not be made durable: {error}")),
    }
}
