//! Made-up folders: small files that are as promised, and what is said of those that are not.

use super::*;
use crate::embed::sha256_hex;
pub use crate::verify::judge::tests::by_cosine as judge;

/// A verifier's folder whose files are as its manifest promises; its reader is none.
pub fn make(folder: &Path, judge: &str) {
    fs::create_dir_all(folder).unwrap();
    let mut manifest = String::from(
        "name = \"opinion\"\nrevision = \"1\"\nembedder = \"0011223344556677\"\nmax_tokens = 64\nlanguages = [\"en\"]\n",
    );
    for name in [READER, JUDGE, WEIGHTS].into_iter().chain(TOKENIZER) {
        let content = if name == JUDGE { judge.as_bytes() } else { name.as_bytes() };
        fs::write(folder.join(name), content).unwrap();
        let sum = sha256_hex(content);
        manifest.push_str(&format!("[[files]]\nname = {name:?}\nsize = {}\nsha256 = \"{sum}\"\n", content.len()));
    }
    fs::write(folder.join(MANIFEST), manifest).unwrap();
}

fn made() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), &judge());
    folder
}

#[test]
fn a_whole_folder_is_read() {
    let folder = made();
    let loaded = Loaded::from_folder(folder.path()).unwrap();
    assert_eq!((loaded.manifest.name.as_str(), loaded.weights.as_slice()), ("opinion", WEIGHTS.as_bytes()));
    assert!(loaded.manifest.problems(folder.path()).is_empty());
}

#[test]
fn each_file_must_be_there_and_as_promised() {
    for name in [READER, JUDGE, WEIGHTS].into_iter().chain(TOKENIZER) {
        let folder = made();
        let path = folder.path().join(name);
        let mut content = fs::read(&path).unwrap();
        content[0] ^= 1;
        fs::write(&path, content).unwrap();
        let problem = Loaded::from_folder(folder.path()).err().unwrap();
        assert!(problem.contains(name) && problem.contains("sha256"), "{problem}");
        fs::remove_file(&path).unwrap();
        let problem = Loaded::from_folder(folder.path()).err().unwrap();
        assert!(problem.contains(name) && problem.contains("no such file"), "{problem}");
    }
}

#[test]
fn a_judge_of_another_version_is_a_problem_though_it_is_as_promised() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path(), &judge().replace("\"version\":1", "\"version\":9"));
    let manifest = Manifest::read(folder.path()).unwrap();
    let problems = manifest.problems(folder.path());
    assert_eq!(problems.len(), 1);
    assert!(problems[0].to_string().contains("judge.json: expected a judge for this version, found version 9"));
    assert!(Loaded::from_folder(folder.path()).err().unwrap().contains("version 9"));
}

#[test]
fn a_manifest_names_every_file_and_none_outside_its_folder() {
    let folder = made();
    let text = fs::read_to_string(folder.path().join(MANIFEST)).unwrap();
    for (from, to, words) in [
        ("name = \"reader.onnx\"", "name = \"other.onnx\"", "no [[files]] entry for reader.onnx"),
        ("name = \"reader.onnx\"", "name = \"../reader.onnx\"", "the file name"),
        ("revision", "colour", "colour"),
        ("max_tokens = 64", "max_tokens = \"many\"", "max_tokens"),
    ] {
        fs::write(folder.path().join(MANIFEST), text.replace(from, to)).unwrap();
        let problem = Manifest::read(folder.path()).unwrap_err().to_string();
        assert!(problem.contains(words), "{words}: {problem}");
    }
}
