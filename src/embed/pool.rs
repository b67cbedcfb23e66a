//! Worker threads that run a model: one session each, a bounded queue before them.
//!
//! A caller waits no longer than its deadline, queueing included, whatever a session does. Work whose callers have all
//! left is not begun. One input under way serves everybody who asks for it meanwhile. A session that panics is replaced
//! on its thread, a thread that hangs is replaced beside it (at most [`ABANDONED`] of them: a model that hangs every
//! time must not eat the machine), and no lock is held while a session runs, so nothing is ever poisoned.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::EmbedError;

/// Hanging threads that are left behind before the pool gives up making new ones.
const ABANDONED: usize = 4;
/// Pause before a session that could not be made is tried again.
const REOPEN_AFTER: Duration = Duration::from_secs(5);
/// How long a shutdown waits for the runs under way.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(5);

/// Names an input; equal keys are equal inputs.
pub type Key = [u8; 32];
/// Runs a model on one input. Made and used on one worker thread.
pub type Session<I, O> = Box<dyn FnMut(&I) -> Result<O, EmbedError> + Send>;
/// Makes a session; asked again whenever one is lost.
pub type Factory<I, O> = dyn Fn() -> Result<Session<I, O>, String> + Send + Sync;

struct Waiter<O> {
    until: Instant,
    answer: oneshot::Sender<Result<O, EmbedError>>,
}

impl<O> Waiter<O> {
    fn is_gone(&self, now: Instant) -> bool {
        self.answer.is_closed() || self.until <= now
    }
}

/// What a worker is doing: which of its incarnations, and since when on which input.
#[derive(Default)]
struct Slot {
    generation: u64,
    busy: Option<(Key, Instant)>,
    /// Its thread hangs and has no successor yet.
    vacant: bool,
}

/// The measures of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Workers, at least one.
    pub threads: usize,
    /// Inputs that may wait.
    pub queue: usize,
    /// A run that takes longer hangs.
    pub hangs_after: Duration,
}

impl Size {
    /// A size with the default patience: the longest input takes well under a second even on a slow machine.
    pub fn new(threads: usize, queue: usize) -> Self {
        Self { threads, queue, hangs_after: Duration::from_secs(10) }
    }
}

struct Work<I, O> {
    queue: VecDeque<(Key, I)>,
    waiting: HashMap<Key, Vec<Waiter<O>>>,
    slots: Vec<Slot>,
    abandoned: usize,
    closed: bool,
    threads: Vec<JoinHandle<()>>,
}

impl<I, O> Default for Work<I, O> {
    fn default() -> Self {
        let (queue, waiting) = (VecDeque::new(), HashMap::new());
        Self { queue, waiting, slots: Vec::new(), abandoned: 0, closed: false, threads: Vec::new() }
    }
}

struct Shared<I, O> {
    /// The threads' name.
    name: &'static str,
    work: Mutex<Work<I, O>>,
    wake: Condvar,
    factory: Box<Factory<I, O>>,
    size: Size,
}

impl<I, O> Shared<I, O> {
    fn work(&self) -> MutexGuard<'_, Work<I, O>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The threads and their queue: an input `I` becomes an output `O`. Dropping it ends them.
pub struct Pool<I, O> {
    shared: Arc<Shared<I, O>>,
}

impl<I: Send + 'static, O: Clone + Send + 'static> Pool<I, O> {
    /// Workers with sessions from `factory`; `first` is the first worker's, so that one made for a self-test serves on.
    pub fn start(name: &'static str, first: Session<I, O>, factory: Box<Factory<I, O>>, size: Size) -> Self {
        let shared = Arc::new(Shared { name, work: Mutex::default(), wake: Condvar::new(), factory, size });
        let mut work = shared.work();
        let mut session = Some(first);
        for index in 0..size.threads.max(1) {
            work.slots.push(Slot::default());
            spawn(&shared, &mut work, index, session.take());
        }
        drop(work);
        Self { shared }
    }

    /// What the model makes of `input`, by `until`.
    ///
    /// # Errors
    /// `Busy` when the queue is full, `Deadline` when `until` passes first, `Down` and `Invalid` from the session.
    pub async fn run(&self, key: Key, input: I, until: Instant) -> Result<O, EmbedError> {
        let answer = self.submit(key, input, until)?;
        match tokio::time::timeout_at(until.into(), answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(EmbedError::Down("the model's worker was lost".into())),
            Err(_) => Err(EmbedError::Deadline),
        }
    }

    fn submit(
        &self,
        key: Key,
        input: I,
        until: Instant,
    ) -> Result<oneshot::Receiver<Result<O, EmbedError>>, EmbedError> {
        let (sender, receiver) = oneshot::channel();
        let waiter = Waiter { until, answer: sender };
        let mut work = self.shared.work();
        if work.closed {
            return Err(EmbedError::Down("shutting down".into()));
        }
        self.replace_hanging(&mut work);
        if work.slots.iter().all(|slot| slot.vacant) {
            return Err(EmbedError::Down("the model hangs".into()));
        }
        if let Some(others) = work.waiting.get_mut(&key) {
            others.push(waiter);
            return Ok(receiver);
        }
        if work.queue.len() >= self.shared.size.queue.max(1) {
            drop_abandoned_work(&mut work);
        }
        if work.queue.len() >= self.shared.size.queue.max(1) {
            return Err(EmbedError::Busy);
        }
        work.queue.push_back((key, input));
        work.waiting.insert(key, vec![waiter]);
        drop(work);
        self.shared.wake.notify_one();
        Ok(receiver)
    }

