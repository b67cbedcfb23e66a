//! Every metric, by name: this file is the whole list of names and labels.
//!
//! Prometheus naming. Tokens follow OpenTelemetry's GenAI conventions (`gen_ai.client.token.usage`, with its
//! `input` and `output` token types), time to first byte stands for `gen_ai.server.time_to_first_token`.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use metrics::{Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::types::CacheId;

/// Renders what has been counted.
#[derive(Clone)]
pub struct Handle(Option<PrometheusHandle>);

impl Handle {
    /// Prometheus' text format, version 0.0.4. Empty when another recorder was installed before.
    pub fn render(&self) -> String {
        self.0.as_ref().map(PrometheusHandle::render).unwrap_or_default()
    }

    /// Lets histograms forget old samples; to be called now and then.
    pub fn upkeep(&self) {
        if let Some(handle) = &self.0 {
            handle.run_upkeep();
        }
    }
}

/// Seconds: from half a millisecond for an exact hit to two minutes for a long completion.
const BUCKETS: [f64; 16] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 120.0];

/// Installs the recorder, once for the process; later calls give the same handle.
pub fn install() -> Handle {
    static HANDLE: OnceLock<Handle> = OnceLock::new();
    HANDLE
        .get_or_init(|| {
            let builder = PrometheusBuilder::new();
            let builder = builder.set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &BUCKETS);
            let handle = builder.ok().and_then(|builder| builder.install_recorder().ok());
            describe();
            Handle(handle)
        })
        .clone()
}

fn describe() {
    describe_counter!("refrain_requests_total", "Requests by cache, route, outcome, tier and reason");
    describe_histogram!("refrain_request_duration_seconds", "Time from a request to the end of its answer, by outcome");
    describe_counter!("refrain_upstream_requests_total", "Calls to providers, by upstream and status");
    describe_histogram!("refrain_upstream_first_byte_seconds", "Time to a provider's first byte");
    describe_counter!(
        "refrain_provider_tokens_total",
        "Tokens of calls to providers, by type and source: reported by the provider, or estimated where it said nothing"
    );
    describe_counter!("refrain_served_tokens_total", "Tokens answered from the cache, by type: no provider was paid");
    describe_counter!("refrain_collapsed_requests_total", "Requests that shared another one's upstream call");
    describe_counter!("refrain_not_stored_total", "Answers that were not kept, by reason");
    describe_counter!(
        "refrain_time_sensitive_total",
        "Prompts whose right answer moves with time and that no entry answered, by what the policy makes of them"
    );
    describe_counter!("refrain_feedback_total", "What callers said of answers from the cache, by verdict");
    describe_counter!(
        "refrain_shadow_requests_total",
        "Requests in shadow mode, by what refrain_requests_total would have counted them under in mode on"
    );
    describe_counter!(
        "refrain_shadow_comparisons_total",
        "Stored answers that shadow mode compared with fresh ones, by result: right and wrong are labels"
    );
    describe_counter!(
        "refrain_lessons_total",
        "Answers that a cache which learns compared with the one to the nearest earlier prompt, by result"
    );
    describe_counter!("refrain_guard_vetoes_total", "Near candidates that a guard refused, by guard");
    describe_counter!("refrain_verifier_reads_total", "Candidates that the verifier's reader read");
    describe_counter!(
        "refrain_verifier_failures_total",
        "Candidates that it could not read, by reason: slow, busy, down"
    );
    describe_gauge!("refrain_verifier_ready", "1 while the verifier works; else a stricter cosine stands in for it");
    describe_gauge!("refrain_entries", "Stored entries, by cache");
    describe_gauge!("refrain_store_bytes", "Stored bytes, by cache");
    describe_counter!("refrain_evictions_total", "Entries evicted for space since the start, by cache");
    describe_counter!("refrain_expirations_total", "Entries swept out after their ttl since the start, by cache");
    describe_counter!(
        "refrain_index_searches_total",
        "Searches for the nearest entries, by kind: scan, graph, or a scan that a graph made necessary (fallback)"
    );
    describe_counter!("refrain_store_failed_commits_total", "Commits that failed: nothing of them was kept");
    describe_counter!("refrain_store_damaged_entries_total", "Entries that could not be read back, and were dropped");
    describe_gauge!("refrain_embedder_ready", "1 while the embedder works, else 0");
    describe_counter!("refrain_task_panics_total", "Panics caught, by task");
}

