//! Files that are not what they were: the store opens, keeps them, and gives no wrong answer.

use std::fs;
use std::path::PathBuf;

use super::*;

fn file(dir: &Path) -> PathBuf {
    dir.join(file::NAME)
}

/// A folder with forty entries in it, and the file's bytes.
async fn filled() -> (tempfile::TempDir, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path());
    put_all(&store, (0..40).map(|n| (entry(&n.to_string()), Some(direction(n)))).collect(), ROOMY).await;
    store.close().await.unwrap();
    let bytes = fs::read(file(dir.path())).unwrap();
    (dir, bytes)
}

/// Opens whatever is in `dir`; everything that is served is right, and the store can be written to.
async fn assert_serves_nothing_wrong(dir: &Path, what: &str) -> OpenReport {
    let (store, report) = Store::open(options(dir)).unwrap_or_else(|error| panic!("{what}: {error}"));
    for number in 0..40 {
        let name = number.to_string();
        if let Some(id) = store.exact_id(&key(&name))
            && let Ok(Some(stored)) = store.load(id).await
        {
            let expected = Entry { id, ..entry(&name) };
            assert_eq!(stored.entry, expected, "{what}");
        }
        for candidate in store.nearest(&PARTITION, &direction(number), 40, &AttributeFilter::Any, NOW) {
            if let Ok(Some(stored)) = store.load(candidate.id).await {
                let own = direction(stored.entry.text.parse().unwrap());
                let real = own.similarity(&direction(number)).get();
                assert!((candidate.similarity.get() - real).abs() < 1e-4, "{what}");
            }
        }
    }
    if let Some(aside) = &report.set_aside {
        assert!(aside.exists(), "{what}: kept");
        store.put(entry("after"), Some(direction(77)), ROOMY).await.unwrap();
        assert_eq!(nearest(&store, &direction(77)).unwrap().id, store.exact_id(&key("after")).unwrap(), "{what}");
    }
    // Damage that only the last write meets is an error then, and the next start sets the file aside.
    if store.close().await.is_err() {
        let (store, _) = Store::open(options(dir)).unwrap_or_else(|error| panic!("{what}, again: {error}"));
        store.close().await.unwrap();
    }
    report
}

#[tokio::test]
async fn a_truncated_file_is_survived() {
    let (dir, whole) = filled().await;
    for length in [0, 1, 4_095, 4_096, whole.len() / 2, whole.len() - 1] {
        fs::write(file(dir.path()), &whole[..length]).unwrap();
        let report = assert_serves_nothing_wrong(dir.path(), &format!("{length} bytes")).await;
        assert_eq!(report.set_aside.is_some(), length > 0, "{length} bytes");
    }
}

#[tokio::test]
async fn flipped_bits_are_survived() {
    let (dir, whole) = filled().await;
    for seed in 0..50_u64 {
        let mut bytes = whole.clone();
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        for _ in 0..64 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let bit = usize::try_from(state % (bytes.len() as u64 * 8)).unwrap();
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        fs::write(file(dir.path()), bytes).unwrap();
        assert_serves_nothing_wrong(dir.path(), &format!("seed {seed}")).await;
    }
}

#[tokio::test]
async fn a_text_file_or_a_folder_in_its_place_is_kept_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(file(dir.path()), "not a database, but somebody's notes".repeat(500)).unwrap();
    let report = assert_serves_nothing_wrong(dir.path(), "text").await;
    assert!(fs::read_to_string(report.set_aside.unwrap()).unwrap().starts_with("not a database"));
    fs::remove_file(file(dir.path())).unwrap();
    fs::create_dir(file(dir.path())).unwrap();
    let report = assert_serves_nothing_wrong(dir.path(), "folder").await;
    assert!(report.set_aside.unwrap().is_dir());
}

#[tokio::test]
async fn a_file_of_a_newer_layout_is_kept_and_reported() {
    let (dir, _) = filled().await;
    let database = redb::Database::open(file(dir.path())).unwrap();
    let writing = database.begin_write().unwrap();
    writing.open_table(file::FILE).unwrap().insert("format", 99).unwrap();
    writing.commit().unwrap();
    drop(database);
    let report = assert_serves_nothing_wrong(dir.path(), "newer").await;
    assert_eq!(report.entries, 0);
    assert!(report.set_aside.is_some());
}

#[tokio::test]
async fn a_damaged_answer_is_a_miss_and_gone_afterwards() {
    let (dir, _) = filled().await;
    let (store, _) = open(dir.path());
    let (answer, meta) = (store.exact_id(&key("3")).unwrap(), store.exact_id(&key("4")).unwrap());
    store.close().await.unwrap();
    {
        let database = redb::Database::open(file(dir.path())).unwrap();
        let writing = database.begin_write().unwrap();
        writing.open_table(file::ENTRIES).unwrap().insert(answer.0.as_u128(), b"garbage".as_slice()).unwrap();
        writing.open_table(file::METAS).unwrap().insert(meta.0.as_u128(), b"garbage".as_slice()).unwrap();
        writing.commit().unwrap();
    }
    let (store, report) = open(dir.path());
    assert_eq!((report.entries, report.damaged, report.set_aside), (39, 1, None));
    assert_eq!(store.exact_id(&key("4")), None);
    assert!(store.load(answer).await.unwrap().is_none());
    store.put(entry("next"), None, ROOMY).await.unwrap();
    assert_eq!((store.exact_id(&key("3")), store.totals().damaged), (None, 1));
    assert_counts_agree(&store, &CacheId::default()).await;
}

#[test]
fn where_no_file_can_be_had_the_error_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("file");
    fs::write(&blocked, "in the way").unwrap();
    let refused = Store::open(options(&blocked)).err().unwrap();
    assert!(matches!(&refused, StoreError::Unusable { path, .. } if *path == blocked), "{refused}");
}
