//! `lookup` and `store`: the engine for gateways that make the upstream call themselves.
//!
//! Same decision as the provider surface, from the provider's own request body; no upstream call.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::cache::{Considered, Forward, Hit, Keep, KeepError, Lookup, Moves, Question};
use crate::dialect::assemble::{self, NotKept};
use crate::dialect::openai_chat;
use crate::error::{Error, Invalid};
use crate::http::access_log::{Fate, Shadowed};
use crate::http::named::Named;
use crate::http::render::Problem;
use crate::http::state::App;
use crate::http::{body, hit};
use crate::metrics;
use crate::policy::directives::Directives;
use crate::policy::partition::Scope;
use crate::prompt::Prompt;
use crate::settings::{CachePolicy, MAX_SECONDS, TimeGuard};
use crate::store::StoreError;
use crate::types::{Attributes, CacheId, Dialect, EntryId, LookupId, Outcome, Similarity, Tier};

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

/// A request that a gateway holds, and what it says about it.
struct About {
    prompt: Prompt,
    attributes: Option<Attributes>,
}

impl About {
    fn read(
        request: &RawValue,
        dialect: Option<Dialect>,
        attributes: Option<BTreeMap<String, String>>,
    ) -> Result<Self, Error> {
        if dialect.is_some_and(|dialect| dialect != Dialect::OpenAi) {
            return Err(Invalid::new("dialect", "is not supported by this version", "\"openai\"").into());
        }
        let prompt = openai_chat::parse(request.get().as_bytes())
            .map_err(|why| Invalid::new("request", why.to_string(), "a chat completions request body"))?;
        Ok(Self { prompt, attributes: attributes.map(Attributes::try_from).transpose()? })
    }
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
    Named(cache): Named<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (about, wish, explain) = body::read_json(&app, &headers, body, |bytes| {
        let asked: LookupBody<'_> = body::parse(bytes)?;
        threshold(asked.similarity_threshold)?;
        let about = About::read(asked.request, asked.dialect, asked.attributes)?;
        Ok((about, asked.similarity_threshold, asked.explain))
    })
    .await?;
    let mut found = understand(&app, &cache, &headers, about)?;
    found.directives.threshold = tightest(found.directives.threshold, wish);
    let id = found.scope.cache.clone();
    let question = Question { prompt: &found.prompt, scope: found.scope, directives: &found.directives, explain };
    let fate = Fate { cache: Some(id), model: found.prompt.model.clone(), ..Fate::default() };
    let caller = question.scope.tenant;
    match app.cache.lookup(question, &found.policy).await {
        Lookup::Hit(hit) => Ok(hit_told(&app, hit, explain, fate).await?),
        Lookup::Forward(forward) => {
            // What it is shown, a gateway can speak of.
            if let Some(hit) = forward.shadow.as_ref().and_then(|shadow| shadow.hit.as_ref()) {
                app.cache.remember(hit, caller, &found.prompt.text);
            }
            Ok(forward_told(&app, *forward, explain, fate).await?)
        }
    }
}

fn tightest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (one, other) => one.or(other),
    }
}

/// A decision as `lookup` tells it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Decision<'a> {
    outcome: Outcome,
    #[serde(flatten)]
    answer: Option<FoundAnswer<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<Similarity>,
    lookup_id: LookupId,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_sensitive: Option<TimeSensitive>,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow: Option<WouldBe<'a>>,
}

/// What mode `on` would have come to; `response` only where an explanation is asked for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WouldBe<'a> {
    outcome: Outcome,
    #[serde(flatten)]
    answer: Option<FoundAnswer<'a>>,
}

/// The word that makes the right answer move with time, and what the policy makes of it.
#[derive(Serialize)]
struct TimeSensitive {
    word: &'static str,
    policy: TimeGuard,
}

