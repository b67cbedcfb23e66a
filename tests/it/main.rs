//! Black-box tests: the real binary, the real model, real sockets, and a provider that counts calls.

mod support;

mod content;
mod crash;
mod faults;
mod framing;
mod freshness;
mod growth;
mod isolation;
mod kept;
mod keys;
mod leaving;
mod meaning;
mod plumbing;
mod replay;
