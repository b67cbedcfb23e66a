//! The house has floors: a file's `use crate::` lines point to its own layer or down, never up.

use std::path::{Path, PathBuf};

const LAYERS: &[(&str, u8)] = &[
    ("types", 0),
    ("prompt", 0),
    ("entry", 0),
    ("error", 0),
    ("config", 0),
    ("settings", 0),
    ("reason", 0),
    ("embedding", 0),
    ("tokens", 0),
    ("policy", 1),
    ("dialect", 1),
    ("metrics", 2),
    ("tasks", 2),
    ("telemetry", 2),
    ("store", 2),
    ("embed", 2),
    ("index", 2),
    ("verify", 2),
    ("cache", 3),
    ("upstream", 3),
    ("http", 4),
    ("eval", 4),
    ("app", 5),
    ("cli", 5),
    ("main", 5),
    ("lib", 5),
];

fn layer(module: &str) -> u8 {
    LAYERS
        .iter()
        .find(|(name, _)| *name == module)
        .unwrap_or_else(|| panic!("{module} has no layer: give it one here"))
        .1
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The modules that a line of code names after `crate::`.
fn named(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    let word = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    code.split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => list.split(',').map(|item| word(item.trim())).collect(),
            None => vec![word(rest)],
        })
        .filter(|name| !name.is_empty())
        .collect()
}

/// Lines of the form "who -> whom" that point up.
fn upward(module: &str, text: &str) -> Vec<String> {
    // A module's tests may use what they like.
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let up = |name: &String| layer(name) > layer(module);
    code.lines().flat_map(named).filter(up).map(|name| format!("{module} -> {name}")).collect()
}

#[test]
fn imports_point_down_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 50);
    for file in files {
        let inside = file.strip_prefix(&root).unwrap();
        if inside.components().any(|part| part.as_os_str() == "tests") || inside.ends_with("tests.rs") {
            continue;
        }
        let first = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        let wrong = upward(first.trim_end_matches(".rs"), &std::fs::read_to_string(&file).unwrap());
        assert!(wrong.is_empty(), "{}: {wrong:?}", inside.display());
    }
}

#[test]
fn pure_layers_neither_wait_nor_look_at_the_clock_or_the_disk() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for pure in ["policy", "dialect"] {
        sources(&root.join(pure), &mut files);
    }
    for file in files.iter().filter(|file| !file.components().any(|part| part.as_os_str() == "tests")) {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for banned in ["async fn", ".await", "Instant::now", "SystemTime", "std::fs", "std::net", "std::env", "tokio::"]
        {
            assert!(file.ends_with("tests.rs") || !code.contains(banned), "{}: {banned}", file.display());
        }
    }
}

#[test]
fn an_upward_import_is_found() {
    assert_eq!(upward("policy", "use crate::store::Store;"), ["policy -> store"]);
    assert_eq!(
        upward("store", "use crate::{http, policy};\nlet x = crate::cli::say;"),
        ["store -> http", "store -> cli"]
    );
    assert!(upward("http", "use crate::store::Store;").is_empty());
}
