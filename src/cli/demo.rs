//! `refrain demo`: the whole service on real questions, against a simulated provider, with nothing to set up.
//!
//! It fails when a repeat or a paraphrase misses, or a trap hits: the demo is a claim, and it checks it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::json;

use crate::app::Service;
use crate::cli::provider::{Pace, Provider};
use crate::cli::{fail, models, say};
use crate::config::{Config, FilePolicy, Secrets, Upstream, Verifier};
use crate::settings::CachePolicy;
use crate::tasks::Tasks;
use crate::telemetry;
use crate::types::Dialect;

const QUESTIONS: &str = include_str!("../../data/demo/questions.jsonl");
const PARAPHRASES: &str = include_str!("../../data/demo/paraphrases.jsonl");
const TRAPS: &str = include_str!("../../data/demo/traps.jsonl");
const FAQ: &str = include_str!("../../data/demo/faq.jsonl");
const FAQ_ASKS: &str = include_str!("../../data/demo/faq_asks.jsonl");

const CHINESE: &str = include_str!("../../data/demo/chinese.jsonl");

/// The demo's `targetErrorRate`: a help desk's questions seldom differ by one word, so it can be loose.
const TARGET: f64 = 0.1;

/// Its `similarityThreshold`: at a loose target the cosine has a say, too.
const THRESHOLD: f64 = 0.9;

/// What `demo` can be told.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  refrain demo --keep")]
pub struct DemoArgs {
    /// Leave the service and the simulated provider running until Ctrl-C
    #[arg(long)]
    keep: bool,
    /// The simulated provider's time to the first token, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 250)]
    first_token_ms: u64,
    /// The simulated provider's tokens a second
    #[arg(long, value_name = "N", default_value_t = 150, value_parser = clap::value_parser!(u32).range(1..))]
    tokens_per_second: u32,
    /// Where model folders are; else `./models`, else beside the executable
    #[arg(long, value_name = "DIR")]
    models_dir: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    answer: String,
}

#[derive(Deserialize)]
struct Ask {
    text: String,
}

#[derive(Deserialize)]
struct Chinese {
    question: String,
    answer: String,
    paraphrase: String,
    trap: String,
}

/// Runs the demo.
pub fn run(args: &DemoArgs) -> ExitCode {
    if let Err(message) = models::fetch_runtime(args.models_dir.as_deref()) {
        return fail(&message, 1);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("no threads to run on: {error}"), 1),
    };
    match runtime.block_on(play(args)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => fail("the demo's claim does not hold: see the rows marked with !", 1),
        Err(message) => fail(&message, 1),
    }
}

async fn play(args: &DemoArgs) -> Result<bool, String> {
    let tasks = Tasks::default();
    let pace =
        Pace { first_token: Duration::from_millis(args.first_token_ms), tokens_per_second: args.tokens_per_second };
    let questions: Vec<Question> = rows(QUESTIONS)?;
    let chinese: Vec<Chinese> = rows(CHINESE)?;
    let mut answers: HashMap<String, String> =
        questions.iter().map(|q| (q.question.clone(), q.answer.clone())).collect();
    answers.extend(chinese.iter().map(|row| (row.question.clone(), row.answer.clone())));
    let provider = Provider::start(&tasks, pace, answers).await.map_err(|e| format!("the simulated provider: {e}"))?;
    let folder = std::env::temp_dir().join(format!("refrain-demo-{}", uuid::Uuid::new_v4().simple()));
    let config = configuration(args, &provider, folder.join("english"));
    telemetry::init(&config.log).map_err(|e| e.to_string())?;
    let in_chinese = show_chinese(in_chinese(&config, folder.join("chinese")), &chinese).await?;
    let service = Service::start(config, Secrets::default()).await.map_err(|e| e.to_string())?;
    let outcome = show(&service, &provider, &questions).await.map(|holds| holds && in_chinese);
    if args.keep && outcome.is_ok() {
        say("Running until Ctrl-C.");
        let _ = tokio::signal::ctrl_c().await;
    }
    service.shutdown().await.map_err(|e| e.to_string())?;
    tasks.drain(Duration::from_secs(5)).await;
    let _ = tokio::fs::remove_dir_all(&folder).await;
    outcome
}

