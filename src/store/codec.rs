//! The bytes of the store's records.
//!
//! Every record is `version, checksum, body`. The checksum is the first eight bytes of BLAKE3 over the version, the
//! record's key and the body, so that neither a flipped bit nor a record under another's key is ever taken for an
//! answer. Bodies are fields in order, numbers little-endian, variable parts with a u32 length before them. These
//! bytes outlive the process: a change of layout needs a new version, and the golden tests below say so.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::entry::{Answer, Entry, EntryKind, TokenUsage};
use crate::tokens::TokenVectors;
use crate::types::{Attributes, CacheId, Dialect, EntryId, ExactKey, Fingerprint, PartitionKey, TenantId, Timestamp};

/// The version that is written.
const VERSION: u8 = 1;
const HEAD: usize = 1 + 8;

/// The bytes are not a record of ours, whole and under its own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record is damaged")]
pub(super) struct Damaged;

type Decoded<T> = Result<T, Damaged>;

/// What the store keeps in memory of every entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MetaRecord {
    pub(super) cache: CacheId,
    pub(super) tenant: TenantId,
    pub(super) kind: EntryKind,
    pub(super) exact_key: ExactKey,
    pub(super) partition: Option<PartitionKey>,
    pub(super) attributes: Attributes,
    pub(super) stored_at: Timestamp,
    pub(super) expires_at: Timestamp,
    pub(super) bytes: u64,
}

impl MetaRecord {
    pub(super) fn of(entry: &Entry) -> Self {
        Self {
            cache: entry.cache.clone(),
            tenant: entry.tenant,
            kind: entry.kind,
            exact_key: entry.exact_key,
            partition: entry.partition,
            attributes: entry.attributes.clone(),
            stored_at: entry.stored_at,
            expires_at: entry.expires_at,
            bytes: entry.bytes(),
        }
    }

    fn write(&self, out: &mut Writer) {
        out.part(self.cache.as_str().as_bytes());
        out.raw(&self.tenant.0);
        out.raw(&[match self.kind {
            EntryKind::Provider => 0,
            EntryKind::Plain => 1,
        }]);
        out.raw(&self.exact_key.0);
        match self.partition {
            None => out.raw(&[0]),
            Some(key) => {
                out.raw(&[1]);
                out.raw(&key.0);
            }
        }
        out.count(self.attributes.iter().count());
        for (name, value) in self.attributes.iter() {
            out.part(name.as_bytes());
            out.part(value.as_bytes());
        }
        out.number(self.stored_at.0);
        out.number(self.expires_at.0);
        out.number(self.bytes);
    }

    fn read(input: &mut Reader) -> Decoded<Self> {
        let cache = input.text()?.parse().map_err(|_| Damaged)?;
        let tenant = TenantId(input.array()?);
        let kind = match input.byte()? {
            0 => EntryKind::Provider,
            1 => EntryKind::Plain,
            _ => return Err(Damaged),
        };
        let exact_key = ExactKey(input.array()?);
        let partition = input.optional(|input| input.array().map(PartitionKey))?;
        let mut attributes = BTreeMap::new();
        for _ in 0..input.count()? {
            let name = input.text()?;
            attributes.insert(name, input.text()?);
        }
        let attributes = attributes.try_into().map_err(|_| Damaged)?;
        let stored_at = Timestamp(input.number()?);
        let expires_at = Timestamp(input.number()?);
        let bytes = input.number()?;
        Ok(Self { cache, tenant, kind, exact_key, partition, attributes, stored_at, expires_at, bytes })
    }
}

/// The record of `meta` under `id`.
pub(super) fn encode_meta(id: EntryId, meta: &MetaRecord) -> Vec<u8> {
    let mut out = Writer::new();
    meta.write(&mut out);
    out.seal(id)
}

/// What [`encode_meta`] wrote.
pub(super) fn decode_meta(id: EntryId, record: &[u8]) -> Decoded<MetaRecord> {
    let mut input = Reader::open(id, &Bytes::copy_from_slice(record))?;
    let meta = MetaRecord::read(&mut input)?;
    input.finish(meta)
}

/// The record of an entry, under its id.
pub(super) fn encode_entry(entry: &Entry) -> Vec<u8> {
    let mut out = Writer::new();
    MetaRecord::of(entry).write(&mut out);
    out.part(&entry.canonical);
    out.part(entry.text.as_bytes());
    out.raw(&[match entry.answer.dialect {
        Dialect::OpenAi => 0,
        Dialect::Anthropic => 1,
    }]);
    out.part(&entry.answer.body);
    out.part(entry.answer.model.as_bytes());
    match entry.answer.usage {
        None => out.raw(&[0]),
        Some(usage) => {
            out.raw(&[1]);
            out.number(usage.input);
            out.number(usage.output);
        }
    }
    out.seal(entry.id)
}

/// What [`encode_entry`] wrote. The large parts share `record`'s memory.
pub(super) fn decode_entry(id: EntryId, record: &Bytes) -> Decoded<Entry> {
    let mut input = Reader::open(id, record)?;
    let meta = MetaRecord::read(&mut input)?;
    let canonical = input.part()?;
    let text = input.text()?;
    let dialect = match input.byte()? {
        0 => Dialect::OpenAi,
        1 => Dialect::Anthropic,
        _ => return Err(Damaged),
    };
    let body = input.part()?;
    let model = input.text()?;
    let usage = input.optional(|input| Ok(TokenUsage { input: input.number()?, output: input.number()? }))?;
    input.finish(Entry {
        id,
        cache: meta.cache,
        tenant: meta.tenant,
        kind: meta.kind,
        exact_key: meta.exact_key,
        partition: meta.partition,
        canonical,
        text,
        attributes: meta.attributes,
        answer: Answer { dialect, body, model, usage },
        stored_at: meta.stored_at,
        expires_at: meta.expires_at,
    })
}

