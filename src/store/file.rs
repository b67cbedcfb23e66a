//! The redb file: opened with care, moved aside when it is beyond use, opened again after a failure.
//!
//! redb trusts a file that was closed cleanly and may panic on one that was altered since, so opening and reading run
//! under `catch_unwind`. A file that cannot be used is renamed and kept, never deleted, and the store begins empty.
//! A file that another process holds is left alone. Everything here blocks: never call it on an async thread (I5).

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use redb::{Database, DatabaseError, ReadOnlyDatabase, ReadableDatabase, ReadableTable, StorageError, TableDefinition};
use uuid::Uuid;

use super::StoreError;
use super::codec::{self, MetaRecord};
use super::labels::{self, Label, LabelScope, PairKey, Relabel};
use crate::entry::Entry;
use crate::tokens::TokenVectors;
use crate::types::{EntryId, Fingerprint, Timestamp};

/// Whole entries, by id.
pub(super) const ENTRIES: TableDefinition<u128, &[u8]> = TableDefinition::new("entries");
/// What is kept in memory of every entry, by id: read at the start, when reading the answers would take too long.
pub(super) const METAS: TableDefinition<u128, &[u8]> = TableDefinition::new("metas");
/// Vectors, by id.
pub(super) const VECTORS: TableDefinition<u128, &[u8]> = TableDefinition::new("vectors");
/// Vectors of the texts' tokens, by id: read for candidates only. Files of earlier versions have no such table until
/// something is written to them.
pub(super) const TOKENS: TableDefinition<u128, &[u8]> = TableDefinition::new("tokens");
/// What people said of pairs of prompts, by the pair's key.
pub(super) const LABELS: TableDefinition<&[u8; 48], &[u8]> = TableDefinition::new("labels");
/// Policies and the like, by name.
pub(super) const SETTINGS: TableDefinition<&str, &[u8]> = TableDefinition::new("settings");
/// Numbers about the file itself.
pub(super) const FILE: TableDefinition<&str, u64> = TableDefinition::new("file");
/// The row of [`FILE`] with the layout's version.
const FORMAT: &str = "format";
/// The row of [`FILE`] with the latest moment the store has seen, in milliseconds.
pub(super) const CLOCK: &str = "clock";
/// The layout that this version reads and writes.
const FORMAT_VERSION: u64 = 1;

/// The file's name in the data folder.
pub(super) const NAME: &str = "refrain.redb";

/// How the file is opened: the real way, or a test's way to make it fail.
pub(super) type Opener = Box<dyn Fn(&Path) -> Result<Database, DatabaseError> + Send + Sync>;

/// The real way, with `cache` bytes for redb's pages.
pub(super) fn opener(cache: usize) -> Opener {
    Box::new(move |path| Database::builder().set_cache_size(cache).create(path))
}

/// An open file. The database is absent for as long as opening it again fails.
pub(super) struct File {
    path: PathBuf,
    opener: Opener,
    database: RwLock<Option<Arc<Database>>>,
}

/// One entry as the start needs it.
pub(super) struct Row {
    pub(super) id: EntryId,
    /// `None`: damaged.
    pub(super) meta: Option<MetaRecord>,
    pub(super) vector: Vector,
}

/// What is known of an entry's meaning.
pub(super) enum Vector {
    /// There is none, or it is damaged.
    None,
    /// Another embedder made it.
    Foreign,
    /// As it was stored.
    Usable(Vec<f32>),
}

/// What is in the file besides entries.
#[derive(Default)]
pub(super) struct Extras {
    pub(super) settings: BTreeMap<String, Vec<u8>>,
    /// The last word on each pair of which something was said.
    pub(super) said: Vec<Relabel>,
    pub(super) clock: Timestamp,
}

enum Trouble {
    Locked,
    /// The file is beyond use.
    Damaged(String),
    /// The system failed, and the file may be fine.
    System(String),
}

impl From<DatabaseError> for Trouble {
    fn from(error: DatabaseError) -> Self {
        match &error {
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => Self::Locked,
            DatabaseError::Storage(storage) => Self::of_storage(storage),
            _ => Self::Damaged(error.to_string()),
        }
    }
}

