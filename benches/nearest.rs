//! The exact scan against the graph, by size: time of a search, time of the build, recall@1 against comparing everything.
//!
//! `cargo bench --bench nearest [-- SIZE ...]`. The vectors are made up (topics, subtopics, wordings), or, with
//! `REFRAIN_BENCH_TEXTS=FILE`, those of the file's lines by the default model; its first lines are the queries. Prints
//! medians; the scan of the same size is the baseline.

#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use refrain::config::{self, Span};
use refrain::embed::Embedder;
use refrain::index::{AttributeFilter, Partitions, Point, Query};
use refrain::types::{Attributes, EntryId, PartitionKey, Timestamp};

const DIMENSION: usize = 384;
const QUERIES: usize = 400;
const KEY: PartitionKey = PartitionKey([7; 32]);

/// xorshift64*, so that every run sees the same vectors.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 40;
        #[allow(clippy::cast_precision_loss)]
        let unit = bits as f32 / (1_u64 << 24) as f32;
        unit - 0.5
    }

    /// A unit vector at some distance from `centre`.
    fn near(&mut self, centre: &[f32], spread: f32) -> Vec<f32> {
        let raw: Vec<f32> =
            centre.iter().map(|c| c + spread * self.next() * (12.0 / DIMENSION as f32).sqrt()).collect();
        let norm = raw.iter().map(|x| x * x).sum::<f32>().sqrt();
        raw.into_iter().map(|x| x / norm).collect()
    }
}

/// Entries and queries of real texts, as many as there are up to `count`.
fn embedded(texts: &[String], count: usize) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let all: Vec<Vec<f32>> = texts.iter().take(count + QUERIES).map(|text| vector(text)).collect();
    let (queries, entries) = all.split_at(QUERIES);
    (entries.to_vec(), queries.to_vec())
}

/// The vector of a text by the default model, made once.
fn vector(text: &str) -> Vec<f32> {
    static MODEL: LazyLock<(tokio::runtime::Runtime, Embedder)> = LazyLock::new(|| {
        let runtime = tokio::runtime::Runtime::new().expect("threads");
        let config =
            config::Embedder { deadline: Span::seconds(20), cache_entries: 200_000, ..config::Embedder::default() };
        let embedder = runtime.block_on(Embedder::start(&config, None)).expect("the embedder starts");
        (runtime, embedder)
    });
    let (runtime, embedder) = &*MODEL;
    runtime.block_on(embedder.embed(text)).expect("a vector").as_slice().to_vec()
}

fn vectors(count: usize) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let mut noise = Noise(42);
    let origin = vec![0.0; DIMENSION];
    let topics: Vec<Vec<f32>> = (0..40).map(|_| noise.near(&origin, 1.0)).collect();
    let subtopics: Vec<Vec<f32>> = (0..400).map(|n| noise.near(&topics[n % 40], 0.8)).collect();
    let entries: Vec<Vec<f32>> = (0..count).map(|n| noise.near(&subtopics[n % 400], 0.7)).collect();
    let queries = (0..QUERIES).map(|n| noise.near(&entries[(n * 7919) % count], 0.35)).collect();
    (entries, queries)
}

fn filled(graph_from: usize, entries: &[Vec<f32>]) -> (Partitions, Vec<Arc<Point>>) {
    let partitions = Partitions::new(config::Index { graph_from, ..config::Index::default() }, DIMENSION);
    let points = entries
        .iter()
        .map(|vector| {
            let point = Arc::new(Point::new(EntryId::generate(), Timestamp(u64::MAX), Attributes::default()));
            partitions.insert(KEY, Arc::clone(&point), vector);
            point
        })
        .collect();
    (partitions, points)
}

fn best(partitions: &Partitions, query: &[f32]) -> (Duration, f32) {
    let began = Instant::now();
    let query = Query { vector: query, k: 4, filter: &AttributeFilter::Any, now: Timestamp(0) };
    let found = partitions.search(&KEY, &query);
    (began.elapsed(), found.first().map_or(0.0, |candidate| candidate.similarity.get()))
}

fn at(sorted: &[Duration], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100].as_secs_f64() * 1e6
}

/// p50, p99 and the best score of each query.
fn run(partitions: &Partitions, queries: &[Vec<f32>]) -> (f64, f64, Vec<f32>) {
    let (mut times, scores): (Vec<Duration>, Vec<f32>) = queries.iter().map(|query| best(partitions, query)).unzip();
    times.sort_unstable();
    (at(&times, 50), at(&times, 99), scores)
}

fn recall(scores: &[f32], truth: &[f32]) -> f64 {
    let right = scores.iter().zip(truth).filter(|(score, best)| **score >= **best - 1e-5).count();
    right as f64 / truth.len() as f64
}

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1_000, 5_000, 10_000, 20_000, 35_000, 50_000] } else { sizes };
    println!(
        "{:>7} | {:>9} {:>9} | {:>7} {:>9} {:>9} {:>8} | after 30% deletes {:>9} {:>8}",
        "entries", "scan p50", "p99", "build s", "graph p50", "p99", "recall@1", "p50 us", "recall@1"
    );
    let texts = std::env::var_os("REFRAIN_BENCH_TEXTS").map(|path| std::fs::read_to_string(path).expect("the texts"));
    let texts: Option<Vec<String>> = texts.map(|text| text.lines().map(str::to_owned).collect());
    for size in sizes {
        let (entries, queries) = texts.as_ref().map_or_else(|| vectors(size), |texts| embedded(texts, size));
        let size = entries.len();
        let (flat, flat_points) = filled(usize::MAX, &entries);
        let (scan50, scan99, truth) = run(&flat, &queries);
        let (graph, graph_points) = filled(1, &entries);
        let began = Instant::now();
        graph.maintain();
        let build = began.elapsed().as_secs_f64();
        let (graph50, graph99, found) = run(&graph, &queries);
        for n in (0..size).filter(|n| n * 7 % 10 < 3) {
            flat.remove(&KEY, &flat_points[n]);
            graph.remove(&KEY, &graph_points[n]);
        }
        let (_, _, truth_left) = run(&flat, &queries);
        let (left50, _, found_left) = run(&graph, &queries);
        println!(
            "{size:>7} | {scan50:>9.0} {scan99:>9.0} | {build:>7.1} {graph50:>9.0} {graph99:>9.0} {:>8.4} | {left50:>27.0} {:>8.4}",
            recall(&found, &truth),
            recall(&found_left, &truth_left),
        );
    }
}
