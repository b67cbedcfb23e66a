//! What can go wrong, said once for all layers.
//!
//! An error tells who must act. No status code lives here: `http::render` maps errors to answers in one table.

use std::fmt;

/// A value that is out of its range: names the field, the problem and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The field, header or option.
    pub field: String,
    /// What is wrong with the value.
    pub problem: String,
    /// What would be right.
    pub accepted: String,
}

impl Invalid {
    /// A new complaint about `field`.
    pub fn new(field: impl Into<String>, problem: impl Into<String>, accepted: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into(), accepted: accepted.into() }
    }

    /// The same complaint about a field of another name (a path prefix, say).
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; accepted: {}", self.field, self.problem, self.accepted)
    }
}

impl std::error::Error for Invalid {}

/// An error of Refrain's own. Upstream's errors are not among them: they are relayed as they came.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The caller sent something malformed.
    #[error("{0}")]
    BadRequest(Invalid),
    /// The request is well formed, but a value cannot be accepted.
    #[error("{0}")]
    Unprocessable(Invalid),
    /// A key is missing or unknown.
    #[error("{0}")]
    Unauthorized(String),
    /// The key, host or origin may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// There is no such cache, entry or route.
    #[error("{0}")]
    NotFound(String),
    /// The route exists, but not for this method.
    #[error("{0}")]
    MethodNotAllowed(String),
    /// The body is larger than the limit, in bytes.
    #[error("the request body is larger than {0} bytes (server.max_body_bytes)")]
    TooLarge(u64),
    /// The body's media type is not accepted.
    #[error("{0}")]
    UnsupportedMediaType(String),
    /// `only-if-cached`, and nothing usable is there.
    #[error("nothing usable in the cache, and only-if-cached forbids asking the provider")]
    OnlyIfCached,
    /// The upstream could not be reached, or broke before its first byte.
    #[error("{0}")]
    Upstream(String),
    /// The upstream did not answer in time.
    #[error("{0}")]
    UpstreamTimeout(String),
    /// A part of Refrain that this call needs is not working; the message says which and why.
    #[error("{0}")]
    Unavailable(String),
    /// A fault of Refrain's own.
    #[error("internal error: {0}")]
    Internal(String),
}

impl From<Invalid> for Error {
    fn from(invalid: Invalid) -> Self {
        Self::BadRequest(invalid)
    }
}

/// A result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
