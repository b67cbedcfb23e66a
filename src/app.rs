//! The composition root: puts the parts together, and takes them apart in order.
//!
//! Shutdown order: no new connections; requests and fills under way finish within the drain limit; tasks end; the
//! embedder's threads end; the store writes what is queued and its snapshot. Nothing acknowledged is lost.

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;

use crate::cache::{Cache, Policies};
use crate::config::{Config, Secrets};
use crate::embed::{Embedder, StartError as EmbedderError};
use crate::http::{self, Access, App, AppParts};
use crate::metrics;
use crate::settings::CachePolicy;
use crate::store::{OpenReport, Store, StoreError, StoreOptions};
use crate::tasks::Tasks;
use crate::types::{CacheId, Clock};
use crate::upstream::{Upstream, Upstreams};

/// Why the service could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("server.listen {address:?}: {cause}")]
    Listen {
        /// The configured address.
        address: String,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The embedder's configuration cannot work.
    #[error(transparent)]
    Embedder(#[from] EmbedderError),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An upstream cannot be used.
    #[error("{0}")]
    Upstream(String),
}

/// A service that runs until it is told to stop.
pub struct Service {
    address: SocketAddr,
    cache: Cache,
    tasks: Tasks,
    drain: Duration,
    stop: tokio_util::sync::CancellationToken,
    served: tokio::sync::oneshot::Receiver<()>,
}

impl Service {
    /// Starts everything and listens. `env` is the process environment, handed in so that tests need not set it.
    ///
    /// # Errors
    /// What stands in the way of serving at all. A model or runtime that does not work is not among it: the service
    /// runs exact-only then, and `/readyz` says so.
    pub async fn start(config: Config, secrets: Secrets) -> Result<Self, StartError> {
        let started = Instant::now();
        let handle = metrics::install();
        let listener = TcpListener::bind(&config.server.listen)
            .await
            .map_err(|cause| StartError::Listen { address: config.server.listen.clone(), cause })?;
        let address = listener
            .local_addr()
            .map_err(|cause| StartError::Listen { address: config.server.listen.clone(), cause })?;
        let upstreams = upstreams(&config, &secrets)?;
        let embedder = Embedder::start(&config.embedder, secrets.remote_embedder_key.as_deref()).await?;
        let (cache, report) = engine(&config, embedder).await?;
        let notices = notices(&report);
        let tasks = Tasks::default();
        cache.start_upkeep(&tasks, config.store.sweep_every.0);
        let drain = config.server.drain.0;
        let access = Access::new(secrets.admin_key.as_deref());
        let app = App::new(AppParts {
            cache: cache.clone(),
            upstreams,
            config,
            access,
            tasks: tasks.clone(),
            metrics: handle,
            started,
            notices,
        });
        let stop = tokio_util::sync::CancellationToken::new();
        let (done, served) = tokio::sync::oneshot::channel();
        tasks.spawn("http", serve(listener, app, stop.clone(), drain, done));
        Ok(Self { address, cache, tasks, drain, stop, served })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The engine, for programs that embed the service.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Stops: drains what is under way, then closes the store.
    ///
    /// # Errors
    /// When the store cannot be closed cleanly.
    pub async fn shutdown(self) -> Result<(), StoreError> {
        let until = Instant::now() + self.drain;
        self.tasks.begin_closing();
        self.cache.store().stop_building();
        self.stop.cancel();
        let _ = tokio::time::timeout_at(until.into(), self.served).await;
        let stuck = self.tasks.drain(until.saturating_duration_since(Instant::now())).await;
        for (name, count) in stuck {
            tracing::warn!(task = name, count, "still running after the drain limit; ended");
        }
        close(self.cache).await
    }
}

/// The engine with its store, without a door and without upkeep.
///
/// # Errors
/// When the store cannot be opened.
pub async fn engine(config: &Config, embedder: Embedder) -> Result<(Cache, OpenReport), StoreError> {
    let (store, report) = open_store(config, &embedder).await?;
    let clock = Clock::system(report.latest);
    let secret = installation_secret(&store).await?;
    let configured = config.caches.iter().map(|(id, file)| (id.clone(), file.policy()));
    let policies = Policies::load(&store, configured.collect::<std::collections::BTreeMap<CacheId, CachePolicy>>());
    Ok((Cache::new(store, embedder, policies, clock, secret), report))
}

/// Ends the embedder's threads, then closes the store.
///
/// # Errors
/// When the store cannot be closed cleanly.
pub async fn close(cache: Cache) -> Result<(), StoreError> {
    let embedder = cache.embedder().clone();
    let joined = tokio::task::spawn_blocking(move || embedder.shutdown());
    let _ = tokio::time::timeout(Duration::from_secs(5), joined).await;
    cache.store().clone().close().await
}

async fn serve(
    listener: TcpListener,
    app: App,
    stop: tokio_util::sync::CancellationToken,
    drain: Duration,
    done: tokio::sync::oneshot::Sender<()>,
) {
    use axum::ServiceExt;
    use axum::serve::ListenerExt;
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let stopping = stop.clone();
    let service = http::service(app).into_make_service();
    let server = axum::serve(listener, service).with_graceful_shutdown(async move { stopping.cancelled().await });
    let limit = async {
        stop.cancelled().await;
        tokio::time::sleep(drain).await;
    };
    tokio::select! {
        result = server.into_future() => {
            if let Err(error) = result {
                tracing::error!(%error, "the server ended");
            }
        }
        () = limit => tracing::warn!("connections still open after the drain limit; they end with the process"),
    }
    let _ = done.send(());
}

/// The configured upstreams, ready to be called.
///
/// # Errors
/// A key that no header can carry, or a certificate file that cannot be used.
pub fn upstreams(config: &Config, secrets: &Secrets) -> Result<Upstreams, StartError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let make = |upstream: &crate::config::Upstream| {
        let key = secrets.upstream_keys.get(&upstream.name).map(String::as_str);
        Upstream::new(upstream, key).map_err(StartError::Upstream)
    };
    config.effective_upstreams().iter().map(make).collect::<Result<_, _>>().map(Upstreams::new)
}

async fn open_store(config: &Config, embedder: &Embedder) -> Result<(Store, OpenReport), StoreError> {
    let options = StoreOptions {
        dir: config.store.data_dir.clone(),
        index: config.index.clone(),
        memory_bytes: config.store.memory_bytes,
        fingerprint: embedder.fingerprint(),
        dimension: embedder.dimension().unwrap_or(0),
    };
    let opened = tokio::task::spawn_blocking(move || Store::open(options)).await;
    opened.map_err(|panicked| StoreError::Failed(panicked.to_string()))?
}

fn notices(report: &OpenReport) -> Vec<String> {
    let mut notices = Vec::new();
    if let Some(path) = &report.set_aside {
        let notice = format!("the store's file was damaged and has been set aside as {}", path.display());
        tracing::error!("{notice}");
        notices.push(notice);
    }
    if report.vectors_ignored > 0 {
        let count = report.vectors_ignored;
        tracing::warn!(count, "entries of another embedder are found exactly only");
    }
    tracing::info!(entries = report.entries, took_ms = report.took.as_millis(), "store open");
    notices
}

/// The key of tenant hashes, made once for each installation.
async fn installation_secret(store: &Store) -> Result<[u8; 32], StoreError> {
    const NAME: &str = "secret";
    if let Some(secret) = store.settings().get(NAME).and_then(|bytes| bytes.as_slice().try_into().ok()) {
        return Ok(secret);
    }
    let mut secret = [0; 32];
    for (half, id) in secret.chunks_mut(16).zip([uuid::Uuid::new_v4(), uuid::Uuid::new_v4()]) {
        half.copy_from_slice(id.as_bytes());
    }
    let secret: [u8; 32] = blake3::hash(&secret).into();
    store.put_setting(NAME, secret.to_vec()).await?;
    Ok(secret)
}
