//! How old an entry may be (RFC 9111, 4.2): fresh, stale, and what the caller accepts.

use std::time::Duration;

use crate::policy::directives::Directives;
use crate::reason::MissReason;
use crate::settings::{CachePolicy, TimeGuard};
use crate::types::Timestamp;

/// An entry's standing at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Usable.
    Fresh,
    /// Expired, but the caller said `max-stale`.
    Stale,
    /// Not usable for this caller.
    Expired,
}

/// How long expired entries are kept for callers that accept them.
pub const GRACE: Duration = Duration::from_mins(1);

/// Judges an entry that was stored at `stored_at` and expires at `expires_at`: at that very moment it is expired.
pub fn judge(stored_at: Timestamp, expires_at: Timestamp, directives: &Directives, now: Timestamp) -> Freshness {
    let age = now.since(stored_at);
    if directives.max_age.is_some_and(|limit| age > Duration::from_secs(limit) || limit == 0) {
        return Freshness::Expired;
    }
    if now < expires_at {
        let left = expires_at.since(now);
        let enough = directives.min_fresh.is_none_or(|wanted| left >= Duration::from_secs(wanted));
        return if enough { Freshness::Fresh } else { Freshness::Expired };
    }
    let late = now.since(expires_at);
    match directives.max_stale {
        Some(limit) if directives.min_fresh.is_none() && late <= Duration::from_secs(limit) => Freshness::Stale,
        _ => Freshness::Expired,
    }
}

/// Why [`judge`] finds an entry expired: it is, or it is fresh and the caller wants a younger one, or a fresher one.
pub fn refusal(stored_at: Timestamp, expires_at: Timestamp, directives: &Directives, now: Timestamp) -> MissReason {
    if now >= expires_at {
        return MissReason::Expired;
    }
    let by_age = Directives { max_age: directives.max_age, ..Directives::default() };
    match judge(stored_at, expires_at, &by_age, now) {
        Freshness::Expired => MissReason::MaxAge,
        _ => MissReason::MinFresh,
    }
}

/// The lifetime of a new entry: the caller's wish within the policy's maximum, else the policy's ttl; shorter for a
/// prompt whose answer moves with time. Zero keeps nothing.
pub fn lifetime(policy: &CachePolicy, wish: Option<Duration>, time_sensitive: bool) -> Duration {
    let ttl = wish.unwrap_or(Duration::from_secs(policy.ttl)).min(Duration::from_secs(policy.max_ttl));
    time_limit(policy, time_sensitive).map_or(ttl, |limit| ttl.min(limit))
}

/// How old an answer may be when the prompt's right answer moves with time: also one that was stored for a prompt that
/// does not say so, or under another policy.
pub fn time_limit(policy: &CachePolicy, time_sensitive: bool) -> Option<Duration> {
    match policy.guards.time {
        TimeGuard::Ttl(limit) if time_sensitive => Some(Duration::from_secs(limit)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: Timestamp = Timestamp(1_000_000);
    const EXPIRES: Timestamp = Timestamp(1_010_000);

    fn at(seconds: u64, directives: &Directives) -> Freshness {
        judge(STORED, EXPIRES, directives, STORED.plus(Duration::from_secs(seconds)))
    }

    #[test]
    fn an_entry_expires_at_the_very_end_of_its_ttl() {
        assert_eq!(at(9, &Directives::default()), Freshness::Fresh);
        assert_eq!(at(10, &Directives::default()), Freshness::Expired);
    }

    #[test]
    fn callers_may_ask_for_younger_fresher_or_staler_entries() {
        let max_age = Directives { max_age: Some(5), ..Directives::default() };
        assert_eq!((at(5, &max_age), at(6, &max_age)), (Freshness::Fresh, Freshness::Expired));
        let never = Directives { max_age: Some(0), ..Directives::default() };
        assert_eq!(at(0, &never), Freshness::Expired);
        let min_fresh = Directives { min_fresh: Some(3), ..Directives::default() };
        assert_eq!((at(7, &min_fresh), at(8, &min_fresh)), (Freshness::Fresh, Freshness::Expired));
        let max_stale = Directives { max_stale: Some(2), ..Directives::default() };
        assert_eq!((at(12, &max_stale), at(13, &max_stale)), (Freshness::Stale, Freshness::Expired));
    }

    #[test]
    fn a_fresh_entry_that_is_refused_is_not_called_expired() {
        let at = |seconds, directives| refusal(STORED, EXPIRES, &directives, STORED.plus(Duration::from_secs(seconds)));
        let max_age = || Directives { max_age: Some(5), ..Directives::default() };
        let min_fresh = || Directives { min_fresh: Some(3), ..Directives::default() };
        assert_eq!(at(6, max_age()), MissReason::MaxAge);
        assert_eq!(at(8, min_fresh()), MissReason::MinFresh);
        assert_eq!(at(8, Directives { max_age: Some(9), ..min_fresh() }), MissReason::MinFresh);
        assert_eq!((at(10, max_age()), at(10, min_fresh())), (MissReason::Expired, MissReason::Expired));
    }

    #[test]
    fn a_wish_is_clamped_and_zero_keeps_nothing() {
        let policy = CachePolicy { ttl: 60, max_ttl: 600, ..CachePolicy::default() };
        assert_eq!(lifetime(&policy, None, false), Duration::from_mins(1));
        assert_eq!(lifetime(&policy, Some(Duration::from_secs(9999)), false), Duration::from_mins(10));
        assert_eq!(lifetime(&policy, Some(Duration::ZERO), false), Duration::ZERO);
    }

    #[test]
    fn a_question_about_now_lives_as_long_as_the_time_guard_says() {
        let mut policy = CachePolicy::default();
        policy.guards.time = TimeGuard::Ttl(30);
        assert_eq!(lifetime(&policy, None, true), Duration::from_secs(30));
        assert_eq!(lifetime(&policy, None, false), Duration::from_secs(policy.ttl));
    }
}
