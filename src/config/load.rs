//! Reading the configuration: defaults, then the file, then the environment, then flags; then the rules between fields.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use serde_json::Value as Json;
use toml::Table;
use tracing_subscriber::EnvFilter;

use crate::config::{Config, FilePolicy, Log, Upstream, Verifier, environment};
use crate::error::Invalid;
use crate::types::{CacheId, Dialect};

/// Why the configuration cannot be used; names the field and what it accepts.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

impl ConfigError {
    /// A complaint about a field.
    pub fn new(field: &str, problem: impl fmt::Display, accepted: impl fmt::Display) -> Self {
        Self(format!("{field}: {problem}; accepted: {accepted}"))
    }
}

impl From<Invalid> for ConfigError {
    fn from(invalid: Invalid) -> Self {
        Self(invalid.to_string())
    }
}

/// What the command line says.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The file to read.
    pub file: Option<PathBuf>,
    /// In place of `server.listen`.
    pub listen: Option<String>,
    /// In place of `store.data_dir`.
    pub data_dir: Option<PathBuf>,
}

/// Reads and checks the configuration.
///
/// # Errors
/// With file and line, or the environment variable, and the field that is wrong.
pub fn load(overrides: &Overrides, env: &BTreeMap<String, String>) -> Result<Config, ConfigError> {
    let table = match &overrides.file {
        Some(path) => file(path)?,
        None => Table::new(),
    };
    let mut config = environment::over(table, env)?;
    if let Some(listen) = &overrides.listen {
        config.server.listen.clone_from(listen);
    }
    if let Some(dir) = &overrides.data_dir {
        config.store.data_dir.clone_from(dir);
    }
    config.validate(env)?;
    Ok(config)
}

fn file(path: &std::path::Path) -> Result<Table, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|e| ConfigError(format!("{}: {e}", path.display())))?;
    // Typed first: this error knows the line.
    toml::from_str::<Config>(&text).map_err(|e| ConfigError(format!("{}: {e}", path.display())))?;
    toml::from_str(&text).map_err(|e| ConfigError(format!("{}: {e}", path.display())))
}

impl Config {
    /// The configured upstreams, or the public OpenAI and Anthropic APIs when none is.
    pub fn effective_upstreams(&self) -> Vec<Upstream> {
        if !self.upstreams.is_empty() {
            return self.upstreams.clone();
        }
        vec![
            Upstream::new("openai", Dialect::OpenAi, "https://api.openai.com/v1"),
            Upstream::new("anthropic", Dialect::Anthropic, "https://api.anthropic.com/v1"),
        ]
    }

    /// The configuration as JSON. It names the environment variables that hold secrets, never the secrets.
    pub fn masked(&self) -> Json {
        serde_json::to_value(self.effective()).unwrap_or(Json::Null)
    }

    /// The configuration with its implied upstreams written out.
    pub fn effective(&self) -> Self {
        Self { upstreams: self.effective_upstreams(), ..self.clone() }
    }

    /// Checks ranges and the rules between fields.
    ///
    /// # Errors
    /// The first rule that does not hold.
    pub fn validate(&self, env: &BTreeMap<String, String>) -> Result<(), ConfigError> {
        self.check_server()?;
        self.check_embedder()?;
        self.check_ranges()?;
        for upstream in &self.upstreams {
            self.check_upstream(upstream)?;
        }
        for (id, file) in &self.caches {
            for (field, span) in [("ttl", file.ttl), ("max_ttl", file.max_ttl)] {
                if span.is_some_and(|span| span.0.subsec_millis() != 0) {
                    let field = format!("caches.{id}.{field}");
                    return Err(ConfigError::new(&field, "is not a whole number of seconds", "whole seconds"));
                }
            }
            let named = |invalid: Invalid| {
                let field = format!("caches.{id}.{}", snake(&invalid.field));
                ConfigError::new(&field, snake(&invalid.problem), snake(&invalid.accepted))
            };
            file.policy().validate().map_err(named)?;
            self.check_learning(id, file)?;
        }
        self.log.parsed_filter()?;
        load_secrets(self, env).map(drop)
    }

    fn check_learning(&self, id: &CacheId, file: &FilePolicy) -> Result<(), ConfigError> {
        let none = self.embedder.remote.is_some() || self.verifier.model.as_deref() == Some(Verifier::NONE);
        if none && file.learning == Some(true) {
            let (problem, accepted) =
                ("has no effect without a verifier", "false, or an embedder.model and its verifier");
            return Err(ConfigError::new(&format!("caches.{id}.learning"), problem, accepted));
        }
        Ok(())
    }

