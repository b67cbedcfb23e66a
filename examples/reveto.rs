//! throwaway
use refrain::policy::guard::{Features, judge};
use std::io::{BufRead, Write};
fn main() {
    let guards = refrain::settings::Guards::default();
    for file in std::env::args().skip(1) {
        let lines: Vec<String> = std::io::BufReader::new(std::fs::File::open(&file).unwrap()).lines().map(|l| l.unwrap()).collect();
        let mut out = std::io::BufWriter::new(std::fs::File::create(&file).unwrap());
        for line in lines {
            let p: Vec<&str> = line.split('\t').collect();
            let a: String = serde_json::from_str(p[4]).unwrap_or_default();
            let b: String = serde_json::from_str(p[5]).unwrap_or_default();
            if a.is_empty() { continue }
            let veto = judge(&Features::of(&a), &Features::of(&b), &guards);
            let (g, d) = veto.map(|v| (v.guard.as_str(), v.difference)).unwrap_or(("", String::new()));
            writeln!(out, "{}\t{}\t{g}\t{d:?}\t{}\t{}", p[0], p[1], p[4], p[5]).unwrap();
        }
    }
}
