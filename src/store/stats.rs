//! Caches and the installation in numbers.

use crate::index::SearchCounts;

/// A cache in numbers. Entries, bytes and vectors are now; the others count since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Entries kept, expired ones that are not swept out yet included.
    pub entries: u64,
    /// What they count against `maxBytes`.
    pub bytes: u64,
    /// Those that the semantic tier can find.
    pub vectors: u64,
    /// Entries that had to make room.
    pub evictions: u64,
    /// Entries removed because their time was up.
    pub expirations: u64,
}

/// The installation in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All caches together.
    pub caches: CacheStats,
    /// Partitions with vectors.
    pub partitions: u64,
    /// How searches went.
    pub searches: SearchCounts,
    /// Records that could not be read back, since the start.
    pub damaged: u64,
    /// Commits that failed, since the start.
    pub failed_commits: u64,
}
