//! What Chinese questions ask for beyond their question word.
//!
//! Where the words of a sentence are few and stand together without a space, one of them turns the question: 怎么做 (make
//! it) and 怎么用 (use it), 跌了吗 (has it fallen), 会跌吗 (will it) and 跌了怎么办 (what then), 什么好 (the best of them) and
//! 有什么 (what there is), 胆怯的怯 (a character) and 胆怯 (the word), 自己 (myself) and 别人 (somebody else).

use crate::policy::guard::fold::is_han;
use crate::policy::guard::nearness::Nearness;
use crate::policy::guard::text::Text;

/// Words after which the verb tells what is done with the thing.
const HOW: [&str; 5] = ["怎么", "如何", "怎样", "咋", "怎"];

/// What is done with it, by the word that stands for it: the longer words first.
const DEEDS: [(&str, &str); 30] = [
    ("取消", "取消"),
    ("使用", "用"),
    ("制作", "做"),
    ("修理", "修"),
    ("安装", "装"),
    ("用", "用"),
    ("做", "做"),
    ("吃", "吃"),
    ("喝", "喝"),
    ("画", "画"),
    ("写", "写"),
    ("读", "读"),
    ("念", "读"),
    ("玩", "玩"),
    ("养", "养"),
    ("种", "种"),
    ("选", "选"),
    ("挑", "选"),
    ("学", "学"),
    ("教", "教"),
    ("买", "买"),
    ("卖", "卖"),
    ("洗", "洗"),
    ("修", "修"),
    ("装", "装"),
    ("拆", "拆"),
    ("穿", "穿"),
    ("唱", "唱"),
    ("存", "存"),
    ("取", "取"),
];

/// Question words: with one of them, 吗 asks nothing of its own.
const QUESTION: [&str; 10] = ["什么", "啥", "哪", "谁", "怎", "如何", "为何", "多少", "多久", "几"];

/// Whom a text speaks of, by the word.
const PERSONS: [(&str, Person); 11] = [
    ("自己", Person::Oneself),
    ("本人", Person::Oneself),
    ("别人", Person::Others),
    ("人家", Person::Others),
    ("对方", Person::Others),
    ("我", Person::First),
    ("你", Person::Second),
    ("您", Person::Second),
    ("他", Person::Third),
    ("她", Person::Third),
    ("咱", Person::First),
];

