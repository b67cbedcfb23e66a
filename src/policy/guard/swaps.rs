//! The property that the guards are for: a stored prompt with one number, unit, negation or name exchanged is another
//! prompt, whatever stands around it, and whether or not the guards have ever heard of the word.
//!
//! Its limits, for strange words: an English one is a single word (a hyphen makes two), a Chinese one is at most four
//! characters and no longer than what is said about it, and neither is a slip of the keyboard away from the other.

use std::collections::HashSet;

use super::*;

const NUMBERS: &str = include_str!("../../../data/swaps/numbers.txt");
const UNITS: &str = include_str!("../../../data/swaps/units.txt");
const NAMES: &str = include_str!("../../../data/swaps/names.txt");
const NEGATIONS: &str = include_str!("../../../data/swaps/negations.txt");

const NUMBER_CARRIERS: [&str; 10] = [
    "Which bus goes to gate {} of the harbour?",
    "What is {} times the price of a ticket?",
    "Summarise case {} for the board.",
    "How long does a battery of {} cells last?",
    "Why does the oven show {} on its panel?",
    "Write a poem of {} lines about rain.",
    "Is {} a good score for a beginner in darts?",
    "What should I pack for a trip with {} friends in the mountains when the forecast is bad?",
    "Explain the answer {} to a child.",
    "I have {} coins, how many rolls can I make of them?",
];

const UNIT_CARRIERS: [&str; 8] = [
    "Is a rope of 12 {} enough for the boat?",
    "How do I measure 3 {} without a scale?",
    "What does 40 {} cost in the old market?",
    "Will the barrel hold 250 {} of rain?",
    "How much is 7 {} for a family of four?",
    "Can the pump manage 15 {} at night?",
    "What is 90 {} in the units of the ship's log?",
    "Why did they ask for 6 {} before the race?",
];

const NAME_CARRIERS: [&str; 12] = [
    "What is the best guide to {} for beginners?",
    "How do I get a refund from {}?",
    "Is {} open to visitors in winter?",
    "Who founded {} and why?",
    "How does {} work under the hood?",
    "what can i use {} for at home",
    "Tell me about the history of {}.",
    "Does the warranty cover damage by {}?",
    "Give me three facts about {}.",
    "Why is my order from {} late again?",
    "Draft a short note to thank {} for the help with the move last spring.",
    "Compare the plans of {} with those of its rivals.",
];

const AUX_CARRIERS: [&str; 5] = [
    "Which plants {} be pruned in spring?",
    "Which guests {} park behind the barn?",
    "Tell me which files the script {} touch.",
    "What {} a tenant paint at the end of the lease?",
    "List the steps that a novice {} take alone.",
];

const WORD_CARRIERS: [&str; 6] = [
    "What is the fee for {} goods?",
    "How do I store {} parts?",
    "Is the {} version worth its price?",
    "Where do I send {} forms?",
    "Which shops sell {} drinks?",
    "Explain what {} means on a label.",
];

const NUMBER_CARRIERS_ZH: [&str; 4] =
    ["这张票{}块怎么报销", "请问第{}条规定是什么内容", "用{}个词写一首关于雨的诗", "温度到{}的时候该怎么办"];
const UNIT_CARRIERS_ZH: [&str; 3] = ["这条绳子有12{}够用吗", "怎么准确量出3{}", "运40{}货物要办什么手续"];
const NAME_CARRIERS_ZH: [&str; 6] = [
    "{}有什么好玩的地方",
    "怎么联系{}的客服",
    "请详细介绍一下{}的历史由来",
    "为什么{}最近这么受欢迎",
    "第一次接触{}要准备什么",
    "写一段关于{}的广告词",
];
const AUX_CARRIERS_ZH: [&str; 4] =
    ["这种药{}和酒一起吃吗", "孕妇{}喝浓茶吗", "租客{}在墙上打孔吗", "小区里{}养大型犬吗"];

/// The lines of one section of a list.
fn section(list: &'static str, name: &str) -> Vec<&'static str> {
    let head = format!("[{name}]");
    let lines = list.lines().skip_while(|line| *line != head).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.trim().is_empty()).collect()
}

fn passes(a: &Features, b: &Features) -> bool {
    judge(a, b, &Guards::default()).is_none() || judge(b, a, &Guards::default()).is_none()
}

/// Every two items of the list that pass for each other in a carrier.
fn passing(carriers: &[&str], items: &[&str]) -> Vec<String> {
    let mut passed = Vec::new();
    for carrier in carriers {
        let features: Vec<Features> = items.iter().map(|item| Features::of(&carrier.replace("{}", item))).collect();
        for (i, one) in features.iter().enumerate() {
            let others = features.iter().enumerate().skip(i + 1).filter(|(_, two)| passes(one, two));
            passed.extend(others.map(|(j, _)| format!("{carrier} : {} / {}", items[i], items[j])));
        }
    }
    passed
}

