//! Cases from the field: what semantic caches were reported to serve wrongly (family F04 of the collected reports), and
//! pairs that were found to pass these guards once.

use super::*;

fn vetoed(a: &str, b: &str) -> Option<Veto> {
    let one = judge(&Features::of(a), &Features::of(b), &Guards::default());
    let two = judge(&Features::of(b), &Features::of(a), &Guards::default());
    assert_eq!(one.is_some(), two.is_some(), "{a} / {b}");
    one
}

fn all_vetoed(pairs: &[(&str, &str)]) {
    let passed: Vec<_> = pairs.iter().filter(|(a, b)| vetoed(a, b).is_none()).collect();
    assert!(passed.is_empty(), "{passed:?}");
}

fn none_vetoed(pairs: &[(&str, &str)]) {
    let vetoed: Vec<_> = pairs.iter().filter_map(|(a, b)| vetoed(a, b)).collect();
    assert!(vetoed.is_empty(), "{vetoed:?}");
}

/// FC-014.
#[test]
fn opposite_questions() {
    all_vetoed(&[
        ("How do I enable guest access on the router?", "How do I disable guest access on the router?"),
        ("Is port 8443 open by default?", "Is port 8443 closed by default?"),
        ("Convert 90 miles to kilometres.", "Convert 90 kilometres to miles."),
        ("Which foods should a diabetic eat?", "Which foods should a diabetic not eat?"),
        ("How do I move files from S3 to local disk?", "How do I move files from local disk to S3?"),
        ("Did revenue increase in May?", "Did revenue decrease in May?"),
    ]);
    none_vetoed(&[(
        "How do I enable guest access on the router?",
        "What are the steps to turn on guest access on the router?",
    )]);
}

/// FC-015.
#[test]
fn one_changed_number() {
    all_vetoed(&[
        ("What is 17% of 240?", "What is 17% of 420?"),
        ("Summarise ticket 10432.", "Summarise ticket 10423."),
        ("Weather on 3 March", "Weather on 13 March"),
        ("Upgrade guide from v2.1 to v2.3", "Upgrade guide from v2.1 to v3.2"),
        ("Remind me in 5 minutes", "Remind me in 5 hours"),
        ("What is 1,000 USD in EUR?", "What is 1.000 USD in EUR?"),
    ]);
}

/// FC-017: texts that share nothing are told apart by the vectors. What the guards owe them is to see that.
#[test]
fn unrelated_prompts_have_nothing_in_common() {
    let prompts = ["Hello there", "Name three rivers in Peru.", "Explain binary search.", "ok"];
    for (i, a) in prompts.iter().enumerate() {
        for b in &prompts[i + 1..] {
            assert_eq!(Features::of(a).content.against(&Features::of(b).content).common(), 0, "{a} / {b}");
        }
    }
}

/// FC-018.
#[test]
fn one_instruction_and_other_payloads() {
    all_vetoed(&[
        ("Translate to Danish: The train leaves at nine.", "Translate to Danish: My brother sold his boat."),
        (
            "Summarise the text between the marks. <<<The council met on Tuesday.>>>",
            "Summarise the text between the marks. <<<The team lost the final.>>>",
        ),
        (
            "Translate to Danish: The train leaves at nine.",
            "Summarise the text between the marks. <<<The council met on Tuesday.>>>",
        ),
    ]);
}

/// FC-020.
#[test]
fn other_scripts() {
    all_vetoed(&[
        ("绿茶是什么？", "绿茶怎么冲泡？"),
        ("이 약은 언제 먹나요?", "이 약은 언제 먹으면 안 되나요?"),
        ("ما هي عاصمة بيرو؟", "ما هي عملة بيرو؟"),
        ("🙂", "🙃"),
        ("???", "!!!"),
    ]);
}

/// FC-021.
#[test]
fn case_and_white_space_that_carry_meaning() {
    all_vetoed(&[
        ("What does Sum(x) return?", "What does sum(x) return?"),
        ("Fix:\nif a:\n    b()\n    c()", "Fix:\nif a:\n    b()\nc()"),
        ("Polish this text.", "polish this text"),
        ("resume", "r\u{e9}sum\u{e9}"),
        ("a\u{200b}b", "ab"),
    ]);
    none_vetoed(&[("caf\u{e9} hours?", "cafe\u{301} hours?"), ("What is DNS? ", "What is DNS?")]);
}

#[test]
fn pairs_that_passed_once() {
    all_vetoed(&[
        ("How do I rent out a flat?", "How do I rent a flat?"),
        ("What does i++ do in C?", "What does ++i do in C?"),
        ("What is map in JavaScript?", "What is Map in JavaScript?"),
        ("How do I subtract a from b?", "How do I subtract b from a?"),
        ("Sort the words pear, apple, plum", "Sort the words pear, apple"),
        ("Translate to French - the dog is big", "Translate to French - the dog is large"),
        ("Translate the dog is big to French", "Translate the dog is large to French"),
    ]);
}
