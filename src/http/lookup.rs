//! `lookup` and `store`: the engine for gateways that make the upstream call themselves.
//!
//! Same decision as the provider surface, from the provider's own request body; no upstream call.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::cache::{Considered, Keep, KeepError, Lookup, Question};
use crate::dialect::assemble::{self, NotKept};
use crate::dialect::openai_chat;
use crate::error::{Error, Invalid};
use crate::http::access_log::Fate;
use crate::http::render::Problem;
use crate::http::state::App;
use crate::http::{body, hit};
use crate::metrics;
use crate::policy::directives::Directives;
use crate::policy::partition::Scope;
use crate::prompt::Prompt;
use crate::settings::{CachePolicy, MAX_SECONDS};
use crate::store::StoreError;
use crate::types::{Attributes, CacheId, Dialect, LookupId};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LookupBody<'a> {
    #[serde(borrow)]
    request: &'a RawValue,
    dialect: Option<Dialect>,
    attributes: Option<BTreeMap<String, String>>,
    similarity_threshold: Option<f64>,
    #[serde(default)]
    explain: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoreBody<'a> {
    #[serde(borrow)]
    request: &'a RawValue,
    #[serde(borrow)]
    response: &'a RawValue,
    dialect: Option<Dialect>,
    attributes: Option<BTreeMap<String, String>>,
    ttl_millis: Option<i64>,
    lookup_id: Option<LookupId>,
}

/// What both routes find out first.
struct Asked {
    policy: Arc<CachePolicy>,
    prompt: Prompt,
    scope: Scope,
    directives: Directives,
}

/// `POST /v1/caches/{cache}/lookup`
pub async fn lookup(
    State(app): State<App>,
    Path(cache): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let bytes = body::read_json_bytes(&headers, body, app.config.server.max_body_bytes).await?;
    let asked: LookupBody<'_> = body::parse(&bytes)?;
    threshold(asked.similarity_threshold)?;
    let mut found = understand(&app, &cache, &headers, asked.request, asked.dialect, asked.attributes)?;
    found.directives.threshold = tightest(found.directives.threshold, asked.similarity_threshold);
    let question =
        Question { prompt: &found.prompt, scope: found.scope, directives: &found.directives, explain: asked.explain };
    let decided = app.cache.lookup(question, &found.policy).await;
    answer(&app, &cache, &found.prompt, &decided, asked.explain).map_err(Problem)
}

fn tightest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (one, other) => one.or(other),
    }
}

fn answer(app: &App, cache: &str, prompt: &Prompt, decided: &Lookup, explain: bool) -> Result<Response, Error> {
    let mut fate = Fate { cache: cache.to_owned(), model: prompt.model.clone(), ..Fate::default() };
    let mut body = match decided {
        Lookup::Hit(hit) => {
            let now = app.cache.clock().now();
            app.cache.store().touch(hit.stored.entry.id, now);
            if let Some(usage) = hit.stored.entry.answer.usage {
                metrics::served_tokens(usage.input, usage.output);
            }
            fate.outcome = hit.outcome.as_str();
            fate.tier = hit.tier.as_str();
            fate.reason = hit.tier.as_str();
            let response: Value = serde_json::from_slice(&hit::json_body(hit, &prompt.model, now)?)
                .map_err(|e| Error::Internal(format!("stored answer: {e}")))?;
            json!({
                "outcome": hit.outcome, "tier": hit.tier, "entryId": hit.stored.entry.id,
                "similarity": hit.similarity, "age": hit.age.as_secs(), "ttl": hit.ttl,
                "response": response, "lookupId": hit.lookup_id,
            })
        }
        Lookup::Forward(forward) => {
            fate.outcome = forward.outcome.as_str();
            fate.reason = forward.reason;
            let mut body = json!({
                "outcome": forward.outcome, "lookupId": forward.lookup_id, "reason": forward.reason,
            });
            if let Some(best) = forward.best {
                body["similarity"] = json!(best);
            }
            body
        }
    };
    if explain {
        let considered = match decided {
            Lookup::Hit(hit) => &hit.considered,
            Lookup::Forward(forward) => &forward.considered,
        };
        body["candidates"] = considered.iter().map(candidate).collect();
    }
    let mut response = Json(body).into_response();
    response.extensions_mut().insert(fate);
    Ok(response)
}

fn candidate(considered: &Considered) -> Value {
    let guards: serde_json::Map<String, Value> = considered
        .guards
        .iter()
        .map(|(name, veto)| {
            let verdict = match veto {
                Some(difference) => json!({"verdict": "veto", "differs": difference}),
                None => json!({"verdict": "pass"}),
            };
            (name.as_str().to_owned(), verdict)
        })
        .collect();
    json!({
        "entryId": considered.id, "similarity": considered.similarity, "verdict": considered.verdict, "guards": guards,
    })
}

