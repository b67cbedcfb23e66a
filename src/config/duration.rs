//! Durations as people write them: `30` (seconds), `"30s"`, `"500ms"`, `"15m"`, `"24h"`, `"7d"`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time in a config file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl Span {
    /// This many seconds.
    pub const fn seconds(n: u64) -> Self {
        Self(Duration::from_secs(n))
    }

    /// This many milliseconds.
    pub const fn millis(n: u64) -> Self {
        Self(Duration::from_millis(n))
    }
}

/// Reads `"90s"` and the like.
///
/// # Errors
/// The accepted forms, when `text` is none of them.
pub fn parse_span(text: &str) -> Result<Duration, String> {
    let accepted = || {
        format!(
            "{text:?} is not a duration; accepted: seconds as a number, or \"500ms\", \"90s\", \"15m\", \"24h\", \"7d\""
        )
    };
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| accepted())?;
    let millis = match &text[digits.len()..] {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(accepted()),
    };
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(accepted)
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let millis = self.0.as_millis();
        if millis.is_multiple_of(1000) {
            serializer.collect_str(&format_args!("{}s", millis / 1000))
        } else {
            serializer.collect_str(&format_args!("{millis}ms"))
        }
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Span;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a duration: seconds as a number, or \"500ms\", \"90s\", \"15m\", \"24h\", \"7d\"")
            }

            fn visit_u64<E: serde::de::Error>(self, seconds: u64) -> Result<Span, E> {
                Ok(Span(Duration::from_secs(seconds)))
            }

            fn visit_i64<E: serde::de::Error>(self, seconds: i64) -> Result<Span, E> {
                let unexpected = serde::de::Unexpected::Signed(seconds);
                u64::try_from(seconds).map(Span::seconds).map_err(|_| E::invalid_value(unexpected, &self))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Span, E> {
                parse_span(text).map(Span).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
