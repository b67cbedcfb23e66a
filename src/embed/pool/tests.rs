//! Callers, threads and a session that misbehaves as it is told.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::embed::session::{self, Raw};
use crate::embedding::Embedding;

type Texts = Pool<Arc<str>, Arc<Embedding>>;

/// A session that does what the text says.
fn session(runs: Arc<AtomicUsize>) -> Session<Arc<str>, Arc<Embedding>> {
    let compute = move |text: &str| {
        runs.fetch_add(1, Ordering::SeqCst);
        match text.split_once(' ').unwrap_or((text, "")) {
            ("sleep", millis) => thread::sleep(Duration::from_millis(millis.parse().unwrap())),
            ("panic", _) => panic!("as asked"),
            ("nan", _) => return Ok(Raw::from(vec![f32::NAN, 0.0])),
            ("zero", _) => return Ok(Raw::from(vec![0.0, 0.0])),
            ("short", _) => return Ok(Raw::from(vec![1.0])),
            ("empty", _) => return Ok(Raw::from(Vec::new())),
            ("fail", _) => return Err("as asked".into()),
            _ => {}
        }
        Ok(Raw::from(vec![3.0, 4.0]))
    };
    session::checked(Box::new(compute), 2)
}

struct Fixture {
    pool: Texts,
    runs: Arc<AtomicUsize>,
    opened: Arc<AtomicUsize>,
}

fn pool(threads: usize, queue: usize, hangs_after: Duration) -> Fixture {
    let (runs, opened) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (all_runs, all_opened) = (Arc::clone(&runs), Arc::clone(&opened));
    let factory = Box::new(move || {
        all_opened.fetch_add(1, Ordering::SeqCst);
        Ok(session(Arc::clone(&all_runs)))
    });
    let size = Size { threads, queue, hangs_after };
    Fixture { pool: Pool::start("test", session(Arc::clone(&runs)), factory, size), runs, opened }
}

async fn ask(pool: &Texts, text: &str, millis: u64) -> Result<Arc<Embedding>, EmbedError> {
    pool.run(*blake3::hash(text.as_bytes()).as_bytes(), text.into(), Instant::now() + Duration::from_millis(millis))
        .await
}

const PATIENT: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_vector_comes_back_at_unit_length() {
    let f = pool(1, 4, PATIENT);
    assert_eq!(ask(&f.pool, "hello", 5000).await.unwrap().as_slice(), [0.6, 0.8]);
}

#[tokio::test]
async fn no_bad_vector_passes() {
    let f = pool(1, 4, PATIENT);
    for text in ["nan", "zero", "short", "empty"] {
        assert!(matches!(ask(&f.pool, text, 5000).await, Err(EmbedError::Invalid(_))), "{text}");
    }
    assert!(matches!(ask(&f.pool, "fail", 5000).await, Err(EmbedError::Down(_))));
    assert!(ask(&f.pool, "hello", 5000).await.is_ok());
}

#[tokio::test]
async fn a_panic_costs_one_text_and_the_session_is_made_anew() {
    let f = pool(1, 4, PATIENT);
    assert!(matches!(ask(&f.pool, "panic", 5000).await, Err(EmbedError::Down(_))));
    assert!(ask(&f.pool, "hello", 5000).await.is_ok());
    assert_eq!(f.opened.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_caller_waits_no_longer_than_its_deadline() {
    let f = pool(1, 4, PATIENT);
    let start = Instant::now();
    assert!(matches!(ask(&f.pool, "sleep 800", 50).await, Err(EmbedError::Deadline)));
    assert!(matches!(ask(&f.pool, "behind it", 50).await, Err(EmbedError::Deadline)));
    assert!(start.elapsed() < Duration::from_millis(600));
    assert!(ask(&f.pool, "hello", 5000).await.is_ok());
    assert_eq!(f.runs.load(Ordering::SeqCst), 2, "the text whose caller had left was never begun");
}

#[tokio::test]
async fn a_full_queue_turns_away_and_recovers() {
    let f = pool(1, 1, PATIENT);
    let pool = Arc::new(f.pool);
    let long = tokio::task::spawn_blocking({
        let (pool, handle) = (Arc::clone(&pool), tokio::runtime::Handle::current());
        move || handle.block_on(ask(&pool, "sleep 400", 5000))
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (waits, turned_away) = tokio::join!(ask(&pool, "waits", 5000), ask(&pool, "too many", 5000));
    assert!(waits.is_ok());
    assert!(matches!(turned_away, Err(EmbedError::Busy)));
    assert!(long.await.unwrap().is_ok());
    assert!(ask(&pool, "hello", 5000).await.is_ok());
}

#[tokio::test]
async fn texts_whose_callers_left_make_room() {
    let f = pool(1, 1, PATIENT);
    let _ = ask(&f.pool, "sleep 300", 20).await;
    assert!(matches!(ask(&f.pool, "left", 20).await, Err(EmbedError::Deadline)));
    assert!(ask(&f.pool, "hello", 5000).await.is_ok());
}

#[tokio::test]
async fn one_text_asked_for_twice_at_once_is_computed_once() {
    let f = pool(2, 4, PATIENT);
    let (one, two) = tokio::join!(ask(&f.pool, "sleep 100", 5000), ask(&f.pool, "sleep 100", 5000));
    assert_eq!(one.unwrap(), two.unwrap());
    assert_eq!(f.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_hanging_thread_is_replaced_without_a_restart() {
    let f = pool(1, 4, Duration::from_millis(100));
    assert!(matches!(ask(&f.pool, "sleep 3000", 150).await, Err(EmbedError::Deadline)));
    let start = Instant::now();
    assert!(ask(&f.pool, "hello", 2000).await.is_ok());
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_model_that_always_hangs_is_given_up_until_it_lets_go() {
    let f = pool(1, 4, Duration::from_millis(20));
    for n in 0..=ABANDONED {
        assert!(matches!(ask(&f.pool, &format!("sleep {}", 1500 + n), 60).await, Err(EmbedError::Deadline)));
    }
    assert!(matches!(ask(&f.pool, "hello", 1000).await, Err(EmbedError::Down(_))));
    assert!(f.pool.is_hanging());
    tokio::time::sleep(Duration::from_millis(1700)).await;
    assert!(ask(&f.pool, "hello", 1000).await.is_ok());
    assert!(!f.pool.is_hanging());
}

#[test]
fn a_shutdown_ends_the_threads_within_a_bound() {
    let f = pool(3, 4, PATIENT);
    let weak = Arc::downgrade(&f.pool.shared);
    f.pool.shutdown();
    assert_eq!(weak.strong_count(), 1, "no thread is left");
    let refused = f.pool.submit([0; 32], "late".into(), Instant::now() + PATIENT);
    assert!(matches!(refused, Err(EmbedError::Down(_))));
}
