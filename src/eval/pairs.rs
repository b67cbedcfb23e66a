//! What the engine thinks of labelled pairs.

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::cache::{Cache, Comparison, Would};
use crate::eval::policy::{Policy, Service};
use crate::eval::rows::PairRow;
use crate::policy::calibrate::Labelled;
use crate::policy::guard::{self, GuardName};
use crate::reason::BypassReason;
use crate::settings::{CachePolicy, TimeGuard};

/// Pairs under way at once: enough to keep every thread of the embedder busy, and far fewer than its queue holds.
const AT_ONCE: usize = 8;

/// A labelled pair with the engine's signals.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The row's id.
    pub id: String,
    /// Does one answer serve both?
    pub same: bool,
    /// Why the semantic tier would not look at it.
    pub bypass: Option<BypassReason>,
    /// 0 to 1.
    pub cosine: f64,
    /// The guards that are on and forbid it.
    pub vetoes: Vec<GuardName>,
    /// The strictest `targetErrorRate` at which the verifier would serve it, 0 to 1; `None` without a verifier.
    pub target: Option<f64>,
    /// What the service would do with it, by the policy that is measured.
    pub would: Would,
}

impl Judged {
    /// The pair as a policy scores it.
    pub fn scored(&self, policy: Policy, service: &Service) -> Labelled {
        Labelled { score: policy.score(self, service), same: self.same }
    }
}

/// Compares all pairs, in their order; `tick` is called once for each.
///
/// # Errors
/// When the embedder fails on the way: there is no result then.
pub async fn compare(
    cache: &Cache,
    policy: &CachePolicy,
    rows: &[PairRow],
    tick: &(impl Fn() + Sync),
) -> Result<Vec<Judged>, String> {
    let judged = rows.iter().map(|row| async move {
        let comparison = cache.compare(&row.stored, &row.asked).await;
        tick();
        judge(cache, policy, row, comparison)
    });
    stream::iter(judged).buffered(AT_ONCE).try_collect().await
}

fn judge(cache: &Cache, policy: &CachePolicy, row: &PairRow, comparison: Comparison) -> Result<Judged, String> {
    let bypass = match comparison.bypass {
        Some(BypassReason::EmbedderDown | BypassReason::EmbedderSlow | BypassReason::EmbedderBusy) => {
            let why = comparison.bypass.map_or("", BypassReason::as_str);
            return Err(format!("the embedder gave no vector for {}: {why}", row.id));
        }
        // The comparison keeps every guard on; a policy may let prompts that move with time through.
        Some(BypassReason::Time) if policy.guards.time != TimeGuard::Bypass => {
            uncovered(cache, &row.stored).or_else(|| uncovered(cache, &row.asked))
        }
        said => said,
    };
    let on = |guard: &GuardName| guard.is_on(&policy.guards);
    let comparison = Comparison {
        vetoes: comparison.vetoes.into_iter().filter(|veto| on(&veto.guard)).collect(),
        bypass,
        ..comparison
    };
    let would = cache.would(&comparison, policy);
    Ok(Judged {
        id: row.id.clone(),
        same: row.same,
        bypass,
        cosine: comparison.cosine,
        vetoes: comparison.vetoes.iter().map(|veto| veto.guard).collect(),
        target: comparison.target,
        would,
    })
}

fn uncovered(cache: &Cache, text: &str) -> Option<BypassReason> {
    if guard::has_hidden(text) { Some(BypassReason::Hidden) } else { cache.embedder().coverage(text).err() }
}
