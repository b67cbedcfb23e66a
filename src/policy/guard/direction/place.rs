//! Places: each word with content between the neighbours that it has.

use super::roles::{BREAK, CONJUNCTION, MARKER, plays};
use crate::policy::guard::nearness;
use crate::policy::guard::negation::is_negator;
use crate::policy::guard::text::{Kind, Text, Token};

/// What stands at the ends of a sentence.
const BORDER: u64 = 0;

/// A word with content between its neighbours.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) key: u64,
    pub(super) word: String,
    left: u64,
    right: u64,
    han: bool,
    /// The preposition before it.
    after: Option<String>,
    /// The next word with content, and whether a preposition or nothing stands between.
    next: u64,
    linked: Link,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Bare,
    Preposition,
    Conjunction,
    /// "That was", "that I".
    Relative,
    Other,
}

/// Do two words, each with its place in both texts, stand in each other's?
pub(super) fn turned((x, x_there): (&Place, &Place), (y, y_there): (&Place, &Place)) -> bool {
    let (one, two) = (x.takes(y_there), y.takes(x_there));
    // A neighbour that both have anyway tells nothing: the "plan" of "plan A" and "plan B".
    let (x_sure, y_sure) = (x.apart(y, y_there), y.apart(x, x_there));
    let sure = x_sure && y_sure || (x_sure || y_sure) && !x.han && !y.han;
    let free = joined(x, y) || joined(x_there, y_there) || x.beside(y) && x_there.beside(y_there);
    // "Born in Oslo in 1962" is "born in 1962 in Oslo".
    let adjuncts = x.after == y.after && x.after.is_some() && x_there.after == y_there.after;
    let free = free || modifiers((x, x_there), (y, y_there)) || modifiers((y, y_there), (x, x_there));
    one && two && sure && !free && !adjuncts && !compounded((x, y), (x_there, y_there))
}

impl Place {
    pub(super) fn moved(&self, there: &Self) -> bool {
        self.left != there.left || self.right != there.right
    }

    /// Is this where the other stands in the other text?
    fn takes(&self, other: &Self) -> bool {
        self.left == other.left || self.right == other.right
    }

    /// Does a neighbour that tells this word from `beside` stand at `other` too?
    fn apart(&self, beside: &Self, other: &Self) -> bool {
        let told = |ours: u64, theirs: u64, beside: u64| ours == theirs && ours != BORDER && ours != beside;
        told(self.left, other.left, beside.left) || told(self.right, other.right, beside.right)
    }

    /// Right next to each other.
    fn beside(&self, other: &Self) -> bool {
        self.linked == Link::Bare && self.next == other.key || other.linked == Link::Bare && other.next == self.key
    }
}

/// "A Rust tutorial in Chinese" is "a Chinese tutorial for Rust": what it is in, and what it is for.
fn modifiers((x, x_there): (&Place, &Place), (y, y_there): (&Place, &Place)) -> bool {
    let topic = |place: &Place| matches!(place.after.as_deref(), Some("for" | "about" | "on"));
    let form = |place: &Place| place.after.as_deref() == Some("in");
    let head = x.linked == Link::Bare && y_there.linked == Link::Bare && x.next == y_there.next;
    head && (form(y) && topic(x_there) || topic(y) && form(x_there))
}

/// "Cats and dogs" are "dogs and cats".
fn joined(one: &Place, two: &Place) -> bool {
    one.linked == Link::Conjunction && one.next == two.key || two.linked == Link::Conjunction && two.next == one.key
}

/// "Days of leave" are "leave days", a "phone that I lost" is a "lost phone".
fn compounded(ours: (&Place, &Place), theirs: (&Place, &Place)) -> bool {
    let link = |(one, two): (&Place, &Place)| {
        if one.next == two.key {
            Some((one.key, one.linked))
        } else {
            (two.next == one.key).then_some((two.key, two.linked))
        }
    };
    match (link(ours), link(theirs)) {
        (Some((first, a)), Some((second, b))) => {
            let looser = |link: Link| matches!(link, Link::Preposition | Link::Relative);
            first != second && (a == Link::Bare && looser(b) || looser(a) && b == Link::Bare)
        }
        _ => false,
    }
}

