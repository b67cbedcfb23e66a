//! The results as text for a terminal. Every rate comes with its counts and its exact 95 % interval.

use std::collections::BTreeMap;

use crate::eval::contest::Contest;
use crate::eval::conversations::{Conversations, Kind};
use crate::eval::curve::Point;
use crate::eval::guards::GuardRow;
use crate::eval::pairs::Judged;
use crate::eval::plot;
use crate::eval::policy::Policy;
use crate::eval::report::{RISKS, Report};
use crate::eval::stream::{Counts, Refused, Replay};
use crate::policy::rate::Rate;

/// The width of a rate's cell.
const CELL: usize = 33;

/// `620/762  81.4 % [78.4, 84.1]`; a dash for a rate of nothing.
pub fn rate(rate: Rate) -> String {
    let Some(value) = rate.value() else { return format!("{:>9}      -", "0/0") };
    let counts = format!("{}/{}", rate.count, rate.of);
    let interval = rate.interval();
    format!("{counts:>9} {:>6} % [{}, {}]", percent(value), percent(interval.low), percent(interval.high))
}

/// Percent without their sign, with one digit after the point, or two near the ends, where one would claim certainty.
fn percent(value: f64) -> String {
    let percent = value * 100.0;
    let at_an_end = percent > 0.0 && percent < 1.0 || percent > 99.0 && percent < 100.0;
    if at_an_end { format!("{percent:.2}") } else { format!("{percent:.1}") }
}

/// The head of a set: what is in it, and what the semantic tier would not look at.
pub fn set(name: &str, judged: &[Judged]) -> String {
    let positives = judged.iter().filter(|pair| pair.same).count();
    let mut bypasses = BTreeMap::new();
    for reason in judged.iter().filter_map(|pair| pair.bypass) {
        *bypasses.entry(reason.as_str()).or_insert(0) += 1;
    }
    let read = judged.iter().filter(|pair| pair.would.read).count();
    let read = if read > 0 { format!("; the verifier read {read}") } else { String::new() };
    let (pairs, others) = (judged.len(), judged.len() - positives);
    format!("{name}: {pairs} pairs, {positives} true, {others} other{}{read}\n", counted(&bypasses, "; bypassed"))
}

/// `; bypassed: time 4, too-long 1`, or nothing.
fn counted(counts: &BTreeMap<&'static str, u64>, title: &str) -> String {
    let parts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    if parts.is_empty() { String::new() } else { format!("{title}: {}", parts.join(", ")) }
}

/// A policy's table.
pub fn report(report: &Report) -> String {
    let auc = report.auc.map_or_else(|| "-".into(), |auc| format!("{auc:.4}"));
    let mut text = format!(
        "\n  {:<22}{:<CELL$}{:<CELL$}{}\n",
        format!("{}, AUC {auc}", report.policy.as_str()),
        "hits of true pairs",
        "hits of other pairs",
        "right hits of all hits"
    );
    for row in &report.rows {
        let mark = if *row == report.shipped { "shipped" } else { "" };
        text.push_str(&line(report.policy, mark, row));
    }
    for (risk, best) in RISKS.iter().zip(&report.best) {
        let title = format!("best at {} %", risk * 100.0);
        match best {
            Some(point) => text.push_str(&line(report.policy, &title, point)),
            None => text.push_str(&format!("  {title:<14}no other pairs, so nothing to be wrong about\n")),
        }
    }
    text
}

fn line(policy: Policy, title: &str, point: &Point) -> String {
    let threshold = point.threshold.map_or_else(|| "none".into(), |score| format!("{:.4}", policy.setting(score)));
    let line = format!(
        "  {title:<14}{threshold:<8}{:<CELL$}{:<CELL$}{}",
        rate(point.hit_rate),
        rate(point.false_hit_rate),
        rate(point.precision())
    );
    format!("{}\n", line.trim_end())
}

/// The guards' table; `near` is the cosine from which a pair would be a hit.
pub fn guards(rows: &[GuardRow], near: f64) -> String {
    let near = format!("those from {near}");
    let mut text = format!(
        "\n  {:<22}{:<CELL$}{:<CELL$}{:<CELL$}{:>16}  {near:>15}\n",
        "guard", "vetoes of true pairs", "vetoes of other pairs", "right vetoes of all", "true lost alone"
    );
    for row in rows {
        text.push_str(&format!(
            "  {:<22}{:<CELL$}{:<CELL$}{:<CELL$}{:>16}  {:>15}\n",
            row.guard.as_str(),
            rate(row.same),
            rate(row.others),
            rate(row.precision()),
            row.lost_alone,
            row.lost_near
        ));
    }
    text
}

