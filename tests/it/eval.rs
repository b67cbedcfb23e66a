//! `refrain eval` and `refrain calibrate` on small labelled files: tables, JSON, drawing, floors, exit codes.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::learning::REWORDED;
use crate::support::Refrain;
use crate::support::service::run;

/// A folder of input files.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Refrain::provision();
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.name(name)
    }

    fn rows(&self, name: &str, rows: &[Value]) -> String {
        self.put(name, &rows.iter().map(|row| format!("{row}\n")).collect::<String>())
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Three pairs that are labelled as the same question, one of them far apart; and three that are not, two of them near.
    fn pairs(&self) -> String {
        let pair = |a: &str, b: &str, label: u8| json!({"a": a, "b": b, "label": label, "lang": "en"});
        self.rows(
            "desk.small.jsonl",
            &[
                pair("How do I reset my password?", "How can I reset my password?", 1),
                pair("Where do I find my invoices?", "Where can I find my invoices?", 1),
                pair("How do I boil an egg?", "What is the best way to reach the harbour?", 1),
                pair("How do I enable the fan on the stove?", "How do I disable the fan on the stove?", 0),
                pair("Boil the rice for 5 minutes?", "Boil the rice for 9 minutes?", 0),
                pair("How do I boil an egg?", "Which trees lose their leaves?", 0),
            ],
        )
    }
}

/// A prompt of a stream.
fn row(t: u32, text: &str, group: &str) -> Value {
    json!({"id": format!("s{t}"), "t": t, "text": text, "group": group})
}

/// The names of all elements, or what is wrong with the nesting.
fn elements(svg: &str) -> Result<Vec<String>, String> {
    let (mut open, mut seen) = (Vec::new(), Vec::new());
    for tag in svg.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').ok_or("a tag has no end")?;
        if text.contains('&') && !text.contains(';') || tag.matches('"').count() % 2 == 1 {
            return Err(format!("not well-formed near {tag}"));
        }
        if let Some(name) = tag.strip_prefix('/') {
            let last: Option<String> = open.pop();
            if last.as_deref() != Some(name) {
                return Err(format!("{name} closes {last:?}"));
            }
            continue;
        }
        let name: String = tag.chars().take_while(char::is_ascii_alphabetic).collect();
        seen.push(name.clone());
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(seen) } else { Err(format!("{open:?} stay open")) }
}

