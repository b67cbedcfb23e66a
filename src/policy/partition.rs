//! What must be equal before two requests may share an answer (I1).
//!
//! Every part is hashed with its length in front, so that no two different scopes spell the same bytes.

use std::sync::Arc;

use blake3::Hasher;
use http::{HeaderMap, HeaderName};

use crate::types::{Attributes, CacheId, Dialect, ExactKey, Fingerprint, PartitionKey, TenantId};

/// Raised when the meaning of a key changes: old entries are then never found by a new key.
const KEY_VERSION: &[u8] = b"refrain-key-1";

/// Request headers that change what a provider answers.
static SEMANTIC_HEADERS: [HeaderName; 5] = [
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("openai-beta"),
    HeaderName::from_static("openai-organization"),
    HeaderName::from_static("openai-project"),
];

/// Everything outside the body that keeps entries apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Whose entries; the same for all callers of a cache that is shared.
    pub tenant: TenantId,
    /// Which cache.
    pub cache: CacheId,
    /// The upstream's name and base URL.
    pub upstream: Arc<str>,
    /// The wire format.
    pub dialect: Dialect,
    /// The path under `/v1/`, with its query string.
    pub route: String,
    /// Headers that change what a provider answers, by name.
    pub headers: Vec<(&'static str, Vec<u8>)>,
    /// The caller's labels, which must be equal.
    pub attributes: Attributes,
}

impl Scope {
    /// The headers that belong to a scope, in a fixed order; repeated ones are all kept.
    pub fn semantic_headers(headers: &HeaderMap) -> Vec<(&'static str, Vec<u8>)> {
        // One walk over the request's headers: looking each of these up takes longer.
        let place = |name: &HeaderName| SEMANTIC_HEADERS.iter().position(|known| known == name);
        let mut found: Vec<_> = headers.iter().filter_map(|(name, value)| Some((place(name)?, value))).collect();
        found.sort_by_key(|(place, _)| *place);
        found.into_iter().map(|(place, value)| (SEMANTIC_HEADERS[place].as_str(), value.as_bytes().to_vec())).collect()
    }

    fn key(&self, purpose: &[u8]) -> Key {
        let mut key = Key::new(purpose, self.tenant, &self.cache);
        key.feed(self.upstream.as_bytes());
        key.feed(self.dialect.as_str().as_bytes());
        key.feed(self.route.as_bytes());
        for (name, value) in &self.headers {
            key.feed(name.as_bytes());
            key.feed(value);
        }
        key.feed(b"attributes");
        key.feed_attributes(&self.attributes);
        key
    }

    /// Where requests with this canonical body are found.
    pub fn exact_key(&self, canonical: &[u8]) -> ExactKey {
        ExactKey(self.key(b"exact").ending_in(canonical))
    }

    /// Where requests of this shape are found, their last user text aside.
    pub fn partition(&self, shape: &[u8], fingerprint: &Fingerprint) -> PartitionKey {
        let mut key = self.key(b"partition");
        key.feed(&fingerprint.0);
        PartitionKey(key.ending_in(shape))
    }
}

/// Where plain entries (prompt and answer without a request body) live: one space for each owner in a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainScope {
    /// Whose entries.
    pub tenant: TenantId,
    /// Which cache.
    pub cache: CacheId,
}

impl PlainScope {
    /// Where the entry for exactly this prompt and these labels is found.
    pub fn exact_key(&self, text: &str, attributes: &Attributes) -> ExactKey {
        let mut key = Key::new(b"plain-exact", self.tenant, &self.cache);
        key.feed(text.as_bytes());
        key.feed_attributes(attributes);
        ExactKey(blake3::hash(&key.0).into())
    }

    /// Where similar prompts are found. Labels are a filter here, not a wall.
    pub fn partition(&self, fingerprint: &Fingerprint) -> PartitionKey {
        let key = Key::new(b"plain-partition", self.tenant, &self.cache);
        PartitionKey(key.ending_in(&fingerprint.0))
    }
}

/// The tenant that a credential stands for: a keyed hash, so that the store never holds the credential.
pub fn tenant_of(credential: &[u8], secret: &[u8; 32]) -> TenantId {
    TenantId(blake3::keyed_hash(secret, credential).into())
}

/// The parts of a key, laid out one behind the other: hashed in one go, which is quicker than many short pieces.
struct Key(Vec<u8>);

