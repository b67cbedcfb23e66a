//! `refrain check-config`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::cli::{fail, say};
use crate::config::{self, Overrides};

/// What `check-config` can be told.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  refrain check-config --config refrain.toml")]
pub struct CheckConfigArgs {
    /// The configuration file (TOML); without one, defaults and environment are checked
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Prints the effective configuration and exits 0, or says what is wrong and exits 1.
pub fn run(args: &CheckConfigArgs, env: &BTreeMap<String, String>) -> ExitCode {
    let overrides = Overrides { file: args.config.clone(), ..Overrides::default() };
    let checked = config::load(&overrides, env).map_err(|error| error.to_string());
    match checked.and_then(|config| toml::to_string(&config.effective()).map_err(|error| error.to_string())) {
        Ok(effective) => {
            say(&format!("# the configuration is good; in effect:\n{effective}"));
            ExitCode::SUCCESS
        }
        Err(message) => fail(&message, 1),
    }
}