pub(super) fn places(text: &Text) -> Vec<Place> {
    let telling: Vec<&Token> =
        text.tokens.iter().enumerate().filter(|(i, t)| counts(t) && !article(text, *i)).map(|(_, t)| t).collect();
    let key = |token: Option<&&Token>| match token {
        Some(token) if token.kind != Kind::Symbol => nearness::hash(&token.stem),
        _ => BORDER,
    };
    let mut places = Vec::new();
    for (i, token) in telling.iter().enumerate().filter(|(i, _)| is_content(&telling, *i)) {
        let next = (i + 1..telling.len()).find(|&at| is_content(&telling, at));
        places.push(Place {
            key: nearness::hash(&token.stem),
            word: token.folded.clone(),
            han: token.kind == Kind::Han,
            after: i
                .checked_sub(1)
                .and_then(|at| telling.get(at))
                .filter(|t| plays(&t.folded, MARKER))
                .map(|t| t.folded.clone()),
            left: key(start(&telling, i).checked_sub(1).and_then(|at| telling.get(at))),
            right: key(telling.get(i + 1)),
            next: key(next.and_then(|at| telling.get(at))),
            linked: next.map_or(Link::Other, |next| link(&telling[i + 1..next])),
        });
    }
    let all: Vec<u64> = places.iter().map(|place| place.key).collect();
    places.retain(|place| all.iter().filter(|key| **key == place.key).count() == 1);
    places
}

fn link(between: &[&Token]) -> Link {
    match between {
        [] => Link::Bare,
        [one] if plays(&one.folded, CONJUNCTION) => Link::Conjunction,
        [.., last] if between.iter().any(|t| plays(&t.folded, CONJUNCTION)) && last.function => Link::Conjunction,
        [one] if plays(&one.folded, MARKER) => Link::Preposition,
        // With a verb or a doer of its own: "the fox that ate" is not "the eaten fox".
        [first, more @ ..] if relates(first) && !more.is_empty() && more.iter().all(|t| t.function) => Link::Relative,
        _ => Link::Other,
    }
}

/// Where the word at `i` begins with what relates it to the word before: "that I lost".
fn start(tokens: &[&Token], i: usize) -> usize {
    let bare = tokens[..i].iter().rev().take_while(|token| token.function).count();
    let relative = (i - bare..i).find(|at| *at > 0 && relates(tokens[*at]) && tokens[*at - 1].weighs());
    relative.unwrap_or(i)
}

fn relates(token: &Token) -> bool {
    matches!(token.folded.as_str(), "that" | "which" | "who")
}

/// Articles and possessives do not tell a place.
fn counts(token: &Token) -> bool {
    let stop = token.kind == Kind::Symbol
        && matches!(token.raw.as_str(), "," | "." | "?" | "!" | ";" | ":" | "(" | ")" | "/" | "&");
    stop || token.wordlike() && !matches!(token.folded.as_str(), "the" | "my" | "your" | "our" | "an" | "的" | "了")
}

/// The article "a", and not the letter: "plan A", "subtract a from b".
pub(super) fn article(text: &Text, i: usize) -> bool {
    let token = &text.tokens[i];
    let letter = || token.capitalised() && !token.opens;
    let word = |next: &Token| next.wordlike() && !plays(&next.folded, MARKER | BREAK | CONJUNCTION);
    token.folded == "a" && !letter() && text.ahead(i, 1).is_some_and(word)
}

fn is_content(tokens: &[&Token], i: usize) -> bool {
    let token = tokens[i];
    let person = matches!(token.raw.as_str(), "我" | "你" | "他" | "她");
    token.weighs() && !is_negator(&token.folded) || is_letter(token) || person
}

pub(super) fn is_letter(token: &Token) -> bool {
    let one = token.raw.chars().nth(1).is_none() && token.kind == Kind::Word;
    one && !matches!(token.raw.as_str(), "I" | "i")
}
