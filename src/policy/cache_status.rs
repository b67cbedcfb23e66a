//! The `Cache-Status` header (RFC 9211): what the cache did, in one line that any HTTP tool can read.

use std::fmt::Write;

use crate::types::Outcome;

/// What `Cache-Status` says of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheStatus {
    /// Answered from the cache.
    pub hit: bool,
    /// Why the request went forward: `miss`, `bypass`, `request`, `stale`.
    pub fwd: Option<&'static str>,
    /// The upstream's status code.
    pub fwd_status: Option<u16>,
    /// The answer will be kept when it proves complete.
    pub stored: bool,
    /// The request joined another's fill.
    pub collapsed: bool,
    /// Seconds of freshness left; negative for a stale hit.
    pub ttl: Option<i64>,
    /// The reason's label.
    pub detail: Option<&'static str>,
}

impl CacheStatus {
    /// A forwarded request.
    pub fn forwarded(outcome: Outcome, no_cache: bool, detail: &'static str) -> Self {
        let fwd = match outcome {
            Outcome::Bypass => "bypass",
            Outcome::Stale => "stale",
            _ if no_cache => "request",
            _ => "miss",
        };
        Self { fwd: Some(fwd), detail: Some(detail), ..Self::default() }
    }

    /// The header's value.
    pub fn render(&self) -> String {
        let mut line = String::with_capacity(64);
        line.push_str("refrain");
        if self.hit {
            line.push_str("; hit");
        }
        if let Some(fwd) = self.fwd {
            line.push_str("; fwd=");
            line.push_str(fwd);
        }
        if let Some(status) = self.fwd_status {
            let _ = write!(line, "; fwd-status={status}");
        }
        if let Some(ttl) = self.ttl {
            let _ = write!(line, "; ttl={ttl}");
        }
        if self.stored {
            line.push_str("; stored");
        }
        if self.collapsed {
            line.push_str("; collapsed");
        }
        if let Some(detail) = self.detail {
            line.push_str("; detail=");
            line.push_str(detail);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_as_rfc_9211_has_them() {
        let hit = CacheStatus { hit: true, ttl: Some(3540), detail: Some("semantic"), ..CacheStatus::default() };
        assert_eq!(hit.render(), "refrain; hit; ttl=3540; detail=semantic");
        let miss = CacheStatus { stored: true, ..CacheStatus::forwarded(Outcome::Miss, false, "below-threshold") };
        assert_eq!(miss.render(), "refrain; fwd=miss; stored; detail=below-threshold");
        let bypass = CacheStatus::forwarded(Outcome::Bypass, false, "tools");
        assert_eq!(bypass.render(), "refrain; fwd=bypass; detail=tools");
        let refresh = CacheStatus::forwarded(Outcome::Miss, true, "no-cache");
        assert_eq!(refresh.render(), "refrain; fwd=request; detail=no-cache");
    }
}
