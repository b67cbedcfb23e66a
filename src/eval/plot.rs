//! Coverage against risk as an SVG: one panel a set, one line a policy.
//!
//! The horizontal axis is logarithmic, since 0.1 % and 1 % of wrong answers are different worlds; what has no false hit
//! at all stands in a strip of its own at the left, as 0 has no logarithm.

use crate::eval::curve::Point;
use crate::eval::policy::Policy;
use crate::eval::report::Report;

/// The false-hit rate that is drawn as the aim.
const AIM: f64 = 0.01;
/// One panel with its margins, in pixels.
const PANEL: (f64, f64) = (386.0, 318.0);
/// Panels side by side.
const COLUMNS: usize = 3;
/// Above all panels: title and legend.
const HEAD: f64 = 84.0;
/// Around everything.
const MARGIN: f64 = 20.0;
/// The strip for a rate of 0.
const ZERO_STRIP: f64 = 42.0;
/// What the legend needs.
const LEAST_WIDTH: f64 = 660.0;

/// How all drawings look.
pub(super) const STYLE: &str = "\
text{font-family:'Helvetica Neue',Helvetica,Arial,'Liberation Sans',sans-serif;font-size:13px;fill:#24292f}\
.title{font-size:19px;font-weight:600}.set{font-size:15px;font-weight:600}.small{font-size:12px;fill:#57606a}\
.grid{stroke:#e3e7ec;stroke-width:1}.frame{fill:none;stroke:#8c959f;stroke-width:1}\
.aim{stroke:#b35900;stroke-width:1.5;stroke-dasharray:5 4}.aimed{font-size:12px;fill:#b35900}\
.line{fill:none;stroke-width:2.4;stroke-linejoin:round}.shipped{stroke:#fff;stroke-width:2}";

/// The plot of all reports.
pub fn svg(reports: &[Report]) -> String {
    let mut sets: Vec<&str> = reports.iter().map(|report| report.set.as_str()).collect();
    sets.dedup();
    // Four stand better two by two.
    let columns = if sets.len() == 4 { 2 } else { sets.len().clamp(1, COLUMNS) };
    let rows = sets.len().div_ceil(columns);
    let (width, height) =
        ((2.0 * MARGIN + PANEL.0 * columns as f64).max(LEAST_WIDTH), MARGIN + HEAD + PANEL.1 * rows as f64);
    let lowest = lowest_decade(reports);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\">\n<title>Hits against false hits</title>\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    out.push_str(&legend(reports));
    for (index, set) in sets.iter().enumerate() {
        let left = MARGIN + PANEL.0 * (index % columns) as f64;
        let top = HEAD + PANEL.1 * (index / columns) as f64;
        let of_set: Vec<&Report> = reports.iter().filter(|report| report.set == *set).collect();
        out.push_str(&panel(&Frame::new(left, top, lowest), set, &of_set));
    }
    out.push_str("</svg>\n");
    out
}

/// The decade below the smallest rate that any set can show, at most 0.1 %.
fn lowest_decade(reports: &[Report]) -> i32 {
    let most = reports.iter().map(|report| report.pairs - report.positives).max().unwrap_or(0).max(1);
    #[allow(clippy::cast_possible_truncation)]
    let decade = (-(most as f64).log10()).floor() as i32;
    decade.clamp(-5, -3)
}

fn colour(policy: Policy) -> &'static str {
    // Told apart by people who do not see all colours (Okabe and Ito), and by their order in the legend.
    match policy {
        Policy::Cosine => "#7a828c",
        Policy::Guarded => "#0072b2",
        Policy::Verified => "#d55e00",
    }
}

fn legend(reports: &[Report]) -> String {
    let mut out = format!("<text class=\"title\" x=\"{MARGIN}\" y=\"32\">Hits against false hits</text>\n");
    let mut x = MARGIN;
    for policy in Policy::ALL.into_iter().filter(|policy| reports.iter().any(|report| report.policy == *policy)) {
        let (colour, name) = (colour(policy), policy.as_str());
        out.push_str(&format!(
            "<line x1=\"{x}\" x2=\"{}\" y1=\"56\" y2=\"56\" stroke=\"{colour}\" stroke-width=\"2.4\"/>\
             <text x=\"{}\" y=\"60\">{name}</text>\n",
            x + 26.0,
            x + 33.0
        ));
        x += 112.0;
    }
    out.push_str(&format!(
        "<circle cx=\"{}\" cy=\"56\" r=\"5.5\" fill=\"#24292f\"/><text x=\"{}\" y=\"60\">shipped threshold</text>\n",
        x + 8.0,
        x + 20.0
    ));
    x += 154.0;
    out.push_str(&format!(
        "<line class=\"aim\" x1=\"{x}\" x2=\"{}\" y1=\"56\" y2=\"56\"/><text x=\"{}\" y=\"60\">aim: {}</text>\n",
        x + 26.0,
        x + 33.0,
        percent(AIM)
    ));
    out
}

/// Where a panel's axes are.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    lowest: i32,
}

impl Frame {
    fn new(left: f64, top: f64, lowest: i32) -> Self {
        let (left, right) = (left + 54.0, left + PANEL.0 - 18.0);
        Self { left, right, top: top + 34.0, bottom: top + PANEL.1 - 54.0, lowest }
    }

    /// A false-hit rate, 0 to 1.
    fn x(&self, rate: f64) -> f64 {
        let (first, decades) = (self.left + ZERO_STRIP, f64::from(-self.lowest));
        if rate <= 0.0 {
            return self.left + ZERO_STRIP / 4.0;
        }
        first + (self.right - first) * ((rate.log10() - f64::from(self.lowest)) / decades).max(0.0)
    }