/// Words that name nobody, and ways to ask that say who asks: 您好，怎么退款 and 我怎么退款 are one question.
const NOBODY: [&str; 27] = [
    "吉他",
    "其他",
    "自我",
    "我的世界",
    "你好",
    "您好",
    "你们好",
    "你知道",
    "您知道",
    "你能",
    "您能",
    "你可以",
    "您可以",
    "请你",
    "请您",
    "帮我",
    "给我",
    "教我",
    "告诉我",
    "我想",
    "我要",
    "我能",
    "我可以",
    "我该",
    "我应该",
    "我怎",
    "我如何",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Person {
    First,
    Second,
    Third,
    Oneself,
    Others,
}

impl Person {
    /// 自己 is whoever speaks or is spoken of.
    fn differs(self, other: Self) -> bool {
        let oneself = |one: Self, two: Self| one == Self::Oneself && two != Self::Others;
        self != other && !oneself(self, other) && !oneself(other, self)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tense {
    Done,
    Future,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lasts {
    /// 煮多久.
    InAll,
    /// 煮多久了.
    SoFar,
}

/// How a question about a kind of things ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// 什么牌子好.
    Best,
    /// 是什么牌子.
    ThatIs,
    /// 有什么牌子.
    ThereIs,
}

/// What one text asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Facets {
    /// 怯 in 胆怯的怯.
    character: Option<char>,
    deed: Option<&'static str>,
    tense: Option<Tense>,
    /// A question word that asks, where 吗 does not.
    open_question: bool,
    /// How long it takes, or how long it has been.
    lasts: Option<Lasts>,
    which: Option<Which>,
    /// Ends in 什么: nothing is said of the kind of thing.
    open: bool,
    person: Option<Person>,
}

impl Facets {
    pub(super) fn of(text: &Text) -> Self {
        let words = text.tokens.iter().filter(|token| token.wordlike());
        let spelt: String = words.map(|token| token.folded.as_str()).collect();
        if !spelt.chars().any(is_han) {
            return Self::default();
        }
        let bare = spelt.trim_end_matches(['呢', '啊', '呀', '吧', '哦', '的']);
        Self {
            character: character(&spelt.chars().collect::<Vec<_>>()),
            deed: deed(&spelt),
            tense: tense(bare),
            open_question: !bare.ends_with(['吗', '么']) && QUESTION.iter().any(|word| bare.contains(word)),
            lasts: lasts(bare),
            which: which(bare),
            open: bare.ends_with("什么") || bare.ends_with('啥'),
            person: person(&spelt),
        }
    }

    pub(super) fn difference(&self, other: &Self, near: &Nearness<'_>) -> Option<String> {
        let of_word = (self.character != other.character).then(|| "a character against its word".to_owned());
        if of_word.is_some() || !near.tight() {
            return of_word;
        }
        let deeds = self.deed.zip(other.deed).filter(|(ours, theirs)| ours != theirs);
        let deed = deeds.map(|(ours, theirs)| format!("{ours:?} against {theirs:?}"));
        let happened = || self.happened(other).or_else(|| other.happened(self));
        let times = || self.tenses(other).or_else(happened).or_else(|| self.durations(other));
        let plain = || times().or_else(|| self.kinds(other)).or_else(|| self.persons(other));
        deed.or_else(|| plain().map(str::to_owned))
    }

    fn tenses(&self, other: &Self) -> Option<&'static str> {
        (self.tense? != other.tense?).then_some("了 against 会")
    }

    /// 发烧了吗 against 发烧怎么办. It may have happened in both where only one asks.
    fn happened(&self, other: &Self) -> Option<&'static str> {
        (self.tense? == Tense::Done && other.open_question)
            .then_some("whether it has happened against what, how or when")
    }

    fn durations(&self, other: &Self) -> Option<&'static str> {
        (self.lasts? != other.lasts?).then_some("how long it has been against how long it takes")
    }

    fn persons(&self, other: &Self) -> Option<&'static str> {
        self.person?.differs(other.person?).then_some("another person is meant")
    }

    fn kinds(&self, other: &Self) -> Option<&'static str> {
        let (ours, theirs) = (self.which?, other.which?);
        let best = (ours == Which::Best) != (theirs == Which::Best);
        (best || ours != theirs && self.open && other.open).then_some("which are there, which is it, which is best")
    }
}

/// The character that is asked about within its word: `X的c` or `X中的c`, before what is asked of it.
fn character(spelt: &[char]) -> Option<char> {
    const ASKED: [&str; 8] = ["什么", "是什么", "啥", "是啥", "意思", "的意思", "是指", "怎么"];
    (2..spelt.len()).filter(|at| spelt[at - 1] == '的').find_map(|at| {
        let start = (0..at - 1).rev().take_while(|&before| is_han(spelt[before])).take(6).last()?;
        let word: Vec<char> = spelt[start..at - 1].iter().copied().filter(|c| !matches!(c, '中' | '里')).collect();
        let rest: String = spelt[at + 1..].iter().collect();
        let asked = ASKED.iter().any(|asked| rest.starts_with(asked));
        (word.len() > 1 && word.contains(&spelt[at]) && asked).then_some(spelt[at])
    })
}

/// What is done, when all the text's question words are followed by one deed.
fn deed(spelt: &str) -> Option<&'static str> {
    let after = |how: &'static str| spelt.match_indices(how).map(move |(at, how)| &spelt[at + how.len()..]);
    let deed = |rest: &str| DEEDS.iter().find(|(word, _)| rest.starts_with(word)).map(|(_, deed)| *deed);
    let mut deeds = HOW.into_iter().flat_map(after).filter_map(deed);
    let first = deeds.next()?;
    deeds.all(|deed| deed == first).then_some(first)
}

/// 跌了吗, 会跌吗; 要下雨了吗 is the future, too.
fn tense(bare: &str) -> Option<Tense> {
    if QUESTION.iter().any(|word| bare.contains(word)) {
        return None;
    }
    let asked = bare.strip_suffix(['吗', '么', '没']).or_else(|| bare.strip_suffix("没有"))?;
    match asked.strip_suffix('了') {
        Some(rest) if ["会", "要", "快", "能"].iter().any(|word| rest.contains(word)) => None,
        Some(_) => Some(Tense::Done),
        None => asked.contains('会').then_some(Tense::Future),
    }
}

