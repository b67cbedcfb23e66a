//! The same words in another order: from Oslo to Bergen is not from Bergen to Oslo, cats that hate dogs are not dogs
//! that hate cats.
//!
//! Three rules. A journey (`from X to Y`, `X to Y`) must not have its ends exchanged. When two long texts have nearly
//! the same content words, their phrases may move about whole, but the words that are left must come in the same order.
//! In short ones at least no two words may exchange their places: neither their prepositions nor the sides of a word
//! between them. Where both texts compare things, order says nothing.

use super::lexicon;
use super::text::{Kind, Text, Token};

/// Both sides of these stand equal.
const SYMMETRIC: [&str; 16] = [
    "difference",
    "differences",
    "compare",
    "compared",
    "comparing",
    "comparison",
    "versus",
    "vs",
    "between",
    "similar",
    "same",
    "similarity",
    "similarities",
    "equal",
    "equivalent",
    "related",
];

const CONJUNCTIONS: [&str; 6] = ["and", "or", "vs", "versus", "&", "nor"];

/// Words that begin a phrase which may move as a whole.
const MARKERS: [&str; 26] = [
    "of", "in", "on", "at", "by", "for", "with", "from", "to", "into", "than", "over", "under", "about", "against",
    "as", "through", "during", "without", "per", "via", "within", "while", "because", "->", "=>",
];

/// Words that end a phrase without beginning one of their own.
const BREAKS: [&str; 30] = [
    "what", "which", "who", "whom", "whose", "when", "where", "why", "how", "is", "are", "was", "were", "do", "does",
    "did", "can", "could", "should", "would", "will", "may", "might", "if", "but", "i", "you", "we", "that", "it",
];

/// Common content words from which every change of order counts: a rewording of a long text rarely keeps all its words,
/// one of a short question often does ("Which browsers does it support?", "Which browsers are supported by it?").
const MANY: usize = 6;

/// Content words that stand together under one marker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Phrase {
    marker: String,
    words: Vec<String>,
}

/// From one place, form or unit to another.
#[derive(Clone, Debug)]
struct Journey {
    from: Vec<String>,
    to: Vec<String>,
    /// The start was marked by "from".
    told: bool,
}

impl Journey {
    fn ends_apart(&self) -> Self {
        let less = |one: &[String], two: &[String]| one.iter().filter(|word| !two.contains(word)).cloned().collect();
        Self { from: less(&self.from, &self.to), to: less(&self.to, &self.from), told: self.told }
    }
}

/// The order of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    phrases: Vec<Phrase>,
    /// All content words, sorted.
    content: Vec<String>,
    journeys: Vec<Journey>,
    symmetric: bool,
    /// One thing comes before another.
    sequenced: bool,
}

