//! Put, get, replace, remove, close, open again.

use super::*;

#[tokio::test]
async fn what_was_put_is_found_exactly_and_by_meaning_before_and_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let (store, report) = open(dir.path());
    assert_eq!((report.entries, report.set_aside), (0, None));
    let mine = labelled("q", &[("doc", "handbook")]);
    let put = store.put(mine.clone(), Some(direction(1)), ROOMY).await.unwrap();
    assert_eq!(put, Put { id: mine.id, replaced: None, evicted: 0 });
    for round in 0..2 {
        let store = if round == 0 { store.clone() } else { open(dir.path()).0 };
        assert_eq!(store.exact_id(&key("q")), Some(mine.id));
        assert_eq!(store.exact_id(&key("other")), None);
        let found = nearest(&store, &direction(1)).unwrap();
        assert_eq!(found.id, mine.id);
        assert!(found.similarity.get() > 0.9999);
        assert_eq!(store.load(mine.id).await.unwrap().unwrap().entry, mine);
        assert!(store.cached(mine.id).is_some(), "what was loaded is at hand");
        assert_eq!(store.meta(mine.id).unwrap().bytes, mine.bytes());
        assert_counts_agree(&store, &mine.cache).await;
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_put_with_the_same_exact_key_takes_the_place_of_the_old_entry_in_everything() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let (old, new) = (entry("q"), entry("q"));
    store.put(old.clone(), Some(direction(1)), ROOMY).await.unwrap();
    let put = store.put(new.clone(), Some(direction(2)), ROOMY).await.unwrap();
    assert_eq!(put.replaced, Some(old.id));
    for round in 0..2 {
        let store = if round == 0 { store.clone() } else { open(dir.path()).0 };
        assert_eq!(store.exact_id(&key("q")), Some(new.id));
        assert_eq!(store.load(old.id).await.unwrap().map(|stored| stored.entry.id), None);
        assert_eq!((store.cached(old.id).is_none(), store.meta(old.id)), (true, None));
        assert_eq!(nearest(&store, &direction(1)).unwrap().id, new.id);
        assert_eq!(store.stats(&new.cache).entries, 1);
        assert_counts_agree(&store, &new.cache).await;
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn an_entry_with_an_earlier_id_does_not_take_a_later_ones_place() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let (earlier, later) = (entry("q"), entry("q"));
    store.put(later.clone(), Some(direction(1)), ROOMY).await.unwrap();
    let put = store.put(earlier, Some(direction(2)), ROOMY).await.unwrap();
    assert_eq!((put.id, put.replaced), (later.id, None));
    assert_eq!(store.exact_id(&key("q")), Some(later.id));
    assert_eq!(store.stats(&CacheId::default()).entries, 1);
}

#[tokio::test]
async fn twins_in_one_group_leave_one_entry() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let twins = (0..100).map(|_| (entry("q"), Some(direction(1)))).collect();
    put_all(&store, twins, ROOMY).await;
    assert_eq!(store.stats(&CacheId::default()).entries, 1);
    assert_counts_agree(&store, &CacheId::default()).await;
    store.close().await.unwrap();
    assert_eq!(open(dir.path()).1.entries, 1);
}

#[tokio::test]
async fn removed_entries_are_gone_from_both_tiers_and_stay_gone() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let (kept, gone) = (entry("kept"), entry("gone"));
    store.put(kept.clone(), Some(direction(1)), ROOMY).await.unwrap();
    store.put(gone.clone(), Some(direction(2)), ROOMY).await.unwrap();
    assert_eq!(store.remove(vec![gone.id, EntryId::generate()]).await.unwrap(), 1);
    assert_eq!(store.remove(vec![gone.id]).await.unwrap(), 0);
    for round in 0..2 {
        let store = if round == 0 { store.clone() } else { open(dir.path()).0 };
        assert_eq!(store.exact_id(&key("gone")), None);
        assert_eq!(nearest(&store, &direction(2)).unwrap().id, kept.id);
        assert!(store.load(gone.id).await.unwrap().is_none());
        assert_counts_agree(&store, &kept.cache).await;
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_purge_takes_what_its_scope_and_filter_name_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let other = TenantId([9; 32]);
    let entries = [
        labelled("a", &[("doc", "x"), ("rev", "1")]),
        labelled("b", &[("doc", "x")]),
        Entry { tenant: other, ..labelled("c", &[("doc", "x")]) },
        Entry { cache: "faq".parse().unwrap(), ..labelled("d", &[("doc", "x")]) },
        Entry { kind: EntryKind::Plain, ..labelled("e", &[("doc", "x")]) },
        entry("f"),
    ];
    put_all(&store, entries.iter().map(|entry| (entry.clone(), None)).collect(), ROOMY).await;
    let wanted = labelled("", &[("doc", "x")]).attributes;
    let scope = |tenant, kind| Scope { cache: CacheId::default(), tenant, kind };
    let mine = Some(TenantId::LOCAL);
    let equals = AttributeFilter::Equals(wanted.clone());
    assert_eq!(store.remove_matching(scope(mine, Some(EntryKind::Provider)), equals, NOW).await.unwrap(), 1);
    assert_eq!(store.exact_id(&key("b")), None);
    assert_eq!(store.remove_matching(scope(mine, None), AttributeFilter::Contains(wanted), NOW).await.unwrap(), 2);
    assert_eq!(store.flush(&CacheId::default(), None).await.unwrap(), 2);
    assert_eq!(store.totals().caches.entries, 1);
    assert_eq!(store.exact_id(&key("d")), Some(entries[3].id));
}

