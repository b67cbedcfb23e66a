//! Opening: from the file on disk to everything a lookup needs in memory.

use std::sync::Arc;
use std::time::Instant;

use redb::Database;

use super::file::{self, File, Opener, Row, Vector};
use super::handle::Inner;
use super::memory::{Change, Gone, Memory, Record};
use super::{OpenReport, StoreError, StoreOptions};
use crate::index::Partitions;
use crate::types::EntryId;

/// What reading the file gave.
struct Loaded {
    memory: Memory,
    vectors_ignored: usize,
    /// Records to be removed: damaged, or overtaken by another with the same exact key.
    unusable: Vec<EntryId>,
}

/// Opens the file in the real way.
pub(super) fn open(options: &StoreOptions) -> Result<(Inner, OpenReport), StoreError> {
    let pages = usize::try_from(options.memory_bytes / 4).unwrap_or(usize::MAX).clamp(8 << 20, 128 << 20);
    open_with(options, file::opener(pages))
}

/// Opens the file as `opener` does.
pub(super) fn open_with(options: &StoreOptions, opener: Opener) -> Result<(Inner, OpenReport), StoreError> {
    let began = Instant::now();
    let (file, loaded, set_aside) = File::open(&options.dir, opener, |database| load(database, options))?;
    let Loaded { memory, vectors_ignored, unusable } = loaded;
    let snapshots = options.dir.join("index");
    let graphs = match &options.fingerprint {
        Some(fingerprint) => memory.index.load(&snapshots, fingerprint).graphs,
        None => 0,
    };
    memory.index.mark_all_due();
    let report = OpenReport {
        entries: memory.len(),
        vectors_ignored,
        damaged: unusable.len(),
        graphs,
        set_aside,
        latest: memory.latest(),
        took: began.elapsed(),
    };
    let inner = Inner::start(Arc::new(memory), Arc::new(file), options.fingerprint, snapshots)?;
    Ok((inner, report))
}

fn load(database: &Database, options: &StoreOptions) -> Result<Loaded, StoreError> {
    let index = Partitions::new(options.index.clone(), options.dimension);
    let memory = Memory::new(index, options.memory_bytes);
    let mut loaded = Loaded { memory, vectors_ignored: 0, unusable: Vec::new() };
    let extras = file::walk(database, options.fingerprint.as_ref(), |row| loaded.take(row, options.dimension))?;
    for (key, value) in extras.settings {
        loaded.memory.set(key, Some(value));
    }
    for change in extras.said {
        loaded.memory.relabel(change);
    }
    loaded.memory.saw(extras.clock);
    // Also without anything to remove: a file that cannot be written any more should be known now.
    file::remove(database, &loaded.unusable)?;
    Ok(loaded)
}

impl Loaded {
    fn take(&mut self, row: Row, dimension: usize) {
        let Some(meta) = row.meta else {
            self.unusable.push(row.id);
            return;
        };
        // Two entries with one exact key are left when the system reported a commit as failed that was not. Ids are in
        // order of time, and the later one counts.
        if let Some(record) = self.memory.exact_id(&meta.exact_key).and_then(|id| self.memory.record(id)) {
            self.unusable.push(record.id);
            self.memory.apply(Change::Remove { record, why: Gone::Replaced });
        }
        let vector = match row.vector {
            Vector::Usable(vector) if vector.len() == dimension && meta.partition.is_some() => Some(vector),
            Vector::None => None,
            Vector::Usable(_) | Vector::Foreign => {
                self.vectors_ignored += 1;
                None
            }
        };
        let record = Arc::new(Record::new(row.id, meta, vector.is_some()));
        self.memory.add(record, vector.as_deref());
    }
}
