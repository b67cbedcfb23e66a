//! The vocabulary that every layer shares: ids, keys, time, similarity, outcomes.
//!
//! Each type is parsed once and cannot be wrong afterwards; nothing here does I/O.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::Invalid;

/// The name of a cache: 1 to 64 characters of `A-Z a-z 0-9 . _ -`, starting with a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CacheId(Arc<str>);

impl CacheId {
    /// The cache that exists from the start.
    pub const DEFAULT: &'static str = "default";

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for CacheId {
    fn default() -> Self {
        static NAME: LazyLock<CacheId> = LazyLock::new(|| CacheId(Arc::from(CacheId::DEFAULT)));
        NAME.clone()
    }
}

impl FromStr for CacheId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if starts_well && text.len() <= 64 && text.chars().all(legal) {
            Ok(Self(Arc::from(text)))
        } else {
            Err(Invalid::new(
                "cacheId",
                format!("{:?} is not a cache name", truncated(text)),
                "1 to 64 of A-Z a-z 0-9 . _ - starting with a letter or digit",
            ))
        }
    }
}

impl TryFrom<String> for CacheId {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<CacheId> for String {
    fn from(id: CacheId) -> Self {
        id.as_str().to_owned()
    }
}

impl fmt::Display for CacheId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn truncated(text: &str) -> String {
    text.chars().take(80).collect()
}

macro_rules! digest {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub [u8; 32]);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        /// The first eight bytes in hexadecimal: enough to tell two apart in a log line.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    };
}

digest! {
    /// Whose entries these are: the keyed BLAKE3 hash of a credential, or [`TenantId::LOCAL`].
    TenantId
}

impl TenantId {
    /// The tenant when the server holds the provider's key, or nobody sent one.
    pub const LOCAL: Self = Self([0; 32]);
}

digest! {
    /// BLAKE3 over scope and canonical request: equal keys are candidates for an exact hit.
    ExactKey
}

digest! {
    /// BLAKE3 over everything that must be equal for a semantic hit, the embedder's fingerprint included.
    PartitionKey
}

digest! {
    /// What made a vector: model file, tokenizer, pooling, prefix, dimension. Vectors of two fingerprints never meet.
    Fingerprint
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new id, ordered by time (UUID version 7, RFC 9562).
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                Uuid::parse_str(text).map(Self).map_err(|_| {
                    Invalid::new(stringify!($name), format!("{:?} is not an id", truncated(text)), "a UUID")
                })
            }
        }
    };
}

uuid_id! {
    /// One stored answer.
    EntryId
}

uuid_id! {
    /// One decision, so that feedback can name it.
    LookupId
}

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// This moment plus `duration`, saturating.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The time from `earlier` to this moment, zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Whole seconds since the epoch, as OpenAI's `created` wants them.
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }
}

/// Where the time comes from. Never runs backwards, so a stepped wall clock revives nothing.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The wall clock at the start, carried on by a monotonic one.
    System {
        /// The time at `since`.
        base: Timestamp,
        /// When `base` was read.
        since: Instant,
    },
    /// Set by a test.
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// The system's clock, but never before `floor`: the latest moment a stored record speaks of.
    pub fn system(floor: Timestamp) -> Self {
        #[allow(clippy::disallowed_methods, reason = "this is the clock that everybody else asks")]
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let base = Timestamp::default().plus(wall).max(floor);
        Self::System { base, since: Instant::now() }
    }

    /// A clock that stands at `now` until [`Clock::advance`].
    pub fn manual(now: Timestamp) -> Self {
        Self::Manual(Arc::new(AtomicU64::new(now.0)))
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::System { base, since } => base.plus(since.elapsed()),
            Self::Manual(now) => Timestamp(now.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock on; a system clock moves by itself and ignores this.
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(now) = self {
            let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
            now.fetch_add(millis, Ordering::SeqCst);
        }
    }
}

/// Cosine of two unit vectors, clamped to [0, 1]; larger is closer. The one scale everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f32", into = "f32")]
pub struct Similarity(f32);

impl Similarity {
    /// Equal texts.
    pub const ONE: Self = Self(1.0);
    /// Nothing in common.
    pub const ZERO: Self = Self(0.0);

    /// A computed cosine, clamped to [0, 1]; NaN becomes 0.
    pub fn clamped(cosine: f32) -> Self {
        if cosine.is_nan() { Self::ZERO } else { Self(cosine.clamp(0.0, 1.0)) }
    }

    /// The number.
    pub fn get(self) -> f32 {
        self.0
    }
}

impl Eq for Similarity {}

impl PartialOrd for Similarity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Similarity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl TryFrom<f32> for Similarity {
    type Error = Invalid;

    fn try_from(value: f32) -> Result<Self, Invalid> {
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(Invalid::new("similarity", format!("{value} is out of range"), "0 to 1"))
        }
    }
}

impl From<Similarity> for f32 {
    fn from(similarity: Similarity) -> Self {
        similarity.0
    }
}

impl fmt::Display for Similarity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An exact hit's, on the quickest way there is.
        if *self == Self::ONE { f.write_str("1.0000") } else { write!(f, "{:.4}", self.0) }
    }
}

/// Which tier answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// The same request, byte for byte in canonical form.
    Exact,
    /// A request that asks the same thing.
    Semantic,
}

impl Tier {
    /// The label in headers, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Semantic => "semantic",
        }
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Answered by a fresh entry.
    Hit,
    /// Answered by an expired entry, as the caller or the policy allows.
    Stale,
    /// Looked for and not found.
    Miss,
    /// Not looked for by meaning, and not found exactly.
    Bypass,
}

impl Outcome {
    /// The label in headers, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Stale => "stale",
            Self::Miss => "miss",
            Self::Bypass => "bypass",
        }
    }
}

/// Which API's wire format a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// OpenAI and everything compatible.
    OpenAi,
    /// Anthropic.
    Anthropic,
}

impl Dialect {
    /// The name in config, headers and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// Labels that a caller puts on an entry: at most 32, names of 1 to 64 bytes, values of at most 512 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct Attributes(Arc<BTreeMap<String, String>>);

impl Attributes {
    /// How many labels an entry may carry.
    pub const MAX: usize = 32;

    /// No labels at all?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Labels in order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of one label.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Does this set carry every label of `wanted`, with the same values?
    pub fn contains_all(&self, wanted: &Self) -> bool {
        wanted.iter().all(|(name, value)| self.get(name) == Some(value))
    }
}

impl TryFrom<BTreeMap<String, String>> for Attributes {
    type Error = Invalid;

    fn try_from(map: BTreeMap<String, String>) -> Result<Self, Invalid> {
        if map.len() > Self::MAX {
            return Err(Invalid::new("attributes", format!("{} labels", map.len()), "at most 32"));
        }
        for (name, value) in &map {
            if name.is_empty() || name.len() > 64 {
                let problem = format!("the name {:?} has {} bytes", truncated(name), name.len());
                return Err(Invalid::new("attributes", problem, "1 to 64 bytes"));
            }
            if value.len() > 512 {
                let problem = format!("the value of {name:?} has {} bytes", value.len());
                return Err(Invalid::new("attributes", problem, "at most 512 bytes"));
            }
        }
        Ok(Self(Arc::new(map)))
    }
}

impl From<Attributes> for BTreeMap<String, String> {
    fn from(attributes: Attributes) -> Self {
        Arc::unwrap_or_clone(attributes.0)
    }
}