impl Order {
    pub(super) fn of(text: &Text) -> Self {
        let phrases = phrases(text);
        let mut content: Vec<String> = phrases.iter().flat_map(|phrase| phrase.words.iter().cloned()).collect();
        content.sort_unstable();
        let journeys = journeys(&phrases);
        let symmetric = text.tokens.iter().any(|t| SYMMETRIC.contains(&t.folded.as_str()));
        let sequenced = text.tokens.iter().any(|t| matches!(t.folded.as_str(), "then" | "before" | "after"));
        Self { phrases, content, journeys, symmetric, sequenced }
    }

    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        self.turned_back(other).or_else(|| self.reordered(other))
    }

    /// A journey between the other text's ends, but the other way.
    fn turned_back(&self, other: &Self) -> Option<String> {
        // "From terminal A to terminal C": what both ends have in common says nothing.
        let meets = |one: &[String], two: &[String]| one.iter().find(|word| two.contains(word)).cloned();
        let (ours_apart, theirs_apart): (Vec<_>, Vec<_>) = (
            self.journeys.iter().map(Journey::ends_apart).collect(),
            other.journeys.iter().map(Journey::ends_apart).collect(),
        );
        let pairs = ours_apart.iter().flat_map(|ours| theirs_apart.iter().map(move |theirs| (ours, theirs)));
        pairs.into_iter().find_map(|(ours, theirs)| {
            let start = meets(&ours.from, &theirs.to).filter(|_| meets(&ours.to, &theirs.to).is_none());
            let end = meets(&ours.to, &theirs.from).filter(|_| meets(&ours.to, &theirs.to).is_none());
            // Where "from" is not written, "to" may be that of an infinitive: then both ends must be exchanged.
            let sure = (ours.told && theirs.told) || (start.is_some() && end.is_some());
            let turned = start.or(end).filter(|_| sure)?;
            Some(format!("{turned:?} is where one starts and the other ends"))
        })
    }

    fn reordered(&self, other: &Self) -> Option<String> {
        if self.symmetric && other.symmetric {
            return None;
        }
        let common = common(&self.content, &other.content);
        let apart = self.content.len() + other.content.len() - 2 * common.len();
        let (ours, theirs) = (self.moved(other, &common), other.moved(self, &common));
        let repeated = common.windows(2).any(|pair| pair[0] == pair[1]);
        let strict = apart == 0 && (repeated || self.sequenced && other.sequenced);
        if (strict || common.len() >= MANY && apart <= common.len() / 4)
            && let Some((one, two)) =
                compounded(&ours).into_iter().zip(compounded(&theirs)).find(|(one, two)| one != two)
        {
            return Some(format!("{one:?} stands where {two:?} stands in the other"));
        }
        if common.len() < 2 || apart > 2 || repeated {
            return None;
        }
        let place = |word: &str| theirs.iter().position(|(_, other)| *other == word);
        let placed: Vec<(usize, &str, usize)> =
            ours.iter().enumerate().filter_map(|(i, (_, word))| place(word).map(|at| (i, *word, at))).collect();
        let exchanged = |(i, _, at): &(usize, &str, usize), (j, _, to): &(usize, &str, usize)| {
            let markers = (ours[*i].0, ours[*j].0) == (theirs[*to].0, theirs[*at].0);
            let between = placed.iter().any(|(k, _, on)| (i + 1..*j).contains(k) && (to + 1..*at).contains(on));
            at > to && markers && (between || ours[*i].0 != ours[*j].0)
        };
        let pairs = placed.iter().enumerate().flat_map(|(n, one)| placed[n + 1..].iter().map(move |two| (one, two)));
        let (one, two) = pairs.into_iter().find(|(one, two)| exchanged(one, two))?;
        Some(format!("{:?} and {:?} change places", one.1, two.1))
    }

    /// The common words in order, each with its marker, less the phrases that the other text has too, word for word.
    fn moved<'a>(&'a self, other: &Self, common: &[&str]) -> Vec<(&'a str, &'a str)> {
        let shared = |word: &String| common.contains(&word.as_str());
        let same = |phrase: &Phrase| {
            let kept = || phrase.words.iter().filter(|word| shared(word));
            let twin = |theirs: &&Phrase| {
                theirs.marker == phrase.marker && kept().eq(theirs.words.iter().filter(|w| shared(w)))
            };
            other.phrases.iter().any(|theirs| twin(&theirs))
        };
        let phrases = self.phrases.iter().filter(|phrase| !same(phrase));
        let words = phrases.flat_map(|phrase| phrase.words.iter().map(|word| (phrase.marker.as_str(), word)));
        words.filter(|(_, word)| shared(word)).map(|(marker, word)| (marker, word.as_str())).collect()
    }
}

/// The words in order, with "days of leave" in the order of "leave days".
fn compounded<'a>(words: &[(&str, &'a str)]) -> Vec<&'a str> {
    let mut order: Vec<&str> = Vec::with_capacity(words.len());
    let mut head = None;
    for (i, (marker, word)) in words.iter().enumerate() {
        let begins = i > 0 && words[i - 1].0 != *marker;
        if *marker != "of" {
            head = None;
        } else if begins {
            head = order.len().checked_sub(1);
        }
        match &mut head {
            Some(at) => {
                order.insert(*at, word);
                *at += 1;
            }
            None => order.push(word),
        }
    }
    order
}

/// Words in both sorted lists, as often as in both.
fn common<'a>(one: &'a [String], two: &[String]) -> Vec<&'a str> {
    let mut rest = two.iter().peekable();
    let found = one.iter().filter(|word| {
        while rest.next_if(|theirs| theirs < word).is_some() {}
        rest.next_if(|theirs| theirs == word).is_some()
    });
    found.map(String::as_str).collect()
}

fn is_content(token: &Token) -> bool {
    match token.kind {
        // "Is plan A cheaper than plan B?"
        Kind::Word => !lexicon::is_function_word(&token.folded) || is_letter(token),
        Kind::Symbol | Kind::Han => false,
        _ => true,
    }
}

