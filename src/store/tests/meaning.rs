//! The semantic side: filters, graphs, fingerprints, snapshots.

use super::*;

fn graph_options(dir: &Path) -> StoreOptions {
    let mut options = options(dir);
    options.index.graph_from = 1;
    options
}

#[tokio::test]
async fn with_graph_from_one_even_a_single_entry_is_found_by_the_graph() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(graph_options(dir.path())).unwrap();
    let mine = entry("q");
    store.put(mine.clone(), Some(direction(1)), ROOMY).await.unwrap();
    store.needs_maintenance().notified().await;
    assert_eq!(store.maintain().await, Maintained { graphs: 1, points: 1 });
    assert_eq!(store.search_kind(&PARTITION), SearchKind::Graph);
    assert_eq!(nearest(&store, &direction(1)).unwrap().id, mine.id);
    let second = entry("r");
    store.put(second.clone(), Some(direction(2)), ROOMY).await.unwrap();
    assert_eq!(nearest(&store, &direction(2)).unwrap().id, second.id, "newer than the graph, and found");
    assert_eq!((store.totals().searches.graphs, store.totals().searches.scans), (2, 0));
}

#[tokio::test]
async fn a_filter_finds_what_it_names_with_and_without_a_graph() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(graph_options(dir.path())).unwrap();
    let (plain, both) = (entry("plain"), labelled("both", &[("doc", "x"), ("rev", "1")]));
    store.put(plain.clone(), Some(direction(1)), ROOMY).await.unwrap();
    store.put(both.clone(), Some(beside(1, 0.5, 2)), ROOMY).await.unwrap();
    let find = |filter: &AttributeFilter| {
        let found = store.nearest(&PARTITION, &direction(1), 4, filter, NOW);
        found.into_iter().map(|candidate| candidate.id).collect::<Vec<_>>()
    };
    let wanted = labelled("", &[("doc", "x")]).attributes;
    for _ in 0..2 {
        assert_eq!(find(&AttributeFilter::Any), [plain.id, both.id]);
        assert_eq!(find(&AttributeFilter::Contains(wanted.clone())), [both.id]);
        assert_eq!(find(&AttributeFilter::Contains(Attributes::default())), [plain.id, both.id]);
        assert_eq!(find(&AttributeFilter::Equals(both.attributes.clone())), [both.id]);
        assert_eq!(find(&AttributeFilter::Equals(Attributes::default())), [plain.id]);
        assert_eq!(find(&AttributeFilter::Equals(wanted.clone())), []);
        store.maintain().await;
    }
}

#[tokio::test]
async fn partitions_never_see_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    store.put(Entry { partition: Some(PartitionKey([2; 32])), ..entry("q") }, Some(direction(1)), ROOMY).await.unwrap();
    store.put(Entry { partition: None, ..entry("exact only") }, Some(direction(1)), ROOMY).await.unwrap();
    assert_eq!(nearest(&store, &direction(1)), None);
    assert_eq!(store.stats(&CacheId::default()).vectors, 1);
}

#[tokio::test]
async fn a_vector_or_a_query_of_another_dimension_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let wrong = Embedding::normalise(vec![1.0; DIMENSION + 1], DIMENSION + 1).unwrap();
    store.put(entry("q"), Some(wrong.clone()), ROOMY).await.unwrap();
    assert_eq!(store.stats(&CacheId::default()).vectors, 0);
    store.put(entry("r"), Some(direction(1)), ROOMY).await.unwrap();
    assert_eq!(nearest(&store, &wrong), None);
    assert!(store.exact_id(&key("q")).is_some());
}

#[tokio::test]
async fn vectors_of_another_fingerprint_are_ignored_and_come_back_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let mine = entry("q");
    store.put(mine.clone(), Some(direction(1)), ROOMY).await.unwrap();
    store.close().await.unwrap();
    let others =
        [(Some(Fingerprint([8; 32])), DIMENSION), (Some(Fingerprint([9; 32])), DIMENSION * 2), (None, DIMENSION)];
    for (fingerprint, dimension) in others {
        let (store, report) = Store::open(StoreOptions { fingerprint, dimension, ..options(dir.path()) }).unwrap();
        assert_eq!((report.entries, report.vectors_ignored, report.set_aside), (1, 1, None));
        assert_eq!(nearest(&store, &direction(1)), None);
        assert_eq!(store.load(store.exact_id(&key("q")).unwrap()).await.unwrap().unwrap().entry, mine);
        store.close().await.unwrap();
    }
    let (store, report) = open(dir.path());
    assert_eq!(report.vectors_ignored, 0);
    assert_eq!(nearest(&store, &direction(1)).unwrap().id, mine.id);
}

