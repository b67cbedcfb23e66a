//! Canonical JSON: one spelling for all bodies that mean the same, and different ones for all that do not.
//!
//! Members are sorted by the bytes of their decoded names, arrays keep their order, numbers are compared as exact
//! decimals (`1.0`, `1` and `10e-1` are one; `-0` is `0`; no rounding, so no two different numbers meet), strings have
//! one escape for each character that needs one, and there is no white space.
//!
//! The bytes outlive the process as keys and proofs of exact hits, so they open with [`VERSION`]; a change of the rules
//! above must change it.

use std::ops::Range;

use bytes::Bytes;

use super::json::{Object, Value, print_string};

/// The first byte of every canonical form.
pub const VERSION: u8 = 1;

/// The second byte of a shape from which text was cut, so that the `null` in its place is never taken for a real one.
const CUT: u8 = b'c';

/// The second byte of a shape that is the whole request.
const WHOLE: u8 = b'w';

/// Whole numbers up to this many digits are written out, others with an exponent.
const PLAIN_DIGITS: i64 = 20;

/// A request in canonical form.
pub struct Printed {
    /// [`VERSION`], then the canonical JSON.
    pub canonical: Bytes,
    /// [`VERSION`], a flag, then the canonical JSON with `null` for what was cut.
    pub shape: Bytes,
}

/// Prints `value`, and its shape with every value of `cut` replaced by `null`.
///
/// `cut` names values inside `value` by identity, in the order in which they are printed, none inside another.
pub fn print(value: &Value<'_>, cut: &[&Value<'_>]) -> Printed {
    let printer = Printer::run(value, cut, &[]);
    let shape = shape(&printer.out, &printer.ranges);
    Printed { canonical: printer.out.into(), shape: shape.into() }
}

/// The shape of `value` as if the list elements named by `skipped` were not there; like `cut`, they are named in the order
/// in which they stand.
pub fn shape_without(value: &Value<'_>, cut: &[&Value<'_>], skipped: &[&Value<'_>]) -> Bytes {
    let printer = Printer::run(value, cut, skipped);
    shape(&printer.out, &printer.ranges).into()
}

/// The whole number that a number text means, however it is spelled.
pub fn whole_number(text: &str) -> Option<u64> {
    let mut printed = Vec::new();
    print_number(text, &mut printed);
    std::str::from_utf8(&printed).ok()?.parse().ok()
}

fn shape(canonical: &[u8], ranges: &[Range<usize>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(canonical.len() + 1);
    out.extend_from_slice(&[VERSION, if ranges.is_empty() { WHOLE } else { CUT }]);
    let mut copied = 1;
    for range in ranges {
        out.extend_from_slice(&canonical[copied..range.start]);
        out.extend_from_slice(b"null");
        copied = range.end;
    }
    out.extend_from_slice(&canonical[copied..]);
    out
}

struct Printer<'c> {
    out: Vec<u8>,
    cut: &'c [&'c Value<'c>],
    skipped: &'c [&'c Value<'c>],
    ranges: Vec<Range<usize>>,
}

impl<'c> Printer<'c> {
    fn run(value: &Value<'_>, cut: &'c [&'c Value<'c>], skipped: &'c [&'c Value<'c>]) -> Self {
        let mut out = Vec::with_capacity(1 + value.weight());
        out.push(VERSION);
        let mut printer = Self { out, cut, skipped, ranges: Vec::with_capacity(cut.len()) };
        printer.value(value);
        printer
    }

    fn value(&mut self, value: &Value<'_>) {
        let start = self.out.len();
        match value {
            Value::Number(text) => print_number(text, &mut self.out),
            Value::Array(elements) => self.array(elements),
            Value::Object(object) => self.object(object),
            simple => simple.print(&mut self.out),
        }
        if let Some((next, rest)) = self.cut.split_first()
            && std::ptr::eq(*next, value)
        {
            self.cut = rest;
            self.ranges.push(start..self.out.len());
        }
    }

    fn array(&mut self, elements: &[Value<'_>]) {
        self.out.push(b'[');
        let mut printed = 0;
        for element in elements {
            if let Some((next, rest)) = self.skipped.split_first()
                && std::ptr::eq(*next, element)
            {
                self.skipped = rest;
                continue;
            }
            if printed > 0 {
                self.out.push(b',');
            }
            self.value(element);
            printed += 1;
        }
        self.out.push(b']');
    }

    fn object(&mut self, object: &Object<'_>) {
        let mut members: Vec<_> = object.iter().collect();
        members.sort_unstable_by(|left, right| left.0.cmp(&right.0));
        self.out.push(b'{');
        for (at, (name, value)) in members.into_iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            print_string(name, &mut self.out);
            self.out.push(b':');
            self.value(value);
        }
        self.out.push(b'}');
    }
}

