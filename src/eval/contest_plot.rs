//! A contest as an SVG: for each stream the hits against the error, and the hits over time at one error.

use crate::eval::contest::{Contest, Runs, Trial};
use crate::eval::plot::{STYLE, escaped, percent};
use crate::eval::rival::Rival;

/// One panel with its margins, in pixels.
const PANEL: (f64, f64) = (440.0, 318.0);
/// Above all panels: title and legend.
const HEAD: f64 = 104.0;
/// Around everything.
const MARGIN: f64 = 20.0;
/// The largest error that is drawn, as a share of all requests.
const WORST: f64 = 0.04;
/// Points of a line over time.
const POINTS: usize = 80;

/// The drawing of all contests; the lines over time are at `error`.
pub fn svg(contests: &[Contest], error: f64) -> String {
    let (width, height) = (2.0 * (MARGIN + PANEL.0), MARGIN + HEAD + PANEL.1 * contests.len() as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>Hits of policies that learn</title>\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"32\">Hits of policies that learn</text>\n"
    );
    out.push_str(&legend());
    for (row, contest) in contests.iter().enumerate() {
        let (top, most) = (HEAD + PANEL.1 * row as f64, most(contest));
        let against = Frame::new(MARGIN, top, (WORST, most), "wrong answers, of all requests");
        out.push_str(&against.axes(&contest.set, percent));
        out.extend(contest.runs.iter().map(|runs| against.line(runs.rival, &by_error(runs))));
        let prompts = contest.prompts as f64;
        let over_time = Frame::new(MARGIN + PANEL.0, top, (prompts.max(1.0), most), "prompts");
        let name = format!("{}, at most {} wrong", contest.set, percent(error));
        out.push_str(&over_time.axes(&name, |at| format!("{at:.0}")));
        let lines = contest.runs.iter().filter_map(|runs| Some((runs.rival, by_time(runs.within(error)?))));
        out.extend(lines.map(|(rival, points)| over_time.line(rival, &points)));
    }
    out.push_str("</svg>\n");
    out
}

fn legend() -> String {
    let entry = |(place, rival): (usize, Rival)| {
        let (x, y) = (MARGIN + 160.0 * (place / 2) as f64, if place % 2 == 0 { 56.0 } else { 78.0 });
        format!(
            "<line x1=\"{x}\" x2=\"{}\" y1=\"{y}\" y2=\"{y}\" {}/><text x=\"{}\" y=\"{}\">{}</text>\n",
            x + 30.0,
            stroke(rival),
            x + 36.0,
            y + 4.0,
            rival.as_str()
        )
    };
    Rival::ALL.into_iter().enumerate().map(entry).collect()
}

/// Told apart by people who do not see all colours (Okabe and Ito).
fn stroke(rival: Rival) -> String {
    let (colour, dashes) = match rival {
        Rival::Static => ("#7a828c", ""),
        Rival::Guarded => ("#7a828c", "4 3"),
        Rival::VCache => ("#0072b2", ""),
        Rival::VCacheSix => ("#0072b2", "4 3"),
        Rival::VerifiedUntold => ("#009e73", "4 3"),
        Rival::Verified => ("#009e73", ""),
        Rival::LearnedUntold => ("#d55e00", "4 3"),
        Rival::Learned => ("#d55e00", ""),
    };
    format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dashes}\"")
}

/// The top of the scale: the hits that a perfect cache would have, or more where somebody has more.
fn most(contest: &Contest) -> f64 {
    let perfect = contest.repeats as f64 / contest.prompts.max(1) as f64;
    contest.runs.iter().map(|runs| runs.hits_at(WORST)).fold(perfect, f64::max).max(0.01)
}

fn by_error(runs: &Runs) -> Vec<(f64, f64)> {
    let steps = |step: u32| WORST * f64::from(step) / 80.0;
    (0..=80).map(|step| (steps(step), runs.hits_at(steps(step)))).collect()
}

/// Hits of all prompts so far.
fn by_time(trial: &Trial) -> Vec<(f64, f64)> {
    let every = trial.course.len().div_ceil(POINTS).max(1);
    let so_far = trial.course.iter().scan(0_usize, |hits, one| {
        *hits += usize::from(one.is_some());
        Some(*hits)
    });
    let shares = so_far.enumerate().map(|(at, hits)| ((at + 1) as f64, hits as f64 / (at + 1) as f64));
    shares.skip(every - 1).step_by(every).collect()
}

/// Where a panel's axes are, and how far they reach.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    reach: (f64, f64),
    below: &'static str,
}

impl Frame {
    fn new(left: f64, top: f64, reach: (f64, f64), below: &'static str) -> Self {
        let (left, right) = (left + 54.0, left + PANEL.0 - 18.0);
        Self { left, right, top: top + 34.0, bottom: top + PANEL.1 - 54.0, reach, below }
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let across = (x / self.reach.0).clamp(0.0, 1.0);
        let up = (y / self.reach.1).clamp(0.0, 1.0);
        (self.left + (self.right - self.left) * across, self.bottom - (self.bottom - self.top) * up)
    }

    fn axes(&self, title: &str, name: impl Fn(f64) -> String) -> String {
        let Self { left, right, top, bottom, .. } = *self;
        let mut out =
            format!("<text class=\"set\" x=\"{left:.1}\" y=\"{:.1}\">{}</text>\n", top - 10.0, escaped(title));
        for step in 0..=4 {
            let share = f64::from(step) / 4.0;
            let (x, y) = self.at((self.reach.0 * share, self.reach.1 * share));
            out.push_str(&format!(
                "<line class=\"grid\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top:.1}\" y2=\"{bottom:.1}\"/>\
                 <text class=\"small\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
                 <text class=\"small\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
                left - 7.0,
                y + 4.0,
                percent((self.reach.1 * share * 1e3).round() / 1e3),
                bottom + 17.0,
                name(self.reach.0 * share)
            ));
        }
        let middle = (f64::midpoint(left, right), f64::midpoint(top, bottom));
        out + &format!(
            "<rect class=\"frame\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\
             <text class=\"small\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text class=\"small\" transform=\"translate({:.1} {:.1}) rotate(-90)\" text-anchor=\"middle\">\
             hits, of all requests</text>\n",
            right - left,
            bottom - top,
            middle.0,
            bottom + 35.0,
            self.below,
            left - 44.0,
            middle.1
        )
    }

    fn line(&self, rival: Rival, points: &[(f64, f64)]) -> String {
        let path: Vec<String> =
            points.iter().map(|point| self.at(*point)).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        if path.is_empty() {
            return String::new();
        }
        let (name, stroke) = (rival.as_str(), stroke(rival));
        format!("<path fill=\"none\" {stroke} d=\"M{}\"><title>{name}</title></path>\n", path.join("L"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_over_time_ends_at_the_whole() {
        let course: Vec<Option<bool>> = (0..200).map(|at| (at % 4 == 0).then_some(true)).collect();
        let points = by_time(&Trial { knob: 0.0, course, hits: 0.25, wrong: 0.0 });
        assert!(points.len() <= POINTS);
        let last = points.last().copied().unwrap();
        assert!(last.0 > 190.0 && (last.1 - 0.25).abs() < 0.01, "{last:?}");
    }

    #[test]
    fn a_frame_holds_everything() {
        let frame = Frame::new(0.0, 0.0, (0.04, 0.5), "x");
        for point in [(0.0, 0.0), (0.04, 0.5), (9.0, 9.0)] {
            let (x, y) = frame.at(point);
            assert!((frame.left..=frame.right).contains(&x) && (frame.top..=frame.bottom).contains(&y));
        }
    }
}