fn configuration(args: &DemoArgs, provider: &Provider, data_dir: PathBuf) -> Config {
    let mut config = Config::default();
    config.server.listen = "127.0.0.1:0".into();
    config.store.data_dir = data_dir;
    config.embedder.models_dir.clone_from(&args.models_dir);
    // Every partition a graph, so that the demo's hits come through it and not only through the exact scan.
    config.index.graph_from = 1;
    config.upstreams = vec![Upstream::new("simulated", Dialect::OpenAi, &format!("http://{}/v1", provider.address))];
    let open =
        FilePolicy { target_error_rate: Some(TARGET), similarity_threshold: Some(THRESHOLD), ..FilePolicy::default() };
    let curated = FilePolicy { curated: Some(true), ..open.clone() };
    for (name, policy) in [("default", open), ("faq", curated)] {
        if let Ok(name) = name.parse() {
            config.caches.insert(name, policy);
        }
    }
    config.log.filter = "error".into();
    config
}

/// The same service with the multilingual model, at the default policy.
fn in_chinese(config: &Config, data_dir: PathBuf) -> Config {
    let mut config = config.clone();
    config.store.data_dir = data_dir;
    config.embedder.model = Some(Verifier::PAIRS[1].0.into());
    config.caches.clear();
    config
}

/// Chinese questions, rewordings and traps.
async fn show_chinese(config: Config, chinese: &[Chinese]) -> Result<bool, String> {
    let service = Service::start(config, Secrets::default()).await.map_err(|e| e.to_string())?;
    let client = Client::of(&service)?;
    let pick = |of: fn(&Chinese) -> &String| chinese.iter().map(|row| of(row).clone()).collect::<Vec<_>>();
    let first = client.all("default", &pick(|row| &row.question), "", "miss", 8).await?;
    service.cache().store().maintain().await;
    let paraphrases = client.all("default", &pick(|row| &row.paraphrase), "no-store", "hit", 1).await?;
    let traps = client.all("default", &pick(|row| &row.trap), "no-store", "miss", 1).await?;
    say(&format!("In Chinese, with {} and the default policy.", Verifier::PAIRS[1].0));
    let groups = [("first asked", &first), ("paraphrases", &paraphrases), ("traps", &traps)];
    for (name, rows) in &groups {
        table(name, rows, median(&first));
    }
    service.shutdown().await.map_err(|e| e.to_string())?;
    Ok(groups.iter().all(|(_, rows)| rows.iter().all(Row::holds)))
}

/// One answered prompt.
struct Row {
    prompt: String,
    outcome: String,
    similarity: String,
    took: Duration,
    expected: &'static str,
}

impl Row {
    fn holds(&self) -> bool {
        let hit = self.outcome == "hit";
        if self.expected == "hit" { hit } else { !hit }
    }
}

/// The service as a client sees it.
struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    fn of(service: &Service) -> Result<Self, String> {
        let http = reqwest::Client::builder().no_proxy().build().map_err(|e| e.to_string())?;
        Ok(Self { http, base: format!("http://{}", service.address()) })
    }

    async fn ask(&self, cache: &str, prompt: &str, control: &str, expected: &'static str) -> Result<Row, String> {
        let url = format!("{}/caches/{cache}/v1/chat/completions", self.base);
        let body = json!({"model": "simulated-1", "messages": [{"role": "user", "content": prompt}]});
        let request = self.http.post(url).header("content-type", "application/json").header("cache-control", control);
        let asked = Instant::now();
        let response = request.body(body.to_string()).send().await.map_err(|e| e.to_string())?;
        let header = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or("-").to_owned();
        let (outcome, similarity) = (header("x-refrain-outcome"), header("x-refrain-similarity"));
        if !response.status().is_success() {
            return Err(format!("{prompt:?} was answered with {}", response.status()));
        }
        response.bytes().await.map_err(|e| e.to_string())?;
        Ok(Row { prompt: prompt.to_owned(), outcome, similarity, took: asked.elapsed(), expected })
    }

    /// Keeps a vetted answer over the LangCache route.
    async fn warm(&self, cache: &str, question: &Question) -> Result<(), String> {
        let url = format!("{}/v1/caches/{cache}/entries", self.base);
        let body = json!({"prompt": question.question, "response": question.answer});
        let request = self.http.post(url).header("content-type", "application/json").body(body.to_string());
        let status = request.send().await.map_err(|e| e.to_string())?.status();
        if status.is_success() { Ok(()) } else { Err(format!("warming the FAQ was answered with {status}")) }
    }

    async fn all(
        &self,
        cache: &str,
        prompts: &[String],
        control: &str,
        expected: &'static str,
        at_once: usize,
    ) -> Result<Vec<Row>, String> {
        let asks = prompts.iter().map(|prompt| self.ask(cache, prompt, control, expected));
        stream::iter(asks).buffered(at_once).collect::<Vec<_>>().await.into_iter().collect()
    }
}