    fn check_server(&self) -> Result<(), ConfigError> {
        let listen = &self.server.listen;
        let accepted = "an address and a port, e.g. 127.0.0.1:8080";
        let addresses: Vec<SocketAddr> = listen
            .to_socket_addrs()
            .map_err(|e| ConfigError::new("server.listen", format!("{listen:?}: {e}"), accepted))?
            .collect();
        let keyed = self.auth.admin_key_env.is_some();
        if !keyed && !addresses.iter().all(|address| address.ip().is_loopback()) {
            let problem = format!("{listen:?} is reachable from other machines, and no keys are configured");
            return Err(ConfigError::new("server.listen", problem, "a loopback address, or set auth.admin_key_env"));
        }
        if self.auth.pass_through && !keyed {
            let problem = "has no effect without keys: the caller's own key passes through anyway";
            return Err(ConfigError::new("auth.pass_through", problem, "false, or set auth.admin_key_env"));
        }
        Ok(())
    }

    fn check_embedder(&self) -> Result<(), ConfigError> {
        let embedder = &self.embedder;
        if embedder.model.is_some() && embedder.remote.is_some() {
            return Err(ConfigError::new("embedder", "model and remote exclude each other", "one of them"));
        }
        if embedder.deadline.0.is_zero() {
            return Err(ConfigError::new("embedder.deadline", "is zero", "a duration above 0"));
        }
        if self.verifier.deadline.0.is_zero() {
            return Err(ConfigError::new("verifier.deadline", "is zero", "a duration above 0"));
        }
        if let Some(remote) = &embedder.remote {
            check_url("embedder.remote.base_url", &remote.base_url)?;
        }
        Ok(())
    }

    fn check_ranges(&self) -> Result<(), ConfigError> {
        let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let rows = [
            ("server.max_body_bytes", self.server.max_body_bytes, 1024, 1 << 40),
            ("store.memory_bytes", self.store.memory_bytes, 1 << 20, 1 << 46),
            ("embedder.threads", number(self.embedder.threads), 0, 256),
            ("embedder.queue", number(self.embedder.queue), 1, 100_000),
            ("embedder.cache_entries", self.embedder.cache_entries, 0, 100_000_000),
            ("verifier.threads", number(self.verifier.threads), 0, 256),
            ("verifier.queue", number(self.verifier.queue), 1, 100_000),
            ("verifier.cache_entries", self.verifier.cache_entries, 0, 100_000_000),
            ("index.graph_from", number(self.index.graph_from), 1, u64::MAX),
            ("index.ef_search", number(self.index.ef_search), 1, 10_000),
            ("index.ef_construction", number(self.index.ef_construction), 1, 10_000),
            ("index.m", number(self.index.m), 2, 256),
        ];
        for (field, value, low, high) in rows {
            if !(low..=high).contains(&value) {
                return Err(ConfigError::new(field, format!("{value} is out of range"), format!("{low} to {high}")));
            }
        }
        let spans = [
            ("server.drain", self.server.drain),
            ("server.write_timeout", self.server.write_timeout),
            ("store.sweep_every", self.store.sweep_every),
            ("fill.follow_within", self.fill.follow_within),
        ];
        match spans.iter().find(|(_, span)| span.0.is_zero()) {
            Some((field, _)) => Err(ConfigError::new(field, "is zero", "a duration above 0")),
            None => Ok(()),
        }
    }

    fn check_upstream(&self, upstream: &Upstream) -> Result<(), ConfigError> {
        let field = |name: &str| format!("upstreams.{}.{name}", upstream.name);
        if upstream.name.is_empty() || upstream.name.len() > 64 {
            return Err(ConfigError::new("upstreams.name", format!("{:?}", upstream.name), "1 to 64 characters"));
        }
        let twins = |same: &dyn Fn(&Upstream) -> bool| self.upstreams.iter().filter(|other| same(other)).count() > 1;
        if twins(&|other| other.name == upstream.name) {
            return Err(ConfigError::new(&field("name"), "is there twice", "a name of its own for each upstream"));
        }
        if twins(&|other| other.dialect == upstream.dialect) {
            let problem = format!("a second upstream for {}", upstream.dialect.as_str());
            return Err(ConfigError::new(&field("dialect"), problem, "one upstream for each dialect in this version"));
        }
        check_url(&field("base_url"), &upstream.base_url)?;
        if !upstream.base_url.trim_end_matches('/').ends_with("/v1") {
            return Err(ConfigError::new(
                &field("base_url"),
                format!("{:?}", upstream.base_url),
                "a URL that ends in /v1",
            ));
        }
        let spans = [
            ("connect_timeout", upstream.connect_timeout),
            ("first_byte_timeout", upstream.first_byte_timeout),
            ("idle_timeout", upstream.idle_timeout),
        ];
        match spans.iter().find(|(_, span)| span.0.is_zero()) {
            Some((name, _)) => Err(ConfigError::new(&field(name), "is zero", "a duration above 0")),
            None => Ok(()),
        }
    }
}

