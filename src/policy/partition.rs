//! What must be equal before two requests may share an answer (I1).
//!
//! Every part is hashed with its length in front, so that no two different scopes spell the same bytes.

use blake3::Hasher;
use http::HeaderMap;

use crate::types::{Attributes, CacheId, Dialect, ExactKey, Fingerprint, PartitionKey, TenantId};

/// Raised when the meaning of a key changes: old entries are then never found by a new key.
const KEY_VERSION: &[u8] = b"refrain-key-1";

/// Request headers that change what a provider answers.
const SEMANTIC_HEADERS: [&str; 5] =
    ["anthropic-version", "anthropic-beta", "openai-beta", "openai-organization", "openai-project"];

/// Everything outside the body that keeps entries apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Whose entries; the same for all callers of a cache that is shared.
    pub tenant: TenantId,
    /// Which cache.
    pub cache: CacheId,
    /// The upstream's name and base URL.
    pub upstream: String,
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
        let pick = |name: &'static str| headers.get_all(name).iter().map(move |v| (name, v.as_bytes().to_vec()));
        SEMANTIC_HEADERS.into_iter().flat_map(pick).collect()
    }

    fn hasher(&self, purpose: &[u8]) -> Hasher {
        let mut hasher = Hasher::new();
        feed(&mut hasher, KEY_VERSION);
        feed(&mut hasher, purpose);
        feed(&mut hasher, &self.tenant.0);
        feed(&mut hasher, self.cache.as_str().as_bytes());
        feed(&mut hasher, self.upstream.as_bytes());
        feed(&mut hasher, self.dialect.as_str().as_bytes());
        feed(&mut hasher, self.route.as_bytes());
        for (name, value) in &self.headers {
            feed(&mut hasher, name.as_bytes());
            feed(&mut hasher, value);
        }
        feed(&mut hasher, b"attributes");
        feed_attributes(&mut hasher, &self.attributes);
        hasher
    }

    /// Where requests with this canonical body are found.
    pub fn exact_key(&self, canonical: &[u8]) -> ExactKey {
        let mut hasher = self.hasher(b"exact");
        feed(&mut hasher, canonical);
        ExactKey(hasher.finalize().into())
    }

    /// Where requests of this shape are found, their last user text aside.
    pub fn partition(&self, shape: &[u8], fingerprint: &Fingerprint) -> PartitionKey {
        let mut hasher = self.hasher(b"partition");
        feed(&mut hasher, &fingerprint.0);
        feed(&mut hasher, shape);
        PartitionKey(hasher.finalize().into())
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
    fn hasher(&self, purpose: &[u8]) -> Hasher {
        let mut hasher = Hasher::new();
        feed(&mut hasher, KEY_VERSION);
        feed(&mut hasher, purpose);
        feed(&mut hasher, &self.tenant.0);
        feed(&mut hasher, self.cache.as_str().as_bytes());
        hasher
    }

    /// Where the entry for exactly this prompt and these labels is found.
    pub fn exact_key(&self, text: &str, attributes: &Attributes) -> ExactKey {
        let mut hasher = self.hasher(b"plain-exact");
        feed(&mut hasher, text.as_bytes());
        feed_attributes(&mut hasher, attributes);
        ExactKey(hasher.finalize().into())
    }

    /// Where similar prompts are found. Labels are a filter here, not a wall.
    pub fn partition(&self, fingerprint: &Fingerprint) -> PartitionKey {
        let mut hasher = self.hasher(b"plain-partition");
        feed(&mut hasher, &fingerprint.0);
        PartitionKey(hasher.finalize().into())
    }
}

/// The tenant that a credential stands for: a keyed hash, so that the store never holds the credential.
pub fn tenant_of(credential: &[u8], secret: &[u8; 32]) -> TenantId {
    TenantId(blake3::keyed_hash(secret, credential).into())
}

fn feed(hasher: &mut Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

fn feed_attributes(hasher: &mut Hasher, attributes: &Attributes) {
    for (name, value) in attributes.iter() {
        feed(hasher, name.as_bytes());
        feed(hasher, value.as_bytes());
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
