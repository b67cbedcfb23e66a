//! A cache's labels for `calibrate`: out of the data folder, or from the service that has it open.

use std::time::Duration;

use crate::config::{Config, Secrets};
use crate::eval::rows::{self, PairRow};
use crate::store::{Label, LabelSource, StoreError, labels_in};
use crate::types::CacheId;

/// How long the service may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_mins(1);

/// The labelled pairs of `cache` that come from `source`.
///
/// # Errors
/// Where they could not be read, and what to do; or that there are none.
pub fn read(cache: &CacheId, source: LabelSource, config: &Config, secrets: &Secrets) -> Result<Vec<PairRow>, String> {
    let switch = source.as_str();
    let mut rows: Vec<PairRow> = match labels_in(&config.store.data_dir) {
        Ok(labels) => labels.into_iter().filter(|label| label.cache == *cache).filter_map(row).collect(),
        Err(StoreError::Locked { .. }) => ask(cache, switch, config, secrets)?,
        Err(error) => return Err(format!("--{switch}: {error}")),
    };
    rows.retain(|row| row.source.as_deref() == Some(switch));
    if rows.is_empty() {
        return Err(format!("--{switch}: {}", none(source, cache)));
    }
    Ok(rows)
}

fn none(source: LabelSource, cache: &CacheId) -> String {
    match source {
        LabelSource::Feedback => format!("nothing was said of any pair in the cache {cache}"),
        LabelSource::Shadow => format!("shadow mode has no label of any pair in the cache {cache}"),
    }
}

fn row(label: Label) -> Option<PairRow> {
    let (pair, source) = (label.pair?, label.source.as_str());
    let (stored, asked, same) = (pair.stored, pair.asked, !label.wrong);
    Some(PairRow { id: source.into(), stored, asked, same, source: Some(source.into()) })
}

/// Asks the service where the configuration says that it listens.
fn ask(cache: &CacheId, switch: &str, config: &Config, secrets: &Secrets) -> Result<Vec<PairRow>, String> {
    let url = format!("http://{}/v1/caches/{cache}/feedback", config.server.listen);
    let failed = |problem: String| {
        format!(
            "--{switch}: the data folder is in use, and the service at {url} does not tell ({problem}); stop it, or \
             save its answer and pass that to --pairs"
        )
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let text = runtime.map_err(|error| failed(error.to_string()))?.block_on(get(&url, secrets)).map_err(failed)?;
    if text.is_empty() { Ok(Vec::new()) } else { rows::read(&text, None).map_err(failed) }
}

async fn get(url: &str, secrets: &Secrets) -> Result<String, String> {
    // An error says that another part of this process was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().timeout(ANSWERS_WITHIN).build();
    let mut request = client.map_err(|error| error.to_string())?.get(url);
    if let Some(key) = &secrets.admin_key {
        request = request.bearer_auth(key);
    }
    let answer = request.send().await.map_err(|error| error.to_string())?;
    match answer.status() {
        status if status.is_success() => answer.text().await.map_err(|error| error.to_string()),
        status => Err(format!("status {status}")),
    }
}
