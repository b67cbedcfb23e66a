//! `refrain eval`: how often the cache serves what it should, and how often what it must not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;

use crate::cli::measuring::{self, Bench, EngineArgs, Set};
use crate::cli::{fail, say};
use crate::eval::caller::Caller;
use crate::eval::contest::Contest;
use crate::eval::conversations::Conversations;
use crate::eval::floors::Floors;
use crate::eval::pairs::{self, Judged};
use crate::eval::policy::{Policy, Service};
use crate::eval::report::Report;
use crate::eval::rows::{ConversationRow, PairRow, StreamRow};
use crate::eval::stream::Replay;
use crate::eval::traffic::Traffic;
use crate::eval::{contest_plot, guards, plot, table};
use crate::settings::{CachePolicy, VerifierChoice};

/// What `eval` can be told.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  refrain eval --pairs data/eval/*.jsonl --svg quality.svg --assert data/eval/floors.toml\n\n\
                  Each file is a set, named up to the first dot. Rows are JSON objects, one a line; other members are \
                  ignored. Exit code 1: a floor of --assert does not hold, or the embedder does not work.",
    group = clap::ArgGroup::new("data").required(true).multiple(true),
    group = clap::ArgGroup::new("drawn").args(["pairs", "learning"])
)]
pub struct EvalArgs {
    /// Labelled pairs: {"a", "b", "label": 0 or 1}; a is stored, b is asked
    #[arg(long, value_name = "FILE", num_args = 1.., group = "data")]
    pairs: Vec<PathBuf>,
    /// Recorded prompts, played as live traffic: {"id", "t", "text", "group"}; one answer serves a group
    #[arg(long, value_name = "FILE", num_args = 1.., group = "data")]
    stream: Vec<PathBuf>,
    /// Call every wrong hit of a stream wrong at once, as its caller could
    #[arg(long, requires = "stream")]
    feedback: bool,
    /// Compare policies that learn with policies that do not over the streams, in place of playing these to the engine
    #[arg(long, requires = "stream", conflicts_with_all = ["pairs", "conversations", "feedback"])]
    learning: bool,
    /// Shares of all requests that get a wrong answer: where --learning compares
    #[arg(long, value_name = "SHARE", value_delimiter = ',', value_parser = share)]
    #[arg(default_value = "0.005,0.01,0.02", requires = "learning")]
    error_bound: Vec<f64>,
    /// Pairs of conversations: {"a": [{"role", "content"}], "b": [...], "label", "kind"}
    #[arg(long, value_name = "FILE", num_args = 1.., group = "data")]
    conversations: Vec<PathBuf>,
    /// Write the results as a JSON list
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the hits of the pairs against their false hits, or those of --learning
    #[arg(long, value_name = "FILE", requires = "drawn")]
    svg: Option<PathBuf>,
    /// Floors for the shipped thresholds (TOML: [SET.POLICY] min_hit_rate, max_false_hit_rate); exit 1 when one breaks
    #[arg(long, value_name = "FILE", requires = "pairs")]
    assert: Option<PathBuf>,
    /// List the first N wrong hits of each set, and of a stream's repeats those that guards or a bypass refuse
    #[arg(long, value_name = "N", default_value_t = 0)]
    wrong: usize,
    /// Read the first N rows of each file only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    #[command(flatten)]
    engine: EngineArgs,
}

/// Everything that is read before the engine starts, so that a bad file costs no time.
struct Input {
    pairs: Vec<Set<PairRow>>,
    streams: Vec<Set<StreamRow>>,
    conversations: Vec<Set<ConversationRow>>,
    floors: Option<Floors>,
}

impl Input {
    fn read(args: &EvalArgs) -> Result<Self, String> {
        let limit = args.limit.and_then(|limit| usize::try_from(limit).ok());
        let floors = args.assert.as_deref().map(|path| {
            let at = |problem: String| format!("{}: {problem}", path.display());
            Floors::parse(&std::fs::read_to_string(path).map_err(|error| at(error.to_string()))?).map_err(at)
        });
        for path in [&args.json, &args.svg].into_iter().flatten() {
            // Found out now, not after the run; what an earlier run wrote stays until this one has its results.
            let opened = std::fs::OpenOptions::new().append(true).create(true).open(path);
            opened.map_err(|error| format!("{}: cannot be written: {error}", path.display()))?;
        }
        Ok(Self {
            pairs: measuring::sets(&args.pairs, limit)?,
            streams: measuring::sets(&args.stream, limit)?,
            conversations: measuring::sets(&args.conversations, limit)?,
            floors: floors.transpose()?,
        })
    }
}

/// What was measured.
#[derive(Default)]
struct Results {
    reports: Vec<Report>,
    others: Vec<Value>,
    contests: Vec<Contest>,
}

/// Runs the command.
pub fn run(args: &EvalArgs, env: &BTreeMap<String, String>) -> ExitCode {
    let input = match Input::read(args) {
        Ok(input) => input,
        Err(message) => return fail(&message, 2),
    };
    measuring::run(&args.engine, env, async |bench: &Bench| {
        let mut results = Results::default();
        for set in &input.pairs {
            results.pairs(bench, set, args.wrong).await?;
        }
        for set in input.streams {
            if args.learning {
                results.learning(bench, set, &args.error_bound).await?;
            } else {
                results.stream(bench, set, args).await?;
            }
        }
        for set in &input.conversations {
            results.conversations(bench, set, args.wrong).await?;
        }
        results.write(args)?;
        Ok(verdict(input.floors.as_ref(), &results.reports))
    })
}