impl Trouble {
    /// A file that may not be written, or is none, will not get better by itself; a full disk will.
    fn of_storage(error: &StorageError) -> Self {
        match error {
            StorageError::Io(io) => match io.kind() {
                ErrorKind::PermissionDenied
                | ErrorKind::ReadOnlyFilesystem
                | ErrorKind::IsADirectory
                | ErrorKind::InvalidData
                | ErrorKind::InvalidInput
                | ErrorKind::UnexpectedEof => Self::Damaged(error.to_string()),
                _ => Self::System(error.to_string()),
            },
            _ => Self::Damaged(error.to_string()),
        }
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Damaged(error.to_string())
    }
}

impl File {
    /// Opens the file in `dir` and lets `read` look through it; when that is impossible, moves it aside and begins an
    /// empty one. The second part of the answer is where the old file went.
    ///
    /// # Errors
    /// [`StoreError::Locked`], or [`StoreError::Unusable`] when there is no way to have a file there at all.
    pub(super) fn open<T>(
        dir: &Path,
        opener: Opener,
        read: impl Fn(&Database) -> Result<T, StoreError>,
    ) -> Result<(Self, T, Option<PathBuf>), StoreError> {
        let path = dir.join(NAME);
        let unusable = |path: &Path, problem: String| StoreError::Unusable { path: path.to_owned(), problem };
        fs::create_dir_all(dir).map_err(|error| unusable(dir, error.to_string()))?;
        let mut aside = None;
        loop {
            match attempt(&path, &opener, &read) {
                Ok((database, loaded)) => {
                    let database = RwLock::new(Some(Arc::new(database)));
                    return Ok((Self { path, opener, database }, loaded, aside));
                }
                Err(Trouble::Locked) => return Err(StoreError::Locked { path }),
                Err(Trouble::Damaged(problem)) if aside.is_none() => {
                    tracing::error!(path = %path.display(), problem, "the store's file cannot be used; moving it aside");
                    let target = free_name(&path);
                    fs::rename(&path, &target)
                        .map_err(|error| unusable(&path, format!("{problem}; moving it aside failed too: {error}")))?;
                    aside = Some(target);
                }
                Err(Trouble::Damaged(problem) | Trouble::System(problem)) => return Err(unusable(&path, problem)),
            }
        }
    }

    /// The open database.
    ///
    /// # Errors
    /// [`StoreError::Closed`] when it is closed, or could not be opened again after a failure.
    pub(super) fn database(&self) -> Result<Arc<Database>, StoreError> {
        let guard = self.database.read().unwrap_or_else(PoisonError::into_inner);
        guard.clone().ok_or(StoreError::Closed)
    }

