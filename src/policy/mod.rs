//! (being written)
pub mod eviction;
pub mod guard;
