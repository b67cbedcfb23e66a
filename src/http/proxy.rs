//! The provider surface: a drop-in base URL for the provider's own SDKs.
//!
//! `chat/completions` is answered from the cache or filled into it; every other path is relayed as it comes.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::cache::{Forward, Head, Hit, Join, Lead, Lookup, Phase, Question, Shape, Subscription};
use crate::dialect::openai_chat;
use crate::error::Error;
use crate::http::access_log::{Fate, Shadowed};
use crate::http::bill::{Bill, Ordered};
use crate::http::head::{is_event_stream, may_be_kept, remove_private};
use crate::http::hit::{self, insert, label};
use crate::http::locate::locate;
use crate::http::pump::{self, Errand};
use crate::http::render::{Style, render};
use crate::http::state::App;
use crate::http::{body, decode};
use crate::metrics;
use crate::policy::cache_status::CacheStatus;
use crate::policy::directives::Directives;
use crate::policy::partition::Scope;
use crate::prompt::Prompt;
use crate::reason::BypassReason;
use crate::settings::{CachePolicy, Mode, Strategy};
use crate::types::{CacheId, Dialect, LookupId, Outcome, Similarity};
use crate::upstream::{Upstream, UpstreamError, forwarded};

/// The one endpoint whose answers are kept.
const CHAT: &str = "chat/completions";

/// What Anthropic's callers send.
static ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// How often a request waits for another one's fill before it goes upstream by itself.
const ROUNDS: usize = 3;

/// `/v1/...` and `/caches/{cache}/v1/...`
pub async fn serve(State(app): State<App>, request: Request) -> Response {
    let style = Style::of_path(request.uri().path());
    match Call::of(app, request).await {
        Ok(call) if call.chat => call.answer_chat().await,
        Ok(call) => call.relay(Outcome::Bypass, BypassReason::Endpoint.as_str()).await,
        Err(error) => Err(error),
    }
    .unwrap_or_else(|error| refused(&error, style))
}

/// An error of Refrain's own as an answer; a provider that could not be reached is counted as any miss.
fn refused(error: &Error, style: Style) -> Response {
    let mut response = render(error, style);
    let (outcome, fwd, reason) = match error {
        Error::OnlyIfCached => ("miss", None, "only-if-cached"),
        Error::Upstream(_) => ("miss", Some("miss"), "upstream-error"),
        Error::UpstreamTimeout(_) => ("miss", Some("miss"), "upstream-timeout"),
        _ => ("", None, "refused"),
    };
    let status = CacheStatus { fwd, detail: Some(reason), ..CacheStatus::default() };
    insert(response.headers_mut(), hit::CACHE_STATUS, status.render());
    if !outcome.is_empty() {
        label(response.headers_mut(), hit::OUTCOME, outcome);
    }
    response.extensions_mut().insert(Fate { outcome, reason, ..Fate::default() });
    response
}

/// A request of the provider surface with everything that was read from it.
struct Call {
    app: App,
    upstream: Arc<Upstream>,
    policy: Arc<CachePolicy>,
    cache: CacheId,
    directives: Directives,
    method: Method,
    /// The path under the provider's base URL, with its query string.
    route: String,
    /// Is it the endpoint whose answers are kept?
    chat: bool,
    headers: HeaderMap,
    body: Bytes,
}

