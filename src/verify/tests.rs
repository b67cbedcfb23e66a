//! A verifier whose reader does as it is told: in time, too late, not at all; and who waits for it.

use std::thread;

use super::files::tests as files;
use super::*;
use crate::embed::pool::Session;
use crate::policy::language::Language;

/// Reads two texts as they say.
fn session() -> Session<Pair, f32> {
    let (slow, ill) = (Pair::of("a slow text", "b"), Pair::of("an ill text", "b"));
    Box::new(move |pair: &Pair| {
        if *pair == slow {
            thread::sleep(Duration::from_millis(300));
        }
        if *pair == ill { Err(EmbedError::Down("as asked".into())) } else { Ok(1.0) }
    })
}

async fn verifier(deadline: u64, queue: usize) -> Verifier {
    let make = move || {
        let judges = Judges::new(judge::Judge::read(files::judge().as_bytes())?, Vec::new());
        let pool = Pool::start("test", session(), Box::new(|| Ok(session())), Size::new(1, queue));
        Ok(Ready { pool, judges, weights: Vec::new(), embedder: "00".into(), mark: "00".into() })
    };
    let loading = Loading::start("test", make, |_| {}).await;
    let deadline = config::Span::millis(deadline);
    Verifier::new(Part::Local(loading), &config::Verifier { deadline, ..config::Verifier::default() })
}

fn glance() -> Glance {
    let kind = Kind { language: Language::English, change: Change::Edit };
    Glance { signals: vec![0.5; signals::names().len()], probability: 0.5, kind }
}

#[tokio::test]
async fn a_reader_that_is_slow_or_fails_is_told_within_the_deadline_and_recovers() {
    let verifier = verifier(50, 4).await;
    let began = Instant::now();
    assert!(matches!(verifier.read("a slow text", "b", &glance()).await, Err(EmbedError::Deadline)));
    assert!(began.elapsed() < Duration::from_millis(250), "{:?}", began.elapsed());
    assert!(verifier.0.failing.load(Ordering::Relaxed));
    thread::sleep(Duration::from_millis(300));
    assert!(verifier.read("a", "b", &glance()).await.is_ok());
    assert!(!verifier.0.failing.load(Ordering::Relaxed), "one good reading is the end of it");
    assert!(matches!(verifier.read("an ill text", "b", &glance()).await, Err(EmbedError::Down(_))));
    assert!(verifier.read("a", "b", &glance()).await.is_ok(), "what was read is remembered");
    assert!(verifier.0.failing.load(Ordering::Relaxed), "and is no reading");
    verifier.shutdown();
}

#[tokio::test]
async fn a_full_queue_turns_pairs_away_at_once() {
    let verifier = verifier(5_000, 1).await;
    let glance = glance();
    let slow = verifier.read("a slow text", "b", &glance);
    let late = async {
        // The first is with the reader by now, the second waits, and the third finds no room.
        tokio::time::sleep(Duration::from_millis(50)).await;
        tokio::join!(verifier.read("a second", "b", &glance), verifier.read("a third", "b", &glance))
    };
    let (slow, (second, third)) = tokio::join!(slow, late);
    assert!(slow.is_ok() && second.is_ok());
    assert!(matches!(third, Err(EmbedError::Busy)), "{third:?}");
    verifier.shutdown();
}

#[tokio::test]
async fn one_that_cannot_be_loaded_says_why_and_has_no_say() {
    let folder = tempfile::tempdir().unwrap();
    let start = async || {
        let model = folder.path().to_str().map(str::to_owned);
        let config = config::Verifier { model, ..config::Verifier::default() };
        Verifier::start(&config, &config::Embedder::default(), None).await.unwrap()
    };
    let spoil = |name: &str| {
        let path = folder.path().join(name);
        let mut content = std::fs::read(&path).unwrap();
        content[0] ^= 1;
        std::fs::write(path, content).unwrap();
    };
    let other_version = files::judge().replace("\"version\":1", "\"version\":9");
    for (case, words) in [("nothing", "no such file"), ("altered", "sha256"), ("version", "version 9")] {
        match case {
            "altered" => {
                files::make(folder.path(), &files::judge());
                spoil("reader.onnx");
            }
            "version" => files::make(folder.path(), &other_version),
            _ => {}
        }
        let verifier = start().await;
        let State::Degraded(reason) = verifier.state(None) else { panic!("{case} is ready") };
        assert!(reason.contains(words), "{case}: {reason}");
        assert!(verifier.is_there() && verifier.lines(0.01, &Fingerprint([0; 32])).is_none());
        assert!(matches!(verifier.read("a", "b", &glance()).await, Err(EmbedError::Down(_))));
    }
}
