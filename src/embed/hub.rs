//! Models of a hub (`HF_ENDPOINT`), in the hub's own local cache (`HF_HOME`).
//!
//! A service only reads the cache; [`fetch`] fills it, and only `refrain models fetch --model NAME` calls that.

use std::fs;
use std::path::PathBuf;

use fastembed::{EmbeddingModel, ModelInfo, Pooling, TextEmbedding, TokenizerFiles};
use hf_hub::api::sync::ApiBuilder;
use hf_hub::{Cache, Repo};

use super::manifest::{Loaded, Manifest, Pinned, PoolingName, TOKENIZER, sha256_hex};

/// Fetches the files of `model` that are not there yet. Blocks.
///
/// # Errors
/// What the hub said.
pub fn fetch(model: &EmbeddingModel) -> Result<(), String> {
    let info = info(model)?;
    let api = ApiBuilder::from_env().build().map_err(|error| format!("no client for the hub: {error}"))?;
    let repository = api.model(info.model_code.clone());
    for name in names(info) {
        repository.get(&name).map_err(|error| format!("{}: {name}: {error}", info.model_code))?;
    }
    Ok(())
}

/// Reads `model` from the local cache.
///
/// # Errors
/// Which file is not there, and how to get it.
pub fn load(model: &EmbeddingModel) -> Result<Loaded, String> {
    let info = info(model)?;
    let mut manifest = manifest(info);
    let mut read = |name: &str| -> Result<Vec<u8>, String> {
        let path = cached(info, name)?;
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        manifest.files.push(Pinned { name: name.into(), size: bytes.len() as u64, sha256: sha256_hex(&bytes) });
        Ok(bytes)
    };
    let onnx = read(&info.model_file)?;
    let external: Result<Vec<_>, String> = info
        .additional_files
        .iter()
        .map(|name| Ok((name.rsplit('/').next().unwrap_or(name).to_owned(), read(name)?)))
        .collect();
    let external = external?;
    let [tokenizer_file, config_file, special_tokens_map_file, tokenizer_config_file] = TOKENIZER.map(&mut read);
    let tokenizer = TokenizerFiles {
        tokenizer_file: tokenizer_file?,
        config_file: config_file?,
        special_tokens_map_file: special_tokens_map_file?,
        tokenizer_config_file: tokenizer_config_file?,
    };
    let quantization = TextEmbedding::get_quantization_mode(model);
    Ok(Loaded { manifest, onnx, external, tokenizer, self_test: None, output: info.output_key.clone(), quantization })
}

fn info(model: &EmbeddingModel) -> Result<&ModelInfo<EmbeddingModel>, String> {
    TextEmbedding::get_model_info(model).map_err(|error| error.to_string())
}

fn names(info: &ModelInfo<EmbeddingModel>) -> Vec<String> {
    let tokenizer = TOKENIZER.iter().map(|&name| name.to_owned());
    std::iter::once(info.model_file.clone()).chain(info.additional_files.iter().cloned()).chain(tokenizer).collect()
}

fn cached(info: &ModelInfo<EmbeddingModel>, name: &str) -> Result<PathBuf, String> {
    let found = Cache::from_env().repo(Repo::model(info.model_code.clone())).get(name);
    let code = &info.model_code;
    found.ok_or_else(|| format!("{code}: {name} has not been fetched: `refrain models fetch --model {code}` does it"))
}

fn manifest(info: &ModelInfo<EmbeddingModel>) -> Manifest {
    let pooling = match TextEmbedding::get_default_pooling_method(&info.model) {
        Some(Pooling::Mean) => PoolingName::Mean,
        None | Some(Pooling::Cls) => PoolingName::Cls,
    };
    // The list says no languages; these words in a model's name do.
    let code = info.model_code.to_lowercase();
    let multilingual = ["multilingual", "bge-m3", "paraphrase-xlm"].iter().any(|word| code.contains(word));
    let languages = vec![if multilingual { "*" } else { "en" }.to_owned()];
    let dimension = Some(info.dim);
    Manifest { name: info.model_code.clone(), dimension, pooling, languages, ..Manifest::default() }
}
