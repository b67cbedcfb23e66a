//! How a store is opened, and what was found then.

use std::path::PathBuf;
use std::time::Duration;

use crate::types::{Fingerprint, Timestamp};

/// How to open a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The folder of the redb file and the index snapshots; made when it is not there.
    pub dir: PathBuf,
    /// How vectors are searched.
    pub index: crate::config::Index,
    /// Memory for entries that were read or written lately, in bytes.
    pub memory_bytes: u64,
    /// What makes the vectors. `None`: no embedder works; vectors are left alone, and only the exact tier answers.
    pub fingerprint: Option<Fingerprint>,
    /// Components of a vector.
    pub dimension: usize,
}

/// What was found at the opening.
#[derive(Clone, Debug)]
pub struct OpenReport {
    /// Entries that can be served.
    pub entries: usize,
    /// Entries whose vector another embedder made: the exact tier serves them, the semantic one does not.
    pub vectors_ignored: usize,
    /// Records that did not pass their checksum; they are removed.
    pub damaged: usize,
    /// Graphs taken over from the snapshot.
    pub graphs: usize,
    /// Where a file went that could not be used.
    pub set_aside: Option<PathBuf>,
    /// The latest moment that the file speaks of; the clock must not start before it.
    pub latest: Timestamp,
    /// How long opening took.
    pub took: Duration,
}