async fn show(service: &Service, provider: &Provider, questions: &[Question]) -> Result<bool, String> {
    let client = Client::of(service)?;
    let faq: Vec<Question> = rows(FAQ)?;
    for question in &faq {
        client.warm("faq", question).await?;
    }
    let firsts: Vec<String> = questions.iter().map(|q| q.question.clone()).collect();
    let first = client.all("default", &firsts, "", "miss", 8).await?;
    service.cache().store().maintain().await;
    let repeats = client.all("default", &firsts, "", "hit", 1).await?;
    let paraphrases = client.all("default", &texts(PARAPHRASES)?, "no-store", "hit", 1).await?;
    let traps = client.all("default", &texts(TRAPS)?, "no-store", "miss", 8).await?;
    let vetted = client.all("faq", &texts(FAQ_ASKS)?, "no-store", "hit", 1).await?;
    let provider_median = median(&first);
    let usual = CachePolicy::default().target_error_rate;
    say(&format!(
        "\nCaches with targetErrorRate {TARGET} (the default is {usual}) and similarityThreshold {THRESHOLD}."
    ));
    let groups = [
        ("first asked", &first),
        ("repeats", &repeats),
        ("paraphrases", &paraphrases),
        ("traps", &traps),
        ("curated FAQ", &vetted),
    ];
    for (name, rows) in &groups {
        table(name, rows, provider_median);
    }
    summary(&groups, provider_median, provider.calls());
    say(&format!("\nrefrain listening on {}", client.base));
    Ok(groups.iter().all(|(_, rows)| rows.iter().all(Row::holds)))
}

fn table(name: &str, rows: &[Row], provider: Duration) {
    say(&format!("\n{name}\n  {:<76} {:>7} {:>10} {:>8} {:>9}", "prompt", "outcome", "similarity", "ms", "ms saved"));
    for row in rows {
        let saved = if row.outcome == "hit" { millis(provider.saturating_sub(row.took)) } else { "-".into() };
        let mark = if row.holds() { ' ' } else { '!' };
        let prompt: String = row.prompt.chars().take(76).collect();
        let took = millis(row.took);
        say(&format!("{mark} {prompt:<76} {:>7} {:>10} {took:>8} {saved:>9}", row.outcome, row.similarity));
    }
}

fn summary(groups: &[(&str, &Vec<Row>)], provider: Duration, calls: u64) {
    say(&format!("\n{:<12} {:>7} {:>6} {:>10} {:>9}", "group", "prompts", "hits", "median ms", "max ms"));
    for (name, rows) in groups {
        let hits = rows.iter().filter(|row| row.outcome == "hit").count();
        let longest = rows.iter().map(|row| row.took).max().unwrap_or_default();
        let (middle, longest) = (millis(median(rows)), millis(longest));
        say(&format!("{name:<12} {:>7} {hits:>6} {middle:>10} {longest:>9}", rows.len()));
    }
    let saved: Duration = groups
        .iter()
        .flat_map(|(_, rows)| rows.iter())
        .filter(|row| row.outcome == "hit")
        .map(|row| provider.saturating_sub(row.took))
        .sum();
    say(&format!("{calls} calls to the simulated provider; {:.1} s of waiting saved", saved.as_secs_f64()));
}

fn median(rows: &[Row]) -> Duration {
    let mut times: Vec<Duration> = rows.iter().map(|row| row.took).collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn millis(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64() * 1000.0)
}

fn rows<T: for<'de> Deserialize<'de>>(lines: &str) -> Result<Vec<T>, String> {
    lines.lines().map(|line| serde_json::from_str(line).map_err(|e| format!("demo data: {e}: {line}"))).collect()
}

fn texts(lines: &str) -> Result<Vec<String>, String> {
    Ok(rows::<Ask>(lines)?.into_iter().map(|ask| ask.text).collect())
}