    /// Closes the file and opens it again: redb refuses all work after one failed write.
    ///
    /// # Errors
    /// When it cannot be opened now; a later call may succeed.
    pub(super) fn reopen(&self) -> Result<(), StoreError> {
        self.close();
        let opened = catch_unwind(AssertUnwindSafe(|| (self.opener)(&self.path)));
        let database = opened.map_err(|panic| StoreError::Failed(words(panic.as_ref())))??;
        *self.database.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(database));
        Ok(())
    }

    /// Closes the file. Readers under way hold it open for some microseconds; they are waited for, within a bound.
    pub(super) fn close(&self) {
        let Some(mut shared) = self.database.write().unwrap_or_else(PoisonError::into_inner).take() else { return };
        for _ in 0..1_000 {
            match Arc::try_unwrap(shared) {
                Ok(database) => {
                    let closed = catch_unwind(AssertUnwindSafe(|| database.close()));
                    if let Ok(Err(error)) = closed {
                        tracing::warn!(%error, "the store's file was not closed cleanly; the next start repairs it");
                    }
                    return;
                }
                Err(still) => shared = still,
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Every label of a scope, or of all, in no order.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the file cannot be read at present.
    pub(super) fn labels(&self, scope: Option<LabelScope>) -> Result<Vec<Label>, StoreError> {
        let database = self.database()?;
        let read = || -> Result<Vec<Label>, StoreError> {
            Ok(labels(&database.begin_read()?, scope)?.into_iter().map(|(_, label)| label).collect())
        };
        catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| Err(StoreError::Failed(words(panic.as_ref()))))
    }

    /// One whole entry; `None` when it is not there, or damaged.
    ///
    /// # Errors
    /// [`StoreError::Failed`] when the file cannot be read at present.
    pub(super) fn entry(&self, id: EntryId) -> Result<Option<Entry>, StoreError> {
        let record = self.record(ENTRIES, id)?;
        Ok(record.and_then(|record| codec::decode_entry(id, &record).ok()))
    }

    /// The vectors of the tokens of an entry's text, if `fingerprint` made them. Anything in the way is as if there
    /// were none: the entry can be served without.
    pub(super) fn tokens(&self, id: EntryId, fingerprint: &Fingerprint) -> Option<TokenVectors> {
        let record = self.record(TOKENS, id).ok().flatten()?;
        codec::decode_tokens(id, fingerprint, &record).ok().flatten()
    }

    fn record(&self, table: TableDefinition<u128, &[u8]>, id: EntryId) -> Result<Option<Bytes>, StoreError> {
        let database = self.database()?;
        let read = || -> Result<Option<Bytes>, redb::Error> {
            let table = database.begin_read()?.open_table(table)?;
            Ok(table.get(id.0.as_u128())?.map(|guard| Bytes::copy_from_slice(guard.value())))
        };
        match catch_unwind(AssertUnwindSafe(read)) {
            Ok(Ok(record)) => Ok(record),
            Ok(Err(redb::Error::Corrupted(_))) | Err(_) => Ok(None),
            Ok(Err(error)) => Err(StoreError::Failed(error.to_string())),
        }
    }
}

/// What a panic said.
pub(super) fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

fn attempt<T>(
    path: &Path,
    opener: &Opener,
    read: &impl Fn(&Database) -> Result<T, StoreError>,
) -> Result<(Database, T), Trouble> {
    let guarded = AssertUnwindSafe(|| -> Result<(Database, T), Trouble> {
        let database = opener(path)?;
        check_format(&database)?;
        let loaded = read(&database)?;
        Ok((database, loaded))
    });
    catch_unwind(guarded).unwrap_or_else(|panic| Err(Trouble::Damaged(words(panic.as_ref()))))
}

/// Reads the layout's version, and lays out a new file.
fn check_format(database: &Database) -> Result<(), Trouble> {
    match format_of(database)? {
        Some(FORMAT_VERSION) => Ok(()),
        Some(other) => {
            let problem = format!("it has layout {other}, and this version of refrain knows {FORMAT_VERSION}");
            Err(Trouble::Damaged(problem))
        }
        None => lay_out(database).map_err(|error| Trouble::System(error.to_string())),
    }
}

fn format_of(database: &Database) -> Result<Option<u64>, StoreError> {
    let reading = database.begin_read()?;
    match reading.open_table(FILE) {
        Ok(table) => Ok(table.get(FORMAT)?.map(|guard| guard.value())),
        Err(redb::TableError::TableDoesNotExist(_)) if reading.list_tables()?.next().is_none() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn lay_out(database: &Database) -> Result<(), StoreError> {
    let writing = database.begin_write()?;
    writing.open_table(FILE)?.insert(FORMAT, FORMAT_VERSION)?;
    writing.open_table(ENTRIES)?;
    writing.open_table(METAS)?;
    writing.open_table(VECTORS)?;
    writing.open_table(TOKENS)?;
    writing.open_table(LABELS)?;
    writing.open_table(SETTINGS)?;
    Ok(writing.commit()?)
}

/// A name beside `path` that nothing has yet, with the time in seconds in it.
fn free_name(path: &Path) -> PathBuf {
    let seconds = Uuid::now_v7().get_timestamp().map_or(0, |time| time.to_unix().0);
    let name = |extra: String| path.with_file_name(format!("{NAME}.set-aside-{seconds}{extra}"));
    let mut target = name(String::new());
    let mut count = 1;
    while target.symlink_metadata().is_ok() {
        target = name(format!("-{count}"));
        count += 1;
    }
    target
}

/// Walks through all entries in order of their ids, without reading an answer.
///
/// # Errors
/// When a table cannot be read through. Single damaged records are reported in their [`Row`].
pub(super) fn walk(
    database: &Database,
    fingerprint: Option<&Fingerprint>,
    mut visit: impl FnMut(Row),
) -> Result<Extras, StoreError> {
    let reading = database.begin_read()?;
    let (metas, vectors) = (reading.open_table(METAS)?, reading.open_table(VECTORS)?);
    let mut rest = vectors.iter()?.peekable();
    for row in metas.iter()? {
        let (key, value) = row?;
        let id = EntryId(Uuid::from_u128(key.value()));
        // Both tables are in order of the ids: go through them side by side instead of looking each id up.
        while rest.next_if(|row| row.as_ref().is_ok_and(|(other, _)| other.value() < key.value())).is_some() {}
        let found = rest.next_if(|row| row.as_ref().is_ok_and(|(other, _)| other.value() == key.value()));
        let vector = match (found.transpose()?, fingerprint) {
            (None, _) => Vector::None,
            (Some(_), None) => Vector::Foreign,
            (Some((_, record)), Some(fingerprint)) => match codec::decode_vector(id, fingerprint, record.value()) {
                Ok(Some(vector)) => Vector::Usable(vector),
                Ok(None) => Vector::Foreign,
                Err(codec::Damaged) => Vector::None,
            },
        };
        visit(Row { id, meta: codec::decode_meta(id, value.value()).ok(), vector });
    }
    let mut extras = Extras::default();
    for row in reading.open_table(SETTINGS)?.iter()? {
        let (key, value) = row?;
        extras.settings.insert(key.value().to_owned(), value.value().to_vec());
    }
    extras.said = labels(&reading, None)?.iter().map(|(pair, label)| Relabel::of(*pair, label)).collect();
    extras.clock = Timestamp(reading.open_table(FILE)?.get(CLOCK)?.map_or(0, |guard| guard.value()));
    Ok(extras)
}

/// A file of an earlier version has no table of labels until one is kept.
fn labels(reading: &redb::ReadTransaction, scope: Option<LabelScope>) -> Result<Vec<(PairKey, Label)>, StoreError> {
    match reading.open_table(LABELS) {
        Ok(table) => labels::read(&table, scope),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Every label in the file of `dir`, which no running service has open. Nothing is made, repaired or moved.
///
/// # Errors
/// [`StoreError::Locked`], or [`StoreError::Unusable`] when there is no file that can be read.
pub(super) fn labels_of(dir: &Path) -> Result<Vec<Label>, StoreError> {
    let path = dir.join(NAME);
    let unusable = |problem: String| StoreError::Unusable { path: path.clone(), problem };
    let read = || -> Result<Vec<Label>, StoreError> {
        let database = ReadOnlyDatabase::open(&path).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
                StoreError::Locked { path: path.clone() }
            }
            DatabaseError::RepairAborted => unusable("it was not closed cleanly; the next start repairs it".into()),
            other => unusable(other.to_string()),
        })?;
        Ok(labels(&database.begin_read()?, None)?.into_iter().map(|(_, label)| label).collect())
    };
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| Err(unusable(words(panic.as_ref()))))
}

/// Takes records out of the file, and proves that it can be written.
///
/// # Errors
/// When it cannot.
pub(super) fn remove(database: &Database, ids: &[EntryId]) -> Result<(), StoreError> {
    let writing = database.begin_write()?;
    writing.open_table(FILE)?.insert(FORMAT, FORMAT_VERSION)?;
    for id in ids {
        for table in [ENTRIES, METAS, VECTORS, TOKENS] {
            writing.open_table(table)?.remove(id.0.as_u128())?;
        }
    }
    Ok(writing.commit()?)
}
