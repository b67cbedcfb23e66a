//! What people said of pairs of prompts: kept for good, since a wrong answer must never be served again, and since
//! labels are what thresholds are calibrated with.
//!
//! All keys of wrong pairs are in memory; the texts are read when labels are asked for. A record is JSON with a version.

use serde::{Deserialize, Serialize};

use crate::types::{CacheId, Timestamp};

/// Names a pair of prompts of one owner in one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairKey(pub [u8; 32]);

/// One verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// The cache that served.
    pub cache: CacheId,
    /// The prompt that was answered.
    pub asked: String,
    /// The prompt whose answer it was.
    pub stored: String,
    /// Was the answer wrong?
    pub wrong: bool,
    /// The cosine of the two, 0 to 1.
    pub similarity: f64,
    /// The verifier's probability then, 0 to 1; `None` when it had no say.
    pub probability: Option<f64>,
    /// When it was said.
    pub at: Timestamp,
}

/// The version that is written.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Record<L> {
    version: u32,
    label: L,
}

/// The bytes of a label.
pub(super) fn encode(label: &Label) -> Vec<u8> {
    serde_json::to_vec(&Record { version: VERSION, label }).unwrap_or_default()
}

/// What [`encode`] wrote; `None` of other bytes.
pub(super) fn decode(record: &[u8]) -> Option<Label> {
    let record: Record<Label> = serde_json::from_slice(record).ok()?;
    (record.version == VERSION).then_some(record.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_version_1_are_these_for_ever() {
        let label = Label {
            cache: "faq".parse().unwrap(),
            asked: "How?".into(),
            stored: "Why?".into(),
            wrong: true,
            similarity: 0.5,
            probability: None,
            at: Timestamp(7),
        };
        let bytes = br#"{"version":1,"label":{"cache":"faq","asked":"How?","stored":"Why?","wrong":true,"similarity":0.5,"probability":null,"at":7}}"#;
        assert_eq!(String::from_utf8(encode(&label)).unwrap(), String::from_utf8(bytes.to_vec()).unwrap());
        assert_eq!(decode(bytes), Some(label));
        assert_eq!(decode(b"{}"), None);
        assert_eq!(decode(br#"{"version":2,"label":{}}"#), None);
    }
}