/// `POST /v1/caches/{cache}/store`
pub async fn store(
    State(app): State<App>,
    Path(cache): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let bytes = body::read_json_bytes(&headers, body, app.config.server.max_body_bytes).await?;
    let told: StoreBody<'_> = body::parse(&bytes)?;
    let lifetime = told.ttl_millis.map(ttl_millis).transpose()?;
    let mut found = understand(&app, &cache, &headers, told.request, told.dialect, told.attributes)?;
    // A store is a fill whose answer is here already: planned like one, by the same code.
    found.directives.no_cache = true;
    // Planned for the wish, even where the policy's own ttl is 0; the exact lifetime follows.
    found.directives.ttl = lifetime.map(|wish| wish.as_secs().max(1));
    let question =
        Question { prompt: &found.prompt, scope: found.scope, directives: &found.directives, explain: false };
    let keep = match app.cache.lookup(question, &found.policy).await {
        Lookup::Forward(forward) if forward.reason == "no-cache" => forward.keep.ok_or("the policy's ttl is 0"),
        Lookup::Forward(forward) => forward.keep.ok_or(forward.reason),
        Lookup::Hit(_) => Err("no-cache"),
    };
    let keep = keep.map_err(|reason| unprocessable("request", format!("may not be kept: {reason}")))?;
    let keep = match lifetime {
        Some(wish) => keep.lasting(wish, &found.policy),
        None => *keep,
    };
    let id = commit(&app, keep, told.response.get().as_bytes()).await?;
    tracing::debug!(lookup_id = told.lookup_id.map(|id| id.to_string()), entry = %id, "stored over the lookup API");
    Ok((StatusCode::CREATED, Json(json!({"entryId": id}))).into_response())
}

async fn commit(app: &App, keep: Keep, response: &[u8]) -> Result<crate::types::EntryId, Problem> {
    let answer = assemble::complete(response, Some("application/json"), keep.expected());
    let answer =
        answer.map_err(|why: NotKept| unprocessable("response", format!("may not be kept: {}", why.as_str())))?;
    app.cache.commit(keep, answer).await.map_err(|error| Problem(kept_error(&error)))
}

/// The caller's view of a failed store.
pub fn kept_error(error: &KeepError) -> Error {
    match error {
        KeepError::TooLarge { size, limit } => {
            let accepted = format!("at most {limit} bytes (maxAnswerBytes)");
            Error::Unprocessable(Invalid::new("response", format!("has {size} bytes"), accepted))
        }
        KeepError::NothingKept => {
            let accepted = "a cache whose policy has mode \"on\" and a ttl above 0";
            Error::Unprocessable(Invalid::new("cacheId", error.to_string(), accepted))
        }
        KeepError::Store(StoreError::TooLarge { bytes, max_bytes }) => {
            let accepted = format!("at most {max_bytes} bytes (maxBytes), and maxEntries above 0");
            Error::Unprocessable(Invalid::new("response", format!("makes an entry of {bytes} bytes"), accepted))
        }
        KeepError::Store(error) => Error::Unavailable(format!("the store failed: {error}")),
    }
}

fn unprocessable(field: &str, problem: String) -> Problem {
    let accepted = "a complete text answer to a request whose answer the cache's policy keeps";
    Problem(Error::Unprocessable(Invalid::new(field, problem, accepted)))
}

fn threshold(value: Option<f64>) -> Result<(), Error> {
    match value {
        Some(v) if !(0.0..=1.0).contains(&v) => {
            Err(Invalid::new("similarityThreshold", format!("{v} is out of range"), "0 to 1").into())
        }
        _ => Ok(()),
    }
}

/// A lifetime in milliseconds as the lookup routes take it.
///
/// # Errors
/// When it is not above 0, or longer than a policy may allow.
pub fn ttl_millis(millis: i64) -> Result<Duration, Error> {
    let valid = u64::try_from(millis).ok().filter(|ms| (1..=MAX_SECONDS * 1000).contains(ms));
    valid.map(Duration::from_millis).ok_or_else(|| {
        let accepted = format!("1 to {}", MAX_SECONDS * 1000);
        Invalid::new("ttlMillis", format!("{millis} is out of range"), accepted).into()
    })
}

fn understand(
    app: &App,
    cache: &str,
    headers: &HeaderMap,
    request: &RawValue,
    dialect: Option<Dialect>,
    attributes: Option<BTreeMap<String, String>>,
) -> Result<Asked, Problem> {
    if dialect.is_some_and(|dialect| dialect != Dialect::OpenAi) {
        return Err(Invalid::new("dialect", "is not supported by this version", "\"openai\"").into());
    }
    let id: CacheId = cache.parse()?;
    let policy =
        app.cache.policies().get(&id).ok_or_else(|| Error::NotFound(format!("there is no cache {cache:?}")))?;
    let prompt = openai_chat::parse(request.get().as_bytes())
        .map_err(|why| Invalid::new("request", why.to_string(), "a chat completions request body"))?;
    let mut directives = Directives::parse(headers)?;
    if let Some(attributes) = attributes {
        directives.attributes = Attributes::try_from(attributes)?;
    }
    let upstream = app.upstreams.for_dialect(Dialect::OpenAi);
    let scope = Scope {
        tenant: app.tenant(headers, upstream),
        cache: id,
        upstream: upstream.map(crate::upstream::Upstream::identity).unwrap_or_default(),
        dialect: Dialect::OpenAi,
        route: "chat/completions".into(),
        headers: Scope::semantic_headers(headers),
        attributes: directives.attributes.clone(),
    };
    Ok(Asked { policy, prompt, scope, directives })
}
