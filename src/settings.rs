//! A cache's policy: plain data, its ranges, and nothing else.
//!
//! Config files spell the fields in snake_case, the operator API in camelCase; both end here, validated whole.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Invalid;

/// Is the cache used at all?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Look up, answer, store.
    On,
    /// Look up, say what would have answered, relay everything, store.
    Shadow,
    /// Relay everything, store nothing.
    Off,
}

/// Who may see whose entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Every tenant sees its own entries only.
    Tenant,
    /// All callers of the cache share its entries.
    Cache,
}

/// What the turns before the last one mean for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum History {
    /// Only requests with the same turns share answers.
    Exact,
    /// A last turn that needs none of them is answered whatever they are.
    SelfContained,
}

/// A way to find an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strategy {
    /// Equal requests.
    Exact,
    /// Requests that ask the same thing.
    Semantic,
}

/// What becomes of prompts whose right answer moves with time (today, latest, now).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeGuard {
    /// Such prompts are not answered by meaning, and not kept for it.
    Bypass,
    /// They are treated like any other.
    Off,
    /// They are kept at most this many seconds.
    Ttl(u64),
}

impl TimeGuard {
    /// The label in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bypass => "bypass",
            Self::Off => "off",
            Self::Ttl(_) => "ttl",
        }
    }
}

/// As a header says it.
impl fmt::Display for TimeGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ttl(seconds) => write!(f, "ttl={seconds}"),
            other => f.write_str(other.as_str()),
        }
    }
}

impl Serialize for TimeGuard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bypass => serializer.serialize_str("bypass"),
            Self::Off => serializer.serialize_str("off"),
            Self::Ttl(seconds) => serializer.serialize_u64(*seconds),
        }
    }
}

impl<'de> Deserialize<'de> for TimeGuard {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = TimeGuard;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"bypass\", \"off\" or a ttl in seconds")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<TimeGuard, E> {
                match text {
                    "bypass" => Ok(TimeGuard::Bypass),
                    "off" => Ok(TimeGuard::Off),
                    other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
                }
            }

            fn visit_u64<E: serde::de::Error>(self, seconds: u64) -> Result<TimeGuard, E> {
                Ok(TimeGuard::Ttl(seconds))
            }

            fn visit_i64<E: serde::de::Error>(self, seconds: i64) -> Result<TimeGuard, E> {
                let unexpected = serde::de::Unexpected::Signed(seconds);
                u64::try_from(seconds).map(TimeGuard::Ttl).map_err(|_| E::invalid_value(unexpected, &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Which differences between two prompts forbid a semantic hit. Direction and script are always watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Guards {
    /// Numbers, units, dates, versions.
    pub numbers: bool,
    /// Negation and opposites.
    pub negation: bool,
    /// Proper nouns, products, places.
    pub names: bool,
    /// Casing that carries meaning.
    pub casing: bool,
    /// Quoted, fenced or delimited text.
    pub payload: bool,
    /// Questions whose answer moves with time.
    pub time: TimeGuard,
}

impl Default for Guards {
    fn default() -> Self {
        Self { numbers: true, negation: true, names: true, casing: true, payload: true, time: TimeGuard::Bypass }
    }
}

/// Who gives a second opinion on a candidate that no guard vetoed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerifierChoice {
    /// The verifier that the config names.
    Builtin,
    /// Nobody: cosine and guards decide.
    None,
}

/// The policy of one cache, in effect for the next request after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CachePolicy {
    /// On, shadow or off.
    pub mode: Mode,
    /// The tiers that may answer; at least one.
    pub strategies: Vec<Strategy>,
    /// The least cosine of a semantic hit, 0 to 1; `null` leaves it to the verifier, and without one to the model card's
    /// calibrated value.
    pub similarity_threshold: Option<f64>,
    /// Who gives a second opinion.
    pub verifier: VerifierChoice,
    /// How many of the near prompts that ask something else may be served, as a share of all of them; 0.001 to 0.1.
    pub target_error_rate: f64,
    /// Whether what the cache's own traffic shows moves the target of each pair, within what guards allow.
    pub learning: bool,
    /// Whether the turns before the last one must be equal.
    pub history: History,
    /// Lifetime of an entry in seconds, counted from the provider's answer and never renewed by a hit.
    pub ttl: u64,
    /// The longest lifetime a caller may ask for, in seconds.
    pub max_ttl: u64,
    /// Whether tenants share entries.
    pub sharing: Sharing,
    /// The most entries kept; 1 to 100,000,000.
    pub max_entries: u64,
    /// The most bytes kept over all entries.
    pub max_bytes: u64,
    /// The largest answer kept, in bytes.
    pub max_answer_bytes: u64,
    /// The differences that forbid a semantic hit.
    pub guards: Guards,
    /// Requests above this temperature are bypassed; an absent temperature counts as 1. `null` is no limit.
    pub max_temperature: Option<f64>,
    /// Plain entries belong to the cache, and may answer single-turn text requests of the provider surface.
    pub curated: bool,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self {
            mode: Mode::On,
            strategies: vec![Strategy::Exact, Strategy::Semantic],
            similarity_threshold: None,
            verifier: VerifierChoice::Builtin,
            target_error_rate: 0.01,
            learning: false,
            history: History::Exact,
            ttl: 86_400,
            max_ttl: 604_800,
            sharing: Sharing::Tenant,
            max_entries: 100_000,
            max_bytes: 1 << 30,
            max_answer_bytes: 1 << 20,
            guards: Guards::default(),
            max_temperature: None,
            curated: false,
        }
    }
}

