//! What feedback said of pairs, for `calibrate`: out of the data folder, or from the service that has it open.

use std::time::Duration;

use crate::config::{Config, Secrets};
use crate::eval::rows::{self, PairRow};
use crate::store::{Label, StoreError, labels_in};
use crate::types::CacheId;

/// How long the service may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_mins(1);

/// Every labelled pair of `cache`.
///
/// # Errors
/// Where they could not be read, and what to do.
pub fn read(cache: &CacheId, config: &Config, secrets: &Secrets) -> Result<Vec<PairRow>, String> {
    let rows = match labels_in(&config.store.data_dir) {
        Ok(labels) => labels.into_iter().filter(|label| label.cache == *cache).filter_map(row).collect(),
        Err(StoreError::Locked { .. }) => ask(cache, config, secrets)?,
        Err(error) => return Err(format!("--feedback: {error}")),
    };
    if rows.is_empty() {
        return Err(format!("--feedback: nothing was said of any pair in the cache {cache}"));
    }
    Ok(rows)
}

fn row(label: Label) -> Option<PairRow> {
    let pair = label.pair?;
    Some(PairRow { id: "feedback".into(), stored: pair.stored, asked: pair.asked, same: !label.wrong })
}

/// Asks the service where the configuration says that it listens.
fn ask(cache: &CacheId, config: &Config, secrets: &Secrets) -> Result<Vec<PairRow>, String> {
    let url = format!("http://{}/v1/caches/{cache}/feedback", config.server.listen);
    let failed = |problem: String| {
        format!(
            "--feedback: the data folder is in use, and the service at {url} does not tell ({problem}); stop it, or \
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
