//! The LangCache REST API: its public clients work unmodified with their server URL set to Refrain.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use unicode_normalization::UnicodeNormalization;

use crate::cache::{PlainAnswer, PlainFound, PlainPrompt, PlainQuery};
use crate::error::{Error, Invalid};
use crate::http::access_log::{Fate, Shadowed};
use crate::http::body;
use crate::http::lookup::{kept_error, ttl_millis};
use crate::http::named::Named;
use crate::http::operator::whole;
use crate::http::render::LangCacheError;
use crate::http::state::App;
use crate::reason::BypassReason;
use crate::settings::{CachePolicy, Strategy};
use crate::types::{Attributes, CacheId, Dialect, EntryId, Outcome, TenantId};

/// The most entries one search may return.
const MAX_RESULTS: u64 = 64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SearchBody {
    prompt: String,
    similarity_threshold: Option<f64>,
    search_strategies: Option<Vec<Strategy>>,
    attributes: Option<BTreeMap<String, String>>,
    max_results: Option<u64>,
    /// Conversation search only: the turns before the prompt.
    context: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoreBody {
    prompt: String,
    response: String,
    attributes: Option<BTreeMap<String, String>>,
    ttl_millis: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DeleteBody {
    attributes: BTreeMap<String, String>,
}

/// The cache that a call names, and whose entries the caller sees.
struct Place {
    id: CacheId,
    policy: Arc<CachePolicy>,
    tenant: TenantId,
}

impl Place {
    fn of(app: &App, cache: &str, headers: &HeaderMap) -> Result<Self, Error> {
        let id: CacheId = cache.parse()?;
        let unknown = || Error::NotFound(format!("there is no cache {cache:?}"));
        let policy = app.cache.policies().get(&id).ok_or_else(unknown)?;
        let tenant = app.tenant(headers, app.upstreams.for_dialect(Dialect::OpenAi).map(Arc::as_ref));
        Ok(Self { id, policy, tenant })
    }
}

/// `POST /v1/caches/{cache}/entries/search`
pub async fn search(
    State(app): State<App>,
    Named(cache): Named<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, LangCacheError> {
    let asked = body::read_json(&app, &headers, body, read_search).await?;
    if asked.context.is_some() {
        let problem = "belongs to conversations/search";
        return Err(Invalid::new("context", problem, "no such field here").into());
    }
    let place = Place::of(&app, &cache, &headers)?;
    let found = app.cache.plain_search(&place.id, place.tenant, &place.policy, &asked.query).await;
    Ok(answer(place.id, found, None).await?)
}

/// `POST /v1/caches/{cache}/conversations/search`
///
/// Without turns before it, the prompt is searched as it stands. With them it may lean on them, and plain entries
/// carry no history to compare: nothing is served then.
pub async fn search_conversation(
    State(app): State<App>,
    Named(cache): Named<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, LangCacheError> {
    let asked = body::read_json(&app, &headers, body, read_search).await?;
    let place = Place::of(&app, &cache, &headers)?;
    let found = app.cache.plain_search(&place.id, place.tenant, &place.policy, &asked.query).await;
    let context = asked.context.unwrap_or_default();
    let found = if context.iter().all(|turn| turn.trim().is_empty()) { found } else { leaning(&found) };
    Ok(answer(place.id, found, Some(asked.prompt)).await?)
}

/// A search, read and checked.
struct Search {
    /// The prompt as it was sent.
    prompt: String,
    context: Option<Vec<String>>,
    query: PlainQuery,
}

fn read_search(bytes: &Bytes) -> Result<Search, Error> {
    let asked: SearchBody = body::parse(bytes)?;
    let query = PlainQuery {
        prompt: text("prompt", &asked.prompt)?,
        attributes: Attributes::try_from(asked.attributes.unwrap_or_default())?,
        threshold: asked.similarity_threshold.map(threshold).transpose()?,
        strategies: strategies(asked.search_strategies)?,
        wanted: wanted(asked.max_results)?,
    };
    Ok(Search { prompt: asked.prompt, context: asked.context, query })
}

/// Nothing, for a prompt that may lean on turns before it.
fn leaning(found: &PlainAnswer) -> PlainAnswer {
    PlainAnswer { found: Vec::new(), withheld: found.withheld.as_ref().map(|_| Vec::new()) }
}

/// The labels of a search that found these.
fn labels(found: &[PlainFound]) -> Shadowed {
    match found.first() {
        Some(hit) => Shadowed { outcome: Outcome::Hit.as_str(), tier: hit.tier.as_str(), reason: hit.tier.as_str() },
        None => Shadowed { outcome: Outcome::Miss.as_str(), tier: "", reason: "no-match" },
    }
}

fn fate(cache: CacheId, searched: &PlainAnswer) -> Fate {
    let shadow = searched.withheld.as_deref().map(labels);
    let best = searched.withheld.as_ref().unwrap_or(&searched.found).first();
    let withheld = searched.withheld.as_ref().is_some_and(|found| !found.is_empty());
    let Shadowed { outcome, tier, reason } = if withheld {
        Shadowed { outcome: Outcome::Bypass.as_str(), tier: "", reason: BypassReason::Shadow.as_str() }
    } else {
        labels(&searched.found)
    };
    let similarity = best.map(|hit| hit.similarity.get());
    Fate { cache: Some(cache), outcome, tier, reason, similarity, shadow, ..Fate::default() }
}

async fn answer(cache: CacheId, searched: PlainAnswer, actual_prompt: Option<String>) -> Result<Response, Error> {
    let (fate, found) = (fate(cache, &searched), searched.found);
    let size = found.iter().map(|hit| hit.stored.entry.answer.body.len()).sum();
    let print = move || {
        let data: Vec<Value> = found.iter().map(entry).collect();
        match actual_prompt {
            Some(prompt) => Json(json!({ "actualPrompt": prompt, "data": data })).into_response(),
            None => Json(json!({ "data": data })).into_response(),
        }
    };
    let mut response = body::by_size(size, print).await?;
    response.extensions_mut().insert(fate);
    Ok(response)
}

fn entry(found: &PlainFound) -> Value {
    let entry = &found.stored.entry;
    json!({
        "id": entry.id,
        "prompt": entry.text,
        "response": String::from_utf8_lossy(&entry.answer.body),
        "attributes": entry.attributes,
        "similarity": found.similarity,
        "searchStrategy": found.tier,
    })
}

/// `POST /v1/caches/{cache}/entries`
pub async fn store(
    State(app): State<App>,
    Named(cache): Named<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, LangCacheError> {
    let plain = body::read_json(&app, &headers, body, read_store).await?;
    let place = Place::of(&app, &cache, &headers)?;
    let id = app.cache.plain_store(&place.id, place.tenant, &place.policy, plain).await.map_err(|e| kept_error(&e))?;
    Ok((StatusCode::CREATED, Json(json!({ "entryId": id }))).into_response())
}

fn read_store(bytes: &Bytes) -> Result<PlainPrompt, Error> {
    let told: StoreBody = body::parse(bytes)?;
    if told.response.trim().is_empty() {
        return Err(Invalid::new("response", "is empty", "a text").into());
    }
    Ok(PlainPrompt {
        prompt: text("prompt", &told.prompt)?,
        response: told.response,
        attributes: Attributes::try_from(told.attributes.unwrap_or_default())?,
        ttl: told.ttl_millis.map(ttl_millis).transpose()?,
    })
}

/// `DELETE /v1/caches/{cache}/entries/{entry}`
pub async fn delete_one(
    State(app): State<App>,
    Named((cache, entry)): Named<(String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, LangCacheError> {
    let place = Place::of(&app, &cache, &headers)?;
    let unknown = || Error::NotFound(format!("there is no entry {entry:?} in the cache {cache:?}"));
    let id: EntryId = entry.parse().map_err(|_| unknown())?;
    let deleted = app.cache.delete_entry(&place.id, place.tenant, &place.policy, id).await;
    if deleted.map_err(|error| kept_error(&error))? { Ok(StatusCode::NO_CONTENT) } else { Err(unknown().into()) }
}

/// `DELETE /v1/caches/{cache}/entries`
pub async fn delete_matching(
    State(app): State<App>,
    Named(cache): Named<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, LangCacheError> {
    let attributes = body::read_json(&app, &headers, body, read_attributes).await?;
    let place = Place::of(&app, &cache, &headers)?;
    if attributes.is_empty() {
        let accepted = "at least one attribute; POST .../flush deletes everything";
        return Err(Invalid::new("attributes", "is empty", accepted).into());
    }
    let engine = app.cache.clone();
    let deleting = async move { engine.delete_by_attributes(&place.id, place.tenant, &place.policy, attributes).await };
    let deleted = whole(&app, deleting).await?;
    Ok(Json(json!({ "deletedEntriesCount": deleted.map_err(|error| kept_error(&error))? })))
}

fn read_attributes(bytes: &Bytes) -> Result<Attributes, Error> {
    let asked: DeleteBody = body::parse(bytes)?;
    Ok(Attributes::try_from(asked.attributes)?)
}

/// `POST /v1/caches/{cache}/flush`
pub async fn flush(
    State(app): State<App>,
    Named(cache): Named<String>,
    headers: HeaderMap,
) -> Result<StatusCode, LangCacheError> {
    let place = Place::of(&app, &cache, &headers)?;
    let engine = app.cache.clone();
    let flushing = async move { engine.flush(&place.id, place.tenant, &place.policy).await };
    whole(&app, flushing).await?.map_err(|error| kept_error(&error))?;
    Ok(StatusCode::NO_CONTENT)
}

/// A prompt as entries keep it: NFC and trimmed, nothing else changed.
fn text(field: &str, raw: &str) -> Result<String, Error> {
    let text: String = raw.nfc().collect::<String>().trim().to_owned();
    if text.is_empty() { Err(Invalid::new(field, "is empty", "a text").into()) } else { Ok(text) }
}

fn threshold(value: f64) -> Result<f64, Error> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(Invalid::new("similarityThreshold", format!("{value} is out of range"), "0 to 1").into())
}

fn strategies(asked: Option<Vec<Strategy>>) -> Result<Vec<Strategy>, Error> {
    match asked {
        Some(none) if none.is_empty() => {
            Err(Invalid::new("searchStrategies", "is empty", "one or both of \"exact\", \"semantic\"").into())
        }
        asked => Ok(asked.unwrap_or_default()),
    }
}

fn wanted(asked: Option<u64>) -> Result<usize, Error> {
    let count = asked.unwrap_or(1);
    let valid = (1..=MAX_RESULTS).contains(&count).then(|| usize::try_from(count).unwrap_or(1));
    valid.ok_or_else(|| {
        let accepted = format!("1 to {MAX_RESULTS}");
        Invalid::new("maxResults", format!("{count} is out of range"), accepted).into()
    })
}
