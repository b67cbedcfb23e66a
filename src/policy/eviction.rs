//! Which entry has to go when a cache is full: one that has expired, else the one that was used longest ago.
//!
//! Pure: the caller says what the time is and when an entry was last used. A hit only notes the time, so the order
//! here may lag behind; it is put right when an entry comes up, which keeps hits cheap and the order exact.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::types::{EntryId, Timestamp};

/// What a cache may hold. Both hold at all times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most entries.
    pub max_entries: u64,
    /// The most bytes, as [`crate::entry::Entry::bytes`] counts them.
    pub max_bytes: u64,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Entries.
    pub entries: u64,
    /// Bytes, as [`crate::entry::Entry::bytes`] counts them.
    pub bytes: u64,
}

impl Usage {
    /// Would one more entry of `bytes` fit?
    pub fn admits(&self, bytes: u64, limits: &Limits) -> bool {
        self.entries < limits.max_entries && self.bytes.saturating_add(bytes) <= limits.max_bytes
    }

    /// Is it within its limits as it is?
    pub fn within(&self, limits: &Limits) -> bool {
        self.entries <= limits.max_entries && self.bytes <= limits.max_bytes
    }

    /// With one more entry.
    pub fn add(&mut self, bytes: u64) {
        self.entries += 1;
        self.bytes += bytes;
    }

    /// With one entry less.
    pub fn subtract(&mut self, bytes: u64) {
        self.entries = self.entries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

type Queue = BinaryHeap<Reverse<(Timestamp, EntryId)>>;

/// The entries of one cache in the order in which they would have to go.
#[derive(Debug, Default)]
pub struct Order {
    by_use: Queue,
    by_expiry: Queue,
}

impl Order {
    /// Queues an entry.
    pub fn insert(&mut self, id: EntryId, last_used: Timestamp, expires_at: Timestamp) {
        self.by_use.push(Reverse((last_used, id)));
        self.by_expiry.push(Reverse((expires_at, id)));
    }

    /// The entry that has to go first. `last_used` answers `None` for an entry that is gone already. The caller
    /// removes what it is given, and is not given it again.
    pub fn next(&mut self, now: Timestamp, last_used: impl Fn(EntryId) -> Option<Timestamp>) -> Option<EntryId> {
        if let Some(id) = self.next_expired(now, |id| last_used(id).is_some()) {
            return Some(id);
        }
        while let Some(Reverse((queued, id))) = self.by_use.pop() {
            match last_used(id) {
                Some(used) if used > queued => self.by_use.push(Reverse((used, id))),
                Some(_) => return Some(id),
                None => {}
            }
        }
        None
    }

    /// An entry whose time is up at `now`. The caller removes what it is given, and is not given it again.
    pub fn next_expired(&mut self, now: Timestamp, alive: impl Fn(EntryId) -> bool) -> Option<EntryId> {
        while let Some(Reverse((expires_at, id))) = self.by_expiry.peek().copied() {
            if alive(id) && expires_at > now {
                return None;
            }
            self.by_expiry.pop();
            if alive(id) {
                return Some(id);
            }
        }
        None
    }

    /// Forgets entries that are gone, once they outnumber the `live` ones: removals cost nothing until then.
    pub fn tidy(&mut self, live: u64, alive: impl Fn(EntryId) -> bool) {
        let bound = usize::try_from(live).unwrap_or(usize::MAX).saturating_mul(2).saturating_add(64);
        for queue in [&mut self.by_use, &mut self.by_expiry] {
            if queue.len() > bound {
                queue.retain(|Reverse((_, id))| alive(*id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn ids(count: usize) -> Vec<EntryId> {
        (0..count).map(|_| EntryId::generate()).collect()
    }

    const NEVER: Timestamp = Timestamp(u64::MAX);

    #[test]
    fn the_entry_used_longest_ago_goes_first_even_when_the_use_was_never_announced() {
        let ids = ids(3);
        let mut used: BTreeMap<EntryId, Timestamp> = BTreeMap::new();
        let mut order = Order::default();
        for (at, id) in ids.iter().enumerate() {
            used.insert(*id, Timestamp(at as u64));
            order.insert(*id, Timestamp(at as u64), NEVER);
        }
        used.insert(ids[0], Timestamp(10));
        let gone: Vec<EntryId> = std::iter::from_fn(|| {
            let id = order.next(Timestamp(20), |id| used.get(&id).copied())?;
            used.remove(&id);
            Some(id)
        })
        .collect();
        assert_eq!(gone, [ids[1], ids[2], ids[0]]);
    }

    #[test]
    fn an_expired_entry_goes_before_one_that_was_used_earlier() {
        let ids = ids(2);
        let mut order = Order::default();
        order.insert(ids[0], Timestamp(1), NEVER);
        order.insert(ids[1], Timestamp(5), Timestamp(10));
        assert_eq!(order.next(Timestamp(10), |_| Some(Timestamp(5))), Some(ids[1]));
    }

    #[test]
    fn an_entry_expires_at_its_moment_and_not_before() {
        let ids = ids(1);
        let mut order = Order::default();
        order.insert(ids[0], Timestamp(1), Timestamp(10));
        assert_eq!(order.next_expired(Timestamp(9), |_| true), None);
        assert_eq!(order.next_expired(Timestamp(10), |_| true), Some(ids[0]));
        assert_eq!(order.next_expired(Timestamp(11), |_| true), None);
    }

    #[test]
    fn entries_that_are_gone_do_not_pile_up() {
        let mut order = Order::default();
        for id in ids(10_000) {
            order.insert(id, Timestamp(1), NEVER);
            order.tidy(0, |_| false);
        }
        assert!(order.by_use.len() <= 65 && order.by_expiry.len() <= 65);
    }

    #[test]
    fn limits_are_inclusive() {
        let limits = Limits { max_entries: 2, max_bytes: 10 };
        let usage = Usage { entries: 1, bytes: 6 };
        assert!(usage.admits(4, &limits) && !usage.admits(5, &limits));
        assert!(!Usage { entries: 2, bytes: 0 }.admits(1, &limits));
        assert!(Usage { entries: 2, bytes: 10 }.within(&limits));
    }
}