/// The record of a vector that `fingerprint` made for the entry `id`.
pub(super) fn encode_vector(id: EntryId, fingerprint: &Fingerprint, vector: &[f32]) -> Vec<u8> {
    let mut out = Writer::new();
    out.raw(&fingerprint.0);
    for component in vector {
        out.raw(&component.to_le_bytes());
    }
    out.seal(id)
}

/// The vector in the record, or `None` when another fingerprint made it (I4).
pub(super) fn decode_vector(id: EntryId, fingerprint: &Fingerprint, record: &[u8]) -> Decoded<Option<Vec<f32>>> {
    let body = checked(id, record)?;
    let (made_by, components) = body.split_first_chunk::<32>().ok_or(Damaged)?;
    if *made_by != fingerprint.0 {
        return Ok(None);
    }
    let (components, rest) = components.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(Damaged);
    }
    Ok(Some(components.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()))
}

/// The record of the token vectors that `fingerprint` made for the entry `id`.
pub(super) fn encode_tokens(id: EntryId, fingerprint: &Fingerprint, tokens: &TokenVectors) -> Vec<u8> {
    let mut out = Writer::new();
    out.raw(&fingerprint.0);
    out.count(tokens.dimension());
    out.count(tokens.len());
    for (token, step) in tokens.ids().iter().zip(tokens.steps()) {
        out.raw(&token.to_le_bytes());
        out.raw(&step.to_le_bytes());
    }
    let codes: Vec<u8> = tokens.codes().iter().map(|code| code.cast_unsigned()).collect();
    out.raw(&codes);
    out.seal(id)
}

/// The token vectors in the record, or `None` when another fingerprint made them (I4).
pub(super) fn decode_tokens(id: EntryId, fingerprint: &Fingerprint, record: &Bytes) -> Decoded<Option<TokenVectors>> {
    let mut input = Reader::open(id, record)?;
    if input.array::<32>()? != fingerprint.0 {
        return Ok(None);
    }
    let (dimension, count) = (input.count()?, input.count()?);
    let (mut ids, mut steps) = (Vec::new(), Vec::new());
    for _ in 0..count {
        ids.push(u32::from_le_bytes(input.array()?));
        steps.push(f32::from_le_bytes(input.array()?));
    }
    let codes = input.bytes(count.checked_mul(dimension).ok_or(Damaged)?)?;
    let codes = codes.iter().map(|code| code.cast_signed()).collect();
    let tokens = TokenVectors::from_parts(dimension, ids, steps, codes).ok_or(Damaged)?;
    input.finish(Some(tokens))
}

fn checksum(version: u8, id: EntryId, body: &[u8]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[version]).update(id.0.as_bytes()).update(body);
    let mut sum = [0; 8];
    hasher.finalize_xof().fill(&mut sum);
    sum
}

fn checked(id: EntryId, record: &[u8]) -> Decoded<&[u8]> {
    let (version, rest) = record.split_first().ok_or(Damaged)?;
    let (sum, body) = rest.split_first_chunk::<8>().ok_or(Damaged)?;
    if *version == VERSION && *sum == checksum(*version, id, body) { Ok(body) } else { Err(Damaged) }
}

struct Writer(Vec<u8>);

impl Writer {
    fn new() -> Self {
        Self(vec![0; HEAD])
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn number(&mut self, number: u64) {
        self.raw(&number.to_le_bytes());
    }

    /// Longer parts than a u32 counts cannot come in: bodies are limited far below that.
    fn count(&mut self, count: usize) {
        self.raw(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    }

    fn part(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    fn seal(mut self, id: EntryId) -> Vec<u8> {
        let sum = checksum(VERSION, id, &self.0[HEAD..]);
        self.0[0] = VERSION;
        self.0[1..HEAD].copy_from_slice(&sum);
        self.0
    }
}

struct Reader(Bytes);

impl Reader {
    fn open(id: EntryId, record: &Bytes) -> Decoded<Self> {
        checked(id, record)?;
        Ok(Self(record.slice(HEAD..)))
    }

    fn bytes(&mut self, length: usize) -> Decoded<Bytes> {
        if length <= self.0.len() { Ok(self.0.split_to(length)) } else { Err(Damaged) }
    }

    fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let bytes = self.bytes(N)?;
        bytes.first_chunk::<N>().copied().ok_or(Damaged)
    }

    fn byte(&mut self) -> Decoded<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Decoded<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn count(&mut self) -> Decoded<usize> {
        self.array().map(|bytes| u32::from_le_bytes(bytes) as usize)
    }

    fn part(&mut self) -> Decoded<Bytes> {
        let length = self.count()?;
        self.bytes(length)
    }

    fn text(&mut self) -> Decoded<String> {
        let part = self.part()?;
        str::from_utf8(&part).map(str::to_owned).map_err(|_| Damaged)
    }

    fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Decoded<T>) -> Decoded<Option<T>> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(Damaged),
        }
    }

    fn finish<T>(self, value: T) -> Decoded<T> {
        if self.0.is_empty() { Ok(value) } else { Err(Damaged) }
    }
}

#[cfg(test)]
mod tests;
