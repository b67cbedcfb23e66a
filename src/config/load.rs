//! Reading the configuration from file, environment and flags.

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);
