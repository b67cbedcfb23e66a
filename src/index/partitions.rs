//! All partitions of an installation, and the work that is due in them.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::Notify;

use super::snapshot::{self, SnapshotError, SnapshotReport};
use super::{Candidate, Partition, Point, Query, SearchKind};
use crate::config;
use crate::types::{Fingerprint, PartitionKey};

/// Every partition, by key. Changed by one thread at a time (the store's writer), searched by any number.
pub struct Partitions {
    options: config::Index,
    dimension: AtomicUsize,
    map: RwLock<HashMap<PartitionKey, Arc<Partition>>>,
    due: Mutex<BTreeSet<PartitionKey>>,
    wanted: Notify,
    building: Mutex<()>,
    stop: AtomicBool,
    scans: AtomicU64,
    graph_searches: AtomicU64,
    fallbacks: AtomicU64,
}

/// What one round of maintenance did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maintained {
    /// Graphs built.
    pub graphs: usize,
    /// Points in them.
    pub points: usize,
}

/// How searches went since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchCounts {
    /// Answered by comparing everything.
    pub scans: u64,
    /// Answered by a graph.
    pub graphs: u64,
    /// Scans that a graph made necessary by finding too little.
    pub fallbacks: u64,
}

impl Partitions {
    /// No partitions yet, for vectors of `dimension` components.
    pub fn new(options: config::Index, dimension: usize) -> Self {
        Self {
            options,
            dimension: AtomicUsize::new(dimension),
            map: RwLock::default(),
            due: Mutex::default(),
            wanted: Notify::new(),
            building: Mutex::default(),
            stop: AtomicBool::new(false),
            scans: AtomicU64::new(0),
            graph_searches: AtomicU64::new(0),
            fallbacks: AtomicU64::new(0),
        }
    }

    /// The dimension of all vectors here.
    pub fn dimension(&self) -> usize {
        self.dimension.load(Ordering::Relaxed)
    }

    /// Sets the dimension, once the embedder is known; what is here already (nothing, then) stays as it is.
    pub fn set_dimension(&self, dimension: usize) {
        self.dimension.store(dimension, Ordering::Relaxed);
    }

    /// One partition, if it has live vectors.
    pub fn get(&self, key: &PartitionKey) -> Option<Arc<Partition>> {
        self.map.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// All partitions with live vectors.
    pub fn all(&self) -> Vec<(PartitionKey, Arc<Partition>)> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        map.iter().map(|(key, partition)| (*key, Arc::clone(partition))).collect()
    }

    /// How many partitions have live vectors.
    pub fn len(&self) -> usize {
        self.map.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// No vectors at all?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes a vector findable. A vector of another dimension is left out.
    pub fn insert(&self, key: PartitionKey, point: Arc<Point>, vector: &[f32]) {
        let partition = self.get(&key).unwrap_or_else(|| {
            let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(map.entry(key).or_insert_with(|| Arc::new(Partition::new(self.dimension()))))
        });
        if partition.insert(point, vector, &self.options) {
            self.mark_due(key);
        }
    }

    /// Makes a vector unfindable, at once.
    pub fn remove(&self, key: &PartitionKey, point: &Point) {
        let Some(partition) = self.get(key) else { return };
        if partition.remove(point, &self.options) {
            self.mark_due(*key);
        }
        if partition.is_empty() {
            self.map.write().unwrap_or_else(PoisonError::into_inner).remove(key);
        }
    }

    /// The nearest entries of one partition, best first.
    pub fn search(&self, key: &PartitionKey, query: &Query<'_>) -> Vec<Candidate> {
        let Some(partition) = self.get(key) else { return Vec::new() };
        let found = partition.search(query, self.options.ef_search.max(1));
        match found.kind {
            SearchKind::Scan => self.scans.fetch_add(1, Ordering::Relaxed),
            SearchKind::Graph => self.graph_searches.fetch_add(1, Ordering::Relaxed),
        };
        if found.fell_back {
            self.fallbacks.fetch_add(1, Ordering::Relaxed);
        }
        found.candidates
    }

    /// How searches went since the start.
    pub fn search_counts(&self) -> SearchCounts {
        SearchCounts {
            scans: self.scans.load(Ordering::Relaxed),
            graphs: self.graph_searches.load(Ordering::Relaxed),
            fallbacks: self.fallbacks.load(Ordering::Relaxed),
        }
    }

    fn mark_due(&self, key: PartitionKey) {
        if self.due.lock().unwrap_or_else(PoisonError::into_inner).insert(key) {
            self.wanted.notify_one();
        }
    }

    /// Looks at every partition, as after an opening.
    pub fn mark_all_due(&self) {
        for (key, partition) in self.all() {
            if partition.due(&self.options) {
                self.mark_due(key);
            }
        }
    }

    /// Wakes one waiter when [`Self::maintain`] has something to do.
    pub fn wanted(&self) -> &Notify {
        &self.wanted
    }

    /// Builds the graphs that are due, one after the other, on this thread. At most one thread builds; another one
    /// that comes meanwhile returns at once.
    pub fn maintain(&self) -> Maintained {
        let mut done = Maintained::default();
        let _only_one = match self.building.try_lock() {
            Ok(guard) => guard,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(std::sync::TryLockError::WouldBlock) => return done,
        };
        while !self.stop.load(Ordering::Relaxed) {
            let next = self.due.lock().unwrap_or_else(PoisonError::into_inner).pop_first();
            let Some(key) = next else { break };
            let points = self.get(&key).map_or(0, |partition| partition.maintain(&self.options, &self.stop));
            done.graphs += usize::from(points > 0);
            done.points += points;
        }
        done
    }

    /// Ends building now and for ever; what is built already goes on serving.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Writes the big graphs into `dir`. Blocks; call it off the async threads.
    ///
    /// # Errors
    /// When `dir` cannot be written.
    pub fn save(&self, dir: &Path, fingerprint: &Fingerprint) -> Result<SnapshotReport, SnapshotError> {
        snapshot::save(self, dir, fingerprint)
    }

    /// Takes over graphs that [`Self::save`] wrote, where they agree with the vectors that are here now.
    pub fn load(&self, dir: &Path, fingerprint: &Fingerprint) -> SnapshotReport {
        snapshot::load(self, dir, fingerprint)
    }
}
