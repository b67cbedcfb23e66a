//! Logging: one subscriber on stderr, as text or JSON lines.

use std::io::{self, IsTerminal};

use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{ConfigError, Log, LogFormat};

/// Installs the subscriber; a second call changes nothing.
///
/// # Errors
/// As [`Log::parsed_filter`].
pub fn init(log: &Log) -> Result<(), ConfigError> {
    let builder = tracing_subscriber::fmt().with_env_filter(log.parsed_filter()?).with_writer(io::stderr);
    let _ = match log.format {
        LogFormat::Text => builder.with_ansi(io::stderr().is_terminal()).finish().try_init(),
        LogFormat::Json => builder.json().flatten_event(true).finish().try_init(),
    };
    Ok(())
}
