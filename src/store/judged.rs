//! What the store's handle does with labels of pairs, and with the records of entries that come of them.

use std::sync::Arc;

use super::labels::{Forget, Label, LabelScope, PairKey};
use super::writer::Op;
use super::{Store, StoreError};
use crate::policy::record::Record;
use crate::types::EntryId;

/// What callers said of an entry's hits, by pair.
pub type EntryRecord = Record<PairKey>;

impl Store {
    /// Keeps what somebody said of a pair, durably; the last word on it counts.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the commit failed, and nothing has changed.
    pub async fn put_label(&self, pair: PairKey, label: Label) -> Result<(), StoreError> {
        self.inner.ask(Op::Say { pair, label }).await.map(drop)
    }

    /// Is the last word on this pair that its answer was wrong? Memory only.
    pub fn is_wrong(&self, pair: impl FnOnce() -> PairKey) -> bool {
        self.inner.memory.knows_wrong() && self.inner.memory.is_wrong(&pair())
    }

    /// Did a person call this pair's answer right, as the last word on it? Memory only.
    pub fn is_right(&self, pair: &PairKey) -> bool {
        self.inner.memory.is_right(pair)
    }

    /// What `look` makes of an entry's record, which goes with the entry; `None` where nothing was said of it. Memory
    /// only, and under its lock: keep it short.
    pub fn observed<T>(&self, id: EntryId, look: impl FnOnce(&EntryRecord) -> T) -> Option<T> {
        self.inner.memory.observed(id, look)
    }

    /// Takes texts out of labels, durably: those of entries that are deleted on request.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the commit failed, and nothing has changed.
    pub async fn forget_labels(&self, what: Forget) -> Result<(), StoreError> {
        if self.inner.memory.knows_labels() {
            self.inner.ask(Op::Forget(what)).await?;
        }
        Ok(())
    }

    /// What was said in a scope, or in all, in no order.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the file cannot be read.
    pub async fn labels(&self, scope: Option<LabelScope>) -> Result<Vec<Label>, StoreError> {
        let inner = Arc::clone(&self.inner);
        tokio::task::spawn_blocking(move || inner.labels(scope)).await.map_err(|_| StoreError::Closed)?
    }
}
