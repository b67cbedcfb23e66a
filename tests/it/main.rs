//! Black-box tests: the real binary, the real model, real sockets, and a provider that counts calls.

// A test says what went wrong by panicking, and its tasks end with it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::disallowed_methods)]
// `json!` as an argument reads better than a reference to it; a path in TOML needs its quotes.
#![allow(clippy::needless_pass_by_value, clippy::unnecessary_debug_formatting, clippy::format_collect)]

mod support;

mod chinese;
mod content;
mod crash;
mod eval;
mod faults;
mod feedback;
mod framing;
mod freshness;
mod growth;
mod histories;
#[cfg(feature = "hub")]
mod hub;
mod isolation;
mod kept;
mod keys;
mod langcache;
mod layers;
mod learning;
mod leaving;
mod lookup;
mod meaning;
mod operations;
mod plumbing;
mod policy;
mod recipes;
mod replay;
mod sdk;
mod shadow;
mod tls;
mod tokens;
