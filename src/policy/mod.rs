//! (being written)
pub mod guard;