impl From<Moves> for TimeSensitive {
    fn from(moves: Moves) -> Self {
        Self { word: moves.word, policy: moves.guard }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FoundAnswer<'a> {
    tier: Tier,
    entry_id: EntryId,
    age: u64,
    ttl: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<&'a RawValue>,
}

impl<'a> FoundAnswer<'a> {
    fn of(hit: &Hit, response: Option<&'a RawValue>) -> Self {
        Self { tier: hit.tier, entry_id: hit.stored.entry.id, age: hit.age.as_secs(), ttl: hit.ttl, response }
    }
}

impl Decision<'_> {
    fn print(&self) -> Result<Bytes, Error> {
        serde_json::to_vec(self).map(Bytes::from).map_err(|error| Error::Internal(error.to_string()))
    }
}

async fn hit_told(app: &App, hit: Box<Hit>, explain: bool, fate: Fate) -> Result<Response, Error> {
    let now = app.cache.clock().now();
    app.cache.store().touch(hit.stored.entry.id, now);
    if let Some(usage) = hit.stored.entry.answer.usage {
        metrics::served_tokens(usage.input, usage.output);
    }
    let label = hit.tier.as_str();
    let fate = Fate { outcome: hit.outcome.as_str(), tier: label, reason: label, ..fate };
    let (model, size) = (fate.model.clone(), hit.stored.entry.answer.body.len());
    let print = move || {
        let answer = hit::json_body(&hit, &model, now)?;
        let decision = Decision {
            outcome: hit.outcome,
            answer: Some(FoundAnswer::of(&hit, Some(raw(&answer)?))),
            similarity: Some(hit.similarity),
            lookup_id: hit.lookup_id,
            reason: None,
            time_sensitive: hit.moves.map(Into::into),
            candidates: explain.then(|| hit.considered.iter().map(candidate).collect()),
            shadow: None,
        };
        decision.print()
    };
    Ok(told(body::by_size(size, print).await??, fate))
}

fn raw(json: &[u8]) -> Result<&RawValue, Error> {
    serde_json::from_slice(json).map_err(|error| Error::Internal(format!("stored answer: {error}")))
}

async fn forward_told(app: &App, forward: Forward, explain: bool, fate: Fate) -> Result<Response, Error> {
    let shadow = forward.shadow.as_ref().map(Shadowed::of);
    let fate = Fate { outcome: forward.outcome.as_str(), reason: forward.reason, shadow, ..fate };
    let (now, model) = (app.cache.clock().now(), fate.model.clone());
    let withheld = forward.shadow.as_ref().and_then(|shadow| shadow.hit.as_ref()).filter(|_| explain);
    let size = withheld.map_or(0, |hit| hit.stored.entry.answer.body.len());
    let print = move || {
        let hit = forward.shadow.as_ref().and_then(|shadow| shadow.hit.as_ref());
        let answer = hit.filter(|_| explain).map(|hit| hit::json_body(hit, &model, now)).transpose()?;
        let response = answer.as_deref().map(raw).transpose()?;
        let shadow = forward
            .shadow
            .as_ref()
            .map(|shadow| WouldBe { outcome: shadow.outcome, answer: hit.map(|hit| FoundAnswer::of(hit, response)) });
        let decision = Decision {
            outcome: forward.outcome,
            answer: None,
            similarity: forward.best,
            lookup_id: forward.lookup_id,
            reason: Some(forward.reason),
            time_sensitive: forward.moves.map(Into::into),
            candidates: explain.then(|| forward.considered.iter().map(candidate).collect()),
            shadow,
        };
        decision.print()
    };
    Ok(told(body::by_size(size, print).await??, fate))
}

fn told(body: Bytes, fate: Fate) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.extensions_mut().insert(fate);
    response
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
        "entryId": considered.id, "similarity": considered.similarity, "probability": considered.probability,
        "probabilityNeeded": considered.needed, "targetErrorRate": considered.target, "read": considered.read, "verdict": considered.verdict, "guards": guards,
        "entryObservations": {"right": considered.observations.right, "wrong": considered.observations.wrong},
    })
}

