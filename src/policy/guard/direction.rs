//! The same words in another order: from Oslo to Bergen is not from Bergen to Oslo, cats that hate dogs are not dogs
//! that hate cats.
//!
//! Word order alone says little: phrases move about whole, and the passive turns a sentence round without changing it.
//! Two signs are sure. A journey (`from X to Y`, `X to Y`) whose ends are exchanged; and two words that exchange their
//! places, each with the neighbours that the other had ("goats hate geese", "geese hate goats"). Where a text compares
//! or joins the two, order says nothing.

mod journey;
mod place;
mod roles;

use journey::{Journey, beyond, journeys, phrases};
use place::{Place, places, turned};
use roles::{SYMMETRY, plays};

use super::nearness::Nearness;
use super::relation::passive;
use super::text::Text;

/// The order of one text.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    journeys: Vec<Journey>,
    /// Every word with content that stands there once.
    places: Vec<Place>,
    symmetric: bool,
    /// The doer stands behind the deed.
    passive: bool,
    /// What follows each "to".
    goals: Vec<Vec<String>>,
    /// Every word under any marker.
    words: Vec<String>,
}

impl Order {
    pub(super) fn of(text: &Text) -> Self {
        let symmetric = text.tokens.iter().any(|t| plays(&t.folded, SYMMETRY));
        let phrases = phrases(text);
        let goals = phrases.iter().filter(|p| matches!(p.marker.as_str(), "to" | "into") && !p.words.is_empty());
        Self {
            journeys: journeys(&phrases),
            places: places(text),
            symmetric,
            passive: passive(text, &["by"]),
            goals: goals.map(|phrase| phrase.words.clone()).collect(),
            words: phrases.iter().flat_map(|phrase| phrase.words.iter().cloned()).collect(),
        }
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        let near = near.akin().then_some(near)?;
        let reached = || self.arrives_at_start(other).or_else(|| other.arrives_at_start(self));
        let back = || if near.brief() { reached() } else { None };
        self.turned_back(other).or_else(back).or_else(|| self.exchanged(other, near))
    }

    /// A journey between the other text's ends, but the other way.
    fn turned_back(&self, other: &Self) -> Option<String> {
        // "From terminal A to terminal C": what both ends have in common says nothing.
        let meets = |one: &[String], two: &[String]| one.iter().find(|word| two.contains(word)).cloned();
        let (ours_apart, theirs_apart): (Vec<_>, Vec<_>) = (
            self.journeys.iter().map(Journey::ends_apart).collect(),
            other.journeys.iter().map(Journey::ends_apart).collect(),
        );
        // There and back is the same trip in both texts.
        let (ours_only, theirs_only) = (beyond(&ours_apart, &theirs_apart), beyond(&theirs_apart, &ours_apart));
        let pairs = ours_only.iter().flat_map(|ours| theirs_only.iter().map(move |theirs| (ours, theirs)));
        pairs.into_iter().find_map(|(ours, theirs)| {
            let start = meets(&ours.from, &theirs.to).filter(|_| meets(&ours.to, &theirs.to).is_none());
            let end = meets(&ours.to, &theirs.from).filter(|_| meets(&ours.to, &theirs.to).is_none());
            // Where "from" is not written, "to" may be that of an infinitive: then both ends must be exchanged.
            let sure = (ours.told && theirs.told) || (start.is_some() && end.is_some());
            let turned = start.or(end).filter(|_| sure)?;
            Some(format!("{turned:?} is where one starts and the other ends"))
        })
    }

    /// "From X to Y", and the other text goes to X with Y in hand, without a "from" of its own.
    fn arrives_at_start(&self, other: &Self) -> Option<String> {
        if other.journeys.iter().any(|journey| journey.told) {
            return None;
        }
        let journey = self.journeys.iter().find(|journey| journey.told)?.ends_apart();
        // The "to" of a verb comes before that of the place.
        let (goal, at_end) = (other.goals.last()?, |word: &String| journey.to.contains(word));
        let arrival = goal.first().filter(|word| journey.from.contains(word) && !goal.iter().any(at_end))?;
        other.words.iter().any(at_end).then(|| format!("{arrival:?} is where one starts and the other ends"))
    }

    /// Two words of which each stands between the neighbours that the other had.
    fn exchanged(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        // In another voice the same roles stand the other way round; the same order is for the relations to see.
        if self.symmetric && other.symmetric
            || near.brief() && self.passive != other.passive
            || near.apart() > 2.max(near.common() / 4)
        {
            return None;
        }
        let there = |place: &Place| other.places.iter().find(|theirs| theirs.key == place.key);
        let both: Vec<(&Place, &Place)> =
            self.places.iter().filter_map(|ours| Some((ours, there(ours)?))).filter(|(a, b)| a.moved(b)).collect();
        let pairs = both.iter().enumerate().flat_map(|(i, one)| both[i + 1..].iter().map(move |two| (*one, *two)));
        let (one, two) = pairs.into_iter().find(|(one, two)| turned(*one, *two))?;
        Some(format!("{:?} and {:?} change places", one.0.word, two.0.word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        super::super::differ(a, b, Order::of, Order::difference)
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
            ("Is Java faster than Go?", "Is Go faster than Java?"),
            ("How do I subtract a from b?", "How do I subtract b from a?"),
            ("Is A larger than B?", "Is B larger than A?"),
            ("How do I walk from gate A to gate C?", "How do I walk from gate C to gate A?"),
            ("Do I paint then sand?", "Do I sand then paint?"),
            (
                "Which rooms were closed before the painted halls were opened to tired visitors?",
                "Which rooms were painted before the closed halls were opened to tired visitors?",
            ),
            ("How do I post a box from Lund to Malmo?", "I want to post my Malmo box over to Lund, what do I do?"),
            (
                "How do I transfer my ISA from Hargreaves Lansdown to Vanguard?",
                "I want to move my Vanguard ISA over to Hargreaves Lansdown, what do I do?",
            ),
            ("a French teacher in Denmark", "a Denmark teacher in French"),
            ("从北京到上海怎么走", "从上海到北京怎么走"),
            ("由东向西怎么开", "由西向东怎么开"),
            ("小明比小红高吗", "小红比小明高吗"),
            ("把欧元换成日元", "把日元换成欧元"),
            ("欧元转日元", "日元转欧元"),
            ("我喜欢你怎么说", "你喜欢我怎么说"),
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
            ("How do I find a lost key?", "How do I find a key that I lost?"),
            ("Can I restore a deleted list?", "Can I restore a list that was deleted?"),
            ("Is there a train Lund to Ystad to Lund?", "Is there any train Lund to Ystad to Lund?"),
            ("the colour of the door", "the door colour"),
            ("How is Milvus utilized by Zilliz Cloud?", "How does Zilliz Cloud utilize Milvus?"),
            ("Can you recommend a Rust tutorial in Chinese?", "Is there a Chinese tutorial for Rust?"),
            ("How do I move my ISA from Lund to Malmo?", "I want to move my Lund ISA to Malmo, what do I do?"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
