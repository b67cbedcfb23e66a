//! throwaway
use refrain::policy::guard::{Features, judge};
use std::io::BufRead;
fn main() {
    let guards = refrain::settings::Guards::default();
    for line in std::io::stdin().lock().lines() {
        let row: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (a, b) = (row["a"].as_str().unwrap(), row["b"].as_str().unwrap());
        let veto = judge(&Features::of(a), &Features::of(b), &guards);
        let (g, d) = veto.map(|v| (v.guard.as_str(), v.difference)).unwrap_or(("", String::new()));
        println!("{}", serde_json::json!({"veto": g, "diff": d}));
    }
}
