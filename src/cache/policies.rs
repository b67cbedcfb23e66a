//! Which caches there are, and by which policy each goes. Changes are durable before they take effect.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::policy::document;
use crate::settings::CachePolicy;
use crate::store::{Store, StoreError};
use crate::types::CacheId;

/// The key of a policy among the store's settings.
const PREFIX: &str = "cache/";

type Map = BTreeMap<CacheId, Arc<CachePolicy>>;

/// All policies: those of the config file, overridden by those that came over HTTP.
pub struct Policies {
    configured: BTreeMap<CacheId, CachePolicy>,
    current: RwLock<Arc<Map>>,
    /// One change at a time, from durable to visible.
    changing: tokio::sync::Mutex<()>,
}

/// Why a policy could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// There is no such cache.
    #[error("there is no cache {0:?}")]
    UnknownCache(String),
    /// The change could not be made durable.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Policies {
    /// The policies at the start. A kept policy that cannot be read is logged, and the configured one used.
    pub fn load(store: &Store, mut configured: BTreeMap<CacheId, CachePolicy>) -> Self {
        configured.entry(CacheId::default()).or_default();
        let mut current: Map = configured.iter().map(|(id, p)| (id.clone(), Arc::new(p.clone()))).collect();
        for (key, bytes) in store.settings() {
            let Some(name) = key.strip_prefix(PREFIX) else { continue };
            match (name.parse(), document::put(&bytes)) {
                (Ok(id), Ok(policy)) => {
                    current.insert(id, Arc::new(policy));
                }
                (Err(invalid), _) | (_, Err(invalid)) => {
                    tracing::error!(cache = name, error = %invalid, "a kept policy cannot be read; the configured one is used");
                }
            }
        }
        Self { configured, current: RwLock::new(Arc::new(current)), changing: tokio::sync::Mutex::default() }
    }

    fn map(&self) -> Arc<Map> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The policy of a cache, if there is such a cache.
    pub fn get(&self, id: &CacheId) -> Option<Arc<CachePolicy>> {
        self.map().get(id).cloned()
    }

    /// All caches in order of their names.
    pub fn list(&self) -> Vec<(CacheId, Arc<CachePolicy>)> {
        self.map().iter().map(|(id, policy)| (id.clone(), Arc::clone(policy))).collect()
    }

    /// Changes a policy: `change` gets the current one (`None`: no such cache) and gives the new one. Returns it, and
    /// whether the cache is new.
    ///
    /// # Errors
    /// What `change` says, or that the store cannot make it durable; nothing is changed then.
    pub async fn update<E: From<PolicyError>>(
        &self,
        store: &Store,
        id: &CacheId,
        change: impl FnOnce(Option<&CachePolicy>) -> Result<CachePolicy, E> + Send,
    ) -> Result<(Arc<CachePolicy>, bool), E> {
        let _one_at_a_time = self.changing.lock().await;
        let current = self.get(id);
        let policy = Arc::new(change(current.as_deref())?);
        let bytes = document::to_json(&policy).to_string().into_bytes();
        store.put_setting(&format!("{PREFIX}{id}"), bytes).await.map_err(PolicyError::from)?;
        self.replace(|map| {
            map.insert(id.clone(), Arc::clone(&policy));
        });
        Ok((policy, current.is_none()))
    }

    /// Forgets what came over HTTP: a configured cache gets its configured policy back, another one is gone.
    ///
    /// # Errors
    /// For an unknown cache, or when the store cannot make it durable.
    pub async fn delete(&self, store: &Store, id: &CacheId) -> Result<(), PolicyError> {
        let _one_at_a_time = self.changing.lock().await;
        if self.get(id).is_none() {
            return Err(PolicyError::UnknownCache(id.to_string()));
        }
        store.delete_setting(&format!("{PREFIX}{id}")).await?;
        self.replace(|map| {
            match self.configured.get(id) {
                Some(policy) => map.insert(id.clone(), Arc::new(policy.clone())),
                None => map.remove(id),
            };
        });
        Ok(())
    }

    fn replace(&self, change: impl FnOnce(&mut Map)) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let mut map = (**current).clone();
        change(&mut map);
        *current = Arc::new(map);
    }
}
