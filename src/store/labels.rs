//! What is known of pairs of prompts: kept for good, since what people call wrong must never be served again, and since
//! labels are what thresholds are calibrated with. What shadow mode found by comparing answers is a label only: it
//! refuses no pair, and a word of a person stands before it.
//!
//! All keys are in memory; the texts are read when labels are asked for. A record is JSON with a version. When entries
//! are deleted on request, the texts of their labels go too; that a pair was wrong stays known by its key, which is a
//! keyed hash. The table is bounded: see [`MOST`].

use redb::{ReadableTable, Table};
use serde::{Deserialize, Serialize};

use super::StoreError;
use crate::policy::evidence::Signals;
use crate::policy::record::Observation;
use crate::types::{Attributes, CacheId, EntryId, Timestamp};

/// Labels of one owner in one cache at most. The oldest go first: shadow mode's before people's, of either those that
/// said "right" before the others.
pub(super) const MOST: usize = 50_000;

/// The labels of one owner in one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabelScope(pub [u8; 16]);

/// Names a pair of prompts of one owner in one cache: keys of one scope are neighbours in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairKey([u8; 48]);

impl PairKey {
    /// The pair with this hash in `scope`.
    pub fn new(scope: LabelScope, hash: [u8; 32]) -> Self {
        let mut key = [0; 48];
        key[..16].copy_from_slice(&scope.0);
        key[16..].copy_from_slice(&hash);
        Self(key)
    }
}

/// Where a label comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelSource {
    /// Somebody said it.
    #[default]
    Feedback,
    /// Shadow mode compared the stored answer with a fresh one.
    Shadow,
}

impl LabelSource {
    /// The word in listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Feedback => "feedback",
            Self::Shadow => "shadow",
        }
    }

    fn is_feedback(self) -> bool {
        self == Self::Feedback
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// The cache that served.
    pub cache: CacheId,
    /// Was the answer wrong?
    pub wrong: bool,
    /// When it was said.
    pub at: Timestamp,
    /// Who said it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub source: LabelSource,
    /// The entry that served; `None` where there was no pair, its texts had to go, or shadow mode found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
    /// The two prompts; `None` where there were no two, or when their texts had to go.
    pub pair: Option<LabelledPair>,
}

/// The prompts behind a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelledPair {
    /// The prompt that was answered.
    pub asked: String,
    /// The prompt whose answer it was.
    pub stored: String,
    /// What the entry was labelled with.
    pub attributes: Attributes,
    /// The cosine of the two, 0 to 1.
    pub similarity: f64,
    /// The verifier's probability then, 0 to 1; `None` when it had no say.
    pub probability: Option<f64>,
}

impl Label {
    fn word(&self) -> Word {
        match (self.source, self.wrong) {
            (LabelSource::Shadow, _) => Word::Found,
            (LabelSource::Feedback, true) => Word::Wrong,
            (LabelSource::Feedback, false) => Word::Right,
        }
    }

    /// What refuses nothing says nothing without its texts.
    fn is_empty(&self) -> bool {
        self.word() != Word::Wrong && self.pair.is_none()
    }

    /// What it adds to an entry's record.
    pub(super) fn observed(&self) -> Option<(EntryId, Observation)> {
        let (id, pair) = (self.entry?, self.pair.as_ref()?);
        let signals = Signals { cosine: pair.similarity, probability: pair.probability };
        Some((id, Observation { signals, right: !self.wrong }))
    }
}

/// Labels whose texts are to go.
#[derive(Clone, Debug)]
pub enum Forget {
    /// All of a scope.
    Scope(LabelScope),
    /// Those of a scope with this text on either side.
    Text(LabelScope, String),
    /// Those of a scope whose entry carried all of these attributes.
    Attributes(LabelScope, Attributes),
    /// Everything that was ever said in a cache, verdicts included.
    Cache(CacheId),
}

impl Forget {
    fn scope(&self) -> Option<LabelScope> {
        match self {
            Self::Scope(scope) | Self::Text(scope, _) | Self::Attributes(scope, _) => Some(*scope),
            Self::Cache(_) => None,
        }
    }

    fn means(&self, label: &Label) -> bool {
        match (self, &label.pair) {
            (Self::Cache(cache), _) => label.cache == *cache,
            (_, None) => false,
            (Self::Scope(_), Some(_)) => true,
            (Self::Text(_, text), Some(pair)) => pair.asked == *text || pair.stored == *text,
            (Self::Attributes(_, wanted), Some(pair)) => pair.attributes.contains_all(wanted),
        }
    }

    /// What is left of a label that is meant.
    fn leaves(&self, label: Label) -> Option<Label> {
        match self {
            Self::Cache(_) => None,
            _ => Some(Label { pair: None, entry: None, ..label }).filter(|left| !left.is_empty()),
        }
    }
}

/// The last word on a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A person called its answer right.
    Right,
    /// A person called its answer wrong.
    Wrong,
    /// Shadow mode found something, and nobody has spoken.
    Found,
}

