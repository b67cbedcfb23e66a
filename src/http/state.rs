//! What every handler can reach.

use std::sync::Arc;
use std::time::Instant;

use crate::cache::Cache;
use crate::config::Config;
use crate::http::auth::Access;
use crate::tasks::Tasks;
use crate::upstream::Upstreams;

/// The parts that the composition root puts together.
pub struct AppParts {
    /// The engine.
    pub cache: Cache,
    /// The providers.
    pub upstreams: Upstreams,
    /// The configuration in effect.
    pub config: Config,
    /// Who may do what.
    pub access: Access,
    /// The only spawner.
    pub tasks: Tasks,
    /// Renders `/metrics`.
    pub metrics: crate::metrics::Handle,
    /// When the service started.
    pub started: Instant,
    /// What went wrong at the start and costs hits: shown by `/readyz`.
    pub notices: Vec<String>,
}

/// The handlers' state; cheap to clone.
#[derive(Clone)]
pub struct App(Arc<AppParts>);

impl App {
    /// Shares the parts.
    pub fn new(parts: AppParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl std::ops::Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}