impl Results {
    async fn pairs(&mut self, bench: &Bench, set: &Set<PairRow>, listed: usize) -> Result<(), String> {
        let bar = measuring::bar(&set.name, set.rows.len())?;
        let judged = pairs::compare(&bench.cache, &bench.policy, &set.rows, &|| bar.inc(1)).await;
        bar.finish_and_clear();
        let judged = judged?;
        let service = Service::of(&bench.cache, &bench.policy);
        say(&table::set(&set.name, &judged));
        for policy in policies(&judged, &bench.policy) {
            let report = Report::of(&set.name, policy, &judged, &service);
            say(table::report(&report).trim_start_matches('\n'));
            self.reports.push(report);
        }
        if bench.policy.verifier == VerifierChoice::None {
            say("  verified is left out: the policy's verifier is \"none\"\n");
        } else if judged.iter().all(|pair| pair.target.is_none()) {
            say("  verified is left out: no verifier answered\n");
        }
        let near = service.shipped_threshold(Policy::Guarded);
        say(table::guards(&guards::table(&judged, near), near).trim_start_matches('\n'));
        for (row, pair) in set.rows.iter().zip(&judged).filter(|(_, pair)| pair.would.serve && !pair.same).take(listed)
        {
            say(&table::served(pair.cosine, &pair.id, &row.asked, &row.stored));
        }
        Ok(())
    }

    async fn learning(&mut self, bench: &Bench, set: Set<StreamRow>, errors: &[f64]) -> Result<(), String> {
        let bar = measuring::bar(&set.name, set.rows.len())?;
        let traffic = Traffic::read(&set.name, set.rows, &bench.cache, &|| bar.inc(1)).await;
        bar.finish_and_clear();
        let (traffic, card) = (traffic?, f64::from(bench.cache.embedder().calibrated_similarity()));
        let playing = tokio::task::spawn_blocking(move || Contest::play(&traffic, card));
        let contest = playing.await.map_err(|error| error.to_string())?;
        say(&table::contest(&contest, errors));
        self.others.push(contest.to_json(errors));
        self.contests.push(contest);
        Ok(())
    }

    async fn stream(&mut self, bench: &Bench, set: Set<StreamRow>, args: &EvalArgs) -> Result<(), String> {
        let bar = measuring::bar(&set.name, set.rows.len())?;
        let replay =
            Replay::play(&set.name, set.rows, &caller(bench).explaining(), args.feedback, &|| bar.inc(1)).await;
        bar.finish_and_clear();
        let replay = replay?;
        say(&table::replay(&replay, args.wrong));
        self.others.push(replay.to_json());
        Ok(())
    }

    async fn conversations(&mut self, bench: &Bench, set: &Set<ConversationRow>, listed: usize) -> Result<(), String> {
        let bar = measuring::bar(&set.name, set.rows.len())?;
        let asked = Conversations::ask(&set.name, &set.rows, &caller(bench), &|| bar.inc(1)).await;
        bar.finish_and_clear();
        let asked = asked?;
        say(&table::conversations(&asked, listed));
        self.others.push(asked.to_json());
        Ok(())
    }

    fn write(&self, args: &EvalArgs) -> Result<(), String> {
        if let Some(path) = &args.json {
            let all: Vec<Value> = self.reports.iter().map(Report::to_json).chain(self.others.iter().cloned()).collect();
            let text = serde_json::to_string_pretty(&all).map_err(|error| error.to_string())?;
            write(path, &(text + "\n"))?;
        }
        match &args.svg {
            Some(path) if args.learning => write(path, &contest_plot::svg(&self.contests, middle(&args.error_bound))),
            Some(path) => write(path, &plot::svg(&self.reports)),
            None => Ok(()),
        }
    }
}

/// A share, above 0 and below 1.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share: &f64| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "accepted: above 0 and below 1, as 0.01".into())
}

/// The error at which lines over time are drawn.
fn middle(errors: &[f64]) -> f64 {
    errors.get(errors.len() / 2).copied().unwrap_or(0.01)
}

fn caller(bench: &Bench) -> Caller<'_> {
    Caller::new(&bench.cache, bench.id.clone(), bench.policy.clone())
}

/// The policies that can be measured: the verified one only where there is a verifier, and the cache's policy asks it.
fn policies(judged: &[Judged], policy: &CachePolicy) -> Vec<Policy> {
    let asked = policy.verifier == VerifierChoice::Builtin;
    let verified = asked && judged.iter().any(|pair| pair.target.is_some());
    Policy::ALL.into_iter().filter(|policy| verified || *policy != Policy::Verified).collect()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn verdict(floors: Option<&Floors>, reports: &[Report]) -> ExitCode {
    let Some(floors) = floors else { return ExitCode::SUCCESS };
    let broken = floors.broken(reports);
    if broken.is_empty() {
        say("every floor holds");
        return ExitCode::SUCCESS;
    }
    fail(&format!("{} floor(s) do not hold:\n  {}", broken.len(), broken.join("\n  ")), 1)
}
