//! The writer's books: what every cache will hold once the transaction under way is committed.
//!
//! Planning looks at memory through these books, so that operations of one group see each other although nobody else
//! does yet. When the commit fails, the books are drawn up again from memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::memory::{Change, Gone, Memory, Record};
use crate::policy::eviction::{Limits, Order, Usage};
use crate::types::{CacheId, EntryId, ExactKey, Timestamp};

#[derive(Default)]
struct Account {
    usage: Usage,
    order: Order,
}

/// See the module.
#[derive(Default)]
pub(super) struct Ledger {
    accounts: HashMap<CacheId, Account>,
    /// Of the transaction under way.
    added: HashMap<EntryId, Arc<Record>>,
    removed: HashSet<EntryId>,
    exact: HashMap<ExactKey, Option<EntryId>>,
    pub(super) changes: Vec<Change>,
}

impl Ledger {
    /// The books of what is in memory.
    pub(super) fn of(memory: &Memory) -> Self {
        let mut ledger = Self::default();
        for record in memory.select(|_| true) {
            ledger.enter(&record);
        }
        ledger
    }

    /// The changes of the transaction that has been committed.
    pub(super) fn close_transaction(&mut self) -> Vec<Change> {
        self.added.clear();
        self.removed.clear();
        self.exact.clear();
        std::mem::take(&mut self.changes)
    }

    fn enter(&mut self, record: &Record) {
        let account = self.accounts.entry(record.meta.cache.clone()).or_default();
        account.usage.add(record.meta.bytes);
        account.order.insert(record.id, record.last_used(), record.meta.expires_at);
    }

    pub(super) fn record(&self, memory: &Memory, id: EntryId) -> Option<Arc<Record>> {
        find(&self.added, &self.removed, memory, id)
    }

    pub(super) fn exact_id(&self, memory: &Memory, key: &ExactKey) -> Option<EntryId> {
        self.exact.get(key).copied().unwrap_or_else(|| memory.exact_id(key))
    }

    /// The entry that has to go before one of `incoming` bytes (or none, to shrink) fits into the cache.
    pub(super) fn victim(
        &mut self,
        memory: &Memory,
        cache: &CacheId,
        incoming: Option<u64>,
        limits: &Limits,
        now: Timestamp,
    ) -> Option<EntryId> {
        let account = self.accounts.get_mut(cache)?;
        let fits = match incoming {
            Some(bytes) => account.usage.admits(bytes, limits),
            None => account.usage.within(limits),
        };
        if fits {
            return None;
        }
        let (added, removed) = (&self.added, &self.removed);
        account.order.next(now, |id| find(added, removed, memory, id).map(|record| record.last_used()))
    }

    /// An entry of any cache whose time is up.
    pub(super) fn next_expired(&mut self, memory: &Memory, now: Timestamp) -> Option<EntryId> {
        let (added, removed) = (&self.added, &self.removed);
        let alive = |id| find(added, removed, memory, id).is_some();
        self.accounts.values_mut().find_map(|account| account.order.next_expired(now, alive))
    }

    /// Books a new entry.
    pub(super) fn add(&mut self, record: Arc<Record>, change: Change) {
        self.enter(&record);
        self.exact.insert(record.meta.exact_key, Some(record.id));
        self.added.insert(record.id, record);
        self.changes.push(change);
    }

    /// Books a departure.
    pub(super) fn remove(&mut self, memory: &Memory, record: Arc<Record>, why: Gone) {
        self.removed.insert(record.id);
        if self.exact_id(memory, &record.meta.exact_key) == Some(record.id) {
            self.exact.insert(record.meta.exact_key, None);
        }
        let (added, removed) = (&self.added, &self.removed);
        let account = self.accounts.entry(record.meta.cache.clone()).or_default();
        account.usage.subtract(record.meta.bytes);
        account.order.tidy(account.usage.entries, |id| find(added, removed, memory, id).is_some());
        self.changes.push(Change::Remove { record, why });
    }
}

fn find(
    added: &HashMap<EntryId, Arc<Record>>,
    removed: &HashSet<EntryId>,
    memory: &Memory,
    id: EntryId,
) -> Option<Arc<Record>> {
    if removed.contains(&id) {
        return None;
    }
    added.get(&id).cloned().or_else(|| memory.record(id))
}
