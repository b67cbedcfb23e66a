//! Examples, in both orders.

use super::*;

/// By words, and where they leave it open, by this cosine with 0.93 as that of equal texts.
fn agreement(a: &str, b: &str, cosine: f64) -> Agreement {
    let one = by_words(a, b).unwrap_or_else(|| by_cosine(a, b, cosine, 0.93));
    let other = by_words(b, a).unwrap_or_else(|| by_cosine(b, a, cosine, 0.93));
    assert_eq!(one, other, "{a:?} and {b:?}: the order matters");
    one
}

#[test]
fn equal_but_for_case_space_and_ends_is_the_same() {
    for (a, b) in [
        ("Click the link.", "  click the\nLINK"),
        ("**Paris**", "Paris."),
        ("\"Three years\"", "Three years!"),
        ("Ｐａｒｉｓ", "Paris"),
        ("点击“忘记密码”。", "点击“忘记密码”"),
        ("三年。", "三年！"),
        ("4", "4."),
        ("{\"a\": 1, \"b\": [2]}", "{\"b\":[2],\"a\":1}"),
    ] {
        assert_eq!(agreement(a, b, 0.0), Agreement::Same, "{a:?} and {b:?}");
    }
}

#[test]
fn a_plain_contradiction_of_short_answers_is_another() {
    for (a, b) in [
        ("4", "5"),
        ("The warranty lasts 2 years.", "The warranty lasts 3 years."),
        ("Yes, you can cancel at any time.", "No, cancelling is not possible."),
        ("Yes.", "No."),
        ("True", "False"),
        ("You can return it.", "You cannot return it."),
        ("The capital is Paris.", "The capital is Rome."),
        ("保修期为两年。", "保修期为三年。"),
        ("可以。", "不可以。"),
        ("是的，可以退货。", "不，退货期已过。"),
        ("这个功能可以关闭。", "这个功能不可以关闭。"),
    ] {
        assert_eq!(agreement(a, b, 0.95), Agreement::Other, "{a:?} and {b:?}");
    }
}

#[test]
fn what_is_not_clear_is_no_label() {
    let long = "The plan has many parts, and each of them is described here at some length. ".repeat(6);
    for (a, b, cosine) in [
        ("Yes.", "yes", 1.0),
        ("不是。", "不是", 1.0),
        ("...", "…", 1.0),
        ("", "", 1.0),
        ("Open the settings and choose Reset.", "Resetting is done from the settings page.", 0.7),
        ("Three years.", "36 months.", 0.2),
        ("+5", "5", 0.9),
        ("Use C++ for that part", "Use C for that part", 0.99),
        ("{\"a\": 1}", "{\"a\": 2}", 0.99),
        (&format!("{long}It costs 5 euros."), &format!("{long}It costs 6 euros."), 0.99),
        (&long.repeat(10), &format!("{} ", long.repeat(11)), 0.99),
        ("请打开设置并选择重置。", "可以在设置页面里重置。", 0.7),
    ] {
        let told = agreement(a, b, cosine);
        assert_ne!(told, Agreement::Same, "{a:?} and {b:?}");
        let contradicted = ["+5", "Use C++ for that part"].contains(&a);
        assert!(contradicted || told == Agreement::Unclear, "{a:?} and {b:?}: {told:?}");
    }
}

#[test]
fn vectors_tell_where_words_leave_it_open() {
    let (a, b) = ("Open the settings and choose reset there.", "Open the settings and choose reset over there.");
    for (cosine, told) in [
        (0.97, Agreement::Same),
        (0.93, Agreement::Same),
        (0.92, Agreement::Unclear),
        (0.3, Agreement::Unclear),
        (0.29, Agreement::Other),
    ] {
        assert_eq!(by_cosine(a, b, cosine, 0.93), told, "{cosine}");
    }
    assert_eq!(by_cosine("forty-two", b, 0.1, 0.93), Agreement::Unclear, "too short for its vector to say that");
}

#[test]
fn words_are_counted_in_scripts_with_and_without_spaces() {
    for (text, count) in [("", 0), ("two words", 2), ("don't", 2), ("点击链接", 4), ("点击 link 两次", 5), ("a, b", 2)]
    {
        assert_eq!(words(text), count, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic_and_none_contradicts_itself(a in "\\PC{0,60}", b in "\\PC{0,60}") {
        let _ = by_words(&a, &b);
        proptest::prop_assert_ne!(by_words(&a, &a), Some(Agreement::Other));
        proptest::prop_assert_eq!(by_words(&a, &b), by_words(&b, &a));
    }
}

#[test]
fn the_frame_of_an_answer_is_what_it_says_besides_its_prompt_and_its_numbers() {
    for (answer, prompt, left) in [
        ("Answer 1371.", "How do I cook rice?", "answer"),
        ("You asked: How do I cook rice?", "how do I  cook rice?", "you asked"),
        ("Request 3f2a-77b1 was taken at 12:30.", "Please", "request was taken at"),
        ("问题“怎么煮饭？”的答案是第17号。", "怎么煮饭？", "问题“ ?”的答案是第号"),
        ("Steam it.", "How do I cook rice?", "steam it"),
    ] {
        assert_eq!(frame(answer, prompt), left, "{answer}");
    }
    assert_eq!(frame("Pardon?", "?"), "pardon", "a prompt without words is nowhere in it");
    assert_eq!(frame("42", "What is six times seven?"), "42", "a number that is all of it is its words");
    assert_eq!(frame("How do I cook rice?", "How do I cook rice?"), "", "an echo says nothing");
}
