//! A model folder: what its `model.toml` promises, and the files that must keep the promise.
//!
//! Every file is checked by size and SHA-256 whenever it is read, so a model that loads is the model that was named.
//! A folder without `model.toml` is taken as it is, with cautious defaults; its sums are computed instead of compared.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use fastembed::{Pooling, QuantizationMode, TokenizerFiles};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::types::Fingerprint;

/// The name of the manifest within a model's folder.
pub const MANIFEST: &str = "model.toml";
/// The name of the self-test's data within a model's folder.
pub const SELF_TEST: &str = "self_test.json";
const MODEL: &str = "model.onnx";
/// The tokenizer's files within a model's folder, in fastembed's order.
pub const TOKENIZER: [&str; 4] = ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"];

/// Cosine from which two texts count as the same, for models that come without a measured value.
///
/// Higher than any measured one so far: without evidence, a hit is only given to near copies.
pub const UNMEASURED_SIMILARITY: f32 = 0.97;

/// Longest text, in tokens, of a model that does not say: longer runs cost memory that is never given back.
const UNSTATED_MAX_TOKENS: usize = 256;

/// A file that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}: expected {expected}, found {found}", path.display())]
pub struct FileProblem {
    /// Which file.
    pub path: PathBuf,
    /// What was promised.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl FileProblem {
    /// A file that could not be read at all.
    pub fn unreadable(path: &Path, expected: impl Into<String>, error: &std::io::Error) -> Self {
        let found = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".into(),
            _ => error.to_string(),
        };
        Self { path: path.into(), expected: expected.into(), found }
    }
}

/// A file's promised size and sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pinned {
    /// The file's name within its folder.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
    /// Its SHA-256 in lower-case hexadecimal.
    pub sha256: String,
}

impl Pinned {
    /// Reads the file at `path` and compares it with the promise.
    ///
    /// # Errors
    /// The first difference: existence, size, sum.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, FileProblem> {
        let size = format!("{} bytes", self.size);
        let length = fs::metadata(path).map_err(|error| FileProblem::unreadable(path, &size, &error))?.len();
        let problem = |expected: String, found: String| FileProblem { path: path.into(), expected, found };
        if length != self.size {
            return Err(problem(size, format!("{length} bytes")));
        }
        let bytes = fs::read(path).map_err(|error| FileProblem::unreadable(path, &size, &error))?;
        let sum = sha256_hex(&bytes);
        if sum != self.sha256 {
            return Err(problem(format!("sha256 {}", self.sha256), format!("sha256 {sum}")));
        }
        Ok(bytes)
    }
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolingName {
    /// Their mean.
    #[default]
    Mean,
    /// The first token's vector.
    Cls,
}

/// What a model is and what it may be used for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// The name it is asked for by.
    pub name: String,
    /// The maker's revision.
    pub revision: String,
    /// Components of a vector; absent: the first answer tells.
    pub dimension: Option<usize>,
    /// How token vectors become one.
    pub pooling: PoolingName,
    /// The longest text, in tokens, the special ones included.
    pub max_tokens: usize,
    /// What is put before every text.
    pub prefix: String,
    /// Languages (ISO 639-1) that it was made for; `*` is every one.
    pub languages: Vec<String>,
    /// Cosine from which two texts count as the same when nothing else decides, 0 to 1.
    pub calibrated_similarity: f32,
    /// The files with their sums.
    pub files: Vec<Pinned>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            name: String::new(),
            revision: String::new(),
            dimension: None,
            pooling: PoolingName::Mean,
            max_tokens: UNSTATED_MAX_TOKENS,
            prefix: String::new(),
            languages: vec!["en".into()],
            calibrated_similarity: UNMEASURED_SIMILARITY,
            files: Vec::new(),
        }
    }
}

impl Manifest {
    /// Reads `folder/model.toml`.
    ///
    /// # Errors
    /// When it is missing, is not TOML, or its values make no sense.
    pub fn read(folder: &Path) -> Result<Self, FileProblem> {
        let path = folder.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(|e| FileProblem::unreadable(&path, "a manifest", &e))?;
        let problem = |found: String| FileProblem { path: path.clone(), expected: "a manifest".into(), found };
        let manifest: Self =
            toml::from_str(&text).map_err(|error| problem(error.to_string().trim().replace('\n', " ")))?;
        manifest.check().map_err(problem)?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), String> {
        if self.dimension == Some(0) || self.max_tokens < 3 {
            return Err("dimension or max_tokens too small".into());
        }
        if !(0.0..=1.0).contains(&self.calibrated_similarity) {
            return Err(format!("calibrated_similarity = {}", self.calibrated_similarity));
        }
        if let Some(file) = self.files.iter().find(|file| Path::new(&file.name).components().count() != 1) {
            return Err(format!("the file name {:?}", file.name));
        }
        match std::iter::once(MODEL).chain(TOKENIZER).find(|name| !self.files.iter().any(|file| file.name == *name)) {
            Some(missing) => Err(format!("no [[files]] entry for {missing}")),
            None => Ok(()),
        }
    }