impl Key {
    fn new(purpose: &[u8], tenant: TenantId, cache: &CacheId) -> Self {
        let mut key = Self(Vec::with_capacity(512));
        key.feed(KEY_VERSION);
        key.feed(purpose);
        key.feed(&tenant.0);
        key.feed(cache.as_str().as_bytes());
        key
    }

    fn feed(&mut self, part: &[u8]) {
        self.0.extend_from_slice(&(part.len() as u64).to_le_bytes());
        self.0.extend_from_slice(part);
    }

    fn feed_attributes(&mut self, attributes: &Attributes) {
        for (name, value) in attributes.iter() {
            self.feed(name.as_bytes());
            self.feed(value.as_bytes());
        }
    }

    /// The hash of all parts and of `last`, which may be long and is not copied.
    fn ending_in(mut self, last: &[u8]) -> [u8; 32] {
        self.0.extend_from_slice(&(last.len() as u64).to_le_bytes());
        Hasher::new().update(&self.0).update(last).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        Scope {
            tenant: TenantId::LOCAL,
            cache: CacheId::default(),
            upstream: "openai http://127.0.0.1:1/v1".into(),
            dialect: Dialect::OpenAi,
            route: "chat/completions".into(),
            headers: vec![],
            attributes: Attributes::default(),
        }
    }

    #[test]
    fn every_part_of_a_scope_keeps_entries_apart() {
        let labels = [("doc".to_owned(), "a".to_owned())].into_iter().collect::<std::collections::BTreeMap<_, _>>();
        let variants = [
            scope(),
            Scope { tenant: TenantId([1; 32]), ..scope() },
            Scope { cache: "faq".parse().unwrap(), ..scope() },
            Scope { upstream: "other".into(), ..scope() },
            Scope { dialect: Dialect::Anthropic, ..scope() },
            Scope { route: "chat/completions?x=1".into(), ..scope() },
            Scope { headers: vec![("openai-beta", b"x".to_vec())], ..scope() },
            Scope { attributes: labels.try_into().unwrap(), ..scope() },
        ];
        let fingerprint = Fingerprint([7; 32]);
        for (i, a) in variants.iter().enumerate() {
            for b in &variants[..i] {
                assert_ne!(a.exact_key(b"{}"), b.exact_key(b"{}"), "{a:?} {b:?}");
                assert_ne!(a.partition(b"{}", &fingerprint), b.partition(b"{}", &fingerprint));
            }
        }
    }

    #[test]
    fn keys_of_this_version_are_golden() {
        let labels = [("doc".to_owned(), "a".to_owned())].into_iter().collect::<std::collections::BTreeMap<_, _>>();
        let attributes: Attributes = labels.try_into().unwrap();
        let full = Scope { headers: vec![("openai-beta", b"x".to_vec())], attributes: attributes.clone(), ..scope() };
        let plain = PlainScope { tenant: TenantId::LOCAL, cache: CacheId::default() };
        let fingerprint = Fingerprint([7; 32]);
        let keys = [
            full.exact_key(b"{}").to_string(),
            full.partition(b"{}", &fingerprint).to_string(),
            plain.exact_key("hi", &attributes).to_string(),
            plain.partition(&fingerprint).to_string(),
        ];
        assert_eq!(keys, ["451b50f7e08d58f7", "51b8ab1036b6e1af", "c3ae14bfeb64de8e", "dd43d185919a13fe"]);
    }

    #[test]
    fn semantic_headers_come_in_a_fixed_order_and_as_often_as_they_were_sent() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("openai-beta", "b"), ("accept", "x"), ("anthropic-beta", "a"), ("openai-beta", "a")] {
            headers.append(name, value.parse().unwrap());
        }
        let found = Scope::semantic_headers(&headers);
        let wanted = [("anthropic-beta", "a"), ("openai-beta", "b"), ("openai-beta", "a")];
        assert_eq!(found, wanted.map(|(name, value)| (name, value.as_bytes().to_vec())));
    }

    #[test]
    fn another_embedder_is_another_partition() {
        let (one, two) = (Fingerprint([1; 32]), Fingerprint([2; 32]));
        assert_ne!(scope().partition(b"{}", &one), scope().partition(b"{}", &two));
    }

    #[test]
    fn a_boundary_between_parts_cannot_be_moved() {
        let a = Scope { upstream: "ab".into(), route: "c".into(), ..scope() };
        let b = Scope { upstream: "a".into(), route: "bc".into(), ..scope() };
        assert_ne!(a.exact_key(b""), b.exact_key(b""));
    }
}
