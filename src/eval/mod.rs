//! Measures the engine with labelled data: how often it serves what it should, and how often what it must not.
//!
//! Pairs are compared by the engine's own signals ([`pairs`]), streams and conversations are played against the engine
//! as live traffic ([`stream`], [`conversations`]). No rule of the cache is repeated here, and nothing here decides
//! what is served; what is counted is reported with its counts and exact intervals, never as a bare percentage. A run
//! in which the embedder fails is an error and not a result: exact hits alone would look like caution.

pub mod caller;
pub mod contest;
pub mod contest_plot;
pub mod conversations;
pub mod curve;
pub mod floors;
pub mod guards;
pub mod pairs;
pub mod plot;
pub mod policy;
pub mod report;
pub mod rival;
pub mod rows;
pub mod stream;
pub mod table;
pub mod traffic;