/// What a request is counted under.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// The cache that was asked; `None` when it did not come to that.
    pub cache: Option<CacheId>,
    /// The endpoint.
    pub route: &'static str,
    /// `hit`, `stale`, `miss`, `bypass`.
    pub outcome: &'static str,
    /// `exact`, `semantic` or empty.
    pub tier: &'static str,
    /// The reason's label.
    pub reason: &'static str,
}

impl Request {
    fn labels(&self) -> [(&'static str, String); 5] {
        let cache = self.cache.as_ref().map_or("", CacheId::as_str);
        [
            ("cache", cache),
            ("route", self.route),
            ("outcome", self.outcome),
            ("tier", self.tier),
            ("reason", self.reason),
        ]
        .map(|(name, value)| (name, value.to_owned()))
    }
}

/// What a request moves.
struct Counts {
    requests: Counter,
    duration: Histogram,
}

impl Counts {
    fn of(request: &Request) -> Self {
        let cache = request.cache.as_ref().map_or("", CacheId::as_str).to_owned();
        let Request { route, outcome, tier, reason, .. } = *request;
        install();
        Self {
            requests: counter!(
                "refrain_requests_total",
                "cache" => cache, "route" => route, "outcome" => outcome, "tier" => tier, "reason" => reason
            ),
            duration: histogram!("refrain_request_duration_seconds", "outcome" => outcome),
        }
    }

