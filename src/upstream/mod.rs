//! The providers: which one a request goes to, and the pooled connections to each.
//!
//! A request is forwarded as it came: its bytes are not touched, its headers lose only what concerns a single hop.
//! Timeouts are for connecting, for the first byte and for silence; a healthy stream may take as long as it likes.

mod client;
mod headers;

pub use client::{Upstream, UpstreamError};
pub use headers::{CREDENTIALS, end_to_end, forwarded};

use std::sync::Arc;

use crate::types::Dialect;

/// All upstreams of the configuration, at most one for each dialect.
pub struct Upstreams {
    all: Vec<Arc<Upstream>>,
}

impl Upstreams {
    /// The configured upstreams.
    pub fn new(all: Vec<Upstream>) -> Self {
        Self { all: all.into_iter().map(Arc::new).collect() }
    }

    /// The upstream that speaks `dialect`.
    pub fn for_dialect(&self, dialect: Dialect) -> Option<&Arc<Upstream>> {
        self.all.iter().find(|upstream| upstream.dialect == dialect)
    }

    /// The upstream for a path under `/v1/`: Anthropic's for its own paths and callers, else OpenAI's.
    pub fn for_path(&self, path: &str, anthropic_caller: bool) -> Option<&Arc<Upstream>> {
        let anthropic = anthropic_caller || path == "messages" || path.starts_with("messages/");
        let dialect = if anthropic { Dialect::Anthropic } else { Dialect::OpenAi };
        self.for_dialect(dialect)
    }
}
