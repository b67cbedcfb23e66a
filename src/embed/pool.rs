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
            // A worker lets go of those for whom it is too late.
            Ok(Err(_)) if Instant::now() >= until => Err(EmbedError::Deadline),
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
mod tests;
