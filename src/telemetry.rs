//! Logging: one subscriber on stderr, as text or JSON lines.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{ConfigError, Log, LogFormat};

/// Checks a filter without installing anything.
///
/// # Errors
/// When the filter is not one that tracing takes.
pub fn filter(log: &Log) -> Result<EnvFilter, ConfigError> {
    EnvFilter::try_new(&log.filter).map_err(|error| {
        ConfigError::new("log.filter", format!("{:?}: {error}", log.filter), "a tracing filter, e.g. \"info\" or \"refrain=debug\"")
    })
}

/// Installs the subscriber; a second call changes nothing.
///
/// # Errors
/// As [`filter`].
pub fn init(log: &Log) -> Result<(), ConfigError> {
    let builder = tracing_subscriber::fmt().with_env_filter(filter(log)?).with_writer(io::stderr);
    let _ = match log.format {
        LogFormat::Text => builder.with_ansi(io::stderr().is_terminal()).finish().try_init(),
        LogFormat::Json => builder.json().flatten_event(true).finish().try_init(),
    };
    Ok(())
}