fn check_url(field: &str, text: &str) -> Result<(), ConfigError> {
    let wrong = |problem: String| ConfigError::new(field, problem, "an http or https URL without credentials or query");
    let url = reqwest::Url::parse(text).map_err(|e| wrong(format!("{text:?}: {e}")))?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if matches!(url.scheme(), "http" | "https") && url.has_host() && plain {
        return Ok(());
    }
    Err(wrong(format!("{:?}", url.host_str().unwrap_or(text))))
}

impl Log {
    /// The filter as tracing takes it.
    ///
    /// # Errors
    /// When it is none.
    pub fn parsed_filter(&self) -> Result<EnvFilter, ConfigError> {
        EnvFilter::try_new(&self.filter).map_err(|error| {
            let accepted = "a tracing filter, e.g. \"info\" or \"refrain=debug\"";
            ConfigError::new("log.filter", format!("{:?}: {error}", self.filter), accepted)
        })
    }
}

/// Does this URL lead to this machine?
pub fn is_loopback(url: &str) -> bool {
    let host = reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// `maxTtl` as the file spells it: `max_ttl`.
fn snake(camel: &str) -> String {
    let mut text = String::new();
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            text.push('_');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// The keys themselves, read once from the environment variables that the configuration names.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The admin key.
    pub admin_key: Option<String>,
    /// Provider keys by upstream name.
    pub upstream_keys: BTreeMap<String, String>,
    /// The remote embedder's key.
    pub remote_embedder_key: Option<String>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(masked)")
    }
}

