//! The service's configuration: defaults, then a TOML file, then `REFRAIN__SECTION__KEY`, then flags.
//!
//! Parsed once at the start into types that cannot be wrong. The environment is an argument, so tests need not set it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::types::{CacheId, Dialect};

mod duration;
mod environment;
mod load;
mod policy_file;

pub use duration::{Span, parse_span};
pub use load::{ConfigError, Overrides, Secrets, is_loopback, load, load_secrets};
pub use policy_file::FilePolicy;

/// Everything `refrain serve` can be told.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The socket and its limits.
    pub server: Server,
    /// Where entries are kept.
    pub store: Store,
    /// What turns text into vectors.
    pub embedder: Embedder,
    /// What gives a second opinion on a candidate.
    pub verifier: Verifier,
    /// How the nearest entries are found.
    pub index: Index,
    /// Where misses go. Empty: the public OpenAI and Anthropic APIs.
    pub upstreams: Vec<Upstream>,
    /// What happens to a fill whose caller left.
    pub fill: Fill,
    /// Policies of caches that exist from the start.
    pub caches: BTreeMap<CacheId, FilePolicy>,
    /// Who may do what.
    pub auth: Auth,
    /// What is logged and how.
    pub log: Log,
}

/// `[server]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    /// Address and port; port 0 picks a free one.
    pub listen: String,
    /// The largest request body, in bytes.
    pub max_body_bytes: u64,
    /// How long a shutdown waits for requests under way.
    pub drain: Span,
    /// How long a caller may stop reading before its stream is given up.
    pub write_timeout: Span,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            max_body_bytes: 64 << 20,
            drain: Span::seconds(25),
            write_timeout: Span::seconds(60),
        }
    }
}

/// `[store]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The folder of the redb file and the index snapshots.
    pub data_dir: PathBuf,
    /// `embedded`, the only backend of this version.
    pub backend: BackendName,
    /// Memory for entries that were read lately, in bytes.
    pub memory_bytes: u64,
    /// How often expired entries are swept out.
    pub sweep_every: Span,
}

/// The kinds of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendName {
    /// A redb file of this process.
    Embedded,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            data_dir: "refrain-data".into(),
            backend: BackendName::Embedded,
            memory_bytes: 256 << 20,
            sweep_every: Span::seconds(60),
        }
    }
}

/// `[embedder]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Embedder {
    /// A name from `refrain models list`, or a folder. Absent with `remote`; else the default model.
    pub model: Option<String>,
    /// An OpenAI-compatible embeddings API in place of a local model.
    pub remote: Option<Remote>,
    /// Where model folders are; else `./models`, else beside the executable.
    pub models_dir: Option<PathBuf>,
    /// The ONNX Runtime library; else the fetched one.
    pub runtime_library: Option<PathBuf>,
    /// A lookup's time for the embedding; past it the request goes upstream.
    pub deadline: Span,
    /// Embedding threads, one model session each; 0 picks by the number of cores.
    pub threads: usize,
    /// Texts that may wait for a thread; more are turned away.
    pub queue: usize,
    /// Recent texts whose vectors are remembered.
    pub cache_entries: u64,
}

impl Embedder {
    /// The model that is used when none is named.
    pub const DEFAULT_MODEL: &'static str = "all-minilm-l6-v2-int8";
}

impl Default for Embedder {
    fn default() -> Self {
        Self {
            model: None,
            remote: None,
            models_dir: None,
            runtime_library: None,
            deadline: Span::millis(500),
            threads: 0,
            queue: 256,
            cache_entries: 10_000,
        }
    }
}

/// `[embedder] remote`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remote {
    /// Ends before `/embeddings`.
    pub base_url: String,
    /// The model's name over there.
    pub model: String,
    /// The environment variable with the key, if one is needed.
    pub api_key_env: Option<String>,
}

/// `[verifier]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Verifier {
    /// The folder of a verifier's files, or a name under the models' folder; absent: the one that was made for the
    /// embedder. `none`: no verifier, and every policy goes by cosine and guards.
    pub model: Option<String>,
    /// A candidate's time for the reader; past it the candidate is not served.
    pub deadline: Span,
    /// Reading threads, one model session each; 0 picks by the number of cores.
    pub threads: usize,
    /// Pairs that may wait for a thread; more are turned away.
    pub queue: usize,
    /// Recent pairs whose reading is remembered.
    pub cache_entries: u64,
}

