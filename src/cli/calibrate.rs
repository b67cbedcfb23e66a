//! `refrain calibrate`: a threshold whose false-hit rate is bounded by labelled pairs, or how many labels are missing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::measuring::{self, Bench, EngineArgs};
use crate::cli::{fail, labels, say};
use crate::error::Invalid;
use crate::eval::pairs::{self, Judged};
use crate::eval::policy::{Policy, Service};
use crate::eval::report::interval;
use crate::eval::rows::PairRow;
use crate::eval::table;
use crate::policy::calibrate::{Aim, Bounded, Calibration, Labelled, Shortage, calibrate};
use crate::store::LabelSource;
use crate::types::CacheId;

/// What `calibrate` can be told.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  refrain calibrate --pairs mine.jsonl --target 0.01 --confidence 0.95\n  \
                        refrain calibrate --config refrain.toml --cache faq --feedback faq --shadow faq\n\nRows are \
                        {\"a\", \"b\", \"label\": 0 or 1}, one a line; those of all files are taken together. They should \
                        be like the traffic that the threshold is for. Exit code 1: there are not enough labels.")]
pub struct CalibrateArgs {
    /// Labelled pairs: {"a", "b", "label": 0 or 1}; a is stored, b is asked
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present_any = ["feedback", "shadow"])]
    pairs: Vec<PathBuf>,
    /// Also what callers said of answers from this cache (POST /v1/caches/NAME/feedback)
    #[arg(long, value_name = "CACHE")]
    feedback: Option<String>,
    /// Also what shadow mode found of answers of this cache by comparing them with fresh ones: noisier than feedback
    #[arg(long, value_name = "CACHE")]
    shadow: Option<String>,
    /// The highest false-hit rate among pairs that need different answers
    #[arg(long, value_name = "RATE", default_value_t = 0.01)]
    target: f64,
    /// How sure that must be
    #[arg(long, value_name = "SHARE", default_value_t = Aim::CONFIDENCE)]
    confidence: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: EngineArgs,
}

/// Runs the command.
pub fn run(args: &CalibrateArgs, env: &BTreeMap<String, String>) -> ExitCode {
    let (aim, pairs, asked) = match read(args) {
        Ok(read) => read,
        Err(message) => return fail(&message, 2),
    };
    let labels = match gathered(args, pairs, &asked, env) {
        Ok(labels) => labels,
        Err(message) => return fail(&message, 1),
    };
    let counts = labels.counts();
    let rows = labels.0.into_iter().flat_map(|(_, rows)| rows).collect::<Vec<_>>();
    measuring::run(&args.engine, env, async |bench: &Bench| {
        let bar = measuring::bar("pairs", rows.len())?;
        let judged = pairs::compare(&bench.cache, &bench.policy, &rows, &|| bar.inc(1)).await;
        bar.finish_and_clear();
        let found = calibrated(bench, &judged?, aim)?;
        show(&found, aim, &counts, args.json);
        // The last is what the service decides by: the verifier where there is one.
        let done = matches!(found.last(), Some((_, Calibration::Found(_))));
        Ok(if done { ExitCode::SUCCESS } else { ExitCode::from(1) })
    })
}

