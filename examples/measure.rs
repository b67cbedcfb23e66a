//! throwaway
use refrain::embed::Embedder;
use refrain::policy::guard::{Features, judge};
use std::io::BufRead;
#[tokio::main]
async fn main() {
    let guards = refrain::settings::Guards::default();
    let mut config = refrain::config::Embedder::default();
    config.deadline = refrain::config::Span::seconds(20);
    let e = Embedder::start(&config, None).await.unwrap();
    for file in std::env::args().skip(1) {
        let out = std::fs::File::create(format!("/tmp/scratch/{}.tsv", std::path::Path::new(&file).file_stem().unwrap().to_string_lossy())).unwrap();
        let mut out = std::io::BufWriter::new(out);
        use std::io::Write;
        for line in std::io::BufReader::new(std::fs::File::open(&file).unwrap()).lines().take(1500) {
            let row: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
            let (a, b) = (row["a"].as_str().unwrap(), row["b"].as_str().unwrap());
            let covered = e.coverage(a).is_ok() && e.coverage(b).is_ok();
            let cos = if covered { e.embed(a).await.unwrap().similarity(&e.embed(b).await.unwrap()).get() } else { -1.0 };
            let veto = judge(&Features::of(a), &Features::of(b), &guards);
            let (g, d) = veto.map(|v| (v.guard.as_str(), v.difference)).unwrap_or(("", String::new()));
            writeln!(out, "{cos:.4}\t{}\t{g}\t{d:?}\t{a:?}\t{b:?}", row["label"]).unwrap();
        }
    }
}
