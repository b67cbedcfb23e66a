//! Black-box tests: the real binary, the real model, real sockets, and a provider that counts calls.

mod support;

mod isolation;
mod meaning;
mod replay;