/// 学多久, 学多久了; 学了多久 may be either.
fn lasts(bare: &str) -> Option<Lasts> {
    let asked = ["多久", "多长时间", "几天", "几年", "几个月"].iter().any(|word| bare.contains(word));
    match bare.matches('了').count() {
        0 if asked => Some(Lasts::InAll),
        1.. if asked && bare.ends_with('了') => Some(Lasts::SoFar),
        _ => None,
    }
}

fn which(bare: &str) -> Option<Which> {
    let has = |words: &[&str]| words.iter().any(|word| bare.contains(word));
    let good = bare.trim_end_matches(['用', '吃', '看', '喝', '玩', '听', '些']).ends_with('好');
    if good && has(&["什么", "哪"]) && !has(&["有什么", "有哪"]) {
        return Some(Which::Best);
    }
    let there = has(&["有什么", "有哪些", "有啥"]).then_some(Which::ThereIs);
    let that = || has(&["是什么", "是啥", "是哪"]).then_some(Which::ThatIs);
    there.or_else(that).filter(|_| !bare.contains('好'))
}

/// Whom the text speaks of, when it is one.
fn person(spelt: &str) -> Option<Person> {
    let plain = NOBODY.iter().fold(spelt.replace("他人", "别人"), |text, word| text.replace(word, ""));
    let mut persons = PERSONS.iter().filter(|(word, _)| plain.contains(word)).map(|(_, person)| *person);
    let first = persons.next()?;
    persons.all(|person| person == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(a: &str, b: &str) -> Option<String> {
        crate::policy::guard::differ(a, b, Facets::of, Facets::difference)
    }

    #[test]
    fn one_word_turns_the_question() {
        for (a, b) in [
            ("忐忑的忑是什么意思", "忐忑是什么意思？"),
            ("亡羊补牢中的牢什么意思", "亡羊补牢的意思是什么"),
            ("灯笼怎么做", "灯笼怎么用"),
            ("如何制作风筝", "风筝怎么卖"),
            ("怎么取钱", "怎么存钱"),
            ("油价涨了吗", "油价会涨吗"),
            ("宝宝发烧怎么办", "宝宝发烧了吗"),
            ("货什么时候发", "货发了没有"),
            ("鸡蛋煮多久", "鸡蛋煮多久了"),
            ("什么牌子的雨伞好", "有什么牌子的雨伞"),
            ("雨伞是什么牌子的", "雨伞什么牌子好用"),
            ("排比句是什么", "排比句有什么"),
            ("梦见自己搬家", "梦见别人搬家"),
            ("我的生日是哪天", "她的生日是哪天"),
            ("我叫什么名字", "你叫什么名字"),
        ] {
            assert!(difference(a, b).is_some(), "{a} / {b}");
            assert!(difference(b, a).is_some(), "{b} / {a}");
        }
    }

    #[test]
    fn the_same_question_passes() {
        for (a, b) in [
            ("忐忑的忑怎么读", "忐忑的忑怎么念"),
            ("灯笼怎么做", "如何制作灯笼"),
            ("灯笼怎么做", "灯笼的做法"),
            ("怎么使用计算器", "计算器怎样用"),
            ("要下雨了吗", "会下雨吗"),
            ("你学了多久", "你学多久了"),
            ("鸡蛋要煮多久", "煮鸡蛋要多长时间"),
            ("宝宝发烧了怎么办", "宝宝发烧怎么办"),
            ("什么牌子的雨伞好", "哪个牌子的雨伞好"),
            ("有什么好看的书", "什么书好看"),
            ("杭州有什么特产", "杭州的特产是什么"),
            ("怎么改自己的密码", "我的密码怎么改"),
            ("我们学校在哪", "我学校在哪"),
            ("吉他怎么买", "怎么买吉他"),
            ("您好，怎么退款", "我怎么退款"),
            ("你知道怎么退款吗", "我想退款怎么弄"),
            ("红色的红茶", "红茶"),
        ] {
            assert_eq!(difference(a, b), None, "{a} / {b}");
        }
    }
}
