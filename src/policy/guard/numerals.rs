//! Number words of English and Chinese: "two hundred and fifty", 二百五十, 两千, 百分之五.

use super::quantity;
use super::text::{Kind, Token};

/// The value of the English number words that the tokens begin with, and how many tokens they are.
pub(super) fn english(tokens: &[Token]) -> Option<(u64, usize)> {
    let at = |i: usize| tokens.get(i);
    let mut total = 0u64;
    let mut group = quantity::small_word(&at(0)?.folded)?;
    let mut length = 1;
    let mut count = 1;
    loop {
        let joint = at(length).is_some_and(|t| t.is("-") && t.glued)
            || (count > 1 && at(length).is_some_and(|t| t.folded == "and"));
        let Some(next) = at(length + usize::from(joint)) else { break };
        match (quantity::small_word(&next.folded), quantity::multiplier(&next.folded)) {
            (Some(unit), _) if unit < 10 && group % 10 == 0 && group >= 20 => group += unit,
            (Some(small), _) if small < 100 && group >= 100 && group % 100 == 0 => group += small,
            (_, Some(2)) if group > 0 && group < 100 && !joint => group *= 100,
            (_, Some(zeros)) if zeros > 2 && !joint && next.folded.len() > 2 && next.kind == Kind::Word => {
                total = total.saturating_add(group.saturating_mul(10u64.saturating_pow(u32::try_from(zeros).ok()?)));
                group = 0;
                length += 1;
                count += 1;
                match at(length).and_then(|t| quantity::small_word(&t.folded)) {
                    Some(more) => group = more,
                    None => break,
                }
                length += 1;
                continue;
            }
            _ => break,
        }
        length += 1 + usize::from(joint);
        count += 1;
    }
    Some((total.saturating_add(group), length))
}

/// A Chinese number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numeral {
    pub value: String,
    /// Tokens that it takes.
    pub length: usize,
    /// 第三.
    pub place: bool,
    /// 百分之五.
    pub percent: bool,
}

/// The value of one Chinese digit.
pub(super) fn digit(token: &Token) -> Option<u64> {
    const DIGITS: [&str; 10] = ["零", "一", "二", "三", "四", "五", "六", "七", "八", "九"];
    let raw = token.folded.as_str();
    let place = DIGITS.iter().position(|digit| *digit == raw).and_then(|at| u64::try_from(at).ok());
    place.or(matches!(raw, "两").then_some(2))
}

fn power(token: &Token) -> Option<u64> {
    match token.folded.as_str() {
        "十" => Some(10),
        "百" => Some(100),
        "千" => Some(1000),
        _ => None,
    }
}

fn myriad(token: &Token) -> Option<u64> {
    match token.folded.as_str() {
        "万" => Some(10_000),
        "亿" => Some(100_000_000),
        _ => None,
    }
}

/// The Chinese number that the tokens begin with.
pub(super) fn chinese(tokens: &[Token]) -> Option<Numeral> {
    let first = tokens.first().filter(|token| token.kind == Kind::Han)?;
    let numeral = |value: String, length: usize| Numeral { value, length, place: false, percent: false };
    match first.folded.as_str() {
        "第" => {
            let inner = chinese(tokens.get(1..)?)?;
            return Some(Numeral { length: inner.length + 1, place: true, ..inner });
        }
        "百分之" => {
            let rest = tokens.get(1..)?;
            let literal = rest.first().filter(|t| t.kind == Kind::Number).map(|t| (quantity::canonical(&t.raw), 1));
            let (value, length) = literal.or_else(|| decimal(rest))?;
            return Some(Numeral { value, length: length + 1, place: false, percent: true });
        }
        "半" => {
            let measure = usize::from(tokens.get(1).is_some_and(|t| t.folded == "个"));
            tokens.get(1 + measure).and_then(|t| quantity::unit(&t.folded))?;
            return Some(numeral("0.5".to_owned(), 1));
        }
        _ => {}
    }
    // 千万不要: by all means.
    let warned =
        first.folded == "千" && tokens.get(2).is_some_and(|t| matches!(t.folded.as_str(), "不" | "别" | "要" | "勿"));
    if warned {
        return None;
    }
    let (value, length) = decimal(tokens)?;
    let of = tokens.get(length).is_some_and(|t| t.folded == "分之");
    let rest = tokens.get(length + 1..).unwrap_or_default();
    if of && let (Some((part, more)), Ok(parts)) = (whole(rest), value.parse()) {
        return Some(numeral(quantity::fraction(part, parts), length + 1 + more));
    }
    // 一个半小时.
    let half =
        tokens.get(length).filter(|t| t.folded == "个").and(tokens.get(length + 1)).is_some_and(|t| t.raw == "半");
    if half && !value.contains('.') {
        return Some(numeral(format!("{value}.5"), length + 2));
    }
    Some(numeral(value, length))
}