    /// A hit rate, 0 to 1.
    fn y(&self, rate: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * rate
    }

    fn at(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.x(point.false_hit_rate.value()?), self.y(point.hit_rate.value()?)))
    }
}

fn panel(frame: &Frame, set: &str, reports: &[&Report]) -> String {
    let mut out = axes(frame);
    let (pairs, positives) = reports.first().map_or((0, 0), |report| (report.pairs, report.positives));
    out.push_str(&format!(
        "<text class=\"set\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
         <text class=\"small\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{positives} true, {} other</text>\n",
        frame.left,
        frame.top - 10.0,
        escaped(set),
        frame.right,
        frame.top - 10.0,
        pairs - positives
    ));
    if positives == 0 || positives == pairs {
        let middle = (f64::midpoint(frame.left, frame.right), f64::midpoint(frame.top, frame.bottom));
        out.push_str(&format!(
            "<text class=\"small\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">one kind of pair only</text>\n",
            middle.0, middle.1
        ));
        return out;
    }
    out.extend(reports.iter().map(|report| line(frame, report)));
    out.extend(reports.iter().filter_map(|report| shipped(frame, report)));
    out
}

fn axes(frame: &Frame) -> String {
    let Frame { left, right, top, bottom, lowest } = *frame;
    let mut out = String::new();
    for rate in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let y = frame.y(rate);
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"small\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            left - 7.0,
            y + 4.0,
            percent(rate)
        ));
    }
    for rate in (lowest..=0).map(|decade| 10_f64.powi(decade)).chain([0.0]) {
        let x = frame.x(rate);
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top:.1}\" y2=\"{bottom:.1}\"/>\
             <text class=\"small\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            bottom + 17.0,
            percent(rate)
        ));
    }
    out + &border(frame)
}

/// The aim, the strip of the rate 0, the border and the axes' names.
fn border(frame: &Frame) -> String {
    let Frame { left, right, top, bottom, .. } = *frame;
    let (aim, split) = (frame.x(AIM), left + ZERO_STRIP / 2.0);
    let (width, height) = (right - left, bottom - top);
    let (centre, middle) = (f64::midpoint(left, right), f64::midpoint(top, bottom));
    format!(
        "<line class=\"aim\" x1=\"{aim:.1}\" x2=\"{aim:.1}\" y1=\"{top:.1}\" y2=\"{bottom:.1}\"/>\
         <rect class=\"frame\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\
         <line class=\"frame\" stroke-dasharray=\"2 3\" x1=\"{split:.1}\" x2=\"{split:.1}\" y1=\"{top:.1}\" y2=\"{bottom:.1}\"/>\
         <text class=\"small\" x=\"{centre:.1}\" y=\"{:.1}\" text-anchor=\"middle\">false-hit rate of other pairs</text>\
         <text class=\"small\" transform=\"translate({:.1} {middle:.1}) rotate(-90)\" text-anchor=\"middle\">hit rate of true pairs</text>\n",
        bottom + 35.0,
        left - 44.0
    )
}

/// A staircase: until a false hit more is risked, no hit more is won.
fn line(frame: &Frame, report: &Report) -> String {
    let mut path = String::new();
    let mut last = None;
    for at in report.curve.iter().filter_map(|point| frame.at(point)) {
        let at = ((at.0 * 10.0).round() / 10.0, (at.1 * 10.0).round() / 10.0);
        if last.is_none() {
            path.push_str(&format!("M{:.1} {:.1}V{:.1}", at.0, frame.y(0.0), at.1));
        } else if last != Some(at) {
            path.push_str(&format!("H{:.1}V{:.1}", at.0, at.1));
        }
        last = Some(at);
    }
    let name = report.policy.as_str();
    format!("<path class=\"line\" stroke=\"{}\" d=\"{path}\"><title>{name}</title></path>\n", colour(report.policy))
}

fn shipped(frame: &Frame, report: &Report) -> Option<String> {
    let point = &report.shipped;
    let (x, y) = frame.at(point)?;
    Some(format!(
        "<circle class=\"shipped\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6.5\" fill=\"{}\"><title>{}, {} {}: hits {}/{}, \
         false hits {}/{}</title></circle>\n",
        colour(report.policy),
        report.policy.as_str(),
        report.policy.setting_name(),
        report.policy.setting(point.threshold.unwrap_or(1.0)),
        point.hit_rate.count,
        point.hit_rate.of,
        point.false_hit_rate.count,
        point.false_hit_rate.of
    ))
}

/// A rate for an axis: `0`, `0.1 %`, `25 %`.
pub(super) fn percent(rate: f64) -> String {
    let percent = (rate * 1e6).round() / 1e4;
    if percent == 0.0 { "0".into() } else { format!("{percent} %") }
}

/// A text within an element.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_labelled_in_percent() {
        let labels: Vec<String> = [0.0, 0.0001, 0.001, 0.01, 0.25, 1.0].into_iter().map(percent).collect();
        assert_eq!(labels, ["0", "0.01 %", "0.1 %", "1 %", "25 %", "100 %"]);
    }

    #[test]
    fn every_rate_has_a_place_within_its_panel() {
        let frame = Frame::new(0.0, 0.0, -3);
        let places: Vec<f64> = [0.0, 1e-9, 0.001, 0.01, 0.5, 1.0].into_iter().map(|rate| frame.x(rate)).collect();
        assert!(places.is_sorted() && places[0] > frame.left && places[5] <= frame.right, "{places:?}");
    }

    #[test]
    fn names_cannot_break_the_drawing() {
        assert_eq!(escaped("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
    }
}
