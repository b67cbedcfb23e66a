//! A model behind an OpenAI-compatible `/embeddings` API.
//!
//! Its dimension is that of its first answer; another one later is an error. Some failures in a row and it counts as
//! down: texts are then turned away at once instead of each waiting for its deadline, while one task asks on until an
//! answer comes.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use super::manifest::fingerprint_of;
use super::{EmbedError, State, self_test};
use crate::config;
use crate::embedding::Embedding;
use crate::error::Invalid;
use crate::types::Fingerprint;

/// Failures in a row after which the server counts as down.
const DOWN_AFTER: u32 = 3;
/// How long one attempt of the start or of the recovery may take.
const ATTEMPT: Duration = Duration::from_secs(5);
/// First and longest pause between attempts to recover.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// An answer with one vector is some 100 KB.
const LARGEST_ANSWER: usize = 4 << 20;
/// Requests at once when the config leaves it open.
const CONCURRENT: usize = 8;
/// The field that an error names when the server does not take a text.
const TEXT: &str = "text";

/// A remote model, as it is at the moment.
pub struct Remote {
    shared: Arc<Shared>,
    /// The task that brings a failed server back; aborted with its owner.
    recovery: Mutex<JoinSet<()>>,
}

struct Shared {
    client: reqwest::Client,
    url: String,
    base_url: String,
    model: String,
    key: Option<String>,
    slots: Semaphore,
    waiting: AtomicUsize,
    queue: usize,
    dimension: OnceLock<usize>,
    failures: AtomicU32,
    state: Mutex<State>,
    down: Notify,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    embedding: Vec<f32>,
}