/// A stream's table, and its first `listed` wrong hits.
pub fn replay(replay: &Replay, listed: usize) -> String {
    let total = replay.total();
    let mut text = format!(
        "{}: {} prompts, {} of them repeats; {} exact hits{}\n\n  {:<16}{:<CELL$}{:<CELL$}{}\n",
        replay.set,
        total.hits.of,
        total.found.of,
        replay.exact,
        counted(&replay.bypasses, "; bypassed"),
        "prompts",
        "hits of all",
        "wrong hits of all hits",
        "right hits of repeats"
    );
    for part in replay.slices() {
        text.push_str(&counts(&format!("{}-{}", part.from, part.to), part));
    }
    text.push_str(&counts("all", total));
    let mut by: BTreeMap<&'static str, u64> = BTreeMap::new();
    for label in replay.refused.iter().flat_map(|one| &one.by) {
        *by.entry(label).or_default() += 1;
    }
    if !by.is_empty() {
        let refused = replay.refused.len();
        text.push_str(&format!("\n  {refused} repeats that guards or a bypass refuse{}\n", counted(&by, "")));
    }
    for one in replay.refused.iter().take(listed) {
        text.push_str(&refused(one));
    }
    for wrong in replay.wrong.iter().take(listed) {
        text.push_str(&served(wrong.similarity.get().into(), &wrong.id, &wrong.asked, &wrong.stored));
    }
    text
}

/// A contest: hits of all requests where the shares `errors` of all requests got a wrong answer.
pub fn contest(contest: &Contest, errors: &[f64]) -> String {
    let mut text = format!(
        "{}: {} prompts, {} of them repeats; {} not covered by the embedder\n\n  {:<18}hits of all requests, where so \
         many of all requests are wrong\n  {:<18}",
        contest.set, contest.prompts, contest.repeats, contest.uncovered, "", "policy"
    );
    text.extend(errors.iter().map(|error| format!("{:>10}", plot::percent(*error))));
    for runs in &contest.runs {
        text.push_str(&format!("\n  {:<18}", runs.rival.as_str()));
        text.extend(errors.iter().map(|error| format!("{:>8} %", percent(runs.hits_at(*error)))));
    }
    text.push('\n');
    text
}

fn counts(title: &str, counts: Counts) -> String {
    let line = format!("  {title:<16}{:<CELL$}{:<CELL$}{}", rate(counts.hits), rate(counts.wrong), rate(counts.found));
    format!("{}\n", line.trim_end())
}

/// A hit that was wrong.
pub fn served(similarity: f64, id: &str, asked: &str, stored: &str) -> String {
    format!("\n  wrong hit {similarity:.4} ({id})\n    asked  {asked:?}\n    served {stored:?}\n")
}

/// A repeat that was refused.
fn refused(one: &Refused) -> String {
    let (by, (id, asked)) = (one.by.join(", "), (&one.id, &one.asked));
    let stored = one.stored.as_ref().map_or_else(String::new, |(id, text)| format!("    stored {text:?} ({id})\n"));
    format!("\n  refused by {by} ({id})\n    asked  {asked:?}\n{stored}")
}

/// The conversations' table, and their first `listed` false hits.
pub fn conversations(asked: &Conversations, listed: usize) -> String {
    let total = asked.total();
    let mut text = format!(
        "{}: {} pairs of conversations\n\n  {:<34}{:<CELL$}{}\n",
        asked.set,
        total.hits.of + total.false_hits.of,
        "kind",
        "hits of true pairs",
        "hits of other pairs"
    );
    for (name, kind) in &asked.kinds {
        text.push_str(&kind_line(name, kind));
    }
    text.push_str(&kind_line("all", &total));
    if !total.missed.is_empty() {
        text.push_str(&format!("\n  true pairs that were not hit{}\n", counted(&total.missed, "")));
    }
    for wrong in asked.wrong.iter().take(listed) {
        text.push_str(&served(wrong.similarity.into(), &wrong.id, &wrong.asked, &wrong.stored));
    }
    text
}

fn kind_line(name: &str, kind: &Kind) -> String {
    let line = format!("  {name:<34}{:<CELL$}{}", rate(kind.hits), rate(kind.false_hits));
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_never_shown_without_its_counts() {
        assert_eq!(rate(Rate::new(5, 10)).trim(), "5/10   50.0 % [18.7, 81.3]");
        assert_eq!(rate(Rate::new(1, 300)).trim(), "1/300   0.33 % [0.01, 1.8]");
        assert_eq!(rate(Rate::new(0, 300)).trim(), "0/300    0.0 % [0.0, 1.2]");
        assert_eq!(rate(Rate::new(0, 0)).trim(), "0/0      -", "nothing of nothing is not 0 %");
    }
}