fn is_letter(token: &Token) -> bool {
    token.capitalised() && token.raw.chars().nth(1).is_none() && token.raw != "I" && !token.opens
}

fn phrases(text: &Text) -> Vec<Phrase> {
    let mut phrases = vec![Phrase::default()];
    for (i, token) in text.tokens.iter().enumerate() {
        let word = token.folded.as_str();
        let stop = token.kind == Kind::Symbol && matches!(word, "," | "." | "?" | "!" | ";" | ":" | "(" | ")");
        if MARKERS.contains(&word) {
            phrases.push(Phrase { marker: word.to_owned(), words: Vec::new() });
        } else if stop || BREAKS.contains(&word) {
            phrases.push(Phrase::default());
        } else if is_content(token)
            && let Some(phrase) = phrases.last_mut()
        {
            phrase.words.push(token.stem.clone());
            sort_joined(text, i, &mut phrase.words);
        }
    }
    phrases
}

/// "Cats and dogs" are "dogs and cats": the two words around a conjunction stand in one order.
fn sort_joined(text: &Text, i: usize, words: &mut [String]) {
    let joined = text.before(i).is_some_and(|t| CONJUNCTIONS.contains(&t.folded.as_str()));
    if joined
        && let [.., one, two] = words
        && one > two
    {
        std::mem::swap(one, two);
    }
}

/// `from X to Y`, `to Y from X`, or `X to Y` when no start is named.
fn journeys(phrases: &[Phrase]) -> Vec<Journey> {
    let ends = |marker: &'static str| phrases.iter().filter(move |p| p.marker == marker && !p.words.is_empty());
    if let (Some(from), Some(to)) = (ends("from").next(), ends("to").chain(ends("into")).next()) {
        return vec![Journey { from: from.words.clone(), to: to.words.clone(), told: true }];
    }
    let towards = |phrase: &Phrase| matches!(phrase.marker.as_str(), "to" | "into" | "->" | "=>");
    let pairs = phrases.windows(2).filter_map(|pair| match pair {
        [from, to] if towards(to) && !from.words.is_empty() && !to.words.is_empty() => Some((from, to)),
        _ => None,
    });
    pairs.map(|(from, to)| Journey { from: from.words.clone(), to: to.words.clone(), told: false }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        Order::of(&Text::of(a)).difference(&Order::of(&Text::of(b)))
    }

    #[test]
    fn exchanged_roles_differ() {
        for (a, b) in [
            ("trains from Lund to Malmo", "trains from Malmo to Lund"),
            ("ferries Lund to Malmo", "ferries Malmo to Lund"),
            ("Convert 90 miles to kilometres.", "Convert 90 kilometres to miles."),
            ("How do I copy rows from a sheet to a table?", "How do I copy rows from a table to a sheet?"),
            ("Why do goats hate geese?", "Why do geese hate goats?"),
            ("Did Borg beat Lendl?", "Did Lendl beat Borg?"),
            ("the mayor of the capital", "the capital of the mayor"),
            ("Is plan A cheaper than plan B?", "Is plan B cheaper than plan A?"),
            ("Is A larger than B?", "Is B larger than A?"),
            ("How do I walk from gate A to gate C?", "How do I walk from gate C to gate A?"),
            ("Do I paint then sand?", "Do I sand then paint?"),
            (
                "Which rooms were closed before the painted halls were opened to tired visitors?",
                "Which rooms were painted before the closed halls were opened to tired visitors?",
            ),
            (
                "She is the niece of Olav Krogh and a cousin of Berta Lind.",
                "She is a cousin of Olav Krogh and the niece of Berta Lind.",
            ),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn harmless_orders_pass() {
        for (a, b) in [
            ("In Python how do I sort a list?", "How do I sort a list in Python?"),
            ("What is the difference between tin and zinc?", "What is the difference between zinc and tin?"),
            ("Compare tin with zinc", "Compare zinc with tin"),
            ("Do goats and geese fight?", "Do geese and goats fight?"),
            ("trains from Lund to Malmo", "trains to Malmo from Lund"),
            ("I have a cough. Can I swim?", "Can I swim? I have a cough."),
            ("What is the best way to learn chess?", "How can I learn chess best?"),
            ("How many days of leave do I get?", "How many leave days do I get?"),
            ("the colour of the door", "the door colour"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
