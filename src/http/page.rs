//! `GET /`: a plain page for people. Those who may see the metrics see what became of requests, and which guards objected.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Html;
use http::{HeaderMap, Method, Uri};

use crate::embed;
use crate::http::state::App;

/// Answers `GET /`.
pub async fn page(State(app): State<App>, method: Method, uri: Uri, headers: HeaderMap) -> Html<String> {
    let state = match app.cache.embedder().state() {
        embed::State::Ready => "ready".to_owned(),
        embed::State::Loading => "loading".to_owned(),
        embed::State::Degraded(reason) => format!("exact-only: {reason}"),
    };
    let admitted = app.access.admit(&method, &headers, uri.host()).is_ok();
    let metrics = if admitted { app.metrics.render() } else { String::new() };
    let counts = |caption, name, labels: &[&str]| table(caption, &tally(&metrics, name, labels));
    Html(format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Refrain</title>\
         <style>body{{font:16px/1.5 sans-serif;max-width:40em;margin:3em auto;padding:0 1em}}\
         td{{padding:0 1em 0 0}}td:last-child{{text-align:right}}</style>\
         <h1>Refrain {version}</h1><p>Up for {up} s. Entries: {entries}. Embedder: {state}.</p>\
         {requests}{vetoes}\
         <p>See <code>/readyz</code>, <code>/metrics</code>, <code>/v1/caches</code>.</p></html>",
        version = env!("CARGO_PKG_VERSION"),
        up = app.started.elapsed().as_secs(),
        entries = app.cache.store().totals().caches.entries,
        state = escape(&state),
        requests =
            counts("Requests by outcome, tier and reason", "refrain_requests_total", &["outcome", "tier", "reason"]),
        vetoes = counts("Near prompts refused, by guard", "refrain_guard_vetoes_total", &["guard"]),
    ))
}

/// The counts of one metric in Prometheus' text format, by the values of some of its labels; other labels are summed over.
fn tally(metrics: &str, name: &str, labels: &[&str]) -> BTreeMap<Vec<String>, u64> {
    let mut counts = BTreeMap::new();
    let rows = metrics.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{')?.rsplit_once("} "));
    for (own, count) in rows {
        let value = |label: &&str| {
            let (_, rest) = own.split_once(&format!("{label}=\""))?;
            rest.split_once('"').map(|(value, _)| value.to_owned())
        };
        let key = labels.iter().map(|label| value(label).unwrap_or_default()).collect();
        *counts.entry(key).or_default() += count.parse::<u64>().unwrap_or(0);
    }
    counts
}

fn table(caption: &str, counts: &BTreeMap<Vec<String>, u64>) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let row = |(key, count): (&Vec<String>, &u64)| {
        let cells = escape(&key.join("\n")).replace('\n', "</td><td>");
        format!("<tr><td>{cells}</td><td>{count}</td></tr>")
    };
    let rows: Vec<String> = counts.iter().map(row).collect();
    format!("<h2>{caption}</h2><table>{}</table>", rows.concat())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_over_labels_that_are_not_asked_for() {
        let metrics = "# TYPE asked counter\n\
                       asked{cache=\"a\",outcome=\"miss\",reason=\"guard-numbers\"} 3\n\
                       asked{cache=\"b\",outcome=\"miss\",reason=\"guard-numbers\"} 4\n\
                       asked{cache=\"b\",outcome=\"hit\",reason=\"\"} 1\n\
                       asked_twice{outcome=\"hit\"} 9\n";
        let counts = tally(metrics, "asked", &["outcome", "reason"]);
        let row = |outcome: &str, reason: &str, count| (vec![outcome.to_owned(), reason.to_owned()], count);
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), [row("hit", "", 1), row("miss", "guard-numbers", 7)]);
    }

    #[test]
    fn a_table_escapes_what_it_shows() {
        let counts = BTreeMap::from([(vec!["<b>".to_owned()], 2)]);
        assert_eq!(table("x", &counts), "<h2>x</h2><table><tr><td>&lt;b&gt;</td><td>2</td></tr></table>");
        assert_eq!(table("x", &BTreeMap::new()), "");
    }
}
