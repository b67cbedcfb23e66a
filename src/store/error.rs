//! What can go wrong in the store. All of it costs hits at worst, never an answer (I6).

use std::path::PathBuf;

/// Why the store did not do what was asked. Cheap to clone: one failed commit is told to everybody in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another process has the file open.
    #[error("{path} is in use by another process; stop it, or give this one its own store.data_dir")]
    Locked {
        /// The redb file.
        path: PathBuf,
    },
    /// The file can neither be opened nor moved aside.
    #[error("{path} cannot be used: {problem}")]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// The entry alone is larger than the cache may be.
    #[error("the entry counts {bytes} bytes and the cache may hold {max_bytes} (maxBytes)")]
    TooLarge {
        /// What the entry counts.
        bytes: u64,
        /// What the cache may hold.
        max_bytes: u64,
    },
    /// Reading or writing failed; nothing has changed.
    #[error("the store failed: {0}")]
    Failed(String),
    /// The store has been closed, or its file could not be opened again after a failure.
    #[error("the store is not open")]
    Closed,
}

macro_rules! failed {
    ($($error:ty),*) => {$(
        impl From<$error> for StoreError {
            fn from(error: $error) -> Self {
                Self::Failed(error.to_string())
            }
        }
    )*};
}

failed!(redb::TransactionError, redb::TableError, redb::StorageError, redb::CommitError, redb::DatabaseError);