    /// What made the vectors: changes with every file that has a say in them, pooling, prefix and dimension. Of a
    /// manifest that was loaded: its `files` are then what was read.
    pub fn fingerprint(&self, dimension: usize) -> Fingerprint {
        let mut sums: Vec<_> = self.files.iter().filter(|file| file.name != SELF_TEST).collect();
        sums.sort_by(|a, b| a.name.cmp(&b.name));
        let pooling = format!("{:?}", self.pooling);
        let dimension = dimension.to_string();
        let mut fields = vec!["local", "unit", &pooling, &self.prefix, &dimension];
        fields.extend(sums.iter().flat_map(|file| [file.name.as_str(), file.sha256.as_str()]));
        fingerprint_of(&fields)
    }

    /// Compares every file of `folder` with its promise and names all that differ.
    pub fn problems(&self, folder: &Path) -> Vec<FileProblem> {
        self.files.iter().filter_map(|file| file.read(&folder.join(&file.name)).err()).collect()
    }
}

/// A model's files in memory, checked.
pub struct Loaded {
    /// What the model is; `files` holds the sums of what was read.
    pub manifest: Manifest,
    /// The graph.
    pub onnx: Vec<u8>,
    /// Weights that are kept beside the graph, by the name that the graph calls them.
    pub external: Vec<(String, Vec<u8>)>,
    /// The tokenizer.
    pub tokenizer: TokenizerFiles,
    /// Reference vectors and pairs, if the folder has them.
    pub self_test: Option<Vec<u8>>,
    /// Which output of the graph holds the vectors; absent: the usual one.
    pub output: Option<fastembed::OutputKey>,
    /// Whether one text moves the vectors of the others in its batch. No matter here: one text is one run.
    pub quantization: QuantizationMode,
}

impl Loaded {
    /// Reads and checks the model in `folder`.
    ///
    /// # Errors
    /// The first file that is missing, short or altered.
    pub fn from_folder(folder: &Path) -> Result<Self, FileProblem> {
        let mut manifest =
            if folder.join(MANIFEST).exists() { Manifest::read(folder)? } else { Self::unmanifested(folder) };
        let promised = std::mem::take(&mut manifest.files);
        let mut read = |name: &str| -> Result<Vec<u8>, FileProblem> {
            let path = folder.join(name);
            let bytes = match promised.iter().find(|file| file.name == name) {
                Some(pinned) => pinned.read(&path)?,
                None => fs::read(&path).map_err(|e| FileProblem::unreadable(&path, "a model's file", &e))?,
            };
            manifest.files.push(Pinned { name: name.into(), size: bytes.len() as u64, sha256: sha256_hex(&bytes) });
            Ok(bytes)
        };
        let onnx = read(MODEL)?;
        let [tokenizer_file, config_file, special_tokens_map_file, tokenizer_config_file] = TOKENIZER.map(&mut read);
        let has_self_test = promised.iter().any(|file| file.name == SELF_TEST) || folder.join(SELF_TEST).exists();
        let self_test = if has_self_test { Some(read(SELF_TEST)?) } else { None };
        Ok(Self {
            onnx,
            external: Vec::new(),
            tokenizer: TokenizerFiles {
                tokenizer_file: tokenizer_file?,
                config_file: config_file?,
                special_tokens_map_file: special_tokens_map_file?,
                tokenizer_config_file: tokenizer_config_file?,
            },
            self_test,
            output: None,
            quantization: QuantizationMode::None,
            manifest,
        })
    }

    fn unmanifested(folder: &Path) -> Manifest {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy().into_owned();
        Manifest { name, ..Manifest::default() }
    }

    /// The pooling in fastembed's own terms.
    pub fn pooling(&self) -> Pooling {
        match self.manifest.pooling {
            PoolingName::Mean => Pooling::Mean,
            PoolingName::Cls => Pooling::Cls,
        }
    }
}

/// BLAKE3 over `fields`, each preceded by its length so that no two lists run together.
pub fn fingerprint_of(fields: &[&str]) -> Fingerprint {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"refrain embedder 1");
    for field in fields {
        hasher.update(&(field.len() as u64).to_le_bytes());
        hasher.update(field.as_bytes());
    }
    Fingerprint(*hasher.finalize().as_bytes())
}