/// Prints a legal JSON number as its sign, its significant digits and, where it is not a short whole number, a power of
/// ten: an exact decimal, never a rounded one.
fn print_number(text: &str, out: &mut Vec<u8>) {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let leading = digits.trim_start_matches('0');
    let significant = leading.trim_end_matches('0');
    if significant.is_empty() {
        out.push(b'0');
        return;
    }
    // The reader bounds exponents, so nothing here comes near the ends of i64.
    let power =
        exponent.parse::<i64>().unwrap_or(0) - signed(fraction.len()) + signed(leading.len() - significant.len());
    out.extend_from_slice(sign.as_bytes());
    out.extend_from_slice(significant.as_bytes());
    if power >= 0 && signed(significant.len()) + power <= PLAIN_DIGITS {
        out.extend((0..power).map(|_| b'0'));
    } else {
        out.push(b'e');
        out.extend_from_slice(power.to_string().as_bytes());
    }
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::json;
    use proptest::prelude::*;
    use serde_json::Value as Json;

    fn same_number(left: &str, right: &str) -> bool {
        let [left, right] = [left, right].map(|text| {
            let mut printed = Vec::new();
            print_number(text, &mut printed);
            printed
        });
        left == right
    }

    #[test]
    fn a_whole_number_is_one_in_every_spelling() {
        for text in ["3", "3.0", "0.3e1", "30e-1"] {
            assert_eq!(whole_number(text), Some(3), "{text}");
        }
        for text in ["3.5", "-3", "1e30", "1e-400"] {
            assert_eq!(whole_number(text), None, "{text}");
        }
    }

    fn canonical(text: &str) -> String {
        let printed = print(&json::read(text.as_bytes()).unwrap(), &[]);
        assert_eq!(printed.canonical[0], VERSION);
        String::from_utf8(printed.canonical[1..].to_vec()).unwrap()
    }

    #[test]
    fn the_bytes_of_version_1_are_golden() {
        let text = " {\"b\" : [1.0, -0, 1e2, 0.50, 123456789012345678901e1], \"a\":{\"\\u00e9\":\"\\u00e9\\n\\/\\u0001\",\"Z\":null}}\n";
        assert_eq!(
            canonical(text),
            "{\"a\":{\"Z\":null,\"é\":\"é\\n/\\u0001\"},\"b\":[1,0,100,5e-1,123456789012345678901e1]}"
        );
    }

    #[test]
    fn numbers_are_compared_as_exact_decimals() {
        for group in [
            &["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000E+0"][..],
            &["0", "-0", "0.0", "0e7", "-0.0e-9"],
            &["100", "1e2", "100.00", "1E+02"],
            &["0.7", "7e-1", "0.70"],
            &["100000000000000000000", "1e20"],
            &["1e19", "10000000000000000000"],
        ] {
            assert!(group.iter().all(|text| same_number(group[0], text)), "{group:?}");
        }
        for (left, right) in [
            ("9007199254740992", "9007199254740993"),
            ("12345678901234567890123", "12345678901234567890124"),
            ("0.1", "0.10000000000000000001"),
            ("1e-400", "0"),
            ("1e400", "1e401"),
            ("1", "-1"),
            ("1", "10"),
        ] {
            assert!(!same_number(left, right), "{left} {right}");
        }
    }

    #[test]
    fn a_cut_never_looks_like_a_real_null() {
        let with_text = json::read(br#"{"q":"hello","r":1}"#).unwrap();
        let with_null = json::read(br#"{"q":null,"r":1}"#).unwrap();
        let target = with_text.as_object().unwrap().get("q").unwrap();
        let cut = print(&with_text, &[target]);
        assert_eq!(&cut.shape[..], b"\x01c{\"q\":null,\"r\":1}");
        assert_ne!(cut.shape, print(&with_null, &[]).shape);
        assert_ne!(cut.canonical, print(&with_null, &[]).canonical);
    }

    fn document() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            (-3..3i64).prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            "[a\"\\\\\u{1}é/🙂]{0,3}".prop_map(Json::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::btree_map("[abé]{0,2}", inner, 0..4)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Writes `json` in one of the many ways that mean the same; `dice` decides each choice.
    fn respell(json: &Json, dice: &mut impl FnMut() -> u8, out: &mut String) {
        if dice() & 1 == 0 {
            out.push_str(" \t\r\n");
        }
        match json {
            Json::Number(number) => {
                out.push_str(&number.to_string());
                out.push_str(["", ".0", "e0", ".00E+00"][usize::from(dice() % 4)]);
            }
            Json::String(text) => respell_string(text, dice, out),
            Json::Array(elements) => {
                out.push('[');
                for (at, element) in elements.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    respell(element, dice, out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                for at in (1..members.len()).rev() {
                    members.swap(at, usize::from(dice()) % (at + 1));
                }
                out.push('{');
                for (at, (name, value)) in members.into_iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    respell_string(name, dice, out);
                    out.push(':');
                    respell(value, dice, out);
                }
                out.push('}');
            }
            simple => out.push_str(&simple.to_string()),
        }
    }

    fn respell_string(text: &str, dice: &mut impl FnMut() -> u8, out: &mut String) {
        out.push('"');
        for character in text.chars() {
            if dice() & 1 == 0 || matches!(character, '"' | '\\' | '\0'..'\u{20}') {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04X}"));
                }
            } else {
                out.push(character);
            }
        }
        out.push('"');
    }

    proptest! {
        #[test]
        fn every_spelling_of_a_document_has_one_form(json in document(), dice in prop::collection::vec(any::<u8>(), 1..40)) {
            let mut rolls = dice.into_iter().cycle();
            let mut other = String::new();
            respell(&json, &mut || rolls.next().unwrap(), &mut other);
            prop_assert_eq!(canonical(&json.to_string()), canonical(&other));
        }

        #[test]
        fn different_documents_have_different_forms(left in document(), right in document()) {
            prop_assert_eq!(left == right, canonical(&left.to_string()) == canonical(&right.to_string()));
        }

        #[test]
        fn a_canonical_form_is_its_own(json in document()) {
            let once = canonical(&json.to_string());
            prop_assert_eq!(&canonical(&once), &once);
            prop_assert_eq!(serde_json::from_str::<Json>(&once).unwrap(), json);
        }

        #[test]
        fn numbers_meet_only_when_they_are_equal(a in -2000..2000i64, b in -2000..2000i64, up in 0..4i32, down in 0..4i32) {
            let (left, right) = (format!("{a}e{up}"), format!("{b}e-{down}"));
            let equal = a * 10i64.pow((up + down).unsigned_abs()) == b;
            prop_assert_eq!(same_number(&left, &right), equal);
        }
    }
}