    fn add(&self, took: Duration) {
        self.requests.increment(1);
        self.duration.record(took.as_secs_f64());
    }
}

/// A request's answer has ended.
pub fn request(request: Request, took: Duration) {
    // The recorder finds a metric by all its labels, text by text: too slow to do for every hit.
    static KNOWN: LazyLock<RwLock<HashMap<Request, Counts>>> = LazyLock::new(RwLock::default);
    if let Some(counts) = KNOWN.read().unwrap_or_else(PoisonError::into_inner).get(&request) {
        counts.add(took);
        return;
    }
    let counts = Counts::of(&request);
    counts.add(took);
    KNOWN.write().unwrap_or_else(PoisonError::into_inner).insert(request, counts);
}

/// A request in shadow mode, as it would have come out in mode `on`.
pub fn shadow_request(request: &Request) {
    counter!("refrain_shadow_requests_total", &request.labels()).increment(1);
}

/// Shadow mode compared a stored answer with a fresh one, or could not.
pub fn shadow_comparison(result: &'static str) {
    counter!("refrain_shadow_comparisons_total", "result" => result).increment(1);
}

/// A cache that learns compared a fresh answer with the one to the nearest earlier prompt, or could not.
pub fn lesson(result: &'static str) {
    counter!("refrain_lessons_total", "result" => result).increment(1);
}

/// A provider answered with this status, or did not.
pub fn upstream_request(upstream: &str, status: &str) {
    counter!("refrain_upstream_requests_total", "upstream" => upstream.to_owned(), "status" => status.to_owned())
        .increment(1);
}

/// The first byte of a provider's answer came.
pub fn upstream_first_byte(upstream: &str, took: Duration) {
    histogram!("refrain_upstream_first_byte_seconds", "upstream" => upstream.to_owned()).record(took.as_secs_f64());
}

/// Tokens of a call to a provider; `source` says whether it counted them (`reported`) or we did (`estimated`).
pub fn provider_tokens(source: &'static str, input: u64, output: u64) {
    counter!("refrain_provider_tokens_total", "type" => "input", "source" => source).increment(input);
    counter!("refrain_provider_tokens_total", "type" => "output", "source" => source).increment(output);
}

/// Tokens of an answer that came from the cache.
pub fn served_tokens(input: u64, output: u64) {
    static KNOWN: LazyLock<[Counter; 2]> = LazyLock::new(|| {
        install();
        ["input", "output"].map(|kind| counter!("refrain_served_tokens_total", "type" => kind))
    });
    let [read, written] = &*KNOWN;
    read.increment(input);
    written.increment(output);
}

/// A request shared another one's upstream call.
pub fn collapsed() {
    counter!("refrain_collapsed_requests_total").increment(1);
}

/// An answer was not kept.
pub fn not_stored(reason: &'static str) {
    counter!("refrain_not_stored_total", "reason" => reason).increment(1);
}

/// A guard refused a near candidate.
pub fn guard_veto(guard: &'static str) {
    counter!("refrain_guard_vetoes_total", "guard" => guard).increment(1);
}

/// A prompt whose right answer moves with time was not answered from the cache.
pub fn time_sensitive(policy: &'static str) {
    counter!("refrain_time_sensitive_total", "policy" => policy).increment(1);
}

/// Somebody said of an answer that it was right or wrong.
pub fn feedback(verdict: &'static str) {
    counter!("refrain_feedback_total", "verdict" => verdict).increment(1);
}

/// The verifier's reader read a candidate.
pub fn verifier_read() {
    counter!("refrain_verifier_reads_total").increment(1);
}

/// The verifier's reader could not read a candidate.
pub fn verifier_failed(reason: &'static str) {
    counter!("refrain_verifier_failures_total", "reason" => reason).increment(1);
}

/// Whether the verifier works.
pub fn verifier_ready(ready: bool) {
    gauge!("refrain_verifier_ready").set(if ready { 1.0 } else { 0.0 });
}

/// The size of a cache.
pub fn cache_size(cache: &str, entries: u64, bytes: u64) {
    gauge!("refrain_entries", "cache" => cache.to_owned()).set(entries as f64);
    gauge!("refrain_store_bytes", "cache" => cache.to_owned()).set(bytes as f64);
}

/// Entries that left a cache since the start.
pub fn removed(cache: &str, evictions: u64, expirations: u64) {
    counter!("refrain_evictions_total", "cache" => cache.to_owned()).absolute(evictions);
    counter!("refrain_expirations_total", "cache" => cache.to_owned()).absolute(expirations);
}

/// How the index was searched since the start.
pub fn index_searches(scans: u64, graphs: u64, fallbacks: u64) {
    counter!("refrain_index_searches_total", "kind" => "scan").absolute(scans);
    counter!("refrain_index_searches_total", "kind" => "graph").absolute(graphs);
    counter!("refrain_index_searches_total", "kind" => "fallback").absolute(fallbacks);
}

/// What went wrong in the store since the start.
pub fn store_faults(failed_commits: u64, damaged: u64) {
    counter!("refrain_store_failed_commits_total").absolute(failed_commits);
    counter!("refrain_store_damaged_entries_total").absolute(damaged);
}

/// Does the embedder work?
pub fn embedder_ready(ready: bool) {
    gauge!("refrain_embedder_ready").set(f64::from(u8::from(ready)));
}

/// A task panicked.
pub fn task_panic(task: &'static str) {
    counter!("refrain_task_panics_total", "task" => task).increment(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_tokens_and_served_tokens_are_kept_apart() {
        let handle = install();
        provider_tokens("reported", 9, 4);
        served_tokens(2, 1);
        let text = handle.render();
        assert!(text.contains("refrain_provider_tokens_total{type=\"output\",source=\"reported\"} 4"), "{text}");
        assert!(text.contains("refrain_served_tokens_total{type=\"input\"} 2"), "{text}");
    }

    #[test]
    fn installing_twice_gives_the_same_recorder() {
        let (one, two) = (install(), install());
        collapsed();
        assert_eq!(one.render().contains("refrain_collapsed"), two.render().contains("refrain_collapsed"));
    }
}
