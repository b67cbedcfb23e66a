//! The store through its public door, by what it promises.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::config;
use crate::entry::Answer;
use crate::types::{Attributes, Dialect};

mod basics;
mod crash;
mod damage;
mod eviction;
mod judged;
mod meaning;

const DIMENSION: usize = 32;
const ROOMY: Limits = Limits { max_entries: 1_000_000, max_bytes: 1 << 40 };
const MODEL: Fingerprint = Fingerprint([7; 32]);
const PARTITION: PartitionKey = PartitionKey([1; 32]);
const NOW: Timestamp = Timestamp(1_000_000);

fn options(dir: &Path) -> StoreOptions {
    StoreOptions {
        dir: dir.to_owned(),
        index: config::Index::default(),
        memory_bytes: 8 << 20,
        fingerprint: Some(MODEL),
        dimension: DIMENSION,
    }
}

fn open(dir: &Path) -> (Store, OpenReport) {
    Store::open(options(dir)).unwrap()
}

fn key(name: &str) -> ExactKey {
    ExactKey(*blake3::hash(name.as_bytes()).as_bytes())
}

/// An entry of the default cache that is asked for as `name`, and lives for ever.
fn entry(name: &str) -> Entry {
    Entry {
        id: EntryId::generate(),
        cache: CacheId::default(),
        tenant: TenantId::LOCAL,
        kind: EntryKind::Provider,
        exact_key: key(name),
        partition: Some(PARTITION),
        canonical: Bytes::from(format!("{{\"prompt\":\"{name}\"}}")),
        text: name.to_owned(),
        attributes: Attributes::default(),
        answer: Answer {
            dialect: Dialect::OpenAi,
            body: Bytes::from(format!("the answer to {name}")),
            model: "alpha".into(),
            usage: None,
        },
        stored_at: NOW,
        expires_at: Timestamp(u64::MAX),
    }
}

fn labelled(name: &str, labels: &[(&str, &str)]) -> Entry {
    let labels: BTreeMap<String, String> = labels.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect();
    Entry { attributes: labels.try_into().unwrap(), ..entry(name) }
}

/// A direction that depends on `seed` alone.
fn direction(seed: u64) -> Embedding {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut raw = Vec::with_capacity(DIMENSION);
    for _ in 0..DIMENSION {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        raw.push((state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0);
    }
    Embedding::normalise(raw, DIMENSION).unwrap()
}

/// A direction close to that of `seed`; smaller `by` is closer.
fn beside(seed: u64, by: f32, other: u64) -> Embedding {
    let sum = direction(seed).as_slice().iter().zip(direction(other).as_slice()).map(|(a, b)| a + by * b).collect();
    Embedding::normalise(sum, DIMENSION).unwrap()
}

fn nearest(store: &Store, query: &Embedding) -> Option<Candidate> {
    store.nearest(&PARTITION, query, 1, &AttributeFilter::Any, NOW).first().copied()
}

/// Puts many at once, so that they share commits.
async fn put_all(store: &Store, entries: Vec<(Entry, Option<Embedding>)>, limits: Limits) {
    let puts = entries.into_iter().map(|(entry, embedding)| store.put(entry, embedding, limits));
    for put in futures_util::future::join_all(puts).await {
        put.unwrap();
    }
}

/// Memory, index and file tell the same story: no count differs, nothing dangles.
async fn assert_counts_agree(store: &Store, cache: &CacheId) {
    let stats = store.stats(cache);
    let records = store.inner.memory.select(|record| record.meta.cache == *cache);
    assert_eq!(stats.entries, records.len() as u64);
    assert_eq!(stats.bytes, records.iter().map(|record| record.meta.bytes).sum::<u64>());
    assert_eq!(stats.vectors, records.iter().filter(|record| record.point.is_some()).count() as u64);
    let vectors: usize = store.inner.memory.index.all().iter().map(|(_, partition)| partition.len()).sum();
    assert_eq!(store.totals().caches.vectors, vectors as u64);
    for record in records {
        assert_eq!(store.exact_id(&record.meta.exact_key), Some(record.id));
        assert!(store.load(record.id).await.unwrap().is_some());
    }
}
