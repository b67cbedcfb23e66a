//! What the store knows without reading the file: every entry's metadata, where equal requests are, the vectors,
//! and the entries that were read or written lately.
//!
//! Only the writer changes it, after the commit, so that nothing here is ahead of the disk. Readers take the lock for
//! one look-up in a map.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::codec::MetaRecord;
use super::labels::{Relabel, Word};
use super::{CacheStats, EntryRecord, PairKey, Stored};
use crate::index::{Partitions, Point};
use crate::types::{CacheId, EntryId, ExactKey, Timestamp};

/// An entry, less its request and answer.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) id: EntryId,
    pub(super) meta: MetaRecord,
    /// The entry's place in the index; `None` when it has no usable vector.
    pub(super) point: Option<Arc<Point>>,
    last_used: AtomicU64,
}

impl Record {
    /// A record that was last used when it was made. With `vector`, it gets a place in the index.
    pub(super) fn new(id: EntryId, meta: MetaRecord, has_vector: bool) -> Self {
        let point = has_vector.then(|| Arc::new(Point::new(id, meta.expires_at, meta.attributes.clone())));
        let last_used = AtomicU64::new(meta.stored_at.0);
        Self { id, meta, point, last_used }
    }

    pub(super) fn last_used(&self) -> Timestamp {
        Timestamp(self.last_used.load(Ordering::Relaxed))
    }

    pub(super) fn touch(&self, now: Timestamp) {
        self.last_used.fetch_max(now.0, Ordering::Relaxed);
    }
}

/// Why an entry left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// Another took its exact key.
    Replaced,
    /// The cache was full.
    Evicted,
    /// Its time was up.
    Expired,
    /// Somebody asked for it.
    Deleted,
}

/// One committed change.
pub(super) enum Change {
    Add { record: Arc<Record>, vector: Option<Vec<f32>>, stored: Arc<Stored> },
    Remove { record: Arc<Record>, why: Gone },
}

#[derive(Default)]
struct State {
    exact: HashMap<ExactKey, EntryId>,
    records: HashMap<EntryId, Arc<Record>>,
    caches: HashMap<CacheId, CacheStats>,
    settings: BTreeMap<String, Vec<u8>>,
    /// The last word on each pair of which something is known, and the entry in whose record that is.
    judged: HashMap<PairKey, (Word, Option<EntryId>)>,
    /// Those of them that a person called wrong.
    wrong: HashSet<PairKey>,
    /// The records of entries that were spoken of.
    observed: HashMap<EntryId, EntryRecord>,
}

impl State {
    /// Takes what was said of a pair out of the record that it is in.
    fn unobserve(&mut self, pair: &PairKey) {
        let Some((_, Some(id))) = self.judged.get(pair).copied() else { return };
        if let Some(record) = self.observed.get_mut(&id) {
            record.forget(pair);
            if record.is_empty() {
                self.observed.remove(&id);
            }
        }
    }
}

pub(super) struct Memory {
    state: RwLock<State>,
    hot: moka::sync::Cache<EntryId, Arc<Stored>>,
    pub(super) index: Partitions,
    /// The latest moment that anybody has spoken of.
    latest: AtomicU64,
    /// Records that could not be read back.
    pub(super) damaged: AtomicU64,
    /// Commits that failed.
    pub(super) failed_commits: AtomicU64,
}