impl Call {
    async fn of(app: App, request: Request) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let (cache, path) = locate(parts.uri.path())?;
        let directives = Directives::parse(&parts.headers)?;
        let cache = match cache {
            Some(name) => name.parse()?,
            None => directives.cache.clone().unwrap_or_default(),
        };
        let unknown = || Error::NotFound(format!("there is no cache {:?}", cache.as_str()));
        let policy = app.cache.policies().get(&cache).ok_or_else(unknown)?;
        let anthropic = parts.headers.contains_key(&ANTHROPIC_VERSION);
        let upstream = app
            .upstreams
            .for_path(path, anthropic)
            .cloned()
            .ok_or_else(|| Error::NotFound(format!("no upstream is configured for /v1/{path}")))?;
        let body = body::read(&app, body).await?;
        let route = match parts.uri.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        let chat = path == CHAT && parts.method == Method::POST;
        let (method, headers) = (parts.method, parts.headers);
        Ok(Self { app, upstream, policy, cache, directives, method, route, chat, headers, body })
    }

    fn scope(&self) -> Scope {
        Scope {
            tenant: self.app.tenant(&self.headers, Some(&self.upstream)),
            cache: self.cache.clone(),
            upstream: Arc::clone(&self.upstream.identity),
            dialect: Dialect::OpenAi,
            route: self.route.clone(),
            headers: Scope::semantic_headers(&self.headers),
            attributes: self.directives.attributes.clone(),
        }
    }

    /// The caller's prompt, from a decoded copy of its body.
    async fn prompt(&self) -> Option<Prompt> {
        if !self.headers.contains_key(header::CONTENT_ENCODING) {
            let body = self.body.clone();
            return body::by_size(body.len(), move || openai_chat::parse(&body).ok()).await.ok().flatten();
        }
        let (headers, body, limit) = (self.headers.clone(), self.body.clone(), self.app.config.server.max_body_bytes);
        let parse = move || decode::whole(&headers, &body, limit).and_then(|copy| openai_chat::parse(&copy).ok());
        // A packed body's size says nothing.
        body::by_size(usize::MAX, parse).await.ok().flatten()
    }

    async fn answer_chat(self) -> Result<Response, Error> {
        let Some(prompt) = self.prompt().await else {
            return self.relay(Outcome::Bypass, BypassReason::Unreadable.as_str()).await;
        };
        let patience = Instant::now() + self.app.config.fill.follow_within.0;
        for round in 0..=ROUNDS {
            let last = round == ROUNDS || Instant::now() >= patience;
            let question =
                Question { prompt: &prompt, scope: self.scope(), directives: &self.directives, explain: false };
            let forward = match self.app.cache.lookup(question, &self.policy).await {
                Lookup::Hit(hit) => match self.answer(&hit, &prompt) {
                    Ok(response) => return Ok(response),
                    Err(error) => {
                        tracing::error!(%error, "a stored answer cannot be served");
                        return self.relay(Outcome::Miss, BypassReason::StoreDown.as_str()).await;
                    }
                },
                Lookup::Forward(forward) => forward,
            };
            if self.directives.only_if_cached {
                let closing = forward.keep.as_ref().and_then(|keep| self.app.cache.flights().closing(keep.exact_key()));
                match closing.filter(|_| !last) {
                    Some(phase) => over(phase, patience).await,
                    None => return Err(Error::OnlyIfCached),
                }
                continue;
            }
            let join = if last { Join::alone() } else { self.join(&forward, &prompt) };
            match join {
                // Another's fill ended between this lookup and this lead.
                Join::Lead(..) if !last && self.overtaken(&forward) => {}
                Join::Lead(lead, own) => return self.fill(*forward, &prompt, lead, own).await,
                Join::Follow(subscription) => {
                    if let Some(response) = self.follow(&forward, &prompt, subscription, patience).await {
                        return Ok(response);
                    }
                }
                // In another transport: the next lookup sees what was kept.
                Join::Wait(subscription) => over(subscription.phase, patience).await,
            }
        }
        Err(Error::Internal("the last round always leads".into()))
    }

    fn answer(&self, hit: &Hit, prompt: &Prompt) -> Result<Response, Error> {
        let now = self.app.cache.clock().now();
        let mut response = hit::respond(hit, prompt, now)?;
        self.app.cache.store().touch(hit.stored.entry.id, now);
        if let Some(usage) = hit.stored.entry.answer.usage {
            metrics::served_tokens(usage.input, usage.output);
        }
        let fate = Fate {
            tier: hit.tier.as_str(),
            similarity: Some(hit.similarity.get()),
            ..self.fate(&prompt.model, hit.outcome, hit.tier.as_str(), Some(hit.lookup_id))
        };
        response.extensions_mut().insert(fate);
        Ok(response)
    }

    /// Identical requests share one upstream call where they would share the answer anyway.
    fn join(&self, forward: &Forward, prompt: &Prompt) -> Join {
        let shareable = self.policy.mode == Mode::On
            && self.policy.uses(Strategy::Exact)
            && !self.directives.no_cache
            && self.directives.max_age.is_none();
        match &forward.keep {
            Some(keep) if shareable => {
                let encoding = self.headers.get(header::ACCEPT_ENCODING).map(|value| value.as_bytes().to_vec());
                let shape = Shape {
                    stream: prompt.stream,
                    // A tool call is one caller's to run, and which answer is one shows at its end.
                    unshared: prompt.bypass == Some(BypassReason::Tools),
                    include_usage: prompt.include_usage,
                    accept_encoding: encoding.unwrap_or_default(),
                };
                self.app.cache.flights().join(keep.exact_key(), shape, keep.max_answer_bytes())
            }
            _ => Join::alone(),
        }
    }

    fn overtaken(&self, forward: &Forward) -> bool {
        let served = self.policy.mode == Mode::On && self.policy.uses(Strategy::Exact);
        let exact = served && !self.directives.no_cache;
        let keep = forward.keep.as_ref().filter(|_| exact);
        keep.is_some_and(|keep| self.app.cache.overtaken(keep))
    }

    /// Leads: calls upstream in a task of its own, answers with what comes.
    async fn fill(
        &self,
        mut forward: Forward,
        prompt: &Prompt,
        lead: Lead,
        own: Subscription,
    ) -> Result<Response, Error> {
        let keep = forward.keep.take();
        let (stored, limit) = (keep.is_some(), keep.as_ref().map_or(0, |keep| keep.max_answer_bytes()));
        let bill = self.bill(&prompt.model, forward.lookup_id, prompt.text_bytes);
        let head = self.set_out(lead, keep, bill).await?;
        let status = CacheStatus {
            stored: stored && may_be_kept(&head, limit),
            fwd_status: Some(head.status.as_u16()),
            ..CacheStatus::forwarded(forward.outcome, self.directives.no_cache, forward.reason)
        };
        let decided = Decided { forward: &forward, model: &prompt.model, status, collapsed: false };
        Ok(self.relayed(&head, own, &decided))
    }

    /// Follows: hears another's answer, if it begins in time; `None` when that came to nothing.
    async fn follow(
        &self,
        forward: &Forward,
        prompt: &Prompt,
        mut subscription: Subscription,
        until: Instant,
    ) -> Option<Response> {
        let open = subscription.phase.wait_for(|phase| !matches!(phase, Phase::Waiting));
        let phase = tokio::time::timeout_at(until, open).await.ok()?.ok()?.clone();
        let (Phase::Open(head) | Phase::Closing(head)) = phase else { return None };
        metrics::collapsed();
        let status = CacheStatus {
            collapsed: true,
            fwd_status: Some(head.status.as_u16()),
            ..CacheStatus::forwarded(forward.outcome, false, forward.reason)
        };
        let decided = Decided { forward, model: &prompt.model, status, collapsed: true };
        Some(self.relayed(&head, subscription, &decided))
    }

    /// Relays a request that the cache has no part in.
    async fn relay(&self, outcome: Outcome, reason: &'static str) -> Result<Response, Error> {
        if self.directives.only_if_cached {
            return Err(Error::OnlyIfCached);
        }
        let Join::Lead(lead, own) = Join::alone() else {
            return Err(Error::Internal("a lone join always leads".into()));
        };
        let lookup_id = LookupId::generate();
        let forward = Forward {
            lookup_id,
            outcome,
            reason,
            best: None,
            keep: None,
            moves: None,
            considered: Vec::new(),
            shadow: None,
        };
        let bill = self.bill("", lookup_id, self.body.len());
        let head = self.set_out(lead, None, bill).await?;
        let status = CacheStatus {
            fwd_status: Some(head.status.as_u16()),
            ..CacheStatus::forwarded(outcome, self.directives.no_cache, reason)
        };
        Ok(self.relayed(&head, own, &Decided { forward: &forward, model: "", status, collapsed: false }))
    }

    /// The account of this call's tokens; none on an endpoint whose answers are not read.
    fn bill(&self, model: &str, lookup_id: LookupId, prompt_bytes: usize) -> Option<Bill> {
        let ordered = || Ordered {
            lookup_id,
            cache: self.cache.clone(),
            model: model.to_owned(),
            upstream: self.upstream.name.clone(),
            prompt_bytes,
        };
        self.chat.then(|| Bill::new(ordered()))
    }

    /// Sends the request from a task of its own and waits for the answer's head. When the caller leaves, this future
    /// is dropped and the task decides what becomes of the call.
    async fn set_out(
        &self,
        lead: Lead,
        keep: Option<Box<crate::cache::Keep>>,
        bill: Option<Bill>,
    ) -> Result<Arc<Head>, Error> {
        let errand = Errand {
            upstream: Arc::clone(&self.upstream),
            method: self.method.clone(),
            path: self.route.clone(),
            headers: forwarded(
                &self.headers,
                self.upstream.key.as_ref(),
                self.app.access.has_keys(),
                self.app.config.auth.pass_through,
            ),
            body: self.body.clone(),
            keep,
            bill,
        };
        let (sender, receiver) = oneshot::channel();
        self.app.tasks.spawn("relay", pump::run(self.app.clone(), errand, lead, sender));
        match receiver.await {
            Ok(Ok(head)) => Ok(head),
            Ok(Err(error @ UpstreamError::FirstByteTimeout { .. })) => Err(Error::UpstreamTimeout(error.to_string())),
            Ok(Err(error)) => Err(Error::Upstream(error.to_string())),
            Err(_) => Err(Error::Upstream("the relay ended before the provider answered".into())),
        }
    }

    /// Upstream's answer with Refrain's headers on it.
    fn relayed(&self, head: &Head, subscription: Subscription, decided: &Decided<'_>) -> Response {
        let forward = decided.forward;
        let mut response = Response::new(Body::from_stream(subscription.into_stream()));
        *response.status_mut() = head.status;
        *response.headers_mut() = head.headers.clone();
        let headers = response.headers_mut();
        if is_event_stream(headers) {
            headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
            label(headers, hit::ACCEL_BUFFERING, "no");
        }
        if decided.collapsed {
            remove_private(headers);
        }
        let status = decided.status.render();
        let before = headers.get(hit::CACHE_STATUS).and_then(|value| value.to_str().ok());
        let status = before.map_or_else(|| status.clone(), |before| format!("{before}, {status}"));
        insert(headers, hit::CACHE_STATUS, status);
        label(headers, hit::OUTCOME, forward.outcome.as_str());
        insert(headers, hit::LOOKUP_ID, forward.lookup_id.to_string());
        hit::moves(headers, forward.moves);
        hit::shadow(headers, forward.shadow.as_ref());
        if let Some(best) = forward.best {
            insert(headers, hit::SIMILARITY, best.to_string());
        }
        let fate = Fate {
            similarity: forward.best.map(Similarity::get),
            upstream: self.upstream.name.clone(),
            collapsed: decided.collapsed,
            shadow: forward.shadow.as_ref().map(Shadowed::of),
            ..self.fate(decided.model, forward.outcome, forward.reason, Some(forward.lookup_id))
        };
        response.extensions_mut().insert(fate);
        response
    }

    fn fate(&self, model: &str, outcome: Outcome, reason: &'static str, id: Option<LookupId>) -> Fate {
        Fate {
            cache: Some(self.cache.clone()),
            model: model.to_owned(),
            outcome: outcome.as_str(),
            reason,
            lookup_id: id,
            ..Fate::default()
        }
    }
}

/// Waits until a fill is over, but not past `until`.
async fn over(mut phase: watch::Receiver<Phase>, until: Instant) {
    let over = phase.wait_for(|phase| matches!(phase, Phase::Kept | Phase::Failed));
    let _ = tokio::time::timeout_at(until, over).await;
}

/// What was decided of a relayed request.
struct Decided<'a> {
    forward: &'a Forward,
    model: &'a str,
    status: CacheStatus,
    collapsed: bool,
}
