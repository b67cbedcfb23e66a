//! The `refrain` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    refrain::cli::main()
}
