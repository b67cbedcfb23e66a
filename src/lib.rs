//! Refrain answers LLM calls from a cache of earlier answers when a new prompt asks the same thing, and otherwise
//! forwards the call, streams the answer through untouched, and keeps it for the next caller.
//!
//! # Layers
//!
//! Imports point down only; `tests/it/layers.rs` reads the `use crate::` lines and fails on an upward one.
//!
//! | layer | modules | does |
//! |---|---|---|
//! | L5 | `main`, [`cli`], [`app`] | puts the parts together, shuts them down in order |
//! | L4 | [`http`], [`eval`] | translates between HTTP and the engine, measures the engine; both hold no decision |
//! | L3 | [`cache`], [`upstream`] | sequences: lookup, fill, purge, maintain; calls a provider |
//! | L2 | [`store`], [`embed`], [`index`], [`verify`] | mechanism: I/O, threads, locks |
//! | L1 | [`policy`], [`dialect`] | pure: decide; parse and print. No async, no I/O, no clock |
//! | L0 | [`types`], [`prompt`], [`entry`], [`embedding`], [`tokens`], [`reason`], [`settings`], [`config`], [`error`] | vocabulary |
//!
//! # Invariants
//!
//! * **I1** An answer is served only inside its partition.
//! * **I2** Nothing incomplete is ever stored.
//! * **I3** The redb file is the truth, the index is derived; an id that the store lacks is a miss.
//! * **I4** Vectors of two model fingerprints never meet.
//! * **I5** No lock is held across an `.await`, and no async thread makes a blocking call.
//! * **I6** A fault in the cache costs a hit, never an answer.

pub mod app;
pub mod cache;
pub mod cli;
pub mod config;
pub mod dialect;
pub mod embed;
pub mod embedding;
pub mod entry;
pub mod error;
pub mod eval;
pub mod http;
pub mod index;
pub mod metrics;
pub mod policy;
pub mod prompt;
pub mod reason;
pub mod settings;
pub mod store;
pub mod tasks;
pub mod telemetry;
pub mod tokens;
pub mod types;
pub mod upstream;
pub mod verify;