/// Reads the keys.
///
/// # Errors
/// A variable that is not set or empty, or an admin key that is too short to be one.
pub fn load_secrets(config: &Config, env: &BTreeMap<String, String>) -> Result<Secrets, ConfigError> {
    let read = |field: String, variable: &Option<String>| -> Result<Option<String>, ConfigError> {
        let Some(name) = variable else { return Ok(None) };
        match env.get(name).map(|key| key.trim()) {
            Some(key) if !key.is_empty() => Ok(Some(key.to_owned())),
            _ => Err(ConfigError::new(
                &field,
                format!("the environment variable {name} is not set"),
                "a variable that holds a key",
            )),
        }
    };
    let admin_key = read("auth.admin_key_env".into(), &config.auth.admin_key_env)?;
    if admin_key.as_ref().is_some_and(|key| key.len() < 16) {
        return Err(ConfigError::new("auth.admin_key_env", "the key is too short", "at least 16 characters"));
    }
    let mut upstream_keys = BTreeMap::new();
    for upstream in &config.upstreams {
        let key = read(format!("upstreams.{}.api_key_env", upstream.name), &upstream.api_key_env)?;
        upstream_keys.extend(key.map(|key| (upstream.name.clone(), key)));
    }
    let remote = config.embedder.remote.as_ref().map(|remote| &remote.api_key_env);
    let remote_embedder_key = read("embedder.remote.api_key_env".into(), remote.unwrap_or(&None))?;
    Ok(Secrets { admin_key, upstream_keys, remote_embedder_key })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, env: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("refrain.toml");
        std::fs::write(&path, text).unwrap();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        load(&Overrides { file: Some(path), ..Overrides::default() }, &env)
    }

    #[test]
    fn no_file_gives_the_documented_defaults() {
        let config = load(&Overrides::default(), &BTreeMap::new()).unwrap();
        assert_eq!(config.server.listen, "127.0.0.1:8080");
        assert_eq!(config.store.data_dir, PathBuf::from("refrain-data"));
        let upstreams = config.effective_upstreams();
        assert_eq!(upstreams.len(), 2);
        assert_eq!(upstreams[0].base_url, "https://api.openai.com/v1");
    }

    #[test]
    fn variables_are_taken_together_and_a_number_may_be_a_text() {
        let env = [
            ("REFRAIN__EMBEDDER__REMOTE__BASE_URL", "http://127.0.0.1:9/v1"),
            ("REFRAIN__EMBEDDER__REMOTE__MODEL", "m"),
            ("REFRAIN__STORE__DATA_DIR", "2024"),
        ];
        let config = with("", &env).unwrap();
        assert_eq!(config.embedder.remote.unwrap().model, "m");
        assert_eq!(config.store.data_dir, PathBuf::from("2024"));
        let env = [("REFRAIN__INDEX__M", "16"), ("REFRAIN__INDEX__COLOUR", "blue")];
        let error = with("", &env).unwrap_err().to_string();
        assert!(error.starts_with("REFRAIN__INDEX__COLOUR: ") && error.contains("colour"), "{error}");
    }

    #[test]
    fn the_environment_wins_over_the_file_and_flags_over_both() {
        let env = [("REFRAIN__EMBEDDER__DEADLINE", "200ms"), ("REFRAIN__INDEX__GRAPH_FROM", "1")];
        let config = with("[embedder]\ndeadline = \"1s\"\n[caches.faq]\nttl = \"24h\"\n", &env).unwrap();
        assert_eq!(config.embedder.deadline.0.as_millis(), 200);
        assert_eq!(config.index.graph_from, 1);
        assert_eq!(config.caches[&"faq".parse().unwrap()].policy().ttl, 86_400);
        let overrides = Overrides { listen: Some("127.0.0.1:0".into()), ..Overrides::default() };
        let env = [("REFRAIN__SERVER__LISTEN".to_owned(), "127.0.0.1:9".to_owned())].into();
        assert_eq!(load(&overrides, &env).unwrap().server.listen, "127.0.0.1:0");
    }

    #[test]
    fn a_bad_file_is_refused_with_the_place_and_the_field() {
        for (text, said) in [
            ("[server]\nlisten = 7\n", "line 2"),
            ("[server]\nlisten = \"0.0.0.0:80\"\n", "admin_key_env"),
            ("[server]\nport = 7\n", "unknown field `port`"),
            ("[embedder]\ndeadline = \"soon\"\n", "500ms"),
            ("[embedder]\ndeadline = 0\n", "embedder.deadline"),
            ("[store]\nbackend = \"redis\"\n", "embedded"),
            ("[index]\nm = 1\n", "index.m"),
            ("[caches.faq]\nttl = 100\nmax_ttl = 10\n", "caches.faq.ttl"),
            ("[caches.faq]\nsimilarity_threshold = 2.0\n", "caches.faq.similarity_threshold"),
            ("[verifier]\nmodel = \"none\"\n[caches.faq]\nlearning = true\n", "caches.faq.learning"),
            ("[caches.faq]\nlearning = true\nverifier = \"none\"\n", "caches.faq.learning"),
            ("[caches.\"no/slash\"]\n", "not a cache name"),
            ("[auth]\nadmin_key_env = \"NO_SUCH_KEY\"\n", "NO_SUCH_KEY"),
            ("[auth]\npass_through = true\n", "auth.pass_through"),
            ("[log]\nfilter = \"a=b=c\"\n", "log.filter"),
            ("[[upstreams]]\nname = \"a\"\ndialect = \"openai\"\nbase_url = \"ftp://x/v1\"\n", "base_url"),
            ("[[upstreams]]\nname = \"a\"\ndialect = \"openai\"\nbase_url = \"http://x/v2\"\n", "/v1"),
            ("[embedder]\nmodel = \"m\"\nremote = { base_url = \"http://x/v1\", model = \"m\" }\n", "exclude"),
        ] {
            let error = with(text, &[]).unwrap_err().to_string();
            assert!(error.contains(said), "{text} gave {error}");
        }
    }

    #[test]
    fn an_environment_error_names_its_variable() {
        for name in ["REFRAIN__SERVER__LISTN", "REFRAIN__SERVER", "REFRAIN__NOWHERE__X"] {
            let error = with("", &[(name, "7")]).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn keys_are_read_and_never_shown() {
        let text = "[auth]\nadmin_key_env = \"ADMIN\"\n[[upstreams]]\nname = \"a\"\ndialect = \"openai\"\nbase_url = \"http://x/v1\"\napi_key_env = \"KEY\"\n";
        let env = [("ADMIN", "0123456789abcdef"), ("KEY", "sk-secret")];
        let config = with(text, &env).unwrap();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let secrets = load_secrets(&config, &env).unwrap();
        assert_eq!(secrets.upstream_keys["a"], "sk-secret");
        assert!(!format!("{secrets:?}{}", config.masked()).contains("sk-secret"));
        assert!(with(text, &[("ADMIN", "short"), ("KEY", "x")]).is_err());
    }
}