/// What [`CachePolicy::target_error_rate`] may be.
pub const TARGETS: RangeInclusive<f64> = 0.001..=0.1;
/// The longest ttl, in seconds: 100 years.
pub const MAX_SECONDS: u64 = 3_155_760_000;

impl CachePolicy {
    /// Does the policy use this tier?
    pub fn uses(&self, strategy: Strategy) -> bool {
        self.strategies.contains(&strategy)
    }

    /// Checks every range and the rules between fields.
    ///
    /// # Errors
    /// The first field that is out of range, named as the operator API spells it.
    pub fn validate(&self) -> Result<(), Invalid> {
        let unit = |field: &str, value: Option<f64>, top: f64| match value {
            Some(v) if !(0.0..=top).contains(&v) => {
                Err(Invalid::new(field, format!("{v} is out of range"), format!("0 to {top}, or null")))
            }
            _ => Ok(()),
        };
        let range = |field: &str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(Invalid::new(field, format!("{value} is out of range"), format!("{low} to {high}")))
            }
        };
        if self.strategies.is_empty() {
            return Err(Invalid::new("strategies", "is empty", "one or both of \"exact\", \"semantic\""));
        }
        unit("similarityThreshold", self.similarity_threshold, 1.0)?;
        if !TARGETS.contains(&self.target_error_rate) {
            let problem = format!("{} is out of range", self.target_error_rate);
            return Err(Invalid::new("targetErrorRate", problem, format!("{} to {}", TARGETS.start(), TARGETS.end())));
        }
        if self.learning && self.verifier == VerifierChoice::None {
            let accepted = "false, or \"verifier\": \"builtin\"";
            return Err(Invalid::new("learning", "has no effect without the verifier", accepted));
        }
        unit("maxTemperature", self.max_temperature, 2.0)?;
        range("maxTtl", self.max_ttl, 1, MAX_SECONDS)?;
        range("ttl", self.ttl, 0, MAX_SECONDS)?;
        if self.ttl > self.max_ttl {
            let problem = format!("{} is above maxTtl", self.ttl);
            return Err(Invalid::new("ttl", problem, format!("0 to maxTtl ({})", self.max_ttl)));
        }
        range("maxEntries", self.max_entries, 1, 100_000_000)?;
        range("maxBytes", self.max_bytes, 4096, 1 << 46)?;
        range("maxAnswerBytes", self.max_answer_bytes, 1, 1 << 30)?;
        if let TimeGuard::Ttl(seconds) = self.guards.time {
            range("guards.time", seconds, 1, MAX_SECONDS)?;
        }
        Ok(())
    }
}