impl Remote {
    /// Asks the server once for its dimension; when it does not answer, goes on asking in the background.
    ///
    /// # Errors
    /// When no HTTP client can be made (no root certificates, say).
    pub async fn start(remote: &config::Remote, key: Option<&str>, config: &config::Embedder) -> Result<Self, String> {
        // Fails only when one is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut client =
            reqwest::Client::builder().connect_timeout(CONNECT_WITHIN).redirect(reqwest::redirect::Policy::none());
        // A system proxy cannot reach this machine's own loopback.
        if config::is_loopback(&remote.base_url) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| format!("no HTTP client for embedder.remote: {}", root(&error)))?;
        let threads = if config.threads == 0 { CONCURRENT } else { config.threads };
        let shared = Arc::new(Shared {
            client,
            url: format!("{}/embeddings", remote.base_url.trim_end_matches('/')),
            base_url: remote.base_url.trim_end_matches('/').into(),
            model: remote.model.clone(),
            key: key.map(str::to_owned),
            slots: Semaphore::new(threads),
            waiting: AtomicUsize::new(0),
            queue: config.queue.max(1),
            dimension: OnceLock::new(),
            failures: AtomicU32::new(0),
            state: Mutex::new(State::Loading),
            down: Notify::new(),
        });
        shared.attempt().await;
        let mut recovery = JoinSet::new();
        recovery.spawn(recover(Arc::clone(&shared)));
        Ok(Self { shared, recovery: Mutex::new(recovery) })
    }

    /// How it is.
    pub fn state(&self) -> State {
        self.shared.state().clone()
    }

    /// Base URL, model and dimension; `None` until the server has answered once.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        let dimension = self.dimension()?.to_string();
        Some(fingerprint_of(&["remote", "unit", &self.shared.base_url, &self.shared.model, &dimension]))
    }

    /// Components of a vector; `None` until the server has answered once.
    pub fn dimension(&self) -> Option<usize> {
        self.shared.dimension.get().copied()
    }

    /// The vector of `text`, by `until`.
    pub async fn embed(&self, text: &str, until: Instant) -> Result<Embedding, EmbedError> {
        if let State::Degraded(reason) = self.state() {
            return Err(EmbedError::Down(reason));
        }
        let asked = AtomicBool::new(false);
        let outcome = tokio::time::timeout_at(until.into(), self.shared.queued(text, &asked)).await;
        let outcome = outcome.unwrap_or(Err(EmbedError::Deadline));
        match &outcome {
            Ok(_) => self.shared.failures.store(0, Ordering::Relaxed),
            Err(error) if asked.into_inner() && is_the_servers(error) => {
                if self.shared.failures.fetch_add(1, Ordering::Relaxed) + 1 >= DOWN_AFTER {
                    self.shared.degrade(error.to_string());
                }
            }
            Err(_) => {}
        }
        outcome
    }

    /// Ends the recovery; texts under way end by their deadline.
    pub fn shutdown(&self) {
        self.recovery.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

/// Brings a server that is down back, for as long as its owner lives.
async fn recover(shared: Arc<Shared>) {
    loop {
        let mut pause = PAUSE.0;
        while matches!(*shared.state(), State::Degraded(_)) {
            tokio::time::sleep(pause).await;
            shared.attempt().await;
            pause = (pause * 2).min(PAUSE.1);
        }
        shared.down.notified().await;
    }
}

/// A refusal of one text says nothing of the next.
fn is_the_servers(error: &EmbedError) -> bool {
    !matches!(error, EmbedError::Busy) && !matches!(error, EmbedError::Invalid(invalid) if invalid.field == TEXT)
}

/// Counts a text among those that wait, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn degrade(&self, reason: String) {
        let mut state = self.state();
        if *state != State::Degraded(reason.clone()) {
            tracing::error!(server = self.base_url, reason, "the remote embedder is down: exact matches only");
        }
        *state = State::Degraded(reason);
        drop(state);
        self.down.notify_one();
    }

    /// One try to get two vectors that differ, which is what makes the server count as up.
    async fn attempt(&self) {
        let [one, other] = self_test::UNLIKE;
        let both = async {
            let (one, other) = (self.ask(one).await?, self.ask(other).await?);
            Ok::<_, EmbedError>((one, other))
        };
        let outcome = match tokio::time::timeout(ATTEMPT, both).await {
            Ok(Ok((one, other))) => self_test::tells_apart(&one, &other),
            Ok(Err(EmbedError::Down(reason))) => Err(reason),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer within {} s", ATTEMPT.as_secs())),
        };
        match outcome {
            Ok(()) => {
                self.failures.store(0, Ordering::Relaxed);
                *self.state() = State::Ready;
                tracing::info!(server = self.base_url, model = self.model, "the remote embedder is ready");
            }
            Err(reason) => self.degrade(format!("{}: {reason}", self.url)),
        }
    }

    /// Asks the server when its turn has come, and notes in `asked` that it did.
    async fn queued(&self, text: &str, asked: &AtomicBool) -> Result<Embedding, EmbedError> {
        if let Ok(_slot) = self.slots.try_acquire() {
            asked.store(true, Ordering::Relaxed);
            return self.ask(text).await;
        }
        let waiting = Waiting(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::AcqRel) >= self.queue {
            return Err(EmbedError::Busy);
        }
        let slot = self.slots.acquire().await.map_err(|_| EmbedError::Down("shutting down".into()))?;
        drop(waiting);
        asked.store(true, Ordering::Relaxed);
        let answer = self.ask(text).await;
        drop(slot);
        answer
    }

    async fn ask(&self, text: &str) -> Result<Embedding, EmbedError> {
        let body = serde_json::json!({"model": self.model, "input": text}).to_string();
        let mut request = self.client.post(&self.url).header("content-type", "application/json").body(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let down = |error: reqwest::Error| EmbedError::Down(root(&error));
        let mut response = request.send().await.map_err(down)?;
        let status = response.status();
        if matches!(status.as_u16(), 400 | 413 | 422) {
            let problem = format!("the server answered {status}");
            return Err(EmbedError::Invalid(Invalid::new(TEXT, problem, "a text that the model takes")));
        }
        if !status.is_success() {
            return Err(EmbedError::Down(format!("the server answered {status}")));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(down)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > LARGEST_ANSWER {
                return Err(EmbedError::Down(format!("the answer is larger than {LARGEST_ANSWER} bytes")));
            }
        }
        self.vector(&bytes)
    }

    fn vector(&self, bytes: &[u8]) -> Result<Embedding, EmbedError> {
        let answer: Answer = serde_json::from_slice(bytes)
            .map_err(|error| EmbedError::Down(format!("the answer is not an embeddings answer: {error}")))?;
        let [item] = <[Item; 1]>::try_from(answer.data)
            .map_err(|items| EmbedError::Down(format!("the answer has {} vectors, not one", items.len())))?;
        let length = item.embedding.len();
        let expected = self.dimension.get().copied().unwrap_or(length);
        let vector = Embedding::normalise(item.embedding, expected).map_err(EmbedError::Invalid)?;
        // Only a vector that is right in itself may set the dimension.
        if *self.dimension.get_or_init(|| length) != length {
            let problem = format!("{length} components");
            return Err(EmbedError::Invalid(Invalid::new("embedding", problem, "as many as before")));
        }
        Ok(vector)
    }
}

/// The innermost cause: the outer ones only name the URL.
fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