    /// Lets go of the callers of an input that hangs, and puts a new thread in the place of the one that runs it.
    fn replace_hanging(&self, work: &mut Work<I, O>) {
        for index in 0..work.slots.len() {
            let hangs = |(_, since): &(Key, Instant)| since.elapsed() > self.shared.size.hangs_after;
            if let Some((key, _)) = work.slots[index].busy.take_if(|busy| hangs(busy)) {
                tracing::error!(pool = self.shared.name, worker = index, "a model hangs; its worker is replaced");
                work.waiting.remove(&key);
                work.slots[index].generation += 1;
                work.slots[index].vacant = true;
                work.abandoned += 1;
            }
            if work.slots[index].vacant && work.abandoned <= ABANDONED {
                work.slots[index].vacant = false;
                spawn(&self.shared, work, index, None);
            }
        }
    }

    /// Whether the model hangs on every thread.
    pub fn is_hanging(&self) -> bool {
        self.shared.work().slots.iter().all(|slot| slot.vacant)
    }

    /// Takes no more work, and waits for the runs under way, for a bounded time.
    pub fn shutdown(&self) {
        let threads = {
            let mut work = self.shared.work();
            work.closed = true;
            work.queue.clear();
            work.waiting.clear();
            std::mem::take(&mut work.threads)
        };
        self.shared.wake.notify_all();
        let until = Instant::now() + SHUTDOWN_WITHIN;
        for thread in threads {
            while !thread.is_finished() && Instant::now() < until {
                thread::sleep(Duration::from_millis(2));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }
}

impl<I, O> Drop for Pool<I, O> {
    fn drop(&mut self) {
        let mut work = self.shared.work();
        work.closed = true;
        work.queue.clear();
        work.waiting.clear();
        drop(work);
        self.shared.wake.notify_all();
    }
}

/// Forgets queued inputs whose callers have all left.
fn drop_abandoned_work<I, O>(work: &mut Work<I, O>) {
    let Work { queue, waiting, .. } = work;
    queue.retain(|(key, _)| {
        let wanted = is_wanted(waiting, key);
        if !wanted {
            waiting.remove(key);
        }
        wanted
    });
}

fn is_wanted<O>(waiting: &HashMap<Key, Vec<Waiter<O>>>, key: &Key) -> bool {
    let now = Instant::now();
    waiting.get(key).is_some_and(|waiters| waiters.iter().any(|waiter| !waiter.is_gone(now)))
}

fn spawn<I: Send + 'static, O: Clone + Send + 'static>(
    shared: &Arc<Shared<I, O>>,
    work: &mut Work<I, O>,
    index: usize,
    session: Option<Session<I, O>>,
) {
    let generation = work.slots[index].generation;
    let name = format!("refrain-{}-{index}", shared.name);
    let worker = Worker { shared: Arc::clone(shared), index, generation, session, failed: None };
    match thread::Builder::new().name(name).spawn(move || worker.run()) {
        Ok(thread) => {
            work.threads.retain(|other| !other.is_finished());
            work.threads.push(thread);
        }
        Err(error) => tracing::error!(%error, "no thread for a model"),
    }
}

/// One thread and its session.
struct Worker<I, O> {
    shared: Arc<Shared<I, O>>,
    index: usize,
    generation: u64,
    session: Option<Session<I, O>>,
    /// When and why the last attempt to make a session failed.
    failed: Option<(Instant, String)>,
}

impl<I, O: Clone> Worker<I, O> {
    fn run(mut self) {
        loop {
            self.open();
            let Some((key, input)) = self.next() else { return };
            let answer = self.answer(&input);
            let Some(waiters) = self.done(&key) else { return };
            for waiter in waiters {
                let _ = waiter.answer.send(answer.clone());
            }
        }
    }

    /// Makes a session where there is none, outside of any caller's time.
    fn open(&mut self) {
        let lately = self.failed.as_ref().is_some_and(|(when, _)| when.elapsed() < REOPEN_AFTER);
        if self.session.is_some() || lately {
            return;
        }
        let made = catch_unwind(AssertUnwindSafe(|| (self.shared.factory)()));
        match made.unwrap_or_else(|_| Err("making a session panicked".into())) {
            Ok(session) => (self.session, self.failed) = (Some(session), None),
            Err(error) => {
                tracing::error!(pool = self.shared.name, error, "no session of a model");
                self.failed = Some((Instant::now(), error));
            }
        }
    }

    /// The next input that somebody still waits for; `None` when this thread is to end.
    fn next(&self) -> Option<(Key, I)> {
        let mut work = self.shared.work();
        loop {
            if work.closed || work.slots[self.index].generation != self.generation {
                return None;
            }
            let Some((key, input)) = work.queue.pop_front() else {
                work = self.shared.wake.wait(work).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if is_wanted(&work.waiting, &key) {
                work.slots[self.index].busy = Some((key, Instant::now()));
                return Some((key, input));
            }
            work.waiting.remove(&key);
        }
    }

    fn answer(&mut self, input: &I) -> Result<O, EmbedError> {
        let Some(compute) = &mut self.session else {
            let why = self.failed.as_ref().map_or("no session", |(_, why)| why);
            return Err(EmbedError::Down(why.into()));
        };
        if let Ok(answer) = catch_unwind(AssertUnwindSafe(|| compute(input))) {
            return answer;
        }
        tracing::error!(pool = self.shared.name, "a model panicked; its session is replaced");
        self.session = None;
        Err(EmbedError::Down("the model panicked".into()))
    }

    /// Takes the input's callers off the list; `None` when this thread was replaced while it ran.
    fn done(&self, key: &Key) -> Option<Vec<Waiter<O>>> {
        let mut work = self.shared.work();
        if work.slots[self.index].generation != self.generation {
            work.abandoned = work.abandoned.saturating_sub(1);
            return None;
        }
        work.slots[self.index].busy = None;
        Some(work.waiting.remove(key).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
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
}