#[tokio::test]
async fn a_purge_takes_expired_entries_too_and_does_not_count_them() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let [fresh, expired] = [NOW.plus(Duration::from_secs(1)), NOW].map(|expires_at| {
        let mut entry = labelled(&format!("{expires_at:?}"), &[("doc", "x")]);
        entry.expires_at = expires_at;
        entry
    });
    let wanted = AttributeFilter::Contains(fresh.attributes.clone());
    put_all(&store, vec![(fresh, None), (expired, None)], ROOMY).await;
    let scope = Scope { cache: CacheId::default(), tenant: None, kind: None };
    assert_eq!(store.remove_matching(scope, wanted, NOW).await.unwrap(), 1);
    assert_eq!(store.totals().caches.entries, 0);
}

#[tokio::test]
async fn settings_outlive_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    store.put_setting("cache/faq", b"{}".to_vec()).await.unwrap();
    store.put_setting("secret", vec![1, 2]).await.unwrap();
    store.put_setting("secret", vec![3]).await.unwrap();
    store.delete_setting("cache/faq").await.unwrap();
    let expected = BTreeMap::from([("secret".to_owned(), vec![3])]);
    assert_eq!(store.settings(), expected);
    store.close().await.unwrap();
    assert_eq!(open(dir.path()).0.settings(), expected);
}

#[tokio::test]
async fn closing_twice_is_fine_and_a_closed_store_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let other = store.clone();
    store.put(entry("q"), None, ROOMY).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(other.put(entry("r"), None, ROOMY).await.unwrap_err(), StoreError::Closed);
    other.close().await.unwrap();
}

#[tokio::test]
async fn closing_keeps_what_was_acknowledged_while_many_were_storing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let puts = (0..100).map(|number| {
        let store = store.clone();
        async move { store.put(entry(&number.to_string()), None, ROOMY).await.is_ok() }
    });
    let (acknowledged, closed) = tokio::join!(futures_util::future::join_all(puts), store.clone().close());
    closed.unwrap();
    drop(store);
    let (store, _) = open(dir.path());
    for (number, acknowledged) in acknowledged.into_iter().enumerate() {
        assert!(!acknowledged || store.exact_id(&key(&number.to_string())).is_some());
    }
}

#[tokio::test]
async fn a_second_opening_is_refused_and_harms_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    store.put(entry("q"), None, ROOMY).await.unwrap();
    let refused = Store::open(options(dir.path())).err().unwrap();
    assert!(matches!(&refused, StoreError::Locked { .. }), "{refused}");
    assert!(refused.to_string().contains("another process"));
    store.put(entry("r"), None, ROOMY).await.unwrap();
    drop(store);
    let (_, report) = open(dir.path());
    assert_eq!((report.entries, report.set_aside), (2, None));
}

#[tokio::test]
async fn the_clock_starts_no_earlier_than_the_store_has_seen() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let mine = entry("q");
    store.put(mine.clone(), None, ROOMY).await.unwrap();
    store.touch(mine.id, Timestamp(5_000_000));
    store.close().await.unwrap();
    assert_eq!(open(dir.path()).1.latest, Timestamp(5_000_000));
}

#[tokio::test]
async fn what_is_prepared_stays_with_the_entry() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let mine = entry("q");
    store.put(mine.clone(), None, ROOMY).await.unwrap();
    store.cached(mine.id).unwrap().prepared.set(Arc::new(42_u32)).unwrap();
    let again = store.load(mine.id).await.unwrap().unwrap();
    assert_eq!(again.prepared.get().and_then(|any| any.downcast_ref::<u32>()), Some(&42));
}