/// Labels by the name of their source.
struct Gathered(Vec<(&'static str, Vec<PairRow>)>);

/// How many labels came from one source.
struct Count {
    source: &'static str,
    same: usize,
    other: usize,
}

impl Gathered {
    fn counts(&self) -> Vec<Count> {
        let count = |(source, rows): &(&'static str, Vec<PairRow>)| {
            let same = rows.iter().filter(|row| row.same).count();
            Count { source, same, other: rows.len() - same }
        };
        self.0.iter().map(count).collect()
    }
}

/// The caches whose labels are wanted.
type Asked = Vec<(LabelSource, CacheId)>;

/// The aim, the files' pairs, and the caches whose labels are wanted.
fn read(args: &CalibrateArgs) -> Result<(Aim, Vec<PairRow>, Asked), String> {
    let aim = Aim::new(args.target, args.confidence).map_err(|invalid| {
        let field = format!("--{}", invalid.field);
        invalid.at(field).to_string()
    })?;
    let sets = measuring::sets::<PairRow>(&args.pairs, None)?;
    let named = [(LabelSource::Feedback, &args.feedback), (LabelSource::Shadow, &args.shadow)];
    let parse = |(source, name): (LabelSource, &Option<String>)| {
        let at = |invalid: Invalid| invalid.at(format!("--{}", source.as_str())).to_string();
        name.as_ref().map(|name| name.parse().map(|cache| (source, cache)).map_err(at))
    };
    let asked = named.into_iter().filter_map(parse).collect::<Result<_, _>>()?;
    Ok((aim, sets.into_iter().flat_map(|set| set.rows).collect(), asked))
}

/// The files' pairs and the labels that are asked for.
fn gathered(
    args: &CalibrateArgs,
    pairs: Vec<PairRow>,
    asked: &Asked,
    env: &BTreeMap<String, String>,
) -> Result<Gathered, String> {
    let mut all = Vec::from_iter((!args.pairs.is_empty()).then_some(("pairs", pairs)));
    if !asked.is_empty() {
        let (config, secrets) = measuring::configuration(&args.engine, env)?;
        for (source, cache) in asked {
            all.push((source.as_str(), labels::read(cache, *source, &config, &secrets)?));
        }
    }
    Ok(Gathered(all))
}

fn calibrated(bench: &Bench, judged: &[Judged], aim: Aim) -> Result<Vec<(Policy, Calibration)>, String> {
    let service = Service::of(&bench.cache, &bench.policy);
    let verified = judged.iter().any(|pair| pair.target.is_some());
    let policies =
        [Policy::Guarded, Policy::Verified].into_iter().filter(|policy| verified || *policy == Policy::Guarded);
    let one = |policy: Policy| {
        let scored: Vec<Labelled> = judged.iter().map(|pair| pair.scored(policy, &service)).collect();
        let found = calibrate(&scored, &policy.grid(), aim).map_err(|invalid| invalid.to_string())?;
        Ok((policy, found))
    };
    policies.map(one).collect()
}

fn show(found: &[(Policy, Calibration)], aim: Aim, counts: &[Count], as_json: bool) {
    if as_json {
        let one = |(policy, calibration): &(Policy, Calibration)| {
            let mut told = to_json(*policy, calibration, aim);
            told["labels"] = sources(counts);
            told
        };
        let all: Vec<Value> = found.iter().map(one).collect();
        say(&json!(all).to_string());
        return;
    }
    for Count { source, same, other } in counts {
        say(&format!("{source}: {} labels, {same} same, {other} other", same + other));
    }
    for (policy, calibration) in found {
        match calibration {
            Calibration::Found(bounded) => say(&text(*policy, bounded, aim)),
            Calibration::NotEnough(shortage) => say(&format!("{}: {shortage}", policy.as_str())),
        }
    }
}

/// `{"shadow": {"same": 12, "other": 3}}`
fn sources(counts: &[Count]) -> Value {
    let one = |count: &Count| (count.source.to_owned(), json!({"same": count.same, "other": count.other}));
    Value::Object(counts.iter().map(one).collect())
}

fn text(policy: Policy, bounded: &Bounded, aim: Aim) -> String {
    let (name, value) = (policy.setting_name(), policy.setting(bounded.threshold));
    format!(
        "{}: {name} {value} in the cache's policy\n  false hits {}\n  at most    {:.2} % of other pairs, with {} % confidence (target {} %)\n  hits       {}",
        policy.as_str(),
        table::rate(bounded.false_hits).trim_start(),
        bounded.bound * 100.0,
        aim.confidence() * 100.0,
        aim.target() * 100.0,
        table::rate(bounded.hits).trim_start(),
    )
}

fn to_json(policy: Policy, calibration: &Calibration, aim: Aim) -> Value {
    let mut out = json!({"policy": policy.as_str(), "target": aim.target(), "confidence": aim.confidence()});
    match calibration {
        Calibration::Found(Bounded { threshold, hits, false_hits, bound }) => {
            out["setting"] = json!(policy.setting_name());
            out["threshold"] = json!(policy.setting(*threshold));
            out["bound"] = json!(bound);
            out["hits"] = json!({"count": hits.count, "of": hits.of, "interval": interval(*hits)});
            out["falseHits"] = json!({"count": false_hits.count, "of": false_hits.of});
        }
        Calibration::NotEnough(Shortage { false_hits, bound, more }) => {
            out["threshold"] = Value::Null;
            out["bound"] = json!(bound);
            out["falseHits"] = json!({"count": false_hits.count, "of": false_hits.of});
            out["moreLabels"] = json!(more);
        }
    }
    out
}
