//! Shadow mode: every request goes upstream, and what would have answered it is said and learnt from.
//!
//! Where an entry would have answered by meaning and a fresh answer has come whole, the two answers are compared: what
//! is clear becomes a label of the pair of prompts. That happens in a task of its own, one pair after another, out of a
//! bounded queue: no relay waits for it, and what fails or finds no room is counted and forgotten. A label refuses no
//! pair; that is for people to say.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::cache::lookup::Asking;
use crate::cache::{Cache, Forward, Hit, Keep};
use crate::dialect::said;
use crate::embedding::Embedding;
use crate::entry::{Answer, Entry, EntryKind};
use crate::metrics;
use crate::policy::agreement::{self, Agreement};
use crate::policy::guard;
use crate::reason::BypassReason;
use crate::settings::{CachePolicy, Mode};
use crate::store::{LabelSource, LabelledPair, Stored};
use crate::tasks::Tasks;
use crate::types::{ExactKey, LookupId, Outcome, TenantId};

/// Pairs that may wait to be compared; each is some hundred bytes.
const QUEUE: usize = 1024;
/// The time between two comparisons, which need the embedder that lookups wait for.
const PAUSE: Duration = Duration::from_millis(50);
/// The largest answers that are compared, in bytes.
const LARGEST: usize = 64 << 10;

/// What a request would have come to, were the policy's mode `on`.
pub struct Shadow {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason's label; of a hit its tier's, as everywhere.
    pub reason: &'static str,
    /// What would have answered.
    pub hit: Option<Box<Hit>>,
}

impl Shadow {
    /// An entry would have answered.
    pub(super) fn of(hit: Hit) -> Self {
        Self { outcome: hit.outcome, reason: hit.tier.as_str(), hit: Some(Box::new(hit)) }
    }

    /// The request would have gone upstream all the same.
    pub(super) fn none(forward: &Forward) -> Self {
        Self { outcome: forward.outcome, reason: forward.reason, hit: None }
    }

    /// The label of the tier that would have answered, or empty.
    pub fn tier(&self) -> &'static str {
        self.hit.as_ref().map_or("", |hit| hit.tier.as_str())
    }
}

/// Two requests, one of which would have been answered by the other's entry.
pub(super) struct Pair {
    stored: ExactKey,
    asked: ExactKey,
    similarity: f64,
    probability: Option<f64>,
}

impl Pair {
    /// The pair behind a hit; none where the difference of the answers would say nothing of the prompts: one prompt, a
    /// vetted answer, an old one, or a question whose right answer moves with time.
    pub(super) fn of(hit: &Hit, keep: &Keep) -> Option<Self> {
        let entry = &hit.stored.entry;
        let telling = hit.outcome == Outcome::Hit && hit.moves.is_none();
        let pair = Self {
            stored: entry.exact_key,
            asked: keep.exact_key,
            similarity: f64::from(hit.similarity.get()),
            probability: hit.probability,
        };
        (telling && tells(entry, keep)).then_some(pair)
    }
}

/// Are these two prompts of which a provider answered both?
fn tells(entry: &Entry, keep: &Keep) -> bool {
    entry.kind == EntryKind::Provider && entry.tenant == keep.tenant && entry.text != keep.text
}

/// The pairs that wait.
pub(super) struct Shadows {
    sender: mpsc::Sender<Pair>,
    receiver: Mutex<Option<mpsc::Receiver<Pair>>>,
}

impl Default for Shadows {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl Shadows {
    /// Takes a pair whose fresh answer has been kept; never waits.
    pub(super) fn offer(&self, pair: Pair) {
        if self.sender.try_send(pair).is_err() {
            metrics::shadow_comparison("no-room");
        }
    }
}

/// Starts the comparing; it ends with `tasks`.
pub(super) fn start(cache: Cache, tasks: &Tasks) {
    let receiver = cache.inner.shadows.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (Some(mut receiver), closing) = (receiver, tasks.closing()) else { return };
    tasks.spawn("shadow-labels", async move {
        loop {
            let pair = tokio::select! {
                () = closing.cancelled() => return,
                pair = receiver.recv() => pair,
            };
            let Some(pair) = pair else { return };
            metrics::shadow_comparison(cache.label_pair(pair).await);
            let _ = tokio::time::timeout(PAUSE, closing.cancelled()).await;
        }
    });
}

impl Cache {
    /// The way upstream of a request that `hit` would have answered; what comes is kept as after any miss.
    pub(super) async fn withheld(&self, asking: &Asking<'_>, mut hit: Hit, embedding: Option<Embedding>) -> Forward {
        let Asking { question, policy, .. } = asking;
        let (prompt, store) = (question.prompt, &self.inner.store);
        // As a hit does, so that the same entries stay as in mode `on`.
        store.touch(hit.stored.entry.id, self.inner.clock.now());
        let sensitive = guard::time_sensitive(&prompt.text).is_some();
        let embedding = match embedding {
            None if self.semantic_bypass(prompt, policy, sensitive).is_none() => {
                self.inner.embedder.embed(&prompt.text).await.ok()
            }
            known => known,
        };
        let mut keep = self.keep(asking, embedding, sensitive);
        if let Some(keep) = &mut keep {
            keep.pair = Pair::of(&hit, keep);
        }
        Forward {
            lookup_id: hit.lookup_id,
            outcome: Outcome::Bypass,
            reason: BypassReason::Shadow.as_str(),
            best: Some(hit.similarity),
            keep,
            moves: hit.moves,
            considered: std::mem::take(&mut hit.considered),
            shadow: Some(Shadow::of(hit)),
        }
    }