impl Verifier {
    /// The embedders that ship, and the verifier that each goes with.
    pub const PAIRS: [(&str, &str); 2] =
        [(Embedder::DEFAULT_MODEL, "verifier-en-1"), ("multilingual-e5-small-int8", "verifier-multi-1")];
    /// The name of no verifier.
    pub const NONE: &str = "none";

    /// The verifier's name: the one that was set, else the one that goes with `embedder`. Of an embedder that none was
    /// made for it is the usual one, which then says that it does not work with it.
    pub fn name(&self, embedder: Option<&str>) -> &str {
        let named = embedder.unwrap_or(Embedder::DEFAULT_MODEL);
        let goes = Self::PAIRS.iter().find(|(one, _)| *one == named).map_or(Self::PAIRS[0].1, |(_, verifier)| verifier);
        self.model.as_deref().unwrap_or(goes)
    }
}

impl Default for Verifier {
    fn default() -> Self {
        Self { model: None, deadline: Span::millis(500), threads: 0, queue: 256, cache_entries: 10_000 }
    }
}

/// `[index]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Index {
    /// Entries from which a partition is searched by graph instead of scanned.
    pub graph_from: usize,
    /// Breadth of a graph search; larger finds more and takes longer.
    pub ef_search: usize,
    /// Breadth of the search that places a new point.
    pub ef_construction: usize,
    /// Links of a point, 2 to 256.
    pub m: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { graph_from: 35_000, ef_search: 128, ef_construction: 100, m: 16 }
    }
}

/// `[[upstreams]]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// The name in logs, metrics and keys.
    pub name: String,
    /// The API it speaks.
    pub dialect: Dialect,
    /// Ends in `/v1`.
    pub base_url: String,
    /// The environment variable with the provider's key; absent: the caller's own key is passed through.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// Time to open a connection.
    #[serde(default = "Upstream::default_connect")]
    pub connect_timeout: Span,
    /// Time from sending the request to the first byte of the answer.
    #[serde(default = "Upstream::default_first_byte")]
    pub first_byte_timeout: Span,
    /// The longest silence within an answer.
    #[serde(default = "Upstream::default_idle")]
    pub idle_timeout: Span,
    /// PEM certificates to trust besides the system's.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// Speak HTTP/2 at once, without asking; TLS connections agree on it by themselves.
    #[serde(default)]
    pub http2_prior_knowledge: bool,
}

impl Upstream {
    fn default_connect() -> Span {
        Span::seconds(10)
    }

    fn default_first_byte() -> Span {
        Span::seconds(600)
    }

    fn default_idle() -> Span {
        Span::seconds(120)
    }

    /// An upstream with the default timeouts.
    pub fn new(name: &str, dialect: Dialect, base_url: &str) -> Self {
        Self {
            name: name.into(),
            dialect,
            base_url: base_url.into(),
            api_key_env: None,
            connect_timeout: Self::default_connect(),
            first_byte_timeout: Self::default_first_byte(),
            idle_timeout: Self::default_idle(),
            ca_file: None,
            http2_prior_knowledge: false,
        }
    }
}

/// `[fill]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fill {
    /// How long a fill goes on after its caller left, once the first byte has come; 0 cancels at once.
    pub finish_within: Span,
    /// How long a request waits for an identical one under way before it goes upstream by itself.
    pub follow_within: Span,
}

impl Default for Fill {
    fn default() -> Self {
        Self { finish_within: Span::seconds(30), follow_within: Span::seconds(60) }
    }
}

/// `[auth]`
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// The environment variable with the admin key. Absent: loopback only, open to local programs.
    pub admin_key_env: Option<String>,
    /// With keys: take the provider's key from `x-refrain-upstream-authorization`.
    pub pass_through: bool,
}

/// `[log]`
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// `text` or `json`.
    pub format: LogFormat,
    /// A filter as tracing takes it: `info`, `refrain=debug`.
    pub filter: String,
}

/// The shape of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".into() }
    }
}
