//! When two words are one word in two forms: inflected, derived, or mistyped.
//!
//! Crude rules of English, the same for both texts of a pair. They err towards "the same word", since their use is to
//! keep a guard silent.

use super::lexicon;

/// A word without its commonest endings.
pub(super) fn stem(word: &str) -> String {
    let word = word.strip_suffix("'s").unwrap_or(word);
    if let Some(base) = lexicon::irregular(word) {
        return regular(base);
    }
    regular(word)
}

fn regular(word: &str) -> String {
    if word.len() < 4 || !word.is_ascii() {
        return word.to_owned();
    }
    let endings = ["ies", "ied", "ing", "ed", "es", "s"];
    let found = endings.iter().find_map(|ending| {
        let base = word.strip_suffix(ending)?;
        let whole = *ending == "s" && base.ends_with(['s', 'u', 'i']);
        (base.len() >= 3 && !whole).then_some((*ending, base))
    });
    let base = match found {
        Some(("ies" | "ied", base)) => &word[..=base.len()],
        Some(("ing" | "ed", base)) => undoubled(base),
        Some((_, base)) => base,
        None => word,
    };
    let base = base.strip_suffix('e').filter(|rest| rest.len() >= 3).unwrap_or(base);
    match base.strip_suffix('y') {
        Some(rest) if rest.len() >= 2 && !rest.ends_with(['a', 'e', 'o', 'u']) => format!("{rest}i"),
        _ => base.to_owned(),
    }
}

/// "Stopp" is "stop"; "press" and "call" keep their ends.
fn undoubled(base: &str) -> &str {
    match base.as_bytes() {
        [.., a, b] if a == b && !matches!(b, b's' | b'l' | b'e' | b'o') => &base[..base.len() - 1],
        _ => base,
    }
}

/// Endings that make another part of speech of the same word.
const DERIVED: [&str; 36] = [
    "isations", "izations", "isation", "ization", "ations", "ically", "ation", "ional", "ments", "ators", "ition",
    "ical", "ally", "ment", "ness", "ator", "ions", "ing", "ion", "ers", "ors", "ual", "ial", "ive", "ant", "ent",
    "al", "ly", "er", "or", "ic", "ed", "es", "e", "y", "s",
];

/// Is one word derived from the other, or both from one base ("situation", "situational")?
pub(super) fn related(one: &str, two: &str) -> bool {
    let base = |word: &str| -> usize {
        let stripped = DERIVED.iter().filter_map(|ending| word.strip_suffix(ending)).map(str::len);
        stripped.filter(|length| *length >= 4).min().unwrap_or(word.len())
    };
    // Korean verbs change behind their first syllable.
    let hangul =
        |word: &str| word.chars().next().filter(|c| matches!(c, '가'..='힣')).filter(|_| word.chars().nth(1).is_some());
    if let (Some(a), Some(b)) = (hangul(one), hangul(two)) {
        return a == b;
    }
    if !one.is_ascii() || !two.is_ascii() {
        return false;
    }
    let shared = one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b).count();
    shared >= 4 && shared >= base(one) && shared >= base(two)
}

/// Is one word probably the other with a slip of the keyboard? Never for short words, for another first letter, or for
/// two words that are known to be two.
pub(super) fn mistyped(one: &str, two: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    let short = a.len().min(b.len());
    let plain = |word: &[char]| word.iter().all(|c| c.is_alphabetic() && !super::fold::is_han(*c));
    if short < 4 || a.len().abs_diff(b.len()) > 2 || a.first() != b.first() || !plain(&a) || !plain(&b) {
        return false;
    }
    let allowed = if short >= 8 { 2 } else { 1 };
    let slip = distance(&a, &b) <= allowed && (short >= 5 || a.len() != b.len());
    slip && !lexicon::confusable(one, two) && !substances(one, two)
}

/// Endings that tell one substance from another: nitrite and nitrate, propane and propene.
const SUBSTANCES: [&[&str]; 3] = [&["ide", "ite", "ate"], &["ane", "ene", "yne"], &["one", "olone"]];

/// Do two words name two substances with one root? "Definate" is a slip and no substance.
fn substances(one: &str, two: &str) -> bool {
    let (one, two) = (one.strip_suffix('s').unwrap_or(one), two.strip_suffix('s').unwrap_or(two));
    let root = |word: &'_ str, ending: &str| word.strip_suffix(ending).filter(|_| word.len() >= 6).map(str::to_owned);
    SUBSTANCES.iter().any(|endings| {
        let pairs = endings.iter().flat_map(|a| endings.iter().map(move |b| (a, b))).filter(|(a, b)| a != b);
        pairs.into_iter().any(|(a, b)| match (root(one, a), root(two, b)) {
            (Some(ours), Some(theirs)) => ours == theirs && !ours.ends_with("fin"),
            _ => false,
        })
    })
}

/// Edits that turn one word into the other; an exchange of neighbours is one.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflections_share_a_stem() {
        for (a, b) in [
            ("stopped", "stop"),
            ("hates", "hate"),
            ("cities", "city"),
            ("movies", "movie"),
            ("moving", "move"),
            ("boxes", "box"),
            ("advantages", "advantage"),
            ("bought", "buying"),
            ("children", "child"),
            ("eggs", "egg"),
        ] {
            assert_eq!(stem(a), stem(b), "{a} {b}");
        }
    }

    #[test]
    fn derived_words_are_related() {
        for (a, b) in [
            ("situation", "situational"),
            ("isotropic", "isotropically"),
            ("manager", "management"),
            ("defragmentation", "defragmenter"),
        ] {
            assert!(related(a, b) && related(b, a), "{a} {b}");
        }
        assert!(!related("marketer", "markets-open"));
        assert!(!related("police", "politics"));
    }

    #[test]
    fn slips_are_told_from_other_words() {
        for (a, b) in [
            ("recieve", "receive"),
            ("thier", "their"),
            ("acount", "account"),
            ("favourite", "favorite"),
            ("definate", "definite"),
        ] {
            assert!(mistyped(a, b) && mistyped(b, a), "{a} {b}");
        }
        for (a, b) in [
            ("band", "bond"),
            ("hiring", "firing"),
            ("desert", "dessert"),
            ("neutron", "proton"),
            ("hypertension", "hypotension"),
            ("bromide", "bromate"),
            ("butane", "butene"),
            ("cortisone", "cortisolone"),
            ("a1b2c3", "a1b2c4"),
        ] {
            assert!(!mistyped(a, b) && !mistyped(b, a), "{a} {b}");
        }
    }
}