/// A committed change: the last word on a pair, or that nothing is known of it any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Relabel {
    pub(super) pair: PairKey,
    pub(super) word: Option<Word>,
    /// What it adds to the record of the entry that served.
    pub(super) observed: Option<(EntryId, Observation)>,
}

impl Relabel {
    pub(super) fn of(pair: PairKey, label: &Label) -> Self {
        Self { pair, word: Some(label.word()), observed: label.observed() }
    }

    fn gone(pair: PairKey) -> Self {
        Self { pair, word: None, observed: None }
    }
}

/// The table within a transaction.
pub(super) type Labels<'t> = Table<'t, &'static [u8; 48], &'static [u8]>;

/// Keeps a verdict in place of an earlier one, and makes room for it among at most `most` of its scope. What shadow mode
/// found takes no person's place.
pub(super) fn say(
    table: &mut Labels<'_>,
    pair: PairKey,
    label: &Label,
    most: usize,
) -> Result<Vec<Relabel>, StoreError> {
    let known = table.get(&pair.0)?.map(|record| decode(record.value()));
    let said = matches!(&known, Some(Some(earlier)) if earlier.source.is_feedback());
    if said && !label.source.is_feedback() {
        return Ok(Vec::new());
    }
    if label.is_empty() {
        table.remove(&pair.0)?;
        return Ok(vec![Relabel::gone(pair)]);
    }
    let mut changes = if known.is_some() { Vec::new() } else { make_room(table, scope_of(&pair), most)? };
    table.insert(&pair.0, encode(label).as_slice())?;
    changes.push(Relabel::of(pair, label));
    Ok(changes)
}

/// Removes some of the oldest when there is no room for another one.
fn make_room(table: &mut Labels<'_>, scope: LabelScope, most: usize) -> Result<Vec<Relabel>, StoreError> {
    let (first, last) = bounds(scope);
    let count = table.range::<&[u8; 48]>(&first.0..=&last.0)?.count();
    if count < most {
        return Ok(Vec::new());
    }
    let rank = |(key, label): (PairKey, Label)| ((label.source.is_feedback(), label.wrong, label.at), key);
    let mut known: Vec<((bool, bool, Timestamp), PairKey)> = read(table, Some(scope))?.into_iter().map(rank).collect();
    known.sort_unstable_by_key(|(rank, _)| *rank);
    // Some more than one, so that not every label has to look through all of them.
    let too_many = count - most + 1 + most / 100;
    let victims: Vec<PairKey> = known.into_iter().take(too_many).map(|(_, key)| key).collect();
    for key in &victims {
        table.remove(&key.0)?;
    }
    Ok(victims.into_iter().map(Relabel::gone).collect())
}

/// Takes the texts out of the labels that are meant, and removes those of which nothing is left.
pub(super) fn forget(table: &mut Labels<'_>, what: &Forget) -> Result<Vec<Relabel>, StoreError> {
    let mut changes = Vec::new();
    for (pair, label) in read(table, what.scope())? {
        if !what.means(&label) {
            continue;
        }
        let left = what.leaves(label);
        match &left {
            Some(label) => table.insert(&pair.0, encode(label).as_slice())?,
            None => table.remove(&pair.0)?,
        };
        changes.push(left.map_or_else(|| Relabel::gone(pair), |label| Relabel::of(pair, &label)));
    }
    Ok(changes)
}

/// Every label of a scope, or of all, that can be read; in order of their keys.
pub(super) fn read(
    table: &impl ReadableTable<&'static [u8; 48], &'static [u8]>,
    scope: Option<LabelScope>,
) -> Result<Vec<(PairKey, Label)>, StoreError> {
    let (first, last) = scope.map_or((PairKey([0; 48]), PairKey([u8::MAX; 48])), bounds);
    let rows = table.range::<&[u8; 48]>(&first.0..=&last.0)?;
    let mut labels = Vec::new();
    for row in rows {
        let (key, record) = row?;
        labels.extend(decode(record.value()).map(|label| (PairKey(*key.value()), label)));
    }
    Ok(labels)
}

fn scope_of(pair: &PairKey) -> LabelScope {
    let mut scope = [0; 16];
    scope.copy_from_slice(&pair.0[..16]);
    LabelScope(scope)
}

/// The first and the last key that a scope can have.
fn bounds(scope: LabelScope) -> (PairKey, PairKey) {
    (PairKey::new(scope, [0; 32]), PairKey::new(scope, [u8::MAX; 32]))
}

/// The version of what people said.
const VERSION: u32 = 1;
/// The version of what shadow mode found: to a program that knows only the first it is nothing, and no refusal.
const SHADOW_VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Record<L> {
    version: u32,
    label: L,
}

/// The bytes of a label.
fn encode(label: &Label) -> Vec<u8> {
    let version = if label.source.is_feedback() { VERSION } else { SHADOW_VERSION };
    serde_json::to_vec(&Record { version, label }).unwrap_or_default()
}

/// What [`encode`] wrote; `None` of other bytes.
fn decode(record: &[u8]) -> Option<Label> {
    let record: Record<Label> = serde_json::from_slice(record).ok()?;
    matches!(record.version, VERSION | SHADOW_VERSION).then_some(record.label)
}

#[cfg(test)]
mod tests;
