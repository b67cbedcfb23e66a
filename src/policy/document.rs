//! A policy as the operator API's JSON: shown whole, replaced whole, or patched (RFC 7396).
//!
//! A field of the wider policy language that has no effect in this version is refused by name, never ignored.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::Invalid;
use crate::settings::CachePolicy;

/// Fields of the policy language that this version does not act on.
const WITHOUT_EFFECT: [&str; 3] = ["staleWhileRevalidate", "staleIfError", "attributesRequired"];

/// The policy as `GET` shows it: exactly the fields that have an effect.
pub fn to_json(policy: &CachePolicy) -> Value {
    serde_json::to_value(policy).unwrap_or(Value::Null)
}

/// The policy in the body of a `PUT`; a field that is not there takes its default.
///
/// # Errors
/// The first field that is unknown, of another type, or out of range.
pub fn put(body: &[u8]) -> Result<CachePolicy, Invalid> {
    from_object(object(body)?)
}

/// `current` with a JSON merge patch applied; `null` takes a field back to its default.
///
/// # Errors
/// As [`put`]; the current policy is not touched.
pub fn patch(current: &CachePolicy, body: &[u8]) -> Result<CachePolicy, Invalid> {
    let mut whole = to_json(current);
    merge(&mut whole, Value::Object(object(body)?));
    match whole {
        Value::Object(fields) => from_object(fields),
        _ => Ok(current.clone()),
    }
}

/// The members of an object in their order, as often as they were written: `Value` would silently keep the last.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder).map(Members)
    }
}

fn object(body: &[u8]) -> Result<Map<String, Value>, Invalid> {
    let mut fields = Map::new();
    for (name, raw) in members("", body)? {
        if name == "guards" && raw.get().starts_with('{') {
            members("guards.", raw.get().as_bytes())?;
        }
        let value = serde_json::from_str(raw.get()).map_err(|error| malformed(&error))?;
        fields.insert(name, value);
    }
    Ok(fields)
}

/// The members of an object, no two of one name.
fn members<'a>(prefix: &str, body: &'a [u8]) -> Result<Vec<(String, &'a RawValue)>, Invalid> {
    let Members(members) = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    let mut names = HashSet::new();
    match members.iter().find(|(name, _)| !names.insert(name.as_str())) {
        Some((twice, _)) => Err(Invalid::new(format!("{prefix}{twice}"), "is there twice", "each field once")),
        None => Ok(members),
    }
}

fn malformed(error: &serde_json::Error) -> Invalid {
    Invalid::new("body", error.to_string(), "a JSON object of policy fields")
}

/// RFC 7396, 2: objects merge, `null` removes, anything else replaces.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(changes) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(fields) = target {
        for (name, change) in changes {
            if change.is_null() {
                fields.remove(&name);
            } else {
                merge(fields.entry(name).or_insert(Value::Null), change);
            }
        }
    }
}

fn from_object(fields: Map<String, Value>) -> Result<CachePolicy, Invalid> {
    let default = to_json(&CachePolicy::default());
    known_names("", &fields, &default)?;
    if let Some(Value::Object(guards)) = fields.get("guards") {
        known_names("guards.", guards, &default["guards"])?;
    }
    for (name, value) in &fields {
        one_field(name, value)?;
    }
    let policy: CachePolicy = serde_json::from_value(Value::Object(fields))
        .map_err(|error| Invalid::new("body", error.to_string(), "a policy"))?;
    policy.validate()?;
    Ok(policy)
}

fn known_names(prefix: &str, fields: &Map<String, Value>, default: &Value) -> Result<(), Invalid> {
    let known =
        || default.as_object().map(|all| all.keys().cloned().collect::<Vec<_>>().join(", ")).unwrap_or_default();
    for name in fields.keys() {
        if default.get(name).is_none() {
            let problem = if WITHOUT_EFFECT.contains(&name.as_str()) {
                "has no effect in this version"
            } else {
                "is not a policy field"
            };
            return Err(Invalid::new(format!("{prefix}{name}"), problem, known()));
        }
    }
    Ok(())
}

/// Reads one field alone, so that an error can name it.
fn one_field(name: &str, value: &Value) -> Result<(), Invalid> {
    if let ("guards", Value::Object(guards)) = (name, value) {
        for (guard, setting) in guards {
            let alone = Value::Object(Map::from_iter([(guard.clone(), setting.clone())]));
            serde_json::from_value::<crate::settings::Guards>(alone).map_err(|error| {
                let accepted =
                    if guard == "time" { "\"bypass\", \"off\" or a ttl in seconds" } else { "true or false" };
                Invalid::new(format!("guards.{guard}"), error.to_string(), accepted)
            })?;
        }
        return Ok(());
    }
    // A list would be read as the guards in their order.
    if let ("guards", Value::Array(_)) = (name, value) {
        return Err(Invalid::new(name, "is a list", accepted(name)));
    }
    let alone = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
    serde_json::from_value::<CachePolicy>(alone)
        .map(drop)
        .map_err(|error| Invalid::new(name, error.to_string(), accepted(name)))
}

