//! The engine: one sequence for every door (provider surface, lookup routes), so that all of them decide alike.
//!
//! `lookup` asks the exact tier, then the semantic one; what it cannot answer it hands back with a plan for keeping
//! the answer that upstream will give. It speaks no HTTP and knows no status code. A fault in store, index or
//! embedder turns into a reason to go upstream, never into an error of the caller's (I6).

mod bar;
mod collapse;
mod compare;
mod comparing;
mod feedback;
mod fill;
mod learning;
mod lookup;
mod maintain;
mod plain;
mod policies;
mod prepared;
mod search;
mod semantic;
mod shadow;
mod tally;

use std::sync::Arc;

use crate::embed::{Embedder, State};
use crate::policy::partition::tenant_of;
use crate::settings::{CachePolicy, Sharing, VerifierChoice};
use crate::store::{Forget, Store};
use crate::tasks::Tasks;
use crate::types::{CacheId, Clock, TenantId};
use crate::verify::Verifier;

pub use collapse::{Break, Flights, Head, Join, Lead, Phase, Shape, Subscription};
pub use compare::{Comparison, Would};
pub use feedback::{Effect, FeedbackError, Verdict};
pub use fill::{Keep, KeepError};
pub use learning::Neighbours;
pub use lookup::{Forward, Hit, Lookup, Moves, Question};
pub use plain::{PlainAnswer, PlainFound, PlainPrompt, PlainQuery};
pub use policies::{Policies, PolicyError};
pub use prepared::Prepared;
pub use search::Considered;
pub use shadow::Shadow;
pub use tally::Outcomes;

/// The engine's handle; cheap to clone.
#[derive(Clone)]
pub struct Cache {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    embedder: Embedder,
    verifier: Verifier,
    policies: Policies,
    clock: Clock,
    flights: Flights,
    secret: [u8; 32],
    tally: tally::Tally,
    recents: feedback::Recents,
    comparing: comparing::Queue,
    lessons: learning::Lessons,
}

/// The tenant of entries that all callers of a cache share; no credential hashes to it.
const SHARED: TenantId = TenantId([0xff; 32]);

impl Cache {
    /// Puts the engine together.
    pub fn new(
        store: Store,
        (embedder, verifier): (Embedder, Verifier),
        policies: Policies,
        clock: Clock,
        secret: [u8; 32],
    ) -> Self {
        let (flights, lessons) = (Flights::default(), learning::Lessons::load(&store));
        Self {
            inner: Arc::new(Inner {
                store,
                embedder,
                verifier,
                policies,
                clock,
                flights,
                secret,
                tally: tally::Tally::default(),
                recents: feedback::Recents::default(),
                comparing: comparing::Queue::default(),
                lessons,
            }),
        }
    }

    /// Starts the upkeep tasks: sweeping, index building, an embedder that comes late, the comparing of answers.
    pub fn start_upkeep(&self, tasks: &Tasks, sweep_every: std::time::Duration) {
        maintain::start(self.clone(), tasks, sweep_every);
    }

    /// Counts how a request of a known cache came out, by the outcome's label.
    pub fn count(&self, cache: &CacheId, outcome: &str) {
        if self.inner.policies.get(cache).is_some() {
            self.inner.tally.count(cache, outcome);
        }
    }

    /// Counts how a request that shadow mode sent upstream would have come out, by the outcome's label.
    pub fn count_shadow(&self, cache: &CacheId, outcome: &str) {
        if self.inner.policies.get(cache).is_some() {
            self.inner.tally.count_shadow(cache, outcome);
        }
    }

    /// How a cache's requests came out since the start.
    pub fn outcomes(&self, cache: &CacheId) -> Outcomes {
        self.inner.tally.of(cache)
    }

    /// Brings the metrics that are states, not events, up to date: for a reader of them.
    pub fn set_gauges(&self) {
        maintain::set_gauges(self);
    }

    /// The store behind the engine.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The embedder behind the engine.
    pub fn embedder(&self) -> &Embedder {
        &self.inner.embedder
    }

    /// The verifier behind the engine.
    pub fn verifier(&self) -> &Verifier {
        &self.inner.verifier
    }

    /// How the verifier is, for the vectors of this engine's embedder.
    pub fn verifier_state(&self) -> State {
        self.inner.verifier.state(self.inner.embedder.fingerprint().as_ref())
    }

    /// Does any cache's policy ask for the verifier?
    pub fn wants_verifier(&self) -> bool {
        let asks = |policy: &CachePolicy| policy.verifier == VerifierChoice::Builtin;
        self.inner.verifier.is_there() && self.inner.policies.list().iter().any(|(_, policy)| asks(policy))
    }

    /// The policies in effect.
    pub fn policies(&self) -> &Policies {
        &self.inner.policies
    }

    /// The clock that all decisions go by.
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// Fills under way.
    pub fn flights(&self) -> &Flights {
        &self.inner.flights
    }

    /// The tenant that a credential stands for, or the local one without a credential.
    pub fn tenant(&self, credential: Option<&[u8]>) -> TenantId {
        credential.map_or(TenantId::LOCAL, |bytes| tenant_of(bytes, &self.inner.secret))
    }

    /// Whose entries a caller sees under this policy.
    fn owner(policy: &CachePolicy, tenant: TenantId) -> TenantId {
        match policy.sharing {
            Sharing::Tenant => tenant,
            Sharing::Cache => SHARED,
        }
    }

    /// Changes a policy, see [`Policies::update`]; what the new limits have no room for is evicted.
    ///
    /// # Errors
    /// What `change` says, or that the store fails.
    pub async fn change_policy<E: From<PolicyError>>(
        &self,
        id: &CacheId,
        change: impl FnOnce(Option<&CachePolicy>) -> Result<CachePolicy, E> + Send,
    ) -> Result<(Arc<CachePolicy>, bool), E> {
        let store = &self.inner.store;
        let (policy, created) = self.inner.policies.update(store, id, change).await?;
        store.trim(id, fill::limits(&policy), self.inner.clock.now()).await.map_err(PolicyError::from)?;
        Ok((policy, created))
    }

    /// Deletes a cache: its policy, its entries and what was said of them. The default cache gets its default policy back.
    ///
    /// # Errors
    /// When the store cannot make it durable.
    pub async fn delete_cache(&self, cache: &CacheId) -> Result<(), PolicyError> {
        self.inner.policies.delete(&self.inner.store, cache).await?;
        self.inner.store.forget_labels(Forget::Cache(cache.clone())).await?;
        self.forget_lessons(cache, None).await?;
        self.inner.store.flush(cache, None).await?;
        Ok(())
    }
}