    /// Compares what is kept of two requests now, and labels their prompts where that is clear; the metric's label.
    ///
    /// Both are looked up again: what was deleted meanwhile may be in no label, and a newer answer is as good.
    async fn label_pair(&self, pair: Pair) -> &'static str {
        let (Some(stored), Some(asked)) = (self.by_key(&pair.stored).await, self.by_key(&pair.asked).await) else {
            return "gone";
        };
        let agreement = match self.agreement(&stored, &asked).await {
            Ok(agreement) => agreement,
            Err(why) => return why,
        };
        let wrong = match agreement {
            Agreement::Same => false,
            Agreement::Other => true,
            Agreement::Unclear => return "unclear",
        };
        let labelled = LabelledPair {
            asked: asked.entry.text.clone(),
            stored: stored.entry.text.clone(),
            attributes: stored.entry.attributes.clone(),
            similarity: pair.similarity,
            probability: pair.probability,
        };
        match self.put_label(&stored.entry, LabelSource::Shadow, wrong, labelled).await {
            Ok(()) if wrong => "wrong",
            Ok(()) => "right",
            Err(_) => "store-down",
        }
    }

    async fn agreement(&self, stored: &Stored, asked: &Stored) -> Result<Agreement, &'static str> {
        let answers = (stored.entry.answer.clone(), asked.entry.answer.clone());
        // The guards take milliseconds for long texts.
        let read = tokio::task::spawn_blocking(move || read(&answers.0, &answers.1)).await;
        let (one, other) = match read.unwrap_or(Read::Told(Agreement::Unclear)) {
            Read::Told(agreement) => return Ok(agreement),
            Read::Open(one, other) => (one, other),
        };
        let embedder = &self.inner.embedder;
        // Of a text that the model reads half, or not at all, its vector says nothing.
        if embedder.coverage(&one).is_err() || embedder.coverage(&other).is_err() {
            return Ok(Agreement::Unclear);
        }
        let vectors = (embedder.embed(&one).await, embedder.embed(&other).await);
        let (Ok(a), Ok(b)) = vectors else { return Err("embedder-down") };
        let same_from = f64::from(embedder.calibrated_similarity());
        Ok(agreement::by_cosine(&one, &other, f64::from(a.similarity(&b).get()), same_from))
    }

    /// Has the answer that `keep` is for compared, once it is kept, with that of the hit which `caller`'s lookup `named`
    /// would have been. Does nothing outside shadow mode, or where no lookup of this very prompt has this name.
    pub async fn compare_when_kept(
        &self,
        mut keep: Keep,
        named: LookupId,
        caller: TenantId,
        policy: &CachePolicy,
    ) -> Keep {
        if policy.mode == Mode::Shadow
            && let Some((entry, known)) = self.spoken_of(named, caller, &keep.cache)
            && known.asked == keep.text
            && let Ok(Some(stored)) = self.inner.store.load(entry).await
            && stored.entry.partition == keep.partition
            && tells(&stored.entry, &keep)
        {
            let (similarity, probability) = (known.similarity, known.probability);
            let (stored, asked) = (stored.entry.exact_key, keep.exact_key);
            keep.pair = Some(Pair { stored, asked, similarity, probability });
        }
        keep
    }
}

/// What the words of two answers say.
enum Read {
    Told(Agreement),
    /// Their vectors decide.
    Open(String, String),
}

fn read(one: &Answer, other: &Answer) -> Read {
    let Some((one, other)) = small_text(one).zip(small_text(other)) else { return Read::Told(Agreement::Unclear) };
    agreement::by_words(&one, &other).map_or(Read::Open(one, other), Read::Told)
}

fn small_text(answer: &Answer) -> Option<String> {
    (answer.body.len() <= LARGEST).then(|| said::text(answer)).flatten()
}
