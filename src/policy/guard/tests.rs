//! All guards together: what every pair of texts may rely on, whichever guard looks at it.

use proptest::prelude::*;

use super::*;

fn judged(a: &str, b: &str) -> Option<GuardName> {
    judge(&Features::of(a), &Features::of(b), &Guards::default()).map(|veto| veto.guard)
}

#[test]
fn each_kind_of_difference_is_vetoed_by_its_guard() {
    for (guard, a, b) in [
        (GuardName::Numbers, "Boil it for 5 minutes", "Boil it for 9 minutes"),
        (GuardName::Negation, "How do I enable the fan?", "How do I disable the fan?"),
        (GuardName::Names, "rent in Oslo", "rent in Bergen"),
        (GuardName::Casing, "Polish this chair", "polish this chair"),
        (GuardName::Direction, "Why do goats hate geese?", "Why do geese hate goats?"),
        (GuardName::Asked, "When did the mill open?", "Why did the mill open?"),
        (GuardName::Words, "How do I peel a plum?", "How do I peel a pear?"),
        (GuardName::Payload, "Translate: the kettle boils", "Translate: the aunt paints"),
        (GuardName::Time, "Who plays today?", "Who plays tomorrow?"),
    ] {
        assert_eq!(judged(a, b), Some(guard), "{a} / {b}");
        assert_eq!(judged(b, a), Some(guard), "{b} / {a}");
    }
}

#[test]
fn rewordings_pass_all_guards() {
    for (a, b) in [
        ("How do I enable the fan on the stove?", "What are the steps to turn on the fan on the stove?"),
        ("What is DNS?", "what is dns"),
        ("How long do I boil an egg?", "How many minutes should an egg boil?"),
        ("How can I reset my password?", "I forgot my password, how do I get a new one?"),
        ("Where do I find my invoices?", "how do i see my invoices"),
        ("What does the term \"Embedded Milvus\" refer to?", "What does \"embedded milvus\" refer to?"),
        ("What is \"doris\"?", "What is the meaning of \"Doris\"?"),
        ("What is \"flink\"?", "What is Flink?"),
        ("\"What are the key features of Milvus?\"?", "\"What are the features of Milvus?\"?"),
        ("What is the \"hello world\" program in Python?", "What is the Python \"Hello World\" sample program?"),
        ("How is Milvus used in Zilliz Cloud?", "How is Milvus utilized in Zilliz Cloud?"),
        ("How is Milvus utilized in Zilliz Cloud?", "How is Milvus utilized by Zilliz Cloud?"),
        ("Can you recommend a Rust tutorial in Chinese?", "Is there a Chinese tutorial for Rust?"),
        ("does robert like in-n-out?", "Does Robert like In-N-Out?"),
        ("Could you please answer me in Chinese?", "Can you please answer the question in Chinese?"),
    ] {
        assert_eq!(judged(a, b), None, "{a} / {b}");
    }
}

#[test]
fn a_guard_that_is_off_stays_silent() {
    let off =
        Guards { numbers: false, negation: false, names: false, casing: false, payload: false, time: TimeGuard::Off };
    let silent = |a: &str, b: &str| judge(&Features::of(a), &Features::of(b), &off).is_none();
    assert!(silent("Boil it for 5 minutes", "Boil it for 9 minutes"));
    assert!(silent("rent in Oslo", "rent in Bergen"));
    assert!(silent("Who plays today?", "Who plays tomorrow?"));
    assert!(silent("How do I enable the fan?", "How do I disable the fan?"));
    assert!(!silent("How do I peel a plum?", "How do I peel a pear?"), "other words are always watched");
    assert!(!silent("trains from Lund to Malmo", "trains from Malmo to Lund"), "direction is always watched");
}

#[test]
fn an_explanation_names_every_guard_that_is_on() {
    let guards = Guards { casing: false, ..Guards::default() };
    let (a, b) = (Features::of("Boil 5 eggs in Oslo"), Features::of("Boil 7 eggs in Bergen"));
    let said = verdicts(&a, &b, &guards);
    assert_eq!(said.len(), GuardName::ALL.len() - 1);
    let vetoes: Vec<GuardName> = said.iter().filter(|(_, veto)| veto.is_some()).map(|(guard, _)| *guard).collect();
    assert_eq!(vetoes, [GuardName::Numbers, GuardName::Names]);
}

#[test]
fn a_difference_is_short_however_long_the_texts_are() {
    let long = |word: &str| format!("Is \"{}\" right?", word.repeat(5000));
    let veto = judge(&Features::of(&long("ab ")), &Features::of(&long("cd ")), &Guards::default());
    assert!(veto.is_some_and(|veto| veto.difference.chars().count() < 200));
}

/// Words that reach deep into the guards, mixed with anything at all.
fn prompts() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        3 => prop::sample::select(vec![
            "not", "from", "to", "Oslo", "oslo", "US", "us", "5", "5,000.1", "one", "hundred", "and", "half", "km", "$", "-",
            "2024-01-02", "v2.1", "mp3", "'", "\"", "```", "<a>", "</a>", "{", "}", ":", "\n", "today", "turn", "on", "off",
            "II", "résumé", "不", "三", "🙂", "\u{200b}", "+", "(", "C++", "U.S.", "a.b.com", "https://x.y/z", "@me", "°c",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "\\PC{0,6}",
    ];
    (prop::collection::vec(word, 0..14), prop::bool::ANY)
        .prop_map(|(words, spaced)| words.join(if spaced { " " } else { "" }))
}

proptest! {
    #[test]
    fn no_text_vetoes_itself(text in prompts()) {
        let features = Features::of(&text);
        let near = features.content.against(&features.content);
        for guard in GuardName::ALL {
            prop_assert_eq!(features.difference(&features, guard, &near), None);
        }
        prop_assert_eq!(judge(&features, &Features::of(&text), &Guards::default()), None);
    }

    #[test]
    fn the_order_of_a_pair_never_decides(a in prompts(), b in prompts()) {
        let (a, b) = (Features::of(&a), Features::of(&b));
        let (near, back) = (a.content.against(&b.content), b.content.against(&a.content));
        for guard in GuardName::ALL {
            prop_assert_eq!(a.difference(&b, guard, &near).is_some(), b.difference(&a, guard, &back).is_some(), "{}", guard.as_str());
        }
        let guard = |veto: Option<Veto>| veto.map(|veto| veto.guard);
        let guards = Guards::default();
        prop_assert_eq!(guard(judge(&a, &b, &guards)), guard(judge(&b, &a, &guards)));
    }

    #[test]
    fn every_text_can_be_asked_about_time(text in any::<String>()) {
        let _ = time_sensitive(&text);
    }
}