#[test]
fn an_exchanged_number_never_passes() {
    assert_eq!(passing(&NUMBER_CARRIERS, &section(NUMBERS, "en")), [""; 0]);
    assert_eq!(passing(&NUMBER_CARRIERS_ZH, &section(NUMBERS, "zh")), [""; 0]);
}

#[test]
fn an_exchanged_unit_never_passes() {
    assert_eq!(passing(&UNIT_CARRIERS, &section(UNITS, "en")), [""; 0]);
    assert_eq!(passing(&UNIT_CARRIERS_ZH, &section(UNITS, "zh")), [""; 0]);
}

#[test]
fn an_exchanged_name_never_passes() {
    assert_eq!(passing(&NAME_CARRIERS, &section(NAMES, "en")), [""; 0]);
    assert_eq!(passing(&NAME_CARRIERS_ZH, &section(NAMES, "zh")), [""; 0]);
}

#[test]
fn a_denial_never_passes_for_the_plain_form() {
    let sections: [(&str, &[&str]); 3] = [("aux", &AUX_CARRIERS), ("word", &WORD_CARRIERS), ("zh", &AUX_CARRIERS_ZH)];
    let mut passed = Vec::new();
    for (name, carriers) in sections {
        for (plain, denied) in section(NEGATIONS, name).iter().filter_map(|line| line.split_once(" | ")) {
            passed.extend(passing(carriers, &[plain, denied]));
        }
    }
    assert_eq!(passed, [""; 0]);
}

/// Every word of the guards' own lists, split at whatever is no letter.
fn known_words() -> HashSet<String> {
    let lists = [
        include_str!("lexicon/names.txt"),
        include_str!("lexicon/han_names.txt"),
        include_str!("lexicon/units.txt"),
        include_str!("lexicon/negators.txt"),
        include_str!("lexicon/polarity.txt"),
        include_str!("lexicon/synonyms.txt"),
        include_str!("lexicon/function_words.txt"),
        include_str!("lexicon/han_function.txt"),
        include_str!("lexicon/han_words.txt"),
        include_str!("lexicon/cased.txt"),
        include_str!("lexicon/moments.txt"),
    ];
    let words = lists.iter().flat_map(|list| list.split(|c: char| c.is_whitespace() || matches!(c, '=' | '|' | '_')));
    words.map(str::to_lowercase).collect()
}

/// A literal is known to no list; a number word is when the tables of numerals have all of it.
fn numeral(item: &str) -> bool {
    let tokens = text::Text::of(item).tokens;
    let spelt = numerals::english(&tokens).is_some() || numerals::chinese(&tokens).is_some();
    spelt || item.starts_with("百分之")
}

#[test]
fn a_third_of_every_list_is_strange_to_the_guards() {
    let known = known_words();
    let strange = |item: &str| !known.contains(&item.to_lowercase());
    for (list, sections) in [(UNITS, ["en", "zh"]), (NAMES, ["en", "zh"])] {
        for name in sections {
            let items = section(list, name);
            let count = items.iter().filter(|item| strange(item)).count();
            assert!(count * 3 >= items.len(), "{name}: {count} of {}", items.len());
        }
    }
    for name in ["en", "zh"] {
        let items = section(NUMBERS, name);
        let count = items.iter().filter(|item| !numeral(item)).count();
        assert!(count * 3 >= items.len(), "{name}: {count} of {}", items.len());
    }
    let denials: Vec<&str> = ["aux", "word", "zh"].into_iter().flat_map(|name| section(NEGATIONS, name)).collect();
    let denied = |line: &&&str| line.split_once(" | ").is_some_and(|(_, denied)| denied.split(' ').all(strange));
    let count = denials.iter().filter(denied).count();
    assert!(count * 3 >= denials.len(), "{count} of {}", denials.len());
}

#[test]
fn there_are_carriers_enough() {
    let english =
        NUMBER_CARRIERS.len() + UNIT_CARRIERS.len() + NAME_CARRIERS.len() + AUX_CARRIERS.len() + WORD_CARRIERS.len();
    let chinese = NUMBER_CARRIERS_ZH.len() + UNIT_CARRIERS_ZH.len() + NAME_CARRIERS_ZH.len() + AUX_CARRIERS_ZH.len();
    assert!(english >= 30 && chinese >= 10, "{english} and {chinese}");
}
