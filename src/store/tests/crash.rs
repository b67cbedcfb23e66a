//! A process that is killed, and a disk that fails.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64};

use redb::{Database, StorageBackend};

use super::*;

/// Names this test for the child process below; the environment variable gives it its folder.
const CHILD: &str = "store::tests::crash::the_child_puts_until_it_is_killed";
const FOLDER: &str = "REFRAIN_TEST_CRASH_FOLDER";

/// Does nothing unless it is started by the test that kills it.
#[tokio::test]
async fn the_child_puts_until_it_is_killed() {
    #[allow(clippy::disallowed_methods)]
    let Ok(dir) = std::env::var(FOLDER) else { return };
    let (store, _) = open(Path::new(&dir));
    let first = store.totals().caches.entries;
    for group in 0_u64.. {
        let names: Vec<u64> = (0..8).map(|n| first + group * 8 + n).collect();
        let puts = names.iter().map(|n| (entry(&n.to_string()), Some(direction(*n)))).collect();
        put_all(&store, puts, ROOMY).await;
        #[allow(clippy::print_stdout)]
        for name in names {
            println!("acknowledged {name}");
        }
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = Vec::new();
    for round in 1..=5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", CHILD, "--nocapture", "--test-threads=1"])
            .env(FOLDER, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The names go on from the last round's count, which may include some that were never acknowledged.
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            if let Some(name) = line.unwrap().strip_prefix("acknowledged ") {
                acknowledged.push(name.parse::<u64>().unwrap());
            }
            if acknowledged.len() >= round * 100 + round * 7 {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let (store, report) = open(dir.path());
        assert_eq!((report.set_aside, report.damaged), (None, 0));
        for name in &acknowledged {
            let id = store.exact_id(&key(&name.to_string())).expect("acknowledged, so it is there");
            assert_eq!(store.load(id).await.unwrap().unwrap().entry.text, name.to_string());
            assert_eq!(nearest(&store, &direction(*name)).unwrap().id, id);
        }
        assert_counts_agree(&store, &CacheId::default()).await;
        store.close().await.unwrap();
    }
}

/// A file in memory that survives its database, on a disk that can be full.
#[derive(Debug, Clone, Default)]
struct Disk {
    bytes: Arc<std::sync::RwLock<Vec<u8>>>,
    full: Arc<AtomicBool>,
    refusals: Arc<AtomicU64>,
}

impl Disk {
    fn check(&self) -> Result<(), std::io::Error> {
        if self.full.load(Ordering::SeqCst) {
            self.refusals.fetch_add(1, Ordering::SeqCst);
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, std::io::Error> {
        Ok(self.bytes.read().unwrap().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        let start = usize::try_from(offset).unwrap();
        out.copy_from_slice(&self.bytes.read().unwrap()[start..start + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        self.check()?;
        self.bytes.write().unwrap().resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), std::io::Error> {
        self.check()
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        self.check()?;
        let start = usize::try_from(offset).unwrap();
        self.bytes.write().unwrap()[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }
}

#[tokio::test]
async fn a_full_disk_fails_the_puts_of_its_time_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Disk::default();
    let opener = {
        let disk = disk.clone();
        move |_: &Path| Database::builder().create_with_backend(disk.clone())
    };
    let (inner, _) = open::open_with(&options(dir.path()), Box::new(opener)).unwrap();
    let store = Store { inner: Arc::new(inner) };
    let before = entry("before");
    store.put(before.clone(), Some(direction(1)), ROOMY).await.unwrap();

    disk.full.store(true, Ordering::SeqCst);
    for name in ["during", "before"] {
        let failed = store.put(entry(name), Some(direction(2)), ROOMY).await.unwrap_err();
        assert!(matches!(failed, StoreError::Failed(_)), "{failed}");
    }
    assert!(disk.refusals.load(Ordering::SeqCst) > 0);
    assert_eq!(store.exact_id(&key("during")), None);
    assert_eq!(nearest(&store, &direction(2)).unwrap().id, before.id);
    assert_eq!(store.exact_id(&key("before")), Some(before.id));
    assert_eq!(store.cached(before.id).unwrap().entry, before);
    assert_eq!(store.totals().failed_commits, 2);

    disk.full.store(false, Ordering::SeqCst);
    store.put(entry("after"), Some(direction(3)), ROOMY).await.unwrap();
    assert_counts_agree(&store, &CacheId::default()).await;
    assert_eq!(store.stats(&CacheId::default()).entries, 2);
    store.close().await.unwrap();
}
