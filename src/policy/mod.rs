//! Decisions, made purely: what may be asked, what may be kept, what may answer.
//!
//! No function here waits, reads a clock or touches a file; `now` is an argument. What is decided here is done elsewhere.

pub mod agreement;
pub mod binomial;
pub mod cache_status;
pub mod calibrate;
mod carrying;
pub mod directives;
pub mod document;
pub mod eviction;
pub mod evidence;
mod frame;
pub mod freshness;
pub mod guard;
pub mod language;
pub mod learned;
pub mod partition;
pub mod rate;
pub mod record;
pub mod self_contained;
pub mod wording;