fn accepted(name: &str) -> &'static str {
    match name {
        "mode" => "\"on\", \"shadow\" or \"off\"",
        "strategies" => "a list of \"exact\", \"semantic\"",
        "similarityThreshold" => "a number from 0 to 1, or null",
        "maxTemperature" => "a number from 0 to 2, or null",
        "verifier" => "\"builtin\" or \"none\"",
        "targetErrorRate" => "a number from 0.001 to 0.1",
        "history" => "\"exact\" or \"self-contained\"",
        "sharing" => "\"tenant\" or \"cache\"",
        "guards" => "an object of guards",
        "curated" | "learning" => "true or false",
        _ => "a whole number that is not negative",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Mode, TimeGuard};

    #[test]
    fn what_get_shows_put_takes() {
        let policy = CachePolicy { similarity_threshold: Some(0.9), ..CachePolicy::default() };
        assert_eq!(put(to_json(&policy).to_string().as_bytes()).unwrap(), policy);
    }

    #[test]
    fn a_bad_value_names_its_field_and_the_range() {
        for (body, field) in [
            (r#"{"similarityThreshold":1.5}"#, "similarityThreshold"),
            (r#"{"similarityThreshold":"0.9"}"#, "similarityThreshold"),
            (r#"{"ttl":-1}"#, "ttl"),
            (r#"{"ttl":1.5}"#, "ttl"),
            (r#"{"ttl":"abc"}"#, "ttl"),
            (r#"{"ttl":1000000000000}"#, "ttl"),
            (r#"{"ttl":100,"maxTtl":10}"#, "ttl"),
            (r#"{"mode":"maybe"}"#, "mode"),
            (r#"{"strategies":[]}"#, "strategies"),
            (r#"{"strategies":["fuzzy"]}"#, "strategies"),
            (r#"{"maxEntries":0}"#, "maxEntries"),
            (r#"{"maxBytes":1}"#, "maxBytes"),
            (r#"{"guards":{"numbers":"yes"}}"#, "guards.numbers"),
            (r#"{"guards":{"digits":true}}"#, "guards.digits"),
            (r#"{"guards":{"time":0}}"#, "guards.time"),
            (r#"{"guards":7}"#, "guards"),
            (r#"{"guards":[]}"#, "guards"),
            (r#"{"guards":[true,true,false,true,true,"off"]}"#, "guards"),
            (r#"{"staleIfError":5}"#, "staleIfError"),
            (r#"{"verifier":"other"}"#, "verifier"),
            (r#"{"targetErrorRate":0.5}"#, "targetErrorRate"),
            (r#"{"learning":"on"}"#, "learning"),
            (r#"{"learning":true,"verifier":"none"}"#, "learning"),
            (r#"{"history":"none"}"#, "history"),
            (r#"{"colour":"red"}"#, "colour"),
            ("[]", "body"),
            ("{", "body"),
        ] {
            let invalid = put(body.as_bytes()).unwrap_err();
            assert_eq!(invalid.field, field, "{body} gave {invalid}");
        }
    }

    #[test]
    fn a_field_that_is_there_twice_is_named() {
        for (body, field) in [
            (r#"{"ttl":60,"mode":"on","ttl":90}"#, "ttl"),
            (r#"{"ttl":60,"\u0074tl":60}"#, "ttl"),
            (r#"{"guards":{"names":true,"time":"off","names":false}}"#, "guards.names"),
            (r#"{"guards":{},"guards":{}}"#, "guards"),
        ] {
            assert_eq!(put(body.as_bytes()).unwrap_err().field, field, "{body}");
            assert_eq!(patch(&CachePolicy::default(), body.as_bytes()).unwrap_err().field, field, "{body}");
        }
    }

    #[test]
    fn a_patch_changes_what_it_names_and_null_resets() {
        let current = CachePolicy { ttl: 60, similarity_threshold: Some(0.9), ..CachePolicy::default() };
        let body = br#"{"mode":"off","similarityThreshold":null,"guards":{"time":30}}"#;
        let patched = patch(&current, body).unwrap();
        assert_eq!((patched.mode, patched.ttl, patched.similarity_threshold), (Mode::Off, 60, None));
        assert_eq!(patched.guards.time, TimeGuard::Ttl(30));
        assert!(patched.guards.numbers);
        assert_eq!(patch(&current, br#"{"ttl":null}"#).unwrap().ttl, CachePolicy::default().ttl);
    }

    proptest::proptest! {
        #[test]
        fn no_json_makes_it_panic(text in "\\{?\"?[a-zA-Z]{0,12}\"?:?[-0-9.eE\"\\[\\]{}nul]{0,12}\\}?") {
            let _ = put(text.as_bytes());
            let _ = patch(&CachePolicy::default(), text.as_bytes());
        }
    }
}