#[tokio::test(flavor = "multi_thread")]
async fn pairs_give_a_table_json_and_a_drawing() {
    let files = Files::new();
    let (json_file, svg) = (files.name("out.json"), files.name("out.svg"));
    let (code, said) = run(&["eval", "--pairs", &files.pairs(), "--json", &json_file, "--svg", &svg]).await;
    assert_eq!(code, Some(0), "{said}");
    for words in
        ["desk: 6 pairs, 3 true, 3 other", "cosine, AUC ", "guarded, AUC ", "shipped", "2/3   66.7 % [9.4, 99.16]"]
    {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
    let numbers = said.lines().find(|line| line.trim_start().starts_with("numbers ")).expect("a row for each guard");
    assert!(numbers.contains("1/3   33.3 %"), "{numbers}");
    let reports: Value = serde_json::from_str(&files.read("out.json")).unwrap();
    let guarded = reports.as_array().unwrap().iter().find(|report| report["policy"] == "guarded").unwrap();
    let names: Vec<&String> = guarded.as_object().unwrap().keys().collect();
    assert_eq!(names, ["set", "policy", "pairs", "positives", "setting", "shipped", "auc", "bestAt"]);
    assert_eq!((&guarded["set"], &guarded["pairs"], &guarded["positives"]), (&json!("desk"), &json!(6), &json!(3)));
    let shipped = &guarded["shipped"];
    assert_eq!((&shipped["threshold"], &shipped["falseHitRate"]), (&json!(0.93), &json!(0.0)));
    assert!((shipped["hitRate"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-9);
    let high = shipped["interval"]["falseHitRate"][1].as_f64().unwrap();
    assert!((high - 0.7076).abs() < 1e-4, "0 of 3 is compatible with much: {high}");
    for risk in ["0.01", "0.005", "0.001"] {
        assert!(guarded["bestAt"][risk]["threshold"].is_number(), "{guarded}");
    }
    let drawn = elements(&files.read("out.svg")).unwrap();
    let count = |name: &str| drawn.iter().filter(|element| *element == name).count();
    assert_eq!((count("svg"), count("path")), (1, 3), "a line for each policy");
    assert_eq!(count("circle"), 4, "a mark in the legend and one for each policy");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pairs_that_are_served_against_their_label_are_listed() {
    let files = Files::new();
    let labelled = files.rows(
        "odd.jsonl",
        &[
            json!({"id": "p1", "a": "How do I reset my password?", "b": "How can I reset my password?", "label": 0}),
            json!({"id": "p2", "a": "How do I enable the fan?", "b": "How do I disable the fan?", "label": 0}),
        ],
    );
    let (code, said) = run(&["eval", "--pairs", &labelled, "--wrong", "5"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("wrong hit 0.99") && said.contains("(p1)") && !said.contains("(p2)"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_floor_that_does_not_hold_fails_by_name() {
    let files = Files::new();
    let pairs = files.pairs();
    let good = files.put("good.toml", "[desk.guarded]\nmin_hit_rate = 0.6\nmax_false_hit_rate = 0.0\n");
    let (code, said) = run(&["eval", "--pairs", &pairs, "--assert", &good]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("every floor holds"), "{said}");
    let bad = "[desk.guarded]\nmin_hit_rate = 0.9\n[desk.cosine]\nmax_false_hit_rate = 0.0\n[gone.guarded]\nmin_hit_rate = 0.1\n";
    let (code, said) = run(&["eval", "--pairs", &pairs, "--assert", &files.put("bad.toml", bad)]).await;
    assert_eq!(code, Some(1), "{said}");
    for words in
        ["desk.guarded.min_hit_rate: 2 of 3", "desk.cosine.max_false_hit_rate", "gone.guarded: was not measured"]
    {
        assert!(said.contains(words), "{words:?} is not in {said}");
    }
    let wrong = files.put("wrong.toml", "[desk.guarded]\nmin_hits = 0.9\n");
    let (code, said) = run(&["eval", "--pairs", &pairs, "--assert", &wrong]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("wrong.toml") && said.contains("min_hits") && said.contains("min_hit_rate"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_named_by_file_line_and_field() {
    let files = Files::new();
    let good = json!({"a": "x", "b": "y", "label": 1});
    for (option, rows, words) in [
        ("--pairs", vec![good.clone(), json!({"a": "x", "b": "y", "label": "same"})], ["line 2", "label"]),
        ("--pairs", vec![json!({"a": "x", "label": 1})], ["line 1", "b: is missing"]),
        ("--stream", vec![json!({"id": "s", "text": "x", "group": "g"})], ["line 1", "t: is missing"]),
        ("--conversations", vec![json!({"a": "x", "b": [], "label": 1})], ["line 1", "a: \"x\""]),
        ("--pairs", vec![], ["mine.jsonl", "has no rows"]),
    ] {
        let (code, said) = run(&["eval", option, &files.rows("mine.jsonl", &rows)]).await;
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("mine.jsonl") && words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
    }
    let (one, two) = (files.rows("mine.a.jsonl", std::slice::from_ref(&good)), files.rows("mine.b.jsonl", &[good]));
    let (code, said) = run(&["eval", "--pairs", &one, &two]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("second set named mine"), "{said}");
    let (code, said) = run(&["eval", "--pairs", &files.name("nowhere.jsonl")]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("nowhere.jsonl"), "{said}");
    let (code, said) = run(&["calibrate", "--pairs", &one, "--target", "1.5"]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--target: 1.5"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_embedder_there_are_no_numbers() {
    let files = Files::new();
    let config = files.put("refrain.toml", "[embedder]\nruntime_library = \"/nonexistent/library.so\"\n");
    for command in ["eval", "calibrate"] {
        let (code, said) = run(&[command, "--pairs", &files.pairs(), "--config", &config]).await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("the embedder does not work") && said.contains("models fetch"), "{said}");
        assert!(!said.contains('%'), "no rates: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configured_policy_is_what_is_measured() {
    let files = Files::new();
    let config = "[caches.strict]\nsimilarity_threshold = 0.999\n[caches.strict.guards]\nnumbers = false\n[caches.off]\nmode = \"off\"\n";
    let config = files.put("refrain.toml", config);
    let measure = async |cache: &str| {
        let json_file = files.name("out.json");
        run(&["eval", "--pairs", &files.pairs(), "--config", &config, "--cache", cache, "--json", &json_file]).await
    };
    let (code, said) = measure("strict").await;
    assert_eq!(code, Some(0), "{said}");
    let reports: Value = serde_json::from_str(&files.read("out.json")).unwrap();
    assert_eq!(reports[1]["shipped"]["threshold"], json!(0.999));
    let numbers = said.lines().find(|line| line.trim_start().starts_with("numbers ")).unwrap();
    assert!(numbers.contains("0/0"), "a guard that is off forbids nothing: {numbers}");
    let (code, said) = measure("off").await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("nothing to measure"), "{said}");
    let (code, said) = measure("nowhere").await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("no cache nowhere") && said.contains("strict"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_without_the_verifier_has_no_numbers_of_one() {
    let files = Files::new();
    let config = files.put("none.toml", "[caches.default]\nverifier = \"none\"\n");
    let (code, said) = run(&["eval", "--pairs", &files.pairs(), "--config", &config]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("guarded") && said.contains("verified is left out: the policy's verifier is"), "{said}");
    assert!(!said.contains("targetErrorRate"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_is_played_as_live_traffic() {
    let files = Files::new();
    // Out of order: the last row was the first prompt.
    let rows = [
        row(1, "How can I reset my password?", "password"),
        row(2, "How do I enable the fan on the stove?", "fan on"),
        row(3, "How do I disable the fan on the stove?", "fan off"),
        row(4, "Where do I find my invoices?", "invoices"),
        row(5, "Where can I find my invoices?", "bills"),
        row(0, "How do I reset my password?", "password"),
    ];
    let (stream, out) = (files.rows("desk.jsonl", &rows), files.name("out.json"));
    // Of a cache in shadow mode it is measured what it would serve.
    let config = files.name("shadow.toml");
    std::fs::write(&config, "[caches.default]\nmode = \"shadow\"\n").unwrap();
    let (code, said) = run(&["eval", "--stream", &stream, "--wrong", "5", "--json", &out, "--config", &config]).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, served) = run(&["eval", "--stream", &stream, "--wrong", "5"]).await;
    assert_eq!((code, said.contains(served.trim())), (Some(0), true), "{served}\n{said}");
    assert!(said.contains("desk: 6 prompts, 1 of them repeats"), "{said}");
    assert!(said.contains("wrong hit 0.9") && said.contains("(s5)"), "{said}");
    assert!(said.contains("asked  \"Where can I find my invoices?\""), "{said}");
    assert!(said.contains("served \"Where do I find my invoices?\""), "{said}");
    let replay: Value = serde_json::from_str(&files.read("out.json")).unwrap();
    let replay = &replay[0];
    assert_eq!(
        (&replay["stream"], &replay["hits"], &replay["wrongHits"], &replay["rightHitsOfRepeats"]),
        (&json!("desk"), &json!(2), &json!(1), &json!(1))
    );
    assert_eq!(replay["slices"].as_array().unwrap().len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeats_of_a_stream_that_guards_or_a_bypass_refuse_are_listed() {
    let files = Files::new();
    let rows = [
        row(0, "How do I log in with version 2?", "login"),
        row(1, "How do I log in with version 3?", "login"),
        row(2, "What is the price of tin today?", "tin"),
        row(3, "How much is tin today?", "tin"),
        row(4, "Where do I find my invoices?", "invoices"),
        row(5, "Please say how one gets to see earlier bills", "invoices"),
    ];
    let (stream, out) = (files.rows("desk.jsonl", &rows), files.name("out.json"));
    let (code, said) = run(&["eval", "--stream", &stream, "--wrong", "5", "--json", &out]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 repeats that guards or a bypass refuse: numbers 1, time 1"), "{said}");
    assert!(said.contains("refused by numbers (s1)") && said.contains("version 2?\" (s0)"), "{said}");
    let replay: Value = serde_json::from_str(&files.read("out.json")).unwrap();
    let wanted = json!([{"id": "s1", "stored": "s0", "by": ["numbers"]}, {"id": "s3", "stored": null, "by": ["time"]}]);
    assert_eq!(replay[0]["refusedRepeats"], wanted, "the last one no guard forbids");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_hit_of_a_stream_can_be_called_wrong() {
    let files = Files::new();
    let rows = [
        row(0, "Where do I find my invoices?", "invoices"),
        row(1, "Where can I find my invoices?", "bills"),
        row(2, "Where can I find my invoices?", "bills"),
        row(3, "Where could I find my invoices?", "bills"),
    ];
    let (stream, out) = (files.rows("desk.jsonl", &rows), files.name("out.json"));
    for (flag, wrong) in [(None, 3), (Some("--feedback"), 1)] {
        let arguments: Vec<&str> = ["eval", "--stream", &stream, "--json", &out].into_iter().chain(flag).collect();
        let (code, said) = run(&arguments).await;
        assert_eq!(code, Some(0), "{said}");
        let replay: Value = serde_json::from_str(&files.read("out.json")).unwrap();
        assert_eq!(replay[0]["wrongHits"], wrong, "{flag:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_teaches_a_cache_that_learns() {
    let files = Files::new();
    let texts = REWORDED.iter().enumerate().flat_map(|(group, (one, other))| [(one, group), (other, group)]);
    let rows: Vec<Value> = texts
        .enumerate()
        .map(|(t, (text, group))| json!({"id": t.to_string(), "t": t, "text": text, "group": group.to_string()}))
        .collect();
    let (stream, out, config) = (files.rows("desk.jsonl", &rows), files.name("out.json"), files.name("learns.toml"));
    let mut hits = Vec::new();
    for learning in [false, true] {
        std::fs::write(&config, format!("[caches.default]\nlearning = {learning}\n")).unwrap();
        let (code, said) = run(&["eval", "--stream", &stream, "--json", &out, "--config", &config]).await;
        assert_eq!(code, Some(0), "{said}");
        let replay: Value = serde_json::from_str(&files.read("out.json")).unwrap();
        assert_eq!(replay[0]["wrongHits"], 0, "{said}");
        hits.push(replay[0]["hits"].as_u64().unwrap());
    }
    assert!(hits[1] > hits[0], "{hits:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_that_learn_are_compared_at_the_same_error() {
    let files = Files::new();
    let stems = ["reset my password", "find my invoices", "close my account", "change my address", "cancel my order"];
    let ways = ["How do I", "How can I", "What is the way to", "Please tell me how to"];
    let rows: Vec<Value> = (0..20_usize)
        .map(|t| (t, ways[t / 5], stems[t % 5]))
        .map(|(t, way, stem)| json!({"id": t.to_string(), "t": t, "text": format!("{way} {stem}?"), "group": stem}))
        .collect();
    let stream = files.rows("desk.jsonl", &rows);
    let (json, svg) = (files.name("out.json"), files.name("out.svg"));
    let compare =
        ["eval", "--stream", &stream, "--learning", "--error-bound", "0.01,0.1", "--json", &json, "--svg", &svg];
    let (code, said) = run(&compare).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("desk: 20 prompts, 15 of them repeats; 0 not covered"), "{said}");
    let told: Value = serde_json::from_str(&files.read("out.json")).unwrap();
    let policies = told[0]["policies"].as_array().unwrap();
    let names: Vec<&str> = policies.iter().map(|policy| policy["policy"].as_str().unwrap()).collect();
    let refrains = ["verified-untold", "verified", "learned-untold", "learned"];
    assert_eq!(names, [&["static", "guarded", "vcache", "vcache-6"][..], &refrains].concat());
    for policy in policies {
        assert!(said.contains(policy["policy"].as_str().unwrap()));
        let at: Vec<f64> =
            policy["atError"].as_array().unwrap().iter().map(|at| at["hitRatio"].as_f64().unwrap()).collect();
        assert!(at.len() == 2 && at[0] <= at[1] && at[1] <= 1.0, "{policy}");
        let strictest = &policy["settings"][0];
        assert!(strictest["error"].as_f64().unwrap() <= strictest["hitRatio"].as_f64().unwrap());
    }
    let learned = policies[7]["atError"][1]["hitRatio"].as_f64().unwrap();
    assert!(learned > 0.4, "{said}");
    let seen = elements(&files.read("out.svg")).unwrap();
    assert!(seen.iter().filter(|name| *name == "path").count() >= 8, "{seen:?}");
    let again = run(&compare).await;
    assert_eq!(again, (code, said), "the dice fall the same way again");
    let (code, said) = run(&["eval", "--stream", &stream, "--learning", "--error-bound", "1.5"]).await;
    assert!(code == Some(2) && said.contains("above 0 and below 1"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_asked_one_pair_at_a_time() {
    let files = Files::new();
    let turn = |text: &str| json!({"role": "user", "content": text});
    let talk = |city: &str, ask: &str| json!([turn(&format!("I live in {city}.")), {"role": "assistant", "content": "Noted."}, turn(ask)]);
    let rows = [
        json!({"a": [turn("How do I reset my password?")], "b": [turn("How can I reset my password?")], "label": 1, "kind": "single"}),
        json!({"a": talk("Oslo", "Where can I swim?"), "b": talk("Oslo", "Where can I swim?"), "label": 1, "kind": "same"}),
        json!({"a": talk("Oslo", "Where can I swim?"), "b": talk("Bergen", "Where can I swim?"), "label": 0, "kind": "swap"}),
        // Answered by the first row's entry, if pairs were not kept apart.
        json!({"a": [turn("Define NAT.")], "b": [turn("How do I reset my password?")], "label": 0, "kind": "single"}),
    ];
    let (file, out) = (files.rows("talks.jsonl", &rows), files.name("out.json"));
    let (code, said) = run(&["eval", "--conversations", &file, "--json", &out]).await;
    assert_eq!(code, Some(0), "{said}");
    let talks: Value = serde_json::from_str(&files.read("out.json")).unwrap();
    let talks = &talks[0];
    assert_eq!((&talks["hits"], &talks["falseHits"], &talks["pairs"]), (&json!(2), &json!(0), &json!(4)), "{said}");
    assert_eq!(
        (&talks["kinds"]["swap"]["falseHitRate"], &talks["kinds"]["swap"]["hitRate"]),
        (&json!(0.0), &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_threshold_needs_enough_labels() {
    let files = Files::new();
    let (code, said) = run(&["calibrate", "--pairs", &files.pairs()]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("not enough labels: 0 false hits among 3 pairs"), "{said}");
    assert!(said.contains("need about 296 more"), "{said}");
    // At most half of all others, with 90 % confidence: 0 of 4 is enough (0.5^4 < 0.1).
    let other =
        |n: u32| json!({"a": format!("How do I boil {n} eggs?"), "b": "Which trees lose their leaves?", "label": 0});
    let more = files.rows("more.jsonl", &[other(2)]);
    let (code, said) =
        run(&["calibrate", "--pairs", &files.pairs(), &more, "--target", "0.5", "--confidence", "0.9", "--json"]).await;
    assert_eq!(code, Some(0), "{said}");
    let found: Value = serde_json::from_str(&said).unwrap();
    let (threshold, bound) = (found[0]["threshold"].as_f64().unwrap(), found[0]["bound"].as_f64().unwrap());
    assert!(threshold <= 0.93 && bound > 0.4 && bound <= 0.5, "{found}");
    assert_eq!(found[0]["falseHits"], json!({"count": 0, "of": 4}));
    let (code, said) =
        run(&["calibrate", "--pairs", &files.pairs(), &more, "--target", "0.5", "--confidence", "0.9"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("guarded: similarityThreshold ") && said.contains("verified: targetErrorRate "), "{said}");
}
