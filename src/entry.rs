//! One stored answer and what it was an answer to.

use bytes::Bytes;

use crate::types::{Attributes, CacheId, Dialect, EntryId, ExactKey, PartitionKey, TenantId, Timestamp};

/// Who made an entry, and so whom it may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A provider's answer to a provider's request body.
    Provider,
    /// A plain prompt and answer, as the LangCache routes and imports keep them.
    Plain,
}

/// An answer in its stored form: complete, decoded, independent of the transport that brought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The format of `body`. Plain entries are `OpenAi` and their body is the answer's bare text.
    pub dialect: Dialect,
    /// The provider's JSON object (`chat.completion`) as it would come without streaming, or bare text.
    pub body: Bytes,
    /// The model that wrote it, as the provider named it; empty for plain entries.
    pub model: String,
    /// Tokens the provider counted, `None` when it did not say.
    pub usage: Option<TokenUsage>,
}

/// Tokens as the provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

/// One stored answer. The embedding is kept beside it, not in it: most readers don't need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, unique in the installation.
    pub id: EntryId,
    /// The cache it belongs to.
    pub cache: CacheId,
    /// The tenant it belongs to.
    pub tenant: TenantId,
    /// Provider's or plain.
    pub kind: EntryKind,
    /// Where equal requests are found.
    pub exact_key: ExactKey,
    /// Where similar requests are found; `None` for an entry that only the exact tier may serve.
    pub partition: Option<PartitionKey>,
    /// The canonical request, compared byte for byte on an exact hit.
    pub canonical: Bytes,
    /// The text that was embedded: the last user turn.
    pub text: String,
    /// The caller's labels.
    pub attributes: Attributes,
    /// The answer itself.
    pub answer: Answer,
    /// When the provider's answer was complete.
    pub stored_at: Timestamp,
    /// From this moment on the entry is not fresh.
    pub expires_at: Timestamp,
}

impl Entry {
    /// What this entry counts against `maxBytes`: the variable parts and a flat charge for the rest.
    pub fn bytes(&self) -> u64 {
        let attributes: usize = self.attributes.iter().map(|(name, value)| name.len() + value.len()).sum();
        let parts = self.canonical.len() + self.text.len() + self.answer.body.len() + attributes;
        parts as u64 + Self::OVERHEAD
    }

    /// Ids, times and index slots, in bytes.
    pub const OVERHEAD: u64 = 256;
}
