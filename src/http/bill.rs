//! The tokens of a call to a provider, told once for every call, however it ended.
//!
//! A provider that counts is believed. Where its count did not come (the caller left, the answer was cut, nobody asked
//! for it), the tokens are estimated from the bytes that passed, and marked so in the log line and the metric.

use crate::entry::TokenUsage;
use crate::metrics;
use crate::types::{CacheId, LookupId};

/// Bytes of text that make a token, roughly, in English.
const BYTES_PER_TOKEN: usize = 4;

/// Whose call it is, and what was sent.
pub struct Ordered {
    /// The decision that led to the call.
    pub lookup_id: LookupId,
    /// The cache that was asked.
    pub cache: CacheId,
    /// The requested model.
    pub model: String,
    /// The provider.
    pub upstream: String,
    /// Bytes of text in the request.
    pub prompt_bytes: usize,
}

/// One call's tokens. They are told when it is dropped, so that none is forgotten and none is told twice.
pub struct Bill {
    ordered: Ordered,
    usage: Option<TokenUsage>,
    written: usize,
    due: bool,
}

impl Bill {
    /// For a call that is about to be made.
    pub fn new(ordered: Ordered) -> Self {
        Self { ordered, usage: None, written: 0, due: true }
    }

    /// The provider did no work: it could not be reached, or it refused.
    pub fn waive(mut self) {
        self.due = false;
    }

    /// The answer is over: what the provider counted, and the bytes of text that came.
    pub fn settle(mut self, usage: Option<TokenUsage>, written: usize) {
        self.usage = usage;
        self.written = written;
    }

    fn tokens(&self) -> (TokenUsage, &'static str) {
        let estimate = |bytes: usize| bytes.div_ceil(BYTES_PER_TOKEN) as u64;
        let estimated = || TokenUsage { input: estimate(self.ordered.prompt_bytes), output: estimate(self.written) };
        self.usage.map_or_else(|| (estimated(), "estimated"), |usage| (usage, "reported"))
    }
}

impl Drop for Bill {
    fn drop(&mut self) {
        if !self.due {
            return;
        }
        let (tokens, source) = self.tokens();
        metrics::provider_tokens(source, tokens.input, tokens.output);
        tracing::info!(
            lookup_id = %self.ordered.lookup_id,
            cache = %self.ordered.cache,
            model = %self.ordered.model,
            upstream = %self.ordered.upstream,
            usage = source,
            input_tokens = tokens.input,
            output_tokens = tokens.output,
            "provider call"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bill() -> Bill {
        let (lookup_id, cache) = (LookupId::generate(), CacheId::default());
        Bill::new(Ordered { lookup_id, cache, model: "m".into(), upstream: "u".into(), prompt_bytes: 9 })
    }

    #[test]
    fn a_providers_count_goes_before_an_estimate() {
        let mut bill = bill();
        bill.written = 1000;
        assert_eq!(bill.tokens(), (TokenUsage { input: 3, output: 250 }, "estimated"));
        let counted = TokenUsage { input: 7, output: 5 };
        bill.usage = Some(counted);
        assert_eq!(bill.tokens(), (counted, "reported"));
    }
}