/// `POST /v1/caches/{cache}/store`
pub async fn store(
    State(app): State<App>,
    Named(cache): Named<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let told = body::read_json(&app, &headers, body, Told::read).await?;
    let mut found = understand(&app, &cache, &headers, told.about)?;
    // A store is a fill whose answer is here already: planned like one, by the same code.
    found.directives.no_cache = true;
    // Planned for the wish, even where the policy's own ttl is 0; the exact lifetime follows.
    found.directives.ttl = told.lifetime.map(|wish| wish.as_secs().max(1));
    let caller = found.scope.tenant;
    let question =
        Question { prompt: &found.prompt, scope: found.scope, directives: &found.directives, explain: false };
    let keep = match app.cache.lookup(question, &found.policy).await {
        Lookup::Forward(forward) if forward.reason == "no-cache" => forward.keep.ok_or("the policy's ttl is 0"),
        Lookup::Forward(forward) => forward.keep.ok_or(forward.reason),
        Lookup::Hit(_) => Err("no-cache"),
    };
    let keep = keep.map_err(|reason| unprocessable("request", format!("may not be kept: {reason}")))?;
    let keep = match told.lifetime {
        Some(wish) => keep.lasting(wish, &found.policy),
        None => *keep,
    };
    let keep = match told.lookup_id {
        Some(named) => app.cache.compare_when_kept(keep, named, caller, &found.policy).await,
        None => keep,
    };
    let id = commit(&app, keep, told.response).await?;
    tracing::debug!(lookup_id = told.lookup_id.map(|id| id.to_string()), entry = %id, "stored over the lookup API");
    Ok((StatusCode::CREATED, Json(json!({"entryId": id}))).into_response())
}

/// What a gateway wants to be kept.
struct Told {
    about: About,
    /// A part of the request's body.
    response: Bytes,
    lifetime: Option<Duration>,
    lookup_id: Option<LookupId>,
}

impl Told {
    fn read(bytes: &Bytes) -> Result<Self, Error> {
        let told: StoreBody<'_> = body::parse(bytes)?;
        Ok(Self {
            lifetime: told.ttl_millis.map(ttl_millis).transpose()?,
            about: About::read(told.request, told.dialect, told.attributes)?,
            response: bytes.slice_ref(told.response.get().as_bytes()),
            lookup_id: told.lookup_id,
        })
    }
}

async fn commit(app: &App, keep: Keep, response: Bytes) -> Result<EntryId, Problem> {
    let (size, expected) = (response.len(), keep.expected());
    let judge = move || assemble::complete(&response, Some("application/json"), expected);
    let answer = body::by_size(size, judge).await?;
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
            let accepted = "a cache whose policy has mode \"on\" or \"shadow\" and a ttl above 0";
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

fn understand(app: &App, cache: &str, headers: &HeaderMap, about: About) -> Result<Asked, Problem> {
    let id: CacheId = cache.parse()?;
    let policy =
        app.cache.policies().get(&id).ok_or_else(|| Error::NotFound(format!("there is no cache {cache:?}")))?;
    let mut directives = Directives::parse(headers)?;
    if let Some(attributes) = about.attributes {
        directives.attributes = attributes;
    }
    let upstream = app.upstreams.for_dialect(Dialect::OpenAi);
    let scope = Scope {
        tenant: app.tenant(headers, upstream.map(Arc::as_ref)),
        cache: id,
        upstream: upstream.map(|upstream| Arc::clone(&upstream.identity)).unwrap_or_default(),
        dialect: Dialect::OpenAi,
        route: "chat/completions".into(),
        headers: Scope::semantic_headers(headers),
        attributes: directives.attributes.clone(),
    };
    Ok(Asked { policy, prompt: about.prompt, scope, directives })
}