#[tokio::test]
async fn a_restart_takes_the_graph_from_the_snapshot_and_sees_what_changed_since() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(graph_options(dir.path())).unwrap();
    put_all(&store, (0..1_200).map(|n| (entry(&n.to_string()), Some(direction(n)))).collect(), ROOMY).await;
    store.maintain().await;
    let gone = store.exact_id(&key("7")).unwrap();
    store.remove(vec![gone]).await.unwrap();
    store.put(entry("new"), Some(direction(5_000)), ROOMY).await.unwrap();
    store.close().await.unwrap();

    let (store, report) = Store::open(graph_options(dir.path())).unwrap();
    assert_eq!(report.graphs, 1);
    assert_eq!(store.search_kind(&PARTITION), SearchKind::Graph);
    for n in (0..1_200).filter(|n| *n != 7) {
        assert_eq!(nearest(&store, &direction(n)).map(|found| found.id), store.exact_id(&key(&n.to_string())));
    }
    assert_ne!(nearest(&store, &direction(7)).unwrap().id, gone);
    assert_eq!(nearest(&store, &direction(5_000)).unwrap().id, store.exact_id(&key("new")).unwrap());
    assert_eq!(store.totals().searches.scans, 0);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_damaged_snapshot_is_refused_and_costs_nothing_but_time() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(graph_options(dir.path())).unwrap();
    put_all(&store, (0..1_100).map(|n| (entry(&n.to_string()), Some(direction(n)))).collect(), ROOMY).await;
    store.maintain().await;
    store.close().await.unwrap();
    let files: Vec<_> = std::fs::read_dir(dir.path().join("index")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 3);
    for file in files {
        let whole = std::fs::read(&file).unwrap();
        for damage in [0, 1, 2] {
            let mut bytes = whole.clone();
            match damage {
                0 => bytes.truncate(whole.len() / 2),
                1 => bytes[whole.len() / 3] ^= 1,
                _ => bytes.clear(),
            }
            std::fs::write(&file, bytes).unwrap();
            let (store, report) = Store::open(graph_options(dir.path())).unwrap();
            assert_eq!((report.entries, report.graphs), (1_100, 0), "{}", file.display());
            assert_eq!(nearest(&store, &direction(3)).map(|found| found.id), store.exact_id(&key("3")));
            drop(store);
        }
        std::fs::write(&file, whole).unwrap();
    }
    assert_eq!(Store::open(graph_options(dir.path())).unwrap().1.graphs, 1, "whole again, taken again");
}

#[tokio::test]
async fn an_embedder_that_comes_late_finds_its_old_vectors_and_keeps_new_ones() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    let old = entry("old");
    store.put(old.clone(), Some(direction(1)), ROOMY).await.unwrap();
    store.close().await.unwrap();
    let known = options(dir.path());
    let (store, _) = Store::open(StoreOptions { fingerprint: None, dimension: 0, ..options(dir.path()) }).unwrap();
    assert_eq!(nearest(&store, &direction(1)), None);
    store.adopt(known.fingerprint.unwrap(), known.dimension).await.unwrap();
    assert_eq!(nearest(&store, &direction(1)).unwrap().id, old.id);
    let new = entry("new");
    store.put(new.clone(), Some(direction(2)), ROOMY).await.unwrap();
    assert_eq!(nearest(&store, &direction(2)).unwrap().id, new.id);
    assert_eq!(store.stats(&CacheId::default()).vectors, 2);
    store.remove(vec![old.id]).await.unwrap();
    assert_ne!(nearest(&store, &direction(1)).map(|found| found.id), Some(old.id));
}
