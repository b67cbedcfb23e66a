//! TEMP
#[derive(clap::Args)] pub struct ModelsArgs {}
pub fn run(_: &ModelsArgs) -> std::process::ExitCode { std::process::ExitCode::SUCCESS }
pub fn fetch_runtime(_: Option<&std::path::Path>) -> Result<(), String> { Ok(()) }
