//! A verifier's folder: its manifest, and the files that must be what the manifest promises.

use std::fs;
use std::path::Path;

use fastembed::TokenizerFiles;
use serde::{Deserialize, Serialize};

use super::head::Head;
use super::judge::Judge;
use super::judges::Judges;
use crate::embed::{FileProblem, Pinned, TOKENIZER};
use crate::policy::language::Language;

/// The manifest's name within the folder.
pub const MANIFEST: &str = "verifier.toml";
const READER: &str = "reader.onnx";
const JUDGE: &str = "judge.json";
const WEIGHTS: &str = "token_weights.bin";
const HEAD: &str = "head.bin";

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
    /// The token between two prompts that the embedder's own network reads, followed by `head.bin`; absent: the reader is
    /// a network of its own, `reader.onnx`.
    #[serde(default)]
    pub separator: Option<String>,
    /// Languages with a judge of their own; `judge.json` judges the others.
    #[serde(default)]
    pub judges: Vec<OwnJudge>,
    /// The files with their sums.
    pub files: Vec<Pinned>,
}

/// One language's judge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnJudge {
    /// The language.
    pub language: Language,
    /// Its file.
    pub file: String,
    /// What a policy's target is divided by in this language, at least 1.
    pub strictness: f64,
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
        if let Some(judge) = manifest.judges.iter().find(|judge| !(1.0..=1000.0).contains(&judge.strictness)) {
            return Err(problem(format!("a judge's strictness = {}, not in 1 to 1000", judge.strictness)));
        }
        let missing = manifest.needed().find(|name| manifest.file(name).is_none()).map(str::to_owned);
        match missing {
            Some(missing) => Err(problem(format!("no [[files]] entry for {missing}"))),
            None => Ok(manifest),
        }
    }

    /// The files that it cannot do without.
    fn needed(&self) -> impl Iterator<Item = &str> {
        let own = [READER].into_iter().chain(TOKENIZER);
        let reader = own.filter(|_| self.separator.is_none()).chain(self.separator.as_ref().map(|_| HEAD));
        reader.chain([JUDGE, WEIGHTS]).chain(self.judges.iter().map(|judge| judge.file.as_str()))
    }

    /// Names these files: another for any that differs.
    pub fn mark(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for file in &self.files {
            hasher.update(file.name.as_bytes()).update(file.sha256.as_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    fn file(&self, name: &str) -> Option<&Pinned> {
        self.files.iter().find(|file| file.name == name)
    }

    /// Compares every file of `folder` with its promise and names all that differ; and a judge that is as promised, but
    /// not for this version.
    pub fn problems(&self, folder: &Path) -> Vec<FileProblem> {
        let read = |file: &Pinned| file.read(&folder.join(&file.name));
        let mut problems: Vec<FileProblem> = self.files.iter().filter_map(|file| read(file).err()).collect();
        for name in self.judges.iter().map(|judge| judge.file.as_str()).chain([JUDGE]) {
            if let Some(Ok(judge)) = self.file(name).map(read)
                && let Err(found) = Judge::read(&judge)
            {
                problems.push(FileProblem {
                    path: folder.join(name),
                    expected: "a judge for this version".into(),
                    found,
                });
            }
        }
        problems
    }
}

/// What reads two prompts together.
pub enum Reading {
    /// A network of its own.
    Own {
        /// The graph.
        onnx: Vec<u8>,
        /// Its tokenizer.
        tokenizer: TokenizerFiles,
    },
    /// The embedder's network.
    Shared {
        /// What compares the sides.
        head: Head,
        /// The token between them.
        separator: String,
    },
}

/// A verifier's files in memory, checked.
pub struct Loaded {
    /// What it is.
    pub manifest: Manifest,
    /// The reader.
    pub reading: Reading,
    /// The judges.
    pub judges: Judges,
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
        let judge = |name: &str| Judge::read(&read(name)?).map_err(|problem| format!("{name}: {problem}"));
        let own = manifest.judges.iter().map(|own| Ok((own.language, judge(&own.file)?, own.strictness)));
        let judges = Judges::new(judge(JUDGE)?, own.collect::<Result<_, String>>()?);
        let (reading, weights) = (reading(&manifest, &read)?, read(WEIGHTS)?);
        Ok(Self { manifest, reading, judges, weights })
    }
}

fn reading(manifest: &Manifest, read: &impl Fn(&str) -> Result<Vec<u8>, String>) -> Result<Reading, String> {
    if let Some(separator) = &manifest.separator {
        let head = Head::read(&read(HEAD)?).map_err(|problem| format!("{HEAD}: {problem}"))?;
        return Ok(Reading::Shared { head, separator: separator.clone() });
    }
    let [tokenizer_file, config_file, special_tokens_map_file, tokenizer_config_file] = TOKENIZER.map(read);
    let tokenizer = TokenizerFiles {
        tokenizer_file: tokenizer_file?,
        config_file: config_file?,
        special_tokens_map_file: special_tokens_map_file?,
        tokenizer_config_file: tokenizer_config_file?,
    };
    Ok(Reading::Own { onnx: read(READER)?, tokenizer })
}

#[cfg(test)]
pub(crate) mod tests;