/// 三点五, 二零二四, 二百五十.
fn decimal(tokens: &[Token]) -> Option<(String, usize)> {
    let (value, length) = match spelt(tokens) {
        Some(spelt) => spelt,
        None => whole(tokens).map(|(value, length)| (value.to_string(), length))?,
    };
    let point = tokens.get(length).is_some_and(|t| t.folded == "点");
    let digits: Vec<u64> = tokens.iter().skip(length + 1).map_while(digit).collect();
    let minutes =
        tokens.get(length + 1 + digits.len()).is_some_and(|t| matches!(t.folded.as_str(), "分" | "十" | "半"));
    if point && !digits.is_empty() && !minutes {
        let fraction: String = digits.iter().map(u64::to_string).collect();
        return Some((format!("{value}.{fraction}"), length + 1 + digits.len()));
    }
    Some((value, length))
}

/// Digits one by one: 二零二四, 一一零.
fn spelt(tokens: &[Token]) -> Option<(String, usize)> {
    let digits: Vec<u64> = tokens.iter().map_while(digit).collect();
    let more = tokens.get(digits.len()).is_some_and(|t| power(t).or(myriad(t)).is_some());
    (digits.len() >= 2 && !more).then(|| (digits.iter().map(u64::to_string).collect(), digits.len()))
}

fn whole(tokens: &[Token]) -> Option<(u64, usize)> {
    let (mut total, mut group, mut last) = (0u64, 0u64, None);
    // What a digit at the end counts: the tens of 一百五, the thousands of 一万四.
    let mut place = 1;
    let mut length = 0;
    for token in tokens {
        if let Some(value) = digit(token) {
            if last.is_some_and(|value| value > 0) {
                break;
            }
            place = if value == 0 { 1 } else { place };
            last = Some(value);
        } else if let Some(power) = power(token) {
            group = group.saturating_add(last.take().unwrap_or(1).saturating_mul(power));
            place = if power > 10 { power / 10 } else { 1 };
        } else if let Some(myriad) = myriad(token).filter(|_| length > 0) {
            group = group.saturating_add(last.take().unwrap_or(0));
            // 一亿二千万 adds, 三万亿 multiplies.
            total = if group == 0 {
                total.saturating_mul(myriad)
            } else {
                total.saturating_add(group.saturating_mul(myriad))
            };
            (group, place) = (0, myriad / 10);
        } else {
            break;
        }
        length += 1;
    }
    let rest = last.unwrap_or(0).saturating_mul(place);
    (length > 0).then(|| (total.saturating_add(group).saturating_add(rest), length))
}

#[cfg(test)]
mod tests {
    use super::super::text::Text;
    use super::*;

    #[test]
    fn english_words_have_values() {
        for (text, value, length) in [
            ("two hundred and fifty sheep", 250, 4),
            ("twenty-five", 25, 3),
            ("three million two thousand", 3_002_000, 4),
            ("one", 1, 1),
            ("nineteen ninety", 19, 1),
        ] {
            assert_eq!(english(&Text::of(text).tokens), Some((value, length)), "{text}");
        }
        assert_eq!(english(&Text::of("sheep").tokens), None);
    }

    #[test]
    fn chinese_numerals_have_values() {
        for (text, value) in [
            ("二百五十", "250"),
            ("两千", "2000"),
            ("十二", "12"),
            ("一百零五", "105"),
            ("三万五千", "35000"),
            ("一亿二千万", "120000000"),
            ("一万四", "14000"),
            ("一百五", "150"),
            ("一百零五", "105"),
            ("二〇二四年", "2024"),
            ("三点五公里", "3.5"),
            ("五分之一", "0.2"),
            ("一个半小时", "1.5"),
            ("萬", "?"),
        ] {
            let value = (value != "?").then_some(value);
            assert_eq!(chinese(&Text::of(text).tokens).map(|n| n.value).as_deref(), value, "{text}");
        }
        assert!(chinese(&Text::of("第三").tokens).is_some_and(|n| n.place));
        assert!(chinese(&Text::of("百分之五").tokens).is_some_and(|n| n.percent));
    }
}
