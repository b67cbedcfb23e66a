//! Which stored vectors are nearest to a query: exact scans, a graph for the big partitions, and nothing durable.
//!
//! The index is derived: every vector in it comes from a committed record of the store, and losing the index costs
//! time, never an entry (I3). One [`Partition`] holds the vectors that may answer each other (I1), all of one
//! fingerprint (I4); the store gives no others. Searching is plain CPU work: no I/O, no clock, no wait longer than
//! the insertion of one vector. Graphs are built by [`Partitions::maintain`], on the caller's thread, without a lock.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::types::{Attributes, EntryId, Similarity, Timestamp};

mod arena;
mod graph;
mod partition;
mod partitions;
mod snapshot;
mod top;
mod vector;

pub use partition::Partition;
pub use partitions::{Maintained, Partitions, SearchCounts};
pub use snapshot::{SnapshotError, SnapshotReport};

/// What the index knows of an entry besides its vector.
#[derive(Debug)]
pub struct Point {
    /// The entry.
    pub id: EntryId,
    /// From this moment on a search skips it.
    pub expires_at: Timestamp,
    /// What attribute filters look at.
    pub attributes: Attributes,
    /// The row of the arena that holds the vector, [`Point::NOWHERE`] when there is none. Written under the
    /// partition's write lock only.
    row: AtomicU32,
}

impl Point {
    const NOWHERE: u32 = u32::MAX;

    /// A point that is in no partition yet.
    pub fn new(id: EntryId, expires_at: Timestamp, attributes: Attributes) -> Self {
        Self { id, expires_at, attributes, row: AtomicU32::new(Self::NOWHERE) }
    }

    fn row(&self) -> Option<usize> {
        let row = self.row.load(Ordering::Relaxed);
        (row != Self::NOWHERE).then_some(row as usize)
    }

    fn set_row(&self, row: Option<usize>) {
        let row = row.and_then(|row| u32::try_from(row).ok()).unwrap_or(Self::NOWHERE);
        self.row.store(row, Ordering::Relaxed);
    }
}

/// One found entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The entry.
    pub id: EntryId,
    /// How close it is, computed in f32 from the full vectors.
    pub similarity: Similarity,
}

/// Which attributes an entry must have to be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AttributeFilter {
    /// Whatever it has.
    #[default]
    Any,
    /// At least these, with these values.
    Contains(Attributes),
    /// Exactly these.
    Equals(Attributes),
}

impl AttributeFilter {
    /// Does an entry with these attributes pass?
    pub fn admits(&self, attributes: &Attributes) -> bool {
        match self {
            Self::Any => true,
            Self::Contains(wanted) => attributes.contains_all(wanted),
            Self::Equals(wanted) => attributes == wanted,
        }
    }

    /// Does every entry pass?
    pub fn is_any(&self) -> bool {
        match self {
            Self::Any => true,
            Self::Contains(wanted) => wanted.is_empty(),
            Self::Equals(_) => false,
        }
    }
}

/// How a partition was, or would be, searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchKind {
    /// Every vector is compared.
    Scan,
    /// By the graph, and a scan of what the graph does not cover.
    Graph,
}

/// One question to a partition.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// A unit vector.
    pub vector: &'a [f32],
    /// How many candidates are wanted at most.
    pub k: usize,
    /// Which entries may be found.
    pub filter: &'a AttributeFilter,
    /// Entries that expire at this moment or before are skipped.
    pub now: Timestamp,
}

impl Query<'_> {
    fn admits(&self, point: &Point) -> bool {
        point.expires_at > self.now && self.filter.admits(&point.attributes)
    }
}

#[cfg(test)]
mod tests;
