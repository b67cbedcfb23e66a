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
use crate::types::CacheId;

/// What `calibrate` can be told.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  refrain calibrate --pairs mine.jsonl --target 0.01 --confidence 0.95\n  \
                        refrain calibrate --config refrain.toml --cache faq --feedback faq --pairs more.jsonl\n\nRows are \
                        {\"a\", \"b\", \"label\": 0 or 1}, one a line; those of all files are taken together. They should \
                        be like the traffic that the threshold is for. Exit code 1: there are not enough labels.")]
pub struct CalibrateArgs {
    /// Labelled pairs: {"a", "b", "label": 0 or 1}; a is stored, b is asked
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "feedback")]
    pairs: Vec<PathBuf>,
    /// Also what callers said of answers from this cache (POST /v1/caches/NAME/feedback)
    #[arg(long, value_name = "CACHE")]
    feedback: Option<String>,
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
    let (aim, mut rows, feedback) = match read(args) {
        Ok(read) => read,
        Err(message) => return fail(&message, 2),
    };
    match said(args, feedback.as_ref(), env) {
        Ok(said) => rows.extend(said),
        Err(message) => return fail(&message, 1),
    }
    measuring::run(&args.engine, env, async |bench: &Bench| {
        let bar = measuring::bar("pairs", rows.len())?;
        let judged = pairs::compare(&bench.cache, &bench.policy, &rows, &|| bar.inc(1)).await;
        bar.finish_and_clear();
        let found = calibrated(bench, &judged?, aim)?;
        show(&found, aim, args.json);
        // The last is what the service decides by: the verifier where there is one.
        let done = matches!(found.last(), Some((_, Calibration::Found(_))));
        Ok(if done { ExitCode::SUCCESS } else { ExitCode::from(1) })
    })
}

/// The aim, the files' pairs, and the cache whose feedback is wanted.
fn read(args: &CalibrateArgs) -> Result<(Aim, Vec<PairRow>, Option<CacheId>), String> {
    let aim = Aim::new(args.target, args.confidence).map_err(|invalid| {
        let field = format!("--{}", invalid.field);
        invalid.at(field).to_string()
    })?;
    let sets = measuring::sets::<PairRow>(&args.pairs, None)?;
    let feedback = args.feedback.as_ref().map(|name| name.parse()).transpose();
    let feedback = feedback.map_err(|invalid: Invalid| invalid.at("--feedback").to_string())?;
    Ok((aim, sets.into_iter().flat_map(|set| set.rows).collect(), feedback))
}

/// What feedback said, when it is asked for.
fn said(args: &CalibrateArgs, cache: Option<&CacheId>, env: &BTreeMap<String, String>) -> Result<Vec<PairRow>, String> {
    let Some(cache) = cache else { return Ok(Vec::new()) };
    let (config, secrets) = measuring::configuration(&args.engine, env)?;
    labels::read(cache, &config, &secrets)
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

fn show(found: &[(Policy, Calibration)], aim: Aim, as_json: bool) {
    if as_json {
        let all: Vec<Value> = found.iter().map(|(policy, calibration)| to_json(*policy, calibration, aim)).collect();
        say(&json!(all).to_string());
        return;
    }
    for (policy, calibration) in found {
        match calibration {
            Calibration::Found(bounded) => say(&text(*policy, bounded, aim)),
            Calibration::NotEnough(shortage) => say(&format!("{}: {shortage}", policy.as_str())),
        }
    }
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
