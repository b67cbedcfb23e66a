//! A verifier's folder: its manifest, and the files that must be what the manifest promises.

use std::fs;
use std::path::Path;

use fastembed::TokenizerFiles;
use serde::{Deserialize, Serialize};

use super::judge::Judge;
use crate::embed::{FileProblem, Pinned, TOKENIZER};

/// The manifest's name within the folder.
pub const MANIFEST: &str = "verifier.toml";
const READER: &str = "reader.onnx";
const JUDGE: &str = "judge.json";
const WEIGHTS: &str = "token_weights.bin";

/// What a verifier is and which embedder's vectors it judges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name it is asked for by.
    pub name: String,
    /// The maker's revision.
    pub revision: String,
    /// The embedder's fingerprint as logs show it: token vectors of another embedder mean nothing to a verifier.
    pub embedder: String,
    /// The longest pair, in tokens, the special ones included.
    pub max_tokens: usize,
    /// Languages (ISO 639-1) that it was trained in.
    pub languages: Vec<String>,
    /// The files with their sums.
    pub files: Vec<Pinned>,
}

impl Manifest {
    /// Reads the manifest in `folder`.
    ///
    /// # Errors
    /// When it is missing, is not TOML, or its values make no sense.
    pub fn read(folder: &Path) -> Result<Self, FileProblem> {
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|e| FileProblem::unreadable(&path, "a manifest", &e))?;
        let problem = |found: String| FileProblem { path: path.clone(), expected: "a manifest".into(), found };
        let manifest: Self =
            toml::from_str(&text).map_err(|error| problem(error.to_string().trim().replace('\n', " ")))?;
        if let Some(file) = manifest.files.iter().find(|file| Path::new(&file.name).components().count() != 1) {
            return Err(problem(format!("the file name {:?}", file.name)));
        }
        match [READER, JUDGE, WEIGHTS].iter().chain(&TOKENIZER).find(|name| manifest.file(name).is_none()) {
            Some(missing) => Err(problem(format!("no [[files]] entry for {missing}"))),
            None => Ok(manifest),
        }
    }

    fn file(&self, name: &str) -> Option<&Pinned> {
        self.files.iter().find(|file| file.name == name)
    }

    /// Compares every file of `folder` with its promise and names all that differ; and a judge that is as promised, but
    /// not for this version.
    pub fn problems(&self, folder: &Path) -> Vec<FileProblem> {
        let read = |file: &Pinned| file.read(&folder.join(&file.name));
        let mut problems: Vec<FileProblem> = self.files.iter().filter_map(|file| read(file).err()).collect();
        if let Some(Ok(judge)) = self.file(JUDGE).map(read)
            && let Err(found) = Judge::read(&judge)
        {
            problems.push(FileProblem { path: folder.join(JUDGE), expected: "a judge for this version".into(), found });
        }
        problems
    }
}

/// A verifier's files in memory, checked.
pub struct Loaded {
    /// What it is.
    pub manifest: Manifest,
    /// The reader's graph.
    pub onnx: Vec<u8>,
    /// The reader's tokenizer.
    pub tokenizer: TokenizerFiles,
    /// The judge.
    pub judge: Judge,
    /// The information in each token, by its id: 0 (everywhere) to 255 (rare).
    pub weights: Vec<u8>,
}

impl Loaded {
    /// Reads and checks the verifier in `folder`.
    ///
    /// # Errors
    /// The first file that is missing, short, altered or of no sense.
    pub fn from_folder(folder: &Path) -> Result<Self, String> {
        let manifest = Manifest::read(folder).map_err(|problem| problem.to_string())?;
        let read = |name: &str| -> Result<Vec<u8>, String> {
            let pinned = manifest.file(name).ok_or_else(|| format!("no {name}"))?;
            pinned.read(&folder.join(name)).map_err(|problem| problem.to_string())
        };
        let judge = Judge::read(&read(JUDGE)?).map_err(|problem| format!("{JUDGE}: {problem}"))?;
        let [tokenizer_file, config_file, special_tokens_map_file, tokenizer_config_file] = TOKENIZER.map(read);
        let tokenizer = TokenizerFiles {
            tokenizer_file: tokenizer_file?,
            config_file: config_file?,
            special_tokens_map_file: special_tokens_map_file?,
            tokenizer_config_file: tokenizer_config_file?,
        };
        Ok(Self { onnx: read(READER)?, tokenizer, judge, weights: read(WEIGHTS)?, manifest })
    }
}

#[cfg(test)]
pub(crate) mod tests;
