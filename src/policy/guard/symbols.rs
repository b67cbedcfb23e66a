//! Signs of code that stand in plain prose: `a && b`, `!done`, `a::b`, `list[0]`.
//!
//! Only what both texts write with signs is compared, and in another way: a sign before a name against one behind it, a
//! doubled against a single one, other brackets around the same. Punctuation of prose takes none of these forms twice.

/// What may stand doubled between two operands.
const DOUBLED: [char; 3] = ['&', '/', ':'];

/// Signs that say one thing before a name and another behind it.
const SIDED: [char; 5] = ['!', '-', '*', '&', '~'];

/// Longest inside of a bracket that counts as an operand.
const INSIDE: usize = 3;

/// The signs of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    /// Runs of [`DOUBLED`] between operands, in order.
    runs: Vec<(char, usize)>,
    /// A sign at one side of a name only: the sign, whether it comes first, the name.
    sides: Vec<(char, bool, String)>,
    /// The opening bracket around a short inside.
    brackets: Vec<(char, String)>,
}

impl Symbols {
    pub(super) fn of(text: &str) -> Self {
        let signs = |c: char| DOUBLED.contains(&c) || SIDED.contains(&c) || matches!(c, '(' | '[' | '{');
        if !text.contains(signs) {
            return Self::default();
        }
        let chars: Vec<char> = text.chars().collect();
        let address = text.contains("://");
        Self { runs: if address { Vec::new() } else { runs(&chars) }, sides: sides(&chars), brackets: brackets(&chars) }
    }

    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        self.doubled(other).or_else(|| self.sided(other)).or_else(|| self.bracketed(other))
    }

    /// Both have the sign, but not as often in a row.
    fn doubled(&self, other: &Self) -> Option<String> {
        let lengths = |side: &Self, sign: char| -> Vec<usize> {
            side.runs.iter().filter(|(known, _)| *known == sign).map(|(_, length)| *length).collect()
        };
        DOUBLED.into_iter().find_map(|sign| {
            let (ours, theirs) = (lengths(self, sign), lengths(other, sign));
            let differ = ours.len() == theirs.len() && ours != theirs;
            differ.then(|| format!("{sign:?} in a row, but not as often"))
        })
    }

    fn sided(&self, other: &Self) -> Option<String> {
        let turned = |(sign, first, name): &&(char, bool, String)| {
            let behind = (*sign, !first, name.clone());
            other.sides.contains(&behind)
                && !self.sides.contains(&behind)
                && !other.sides.contains(&(*sign, *first, name.clone()))
        };
        self.sides.iter().find(turned).map(|(sign, _, name)| format!("{sign:?} before against behind {name:?}"))
    }

    fn bracketed(&self, other: &Self) -> Option<String> {
        let pairs = self.brackets.iter().flat_map(|ours| other.brackets.iter().map(move |theirs| (ours, theirs)));
        let differ = |(ours, theirs): &(&(char, String), &(char, String))| {
            ours.1 == theirs.1 && !other.brackets.contains(ours) && !self.brackets.contains(theirs)
        };
        let (ours, theirs) = pairs.into_iter().find(differ)?;
        Some(format!("{:?} against {:?}", ours.0, theirs.0))
    }
}

fn is_name(c: Option<&char>) -> bool {
    c.is_some_and(|c| c.is_alphanumeric() || *c == '_')
}

fn space(c: Option<&char>) -> bool {
    c.is_none_or(|c| c.is_whitespace())
}

/// Runs of a sign that may stand doubled; a colon counts only between letters, where prose has none.
fn runs(chars: &[char]) -> Vec<(char, usize)> {
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(&sign) = chars.get(at) {
        let length = chars[at..].iter().take_while(|c| **c == sign).count();
        let (before, after) = (at.checked_sub(1).and_then(|i| chars.get(i)), chars.get(at + length));
        let letter = |c: Option<&char>| c.is_some_and(|c| c.is_alphabetic());
        let operator = DOUBLED.contains(&sign) && before.is_some() && after.is_some();
        if operator && (sign != ':' || letter(before) && letter(after)) {
            runs.push((sign, length));
        }
        at += length;
    }
    runs
}

/// Signs that touch a name at one side and nothing at the other.
fn sides(chars: &[char]) -> Vec<(char, bool, String)> {
    let mut sides = Vec::new();
    for (at, &sign) in chars.iter().enumerate().filter(|(_, c)| SIDED.contains(c)) {
        let (before, after) = (at.checked_sub(1).and_then(|i| chars.get(i)), chars.get(at + 1));
        let name = |c: &&char| is_name(Some(*c));
        if is_name(after) && (space(before) || before == Some(&'(')) {
            sides.push((sign, true, chars[at + 1..].iter().take_while(name).collect()));
        } else if is_name(before) && after.is_some_and(|c| c.is_whitespace() || *c == ')') && goes_on(&chars[at + 1..])
        {
            let name: Vec<char> = chars[..at].iter().rev().take_while(name).copied().collect();
            sides.push((sign, false, name.into_iter().rev().collect()));
        }
    }
    sides
}

/// Does the sentence go on here?
fn goes_on(rest: &[char]) -> bool {
    rest.iter().find(|c| !c.is_whitespace()).is_some_and(|c| !c.is_uppercase())
}

/// `[x]`, `f(x)`: brackets around an operand, or directly behind a name.
fn brackets(chars: &[char]) -> Vec<(char, String)> {
    let opening = chars.iter().enumerate().filter(|(_, c)| matches!(c, '(' | '[' | '{'));
    let short = opening.filter_map(|(at, &open)| {
        let close = match open {
            '(' => ')',
            '[' => ']',
            _ => '}',
        };
        let length = chars[at + 1..].iter().position(|c| *c == close)?;
        let inside: String = chars[at + 1..at + 1 + length].iter().collect();
        let operand = length <= INSIDE && !inside.contains(char::is_uppercase) && inside.is_ascii();
        let called = is_name(at.checked_sub(1).and_then(|i| chars.get(i)));
        (operand || called).then_some((open, inside))
    });
    short.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        Symbols::of(a).difference(&Symbols::of(b))
    }

    #[test]
    fn other_signs_of_code_differ() {
        for (a, b) in [
            ("Is p & q true?", "Is p && q true?"),
            ("What is !done in C?", "What is done! in C?"),
            ("What is mod:fn here?", "What is mod::fn here?"),
            ("What does row[0] give?", "What does row(0) give?"),
            ("What is (k) in Python?", "What is {k} in Python?"),
            ("What is 9 / 4 in Python?", "What is 9 // 4 in Python?"),
            ("What does tar -z do?", "What does tar z- do?"),
            ("What is *p here?", "What is p* here?"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn punctuation_of_prose_passes() {
        for (a, b) in [
            ("What does R&D do?", "What does R & D do?"),
            ("Is it well-known?", "Is it well - known?"),
            ("Salt and/or pepper?", "Salt and / or pepper?"),
            ("Hi! how are you :)", "Hi how are you (-:"),
            ("What is **osmosis**?", "What is osmosis?"),
            ("Is *this* right?", "Is this right?"),
            ("The toll (see the map) is due", "The toll [see the map] is due"),
            ("Note: is it on?", "Note : is it on?"),
            ("Stop! or else?", "Stop or else!"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
            assert_eq!(difference(b, a), None, "{b} / {a}");
        }
    }
}
