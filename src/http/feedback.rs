//! `feedback`: what callers say of answers that they were served, and all that was said, as labelled pairs.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cache::{FeedbackError, Verdict};
use crate::error::{Error, Invalid};
use crate::http::body;
use crate::http::named::Named;
use crate::http::operator::{known, whole};
use crate::http::render::Problem;
use crate::http::state::App;
use crate::store::Label;
use crate::types::{Dialect, LookupId, TenantId};
use crate::upstream::Upstream;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FeedbackBody {
    lookup_id: String,
    verdict: Value,
}

/// A verdict, read and checked. A name that no lookup can have is one that nobody remembers.
struct Said {
    lookup: Option<LookupId>,
    verdict: Verdict,
}

impl Said {
    fn read(bytes: &Bytes) -> Result<Self, Error> {
        let told: FeedbackBody = body::parse(bytes)?;
        let verdict = match told.verdict.as_str() {
            Some("right") => Verdict::Right,
            Some("wrong") => Verdict::Wrong,
            _ => {
                let shown: String = told.verdict.to_string().chars().take(60).collect();
                let invalid = Invalid::new("verdict", format!("{shown} is no verdict"), "\"right\" or \"wrong\"");
                return Err(Error::Unprocessable(invalid));
            }
        };
        Ok(Self { lookup: told.lookup_id.parse().ok(), verdict })
    }
}

/// `POST /v1/caches/{cache}/feedback`
pub async fn give(
    State(app): State<App>,
    Named(cache): Named<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let Said { lookup, verdict } = body::read_json(&app, &headers, body, Said::read).await?;
    let (id, _) = known(&app, &cache)?;
    let lookup = lookup.ok_or_else(|| refused(FeedbackError::Unknown))?;
    let (engine, caller) = (app.cache.clone(), tenant(&app, &headers));
    let giving = async move { engine.feedback(&id, caller, lookup, verdict).await };
    let effect = whole(&app, giving).await?.map_err(refused)?;
    Ok(Json(json!({"verdict": verdict, "effect": effect})).into_response())
}

fn refused(error: FeedbackError) -> Error {
    match error {
        FeedbackError::Unknown => Error::NotFound(error.to_string()),
        FeedbackError::Store(error) => Error::Unavailable(format!("the store failed: {error}")),
    }
}

/// `GET /v1/caches/{cache}/feedback`: JSON Lines that `refrain eval` and `refrain calibrate` read, the oldest first.
pub async fn list(
    State(app): State<App>,
    Named(cache): Named<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (id, policy) = known(&app, &cache)?;
    // The one key that there is with keys is the admin's, who sees all tenants' labels.
    let whose = (!app.access.has_keys()).then(|| tenant(&app, &headers));
    let labels = app.cache.labels(&id, whose, &policy).await;
    let labels = labels.map_err(|error| Error::Unavailable(format!("the store failed: {error}")))?;
    let lines = body::by_size(labels.len() << 10, move || labels.iter().filter_map(line).collect::<String>()).await?;
    let kind = HeaderValue::from_static("application/x-ndjson");
    Ok(([(header::CONTENT_TYPE, kind)], lines).into_response())
}

fn line(label: &Label) -> Option<String> {
    let pair = label.pair.as_ref()?;
    let row = json!({
        "a": pair.stored, "b": pair.asked, "label": u8::from(!label.wrong),
        "similarity": pair.similarity, "probability": pair.probability, "at": label.at.0 / 1000,
        "source": label.source.as_str(),
    });
    Some(format!("{row}\n"))
}

fn tenant(app: &App, headers: &HeaderMap) -> TenantId {
    app.tenant(headers, app.upstreams.for_dialect(Dialect::OpenAi).map(AsRef::<Upstream>::as_ref))
}