impl Memory {
    pub(super) fn new(index: Partitions, memory_bytes: u64) -> Self {
        let weigh = |_: &EntryId, stored: &Arc<Stored>| u32::try_from(stored.bytes()).unwrap_or(u32::MAX);
        Self {
            state: RwLock::default(),
            hot: moka::sync::Cache::builder().max_capacity(memory_bytes).weigher(weigh).build(),
            index,
            latest: AtomicU64::new(0),
            damaged: AtomicU64::new(0),
            failed_commits: AtomicU64::new(0),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn exact_id(&self, key: &ExactKey) -> Option<EntryId> {
        self.read().exact.get(key).copied()
    }

    pub(super) fn record(&self, id: EntryId) -> Option<Arc<Record>> {
        self.read().records.get(&id).cloned()
    }

    /// Every record that `wanted` says yes to.
    pub(super) fn select(&self, wanted: impl Fn(&Record) -> bool) -> Vec<Arc<Record>> {
        self.read().records.values().filter(|record| wanted(record)).cloned().collect()
    }

    pub(super) fn len(&self) -> usize {
        self.read().records.len()
    }

    /// The entry, if it is both alive and at hand.
    pub(super) fn cached(&self, id: EntryId) -> Option<Arc<Stored>> {
        self.read().records.contains_key(&id).then(|| self.hot.get(&id)).flatten()
    }

    pub(super) fn keep_at_hand(&self, id: EntryId, stored: Arc<Stored>) {
        self.hot.insert(id, stored);
    }

    pub(super) fn settings(&self) -> BTreeMap<String, Vec<u8>> {
        self.read().settings.clone()
    }

    pub(super) fn set(&self, key: String, value: Option<Vec<u8>>) {
        let mut state = self.write();
        match value {
            Some(value) => state.settings.insert(key, value),
            None => state.settings.remove(&key),
        };
    }

    /// Notes the last word on a pair.
    pub(super) fn relabel(&self, Relabel { pair, word, observed }: Relabel) {
        let mut state = self.write();
        state.unobserve(&pair);
        // What was said of an entry that is gone is a label still, and nobody's record.
        let observed = observed.filter(|(id, _)| state.records.contains_key(id));
        if let Some((id, observation)) = observed {
            state.observed.entry(id).or_default().note(pair, observation);
        }
        if word == Some(Word::Wrong) {
            state.wrong.insert(pair)
        } else {
            state.wrong.remove(&pair)
        };
        match word {
            Some(word) => state.judged.insert(pair, (word, observed.map(|(id, _)| id))),
            None => state.judged.remove(&pair),
        };
    }

    /// Is there any label? Spares looking for those to forget where not.
    pub(super) fn knows_labels(&self) -> bool {
        !self.read().judged.is_empty()
    }

    pub(super) fn is_wrong(&self, pair: &PairKey) -> bool {
        self.read().wrong.contains(pair)
    }

    /// Has anything ever been called wrong? Spares the naming of pairs where not.
    pub(super) fn knows_wrong(&self) -> bool {
        !self.read().wrong.is_empty()
    }

    /// Did a person call this pair's answer right, as the last word on it?
    pub(super) fn is_right(&self, pair: &PairKey) -> bool {
        matches!(self.read().judged.get(pair), Some((Word::Right, _)))
    }

    /// What `look` makes of an entry's record; `None` where nothing was said of it.
    pub(super) fn observed<T>(&self, id: EntryId, look: impl FnOnce(&EntryRecord) -> T) -> Option<T> {
        self.read().observed.get(&id).map(look)
    }

    pub(super) fn stats(&self, cache: &CacheId) -> CacheStats {
        self.read().caches.get(cache).copied().unwrap_or_default()
    }

    pub(super) fn sum(&self) -> CacheStats {
        let mut sum = CacheStats::default();
        for stats in self.read().caches.values() {
            sum.entries += stats.entries;
            sum.bytes += stats.bytes;
            sum.vectors += stats.vectors;
            sum.evictions += stats.evictions;
            sum.expirations += stats.expirations;
        }
        sum
    }

    pub(super) fn latest(&self) -> Timestamp {
        Timestamp(self.latest.load(Ordering::Relaxed))
    }

    pub(super) fn saw(&self, now: Timestamp) {
        self.latest.fetch_max(now.0, Ordering::Relaxed);
    }

    pub(super) fn apply(&self, change: Change) {
        match change {
            Change::Add { record, vector, stored } => {
                self.hot.insert(record.id, stored);
                self.add(record, vector.as_deref());
            }
            Change::Remove { record, why } => self.remove(&record, why),
        }
    }

    /// Adds a record; its vector is searchable before the record is known, which costs at most one look-up in vain.
    pub(super) fn add(&self, record: Arc<Record>, vector: Option<&[f32]>) {
        self.saw(record.meta.stored_at);
        if let (Some(point), Some(partition), Some(vector)) = (&record.point, record.meta.partition, vector) {
            self.index.insert(partition, Arc::clone(point), vector);
        }
        let mut state = self.write();
        let cache = state.caches.entry(record.meta.cache.clone()).or_default();
        cache.entries += 1;
        cache.bytes += record.meta.bytes;
        cache.vectors += u64::from(record.point.is_some());
        state.exact.insert(record.meta.exact_key, record.id);
        state.records.insert(record.id, record);
    }

    /// Makes the vector of an entry findable that was known without it.
    pub(super) fn give_vector(&self, id: EntryId, vector: &[f32]) {
        let Some(old) = self.record(id).filter(|record| record.point.is_none()) else { return };
        let Some(partition) = old.meta.partition else { return };
        let record = Arc::new(Record::new(id, old.meta.clone(), true));
        record.touch(old.last_used());
        if let Some(point) = &record.point {
            self.index.insert(partition, Arc::clone(point), vector);
        }
        let mut state = self.write();
        state.caches.entry(record.meta.cache.clone()).or_default().vectors += 1;
        state.records.insert(id, record);
    }

    fn remove(&self, record: &Record, why: Gone) {
        {
            let mut state = self.write();
            if state.records.remove(&record.id).is_none() {
                return;
            }
            state.observed.remove(&record.id);
            if state.exact.get(&record.meta.exact_key) == Some(&record.id) {
                state.exact.remove(&record.meta.exact_key);
            }
            let cache = state.caches.entry(record.meta.cache.clone()).or_default();
            cache.entries -= 1;
            cache.bytes -= record.meta.bytes;
            cache.vectors -= u64::from(record.point.is_some());
            cache.evictions += u64::from(why == Gone::Evicted);
            cache.expirations += u64::from(why == Gone::Expired);
        }
        self.hot.invalidate(&record.id);
        if let (Some(point), Some(partition)) = (&record.point, &record.meta.partition) {
            self.index.remove(partition, point);
        }
    }
}
