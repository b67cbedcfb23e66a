//! Caps, expiry, and what is found while entries come and go.

use super::*;

fn cap(max_entries: u64) -> Limits {
    Limits { max_entries, ..ROOMY }
}

#[tokio::test]
async fn ten_thousand_puts_never_exceed_a_cap_of_a_hundred() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    for group in 0..20_u64 {
        let numbers = group * 500..(group + 1) * 500;
        let entries = numbers.map(|n| (entry(&n.to_string()), Some(direction(n)))).collect();
        put_all(&store, entries, cap(100)).await;
        assert!(store.stats(&CacheId::default()).entries <= 100);
    }
    let stats = store.stats(&CacheId::default());
    assert_eq!((stats.entries, stats.vectors, stats.evictions), (100, 100, 9_900));
    assert_counts_agree(&store, &CacheId::default()).await;
    let mut alive = 0;
    for number in 0..10_000 {
        let found = nearest(&store, &direction(number)).unwrap();
        match store.exact_id(&key(&number.to_string())) {
            Some(id) => {
                assert_eq!(found.id, id);
                alive += 1;
            }
            None => assert!(store.meta(found.id).is_some() && found.similarity.get() < 0.999),
        }
    }
    assert_eq!(alive, 100);
    assert_eq!(store.partition_len(&PARTITION), 100);
    store.close().await.unwrap();
    let (store, report) = open(dir.path());
    assert_eq!(report.entries, 100);
    assert_counts_agree(&store, &CacheId::default()).await;
}

#[tokio::test]
async fn bytes_stay_within_their_cap_and_an_entry_above_it_evicts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let big = |name: &str, size: usize| {
        let mut entry = entry(name);
        entry.answer.body = Bytes::from(vec![b'x'; size]);
        entry
    };
    let limits = Limits { max_bytes: 100_000, ..ROOMY };
    for number in 0..100 {
        store.put(big(&number.to_string(), 10_000), None, limits).await.unwrap();
        assert!(store.stats(&CacheId::default()).bytes <= limits.max_bytes);
    }
    let before = store.stats(&CacheId::default());
    assert_eq!(before.entries, 9);
    let refused = store.put(big("huge", 200_000), None, limits).await.unwrap_err();
    assert!(matches!(refused, StoreError::TooLarge { max_bytes: 100_000, .. }));
    assert_eq!(store.stats(&CacheId::default()), before);
}

#[tokio::test]
async fn the_entry_used_longest_ago_has_to_go() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        let entry = Entry { stored_at: NOW.plus(Duration::from_secs(number as u64)), ..entry(name) };
        store.put(entry, None, cap(3)).await.unwrap();
    }
    store.touch(store.exact_id(&key("a")).unwrap(), NOW.plus(Duration::from_secs(10)));
    let put = store.put(entry("d"), None, cap(3)).await.unwrap();
    assert_eq!(put.evicted, 1);
    let left: Vec<&str> = ["a", "b", "c", "d"].into_iter().filter(|n| store.exact_id(&key(n)).is_some()).collect();
    assert_eq!(left, ["a", "c", "d"]);
}

#[tokio::test]
async fn the_caps_of_one_cache_leave_others_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let other = |name: &str| Entry { cache: "faq".parse().unwrap(), ..entry(name) };
    store.put(other("x"), None, ROOMY).await.unwrap();
    for name in ["a", "b", "c"] {
        store.put(entry(name), None, cap(1)).await.unwrap();
    }
    assert_eq!(store.stats(&CacheId::default()).entries, 1);
    assert!(store.exact_id(&key("x")).is_some());
}

#[tokio::test]
async fn a_lower_cap_takes_effect_when_it_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    put_all(&store, (0..2_500).map(|n| (entry(&n.to_string()), None)).collect(), ROOMY).await;
    assert_eq!(store.trim(&CacheId::default(), cap(10), NOW).await.unwrap(), 2_490);
    assert_eq!(store.trim(&CacheId::default(), cap(10), NOW).await.unwrap(), 0);
    assert_counts_agree(&store, &CacheId::default()).await;
}

#[tokio::test]
async fn an_entry_is_found_by_meaning_until_the_moment_it_expires_and_then_the_next_one_is() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let moment = NOW.plus(Duration::from_secs(1));
    let short = Entry { expires_at: moment, ..entry("short") };
    let long = entry("long");
    store.put(short.clone(), Some(direction(1)), ROOMY).await.unwrap();
    store.put(long.clone(), Some(beside(1, 0.2, 2)), ROOMY).await.unwrap();
    for round in 0..2 {
        let store = if round == 0 { store.clone() } else { open(dir.path()).0 };
        let first = |now| store.nearest(&PARTITION, &direction(1), 1, &AttributeFilter::Any, now)[0].id;
        assert_eq!(first(Timestamp(moment.0 - 1)), short.id);
        assert_eq!(first(moment), long.id);
        assert_eq!(first(Timestamp::default()), short.id, "the epoch asks for stale ones");
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_sweep_removes_what_has_expired_and_its_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let moment = NOW.plus(Duration::from_secs(1));
    let dying = (0..1_500).map(|n| (Entry { expires_at: moment, ..entry(&n.to_string()) }, Some(direction(n))));
    put_all(&store, dying.collect(), ROOMY).await;
    store.put(entry("alive"), Some(direction(5)), ROOMY).await.unwrap();
    assert_eq!(store.sweep(Timestamp(moment.0 - 1)).await.unwrap(), 0);
    assert_eq!(store.sweep(moment).await.unwrap(), 1_500);
    let stats = store.stats(&CacheId::default());
    assert_eq!((stats.entries, stats.vectors, stats.expirations, stats.evictions), (1, 1, 1_500, 0));
    assert_counts_agree(&store, &CacheId::default()).await;
}

#[tokio::test]
async fn the_last_of_fifty_near_duplicates_is_found_when_the_others_are_gone() {
    for graph_from in [1, 1_000_000] {
        let dir = tempfile::tempdir().unwrap();
        let mut options = options(dir.path());
        options.index.graph_from = graph_from;
        let (store, _) = Store::open(options).unwrap();
        let twins: Vec<_> = (0..50).map(|n| (entry(&n.to_string()), Some(beside(1, 0.0001, 100 + n)))).collect();
        let ids: Vec<EntryId> = twins.iter().map(|(entry, _)| entry.id).collect();
        let others = (1_000..1_200).map(|n| (entry(&n.to_string()), Some(direction(n))));
        put_all(&store, twins.into_iter().chain(others).collect(), ROOMY).await;
        store.maintain().await;
        assert_eq!(store.remove(ids[..49].to_vec()).await.unwrap(), 49);
        let found = nearest(&store, &direction(1)).unwrap();
        assert_eq!(found.id, ids[49]);
        assert_counts_agree(&store, &CacheId::default()).await;
    }
}
