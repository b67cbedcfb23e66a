//! The command line: one file a command. Errors go to stderr and say what to do.
//!
//! Exit codes: 0 done, 1 it ran and the answer is no, 2 bad use.

mod calibrate;
mod check_config;
mod demo;
mod eval;
mod labels;
mod measuring;
mod models;
mod provider;
mod serve;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A semantic cache in front of LLM calls that serves a stored answer only when it is right.
#[derive(Parser)]
#[command(version, about, args_conflicts_with_subcommands = true)]
#[command(after_help = "Example:\n  refrain serve --config refrain.toml")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::ServeArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service (what no command does, too)
    Serve(serve::ServeArgs),
    /// Show repeats, paraphrases and traps against a simulated provider
    Demo(demo::DemoArgs),
    /// Fetch, list or verify model files and the runtime library
    Models(models::ModelsArgs),
    /// Measure hits and false hits with labelled pairs, recorded prompts or conversations
    Eval(eval::EvalArgs),
    /// Choose a threshold that labelled pairs bound the false-hit rate of
    Calibrate(calibrate::CalibrateArgs),
    /// Validate a configuration and print the effective one
    CheckConfig(check_config::CheckConfigArgs),
}

/// Runs the command line.
pub fn main() -> ExitCode {
    #[allow(clippy::disallowed_methods)]
    let env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let arguments = Arguments::parse();
    match arguments.command {
        None => serve::run(&arguments.serve, &env),
        Some(Command::Serve(args)) => serve::run(&args, &env),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Models(args)) => models::run(&args),
        Some(Command::Eval(args)) => eval::run(&args, &env),
        Some(Command::Calibrate(args)) => calibrate::run(&args, &env),
        Some(Command::CheckConfig(args)) => check_config::run(&args, &env),
    }
}

/// Writes a line for the person at the terminal; a closed pipe is not an error worth a word.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Says on stderr why it went wrong, and gives the exit code.
fn fail(message: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr().lock(), "refrain: {message}");
    ExitCode::from(code)
}
