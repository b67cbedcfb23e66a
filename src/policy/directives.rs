//! What the caller asks of the cache: `Cache-Control` (RFC 9111, 5.2.1) and the `x-refrain-*` headers.
//!
//! Directives that Refrain does not know are ignored (5.2.3); a bad argument of one that it knows, or an unknown or
//! malformed `x-refrain-*` header, is the caller's mistake and is said so by name.

use std::collections::BTreeMap;

use http::HeaderMap;

use crate::error::Invalid;
use crate::types::{Attributes, CacheId};

/// A caller's wishes, parsed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directives {
    /// Go upstream and replace the entry.
    pub no_cache: bool,
    /// Do not keep the answer.
    pub no_store: bool,
    /// Never go upstream.
    pub only_if_cached: bool,
    /// Nothing older, in seconds.
    pub max_age: Option<u64>,
    /// An expired entry will do, when it expired at most so many seconds ago.
    pub max_stale: Option<u64>,
    /// The entry must stay fresh for so many seconds more.
    pub min_fresh: Option<u64>,
    /// `x-refrain-ttl`, in seconds; 0 keeps nothing.
    pub ttl: Option<u64>,
    /// `x-refrain-threshold`; tightens the policy's, never loosens it.
    pub threshold: Option<f64>,
    /// `x-refrain-attributes`.
    pub attributes: Attributes,
    /// `x-refrain-cache`.
    pub cache: Option<CacheId>,
}

/// The header with the caller's provider key when Refrain has keys of its own.
pub const UPSTREAM_AUTHORIZATION: &str = "x-refrain-upstream-authorization";

impl Directives {
    /// Reads the request's headers.
    ///
    /// # Errors
    /// The header that is malformed or unknown, and what it accepts.
    pub fn parse(headers: &HeaderMap) -> Result<Self, Invalid> {
        let mut found = Self::default();
        for (name, value) in headers {
            let name = name.as_str();
            if name == "cache-control" {
                found.cache_control(text_of(name, value)?)?;
            } else if let Some(control) = name.strip_prefix("x-refrain-") {
                if headers.get_all(name).iter().count() > 1 {
                    return Err(Invalid::new(name, "was sent more than once", "one value"));
                }
                found.control(name, control, text_of(name, value)?)?;
            }
        }
        Ok(found)
    }

    fn cache_control(&mut self, value: &str) -> Result<(), Invalid> {
        for directive in split_outside_quotes(value) {
            let (name, argument) = match directive.split_once('=') {
                Some((name, argument)) => (name.trim(), Some(argument.trim().trim_matches('"'))),
                None => (directive.trim(), None),
            };
            match name.to_ascii_lowercase().as_str() {
                "no-cache" => self.no_cache = true,
                "no-store" => self.no_store = true,
                "only-if-cached" => self.only_if_cached = true,
                "max-age" => self.max_age = Some(seconds("cache-control: max-age", argument)?),
                "min-fresh" => self.min_fresh = Some(seconds("cache-control: min-fresh", argument)?),
                "max-stale" => {
                    self.max_stale = match argument {
                        None => Some(u64::MAX),
                        some => Some(seconds("cache-control: max-stale", some)?),
                    };
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn control(&mut self, header: &str, control: &str, value: &str) -> Result<(), Invalid> {
        match control {
            "ttl" => self.ttl = Some(seconds(header, Some(value))?),
            "threshold" => self.threshold = Some(threshold(header, value)?),
            "attributes" => self.attributes = attributes(header, value)?,
            "cache" => self.cache = Some(value.trim().parse().map_err(|invalid: Invalid| invalid.at(header))?),
            "upstream-authorization" => {}
            _ => {
                let known = "x-refrain-cache, x-refrain-ttl, x-refrain-threshold, x-refrain-attributes, \
                             x-refrain-upstream-authorization";
                return Err(Invalid::new(header, "is not a header that Refrain knows", known));
            }
        }
        Ok(())
    }
}

fn text_of<'a>(name: &str, value: &'a http::HeaderValue) -> Result<&'a str, Invalid> {
    value.to_str().map_err(|_| Invalid::new(name, "is not plain text", "visible ASCII"))
}

/// A delta-seconds value (RFC 9111, 1.2.2): digits only.
fn seconds(field: &str, value: Option<&str>) -> Result<u64, Invalid> {
    let text = value.unwrap_or_default().trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| digits).filter(|s| i64::try_from(*s).is_ok()).ok_or_else(|| {
        Invalid::new(field, format!("{:?} is not a number of seconds", clip(text)), "0 or a positive whole number")
    })
}

fn threshold(field: &str, value: &str) -> Result<f64, Invalid> {
    let number: Option<f64> = value.trim().parse().ok();
    number
        .filter(|n| (0.0..=1.0).contains(n))
        .ok_or_else(|| Invalid::new(field, format!("{:?} is not a similarity", clip(value)), "a number from 0 to 1"))
}

/// `doc=handbook,rev=7`; values may be quoted to hold a comma.
fn attributes(field: &str, value: &str) -> Result<Attributes, Invalid> {
    let accepted = "name=value pairs separated by commas, each name once";
    let mut map = BTreeMap::new();
    for pair in split_outside_quotes(value).filter(|pair| !pair.trim().is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| Invalid::new(field, format!("{:?} has no =", clip(pair.trim())), accepted))?;
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        if map.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Invalid::new(field, format!("{:?} is there twice", clip(name)), accepted));
        }
    }
    Attributes::try_from(map).map_err(|invalid| invalid.at(field))
}

fn split_outside_quotes(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
}

fn clip(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&'static str, &'static str)]) -> Result<Directives, Invalid> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        Directives::parse(&headers)
    }

    #[test]
    fn lists_and_letter_case_do_not_matter() {
        let found = parse(&[("cache-control", "No-Cache, NO-STORE , max-age=5, private, no-transform")]).unwrap();
        assert!(found.no_cache && found.no_store && !found.only_if_cached);
        assert_eq!(found.max_age, Some(5));
    }

    #[test]
    fn max_stale_needs_no_argument() {
        assert_eq!(parse(&[("cache-control", "max-stale")]).unwrap().max_stale, Some(u64::MAX));
        assert_eq!(parse(&[("cache-control", "max-stale=9")]).unwrap().max_stale, Some(9));
    }

    #[test]
    fn a_bad_argument_names_its_header() {
        for (name, value) in [
            ("cache-control", "max-age=soon"),
            ("cache-control", "max-age"),
            ("cache-control", "min-fresh=-1"),
            ("cache-control", "max-stale=1.5"),
            ("x-refrain-ttl", "abc"),
            ("x-refrain-ttl", "-1"),
            ("x-refrain-ttl", "99999999999999999999"),
            ("x-refrain-threshold", "1.01"),
            ("x-refrain-threshold", "NaN"),
            ("x-refrain-attributes", "doc"),
            ("x-refrain-attributes", "a=1,a=2"),
            ("x-refrain-cache", "no/slash"),
            ("x-refrain-limit", "0.9"),
        ] {
            let invalid = parse(&[(name, value)]).unwrap_err();
            assert!(invalid.field.starts_with(name), "{name}: {value} gave {invalid}");
        }
    }

    #[test]
    fn attributes_may_quote_a_comma() {
        let found = parse(&[("x-refrain-attributes", "doc=\"a,b\", rev=7")]).unwrap();
        assert_eq!(found.attributes.get("doc"), Some("a,b"));
        assert_eq!(found.attributes.get("rev"), Some("7"));
    }
}
