//! A caller of the engine, with a provider behind it that always answers: live traffic without sockets.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use crate::cache::{Cache, Considered, Hit, Keep, Lookup, Question, Verdict};
use crate::dialect::{assemble, openai_chat};
use crate::policy::agreement::Agreement;
use crate::policy::directives::Directives;
use crate::policy::partition::Scope;
use crate::prompt::Prompt;
use crate::reason::BypassReason;
use crate::settings::CachePolicy;
use crate::store::Forget;
use crate::types::{Attributes, CacheId, Dialect, EntryId, LookupId, Outcome, Similarity, TenantId, Tier};

/// Texts that are embedded at once: enough to keep every thread of the embedder busy.
const AT_ONCE: usize = 8;
/// The reasons that are a fault of the run and not a decision.
const FAULTS: [BypassReason; 4] =
    [BypassReason::EmbedderDown, BypassReason::EmbedderSlow, BypassReason::EmbedderBusy, BypassReason::StoreDown];

/// A caller of one cache.
pub struct Caller<'a> {
    cache: &'a Cache,
    id: CacheId,
    policy: Arc<CachePolicy>,
    explain: bool,
}

/// What became of one request.
pub enum Answered {
    /// An entry answered.
    Hit(Served),
    /// The provider answered.
    Forwarded(Forwarded),
}

/// An entry's answer.
pub struct Served {
    /// The entry.
    pub entry: EntryId,
    /// The prompt that it was an answer to.
    pub stored: String,
    /// The decision's name.
    pub lookup: LookupId,
    /// Which tier found it.
    pub tier: Tier,
    /// How near it is.
    pub similarity: Similarity,
}

/// The provider's answer.
pub struct Forwarded {
    /// `Miss` or `Bypass`.
    pub outcome: Outcome,
    /// The reason's label.
    pub reason: &'static str,
    /// The entry that keeps it; `None` when it may not be kept, or the request was only a question.
    pub kept: Option<EntryId>,
    /// The candidates, for a caller that [explains](Caller::explaining).
    pub considered: Vec<Considered>,
}

impl<'a> Caller<'a> {
    /// A caller of the cache `id`.
    pub fn new(cache: &'a Cache, id: CacheId, policy: Arc<CachePolicy>) -> Self {
        Self { cache, id, policy, explain: false }
    }

    /// The same caller, told why.
    #[must_use]
    pub fn explaining(self) -> Self {
        Self { explain: true, ..self }
    }

    /// A chat completion request of these messages, as the engine reads it.
    ///
    /// # Errors
    /// When the dialect cannot read it.
    pub fn prompt(messages: &Value) -> Result<Prompt, String> {
        // As predictable as a caller can ask for, so that a policy's `maxTemperature` lets it in.
        let body = json!({"model": "measured", "temperature": 0, "messages": messages});
        openai_chat::parse(body.to_string().as_bytes()).map_err(|why| why.to_string())
    }

    /// Embeds the prompts' texts ahead, so that requests that follow one another need not wait for one thread each.
    ///
    /// # Errors
    /// When the embedder fails.
    pub async fn warm(&self, prompts: impl Iterator<Item = &Prompt>) -> Result<(), String> {
        let embedder = self.cache.embedder();
        let texts = prompts.filter(|p| p.bypass.is_none()).map(|p| &p.text).filter(|t| embedder.coverage(t).is_ok());
        let vectors = texts.map(|text| async move { embedder.embed(text).await.map(drop) });
        let all = stream::iter(vectors).buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await;
        all.map(drop).map_err(|error| error.to_string())
    }

    /// One request; `answer` is what the provider says, and `None` asks without keeping anything.
    ///
    /// # Errors
    /// When embedder or store fail: a run without them measures nothing.
    pub async fn ask(
        &self,
        prompt: &Prompt,
        attributes: &Attributes,
        answer: Option<&str>,
    ) -> Result<Answered, String> {
        let directives =
            Directives { no_store: answer.is_none(), attributes: attributes.clone(), ..Directives::default() };
        let question =
            Question { prompt, scope: self.scope(attributes), directives: &directives, explain: self.explain };
        match self.cache.lookup(question, &self.policy).await {
            Lookup::Hit(hit) => Ok(Answered::Hit(served(&hit))),
            Lookup::Forward(forward) if FAULTS.iter().any(|fault| fault.as_str() == forward.reason) => {
                Err(format!("the engine failed: {}", forward.reason))
            }
            Lookup::Forward(forward) => {
                let kept = match (forward.keep, answer) {
                    (Some(keep), Some(answer)) => Some(self.keep(*keep, answer).await?),
                    _ => None,
                };
                let (outcome, reason, considered) = (forward.outcome, forward.reason, forward.considered);
                Ok(Answered::Forwarded(Forwarded { outcome, reason, kept, considered }))
            }
        }
    }

    fn scope(&self, attributes: &Attributes) -> Scope {
        Scope {
            tenant: TenantId::LOCAL,
            cache: self.id.clone(),
            upstream: "measured".into(),
            dialect: Dialect::OpenAi,
            route: "chat/completions".into(),
            headers: Vec::new(),
            attributes: attributes.clone(),
        }
    }

    async fn keep(&self, keep: Keep, answer: &str) -> Result<EntryId, String> {
        let message = json!({"role": "assistant", "content": answer});
        let body = json!({
            "id": "measured", "object": "chat.completion", "created": 0, "model": "measured",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        });
        let body = body.to_string();
        let whole = assemble::complete(body.as_bytes(), Some("application/json"), keep.expected());
        let whole = whole.map_err(|why| format!("the answer {answer:?} may not be kept: {}", why.as_str()))?;
        self.cache.commit(keep, whole).await.map_err(|error| error.to_string())
    }

    /// Learns from a kept answer as the service does, where the policy learns; `same` says whether it agrees with the one
    /// that an earlier entry keeps.
    pub async fn learn(&self, kept: EntryId, same: impl Fn(EntryId) -> bool) {
        if self.policy.learning
            && let Some(neighbours) = self.cache.nearest_to(kept).await
        {
            let says = if same(neighbours.stored) { Agreement::Same } else { Agreement::Other };
            self.cache.teach(&neighbours, says).await;
        }
    }

    /// Calls a hit wrong.
    ///
    /// # Errors
    /// When nobody remembers the hit, or the store fails.
    pub async fn blame(&self, lookup: LookupId) -> Result<(), String> {
        let said = self.cache.feedback(&self.id, TenantId::LOCAL, lookup, Verdict::Wrong).await;
        said.map(drop).map_err(|error| error.to_string())
    }

    /// Forgets every entry, and what was said of them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn forget(&self) -> Result<(), String> {
        let store = self.cache.store();
        store.forget_labels(Forget::Cache(self.id.clone())).await.map_err(|error| error.to_string())?;
        self.cache.forget_lessons(&self.id, None).await.map_err(|error| error.to_string())?;
        store.flush(&self.id, None).await.map(drop).map_err(|error| error.to_string())
    }
}

fn served(hit: &Hit) -> Served {
    let entry = &hit.stored.entry;
    Served {
        entry: entry.id,
        stored: entry.text.clone(),
        lookup: hit.lookup_id,
        tier: hit.tier,
        similarity: hit.similarity,
    }
}

/// One label that keeps a row's entries apart from all others.
pub fn label(value: usize) -> Attributes {
    Attributes::try_from(BTreeMap::from([("row".to_owned(), value.to_string())])).unwrap_or_default()
}
