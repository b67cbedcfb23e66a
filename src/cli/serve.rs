//! `refrain serve`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

use crate::app::Service;
use crate::cli::{fail, say};
use crate::config::{self, Overrides};
use crate::telemetry;

/// What `serve` can be told on the command line.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  refrain serve --config refrain.toml --listen 127.0.0.1:0")]
pub struct ServeArgs {
    /// The configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address and port to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The folder for the store and its snapshots
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// Runs the service until SIGTERM or SIGINT.
pub fn run(args: &ServeArgs, env: &BTreeMap<String, String>) -> ExitCode {
    let overrides =
        Overrides { file: args.config.clone(), listen: args.listen.clone(), data_dir: args.data_dir.clone() };
    let loaded = config::load(&overrides, env).and_then(|config| {
        let secrets = config::load_secrets(&config, env)?;
        telemetry::init(&config.log)?;
        Ok((config, secrets))
    });
    let (config, secrets) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return fail(&error.to_string(), 2),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("no threads to run on: {error}"), 1),
    };
    let code = runtime.block_on(serve(config, secrets));
    // A blocking call that hangs (a slow disk, a native library) must not keep the process.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    code
}

async fn serve(config: config::Config, secrets: config::Secrets) -> ExitCode {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return fail("signals cannot be listened to", 1);
    };
    let starting = Service::start(config, secrets);
    let service = tokio::select! {
        started = starting => match started {
            Ok(service) => service,
            Err(error) => return fail(&error.to_string(), 1),
        },
        _ = terminate.recv() => return ExitCode::SUCCESS,
        _ = interrupt.recv() => return ExitCode::SUCCESS,
    };
    say(&format!("refrain listening on http://{}", service.address()));
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("shutting down");
    match service.shutdown().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&format!("the store did not close cleanly: {error}"), 1),
    }
}
