//! `refrain check-config`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::app::upstreams;
use crate::cli::{fail, say};
use crate::config::{self, Config, Overrides};
use crate::{embed, verify};

/// What `check-config` can be told.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  refrain check-config --config refrain.toml")]
pub struct CheckConfigArgs {
    /// The configuration file (TOML); without one, defaults and environment are checked
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Everything that a start would refuse, short of opening the store and the socket.
fn checked(overrides: &Overrides, env: &BTreeMap<String, String>) -> Result<Config, String> {
    let config = config::load(overrides, env).map_err(|error| error.to_string())?;
    let secrets = config::load_secrets(&config, env).map_err(|error| error.to_string())?;
    embed::check(&config.embedder).map_err(|error| error.to_string())?;
    verify::check(&config.verifier, &config.embedder).map_err(|error| error.to_string())?;
    upstreams(&config, &secrets).map_err(|error| error.to_string())?;
    Ok(config)
}

/// Prints the effective configuration and exits 0, or says what is wrong and exits 1.
pub fn run(args: &CheckConfigArgs, env: &BTreeMap<String, String>) -> ExitCode {
    let overrides = Overrides { file: args.config.clone(), ..Overrides::default() };
    match checked(&overrides, env)
        .and_then(|config| toml::to_string(&config.effective()).map_err(|error| error.to_string()))
    {
        Ok(effective) => {
            say(&format!("# the configuration is good; in effect:\n{effective}"));
            ExitCode::SUCCESS
        }
        Err(message) => fail(&message, 1),
    }
}
