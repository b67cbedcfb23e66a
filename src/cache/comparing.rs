//! Two answers next to each other: what a fresh one, once it is kept, says of an earlier one.
//!
//! That happens in a task of its own, one pair after another, out of a bounded queue: no relay waits for it, and what
//! fails or finds no room is counted and forgotten.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::cache::Cache;
use crate::cache::shadow::Pair;
use crate::dialect::said;
use crate::entry::{Answer, Entry, EntryKind};
use crate::metrics;
use crate::policy::agreement::{self, Agreement};
use crate::store::Stored;
use crate::tasks::Tasks;
use crate::types::{ExactKey, TenantId};

/// Answers that may wait to be compared; each is some hundred bytes.
const QUEUE: usize = 1024;
/// The time between two comparisons, which need the embedder that lookups wait for.
const PAUSE: Duration = Duration::from_millis(50);
/// The largest answers that are compared, in bytes.
const LARGEST: usize = 64 << 10;

/// What a kept answer is compared with.
pub(super) enum Work {
    /// The one that shadow mode withheld: for a label.
    Withheld(Pair),
    /// The one to the nearest earlier prompt, where the cache learns; this is the kept one's key.
    Nearest(ExactKey),
}

/// What waits.
pub(super) struct Queue {
    sender: mpsc::Sender<Work>,
    receiver: Mutex<Option<mpsc::Receiver<Work>>>,
}

impl Default for Queue {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl Queue {
    /// Takes an answer that has been kept; never waits.
    pub(super) fn offer(&self, work: Work) {
        if let Err(error) = self.sender.try_send(work) {
            count(&error.into_inner(), "no-room");
        }
    }
}

/// Counts what a comparison came to.
fn count(work: &Work, result: &'static str) {
    match work {
        Work::Withheld(_) => metrics::shadow_comparison(result),
        Work::Nearest(_) => metrics::lesson(result),
    }
}

/// Starts the comparing; it ends with `tasks`.
pub(super) fn start(cache: Cache, tasks: &Tasks) {
    let receiver = cache.inner.comparing.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (Some(mut receiver), closing) = (receiver, tasks.closing()) else { return };
    tasks.spawn("comparing", async move {
        loop {
            let work = tokio::select! {
                () = closing.cancelled() => return,
                work = receiver.recv() => work,
            };
            let Some(work) = work else { return };
            let result = match &work {
                Work::Withheld(pair) => cache.label_pair(pair).await,
                Work::Nearest(key) => cache.learn_from_nearest(key).await,
            };
            count(&work, result);
            let _ = tokio::time::timeout(PAUSE, closing.cancelled()).await;
        }
    });
}

/// Does a provider's answer to `entry` say something of the one to another prompt of this tenant?
pub(super) fn tells(entry: &Entry, tenant: TenantId, text: &str) -> bool {
    entry.kind == EntryKind::Provider && entry.tenant == tenant && entry.text != text
}

impl Cache {
    /// Do the answers of two entries say the same?
    ///
    /// # Errors
    /// Why they were not compared: a label for metrics.
    pub(super) async fn agreement(&self, stored: &Stored, asked: &Stored) -> Result<Agreement, &'static str> {
        let (one, other) = match read(stored.entry.answer.clone(), asked.entry.answer.clone()).await {
            Read::Told(agreement) => return Ok(agreement),
            Read::Open(one, other) => (one, other),
        };
        Ok(match self.cosine(&one, &other).await? {
            Some(cosine) => agreement::by_cosine(&one, &other, cosine, self.same_from()),
            None => Agreement::Unclear,
        })
    }

    /// Are two answers as near as those that say the same? Words around an answer, the same to every prompt, do that.
    pub(super) async fn is_alike(&self, one: &str, other: &str) -> bool {
        self.cosine(one, other).await.ok().flatten().is_some_and(|cosine| cosine >= self.same_from())
    }

    /// The cosine of two answers; `None` where the model reads one of them half, or not at all: its vector says nothing.
    async fn cosine(&self, one: &str, other: &str) -> Result<Option<f64>, &'static str> {
        let embedder = &self.inner.embedder;
        if embedder.coverage(one).is_err() || embedder.coverage(other).is_err() {
            return Ok(None);
        }
        let (Ok(a), Ok(b)) = (embedder.embed(one).await, embedder.embed(other).await) else {
            return Err("embedder-down");
        };
        Ok(Some(f64::from(a.similarity(&b).get())))
    }

    /// The cosine from which two answers say the same.
    fn same_from(&self) -> f64 {
        f64::from(self.inner.embedder.calibrated_similarity())
    }
}

/// What an entry's answer says.
pub(super) struct Said {
    pub text: String,
    /// Its words that are not the prompt's, see [`agreement::frame`].
    pub frame: String,
}

/// Reads an entry's answer; `None` for one that is not compared.
pub(super) async fn said(entry: &Entry) -> Option<Said> {
    let (answer, prompt) = (entry.answer.clone(), entry.text.clone());
    // Folding a long answer takes milliseconds.
    let read = move || small_text(&answer).map(|text| Said { frame: agreement::frame(&text, &prompt), text });
    tokio::task::spawn_blocking(read).await.ok().flatten()
}

/// What the words of two answers say.
enum Read {
    Told(Agreement),
    /// Their vectors decide.
    Open(String, String),
}

async fn read(one: Answer, other: Answer) -> Read {
    let words = move || {
        let (one, other) = small_text(&one).zip(small_text(&other))?;
        Some(agreement::by_words(&one, &other).map_or(Read::Open(one, other), Read::Told))
    };
    // The guards take milliseconds for long texts.
    let read = tokio::task::spawn_blocking(words).await;
    read.ok().flatten().unwrap_or(Read::Told(Agreement::Unclear))
}

fn small_text(answer: &Answer) -> Option<String> {
    (answer.body.len() <= LARGEST).then(|| said::text(answer)).flatten()
}
