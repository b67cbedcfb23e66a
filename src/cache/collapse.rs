//! Request collapsing (RFC 9111, 4): identical misses make one upstream call, and all hear its answer live.
//!
//! A [`Lead`] is the linear right to call upstream for a key. Whoever listens (the leader's own caller first) holds a
//! [`Subscription`]; a follower hears the stream from its beginning, out of a bounded log. When the lead is dropped
//! unfinished, its followers wake and go on by themselves: nothing can strand them.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream::{self, Stream};
use http::{HeaderMap, StatusCode};
use tokio::sync::{mpsc, watch};

use crate::types::ExactKey;

/// Chunks that may wait for a slow reader before the upstream is read no further.
const BACKLOG: usize = 32;
/// How long a follower may hold up everybody who hears the same answer.
const FOLLOWER_PATIENCE: Duration = Duration::from_secs(1);

/// What two requests must have in common, besides the key, to share the bytes of one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// JSON or event stream.
    pub stream: bool,
    /// With a usage chunk?
    pub include_usage: bool,
    /// Everybody calls upstream for itself, and only an answer that is being kept is waited for.
    pub unshared: bool,
    /// `Accept-Encoding`, since the bytes are shared as upstream sent them.
    pub accept_encoding: Vec<u8>,
}

/// The status line and headers of upstream's answer.
#[derive(Clone, Debug)]
pub struct Head {
    /// Upstream's status.
    pub status: StatusCode,
    /// Upstream's headers, hop-by-hop ones removed.
    pub headers: HeaderMap,
}

/// How far a fill has come.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Nothing has come from upstream.
    Waiting,
    /// The body is coming.
    Open(Arc<Head>),
    /// The answer is whole; it is being kept.
    Closing(Arc<Head>),
    /// Over; the answer was kept.
    Kept,
    /// Over, with nothing to share.
    Failed,
}

/// Why a body stopped short.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Break(pub String);

/// A body's pieces as they come; the channel's end is the body's.
pub type Pieces = mpsc::Receiver<Result<Bytes, Break>>;

/// A listener's end of a fill.
pub struct Subscription {
    /// The body from its beginning.
    pub pieces: Pieces,
    /// Raised before the pieces end, when they were all.
    whole: Arc<AtomicBool>,
    /// The phase, as it changes.
    pub phase: watch::Receiver<Phase>,
}

impl Subscription {
    /// The body as a stream. It ends in an error unless it is whole: a listener that was too slow, or whose lead was
    /// lost, must not take what it got for everything.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, Break>> {
        stream::unfold(Some(self), |listening| async move {
            let mut listening = listening?;
            match listening.pieces.recv().await {
                Some(piece) => Some((piece, Some(listening))),
                None if listening.whole.load(Ordering::Acquire) => None,
                None => Some((Err(Break("the rest of the answer was lost".into())), None)),
            }
        })
    }
}

/// What joining came to.
pub enum Join {
    /// Nobody asks for this yet: call upstream.
    Lead(Lead, Subscription),
    /// An identical request is under way: hear its answer.
    Follow(Subscription),
    /// The same question is under way in another form: wait, then look again.
    Wait(Subscription),
}

/// Fills under way, by exact key.
#[derive(Clone, Default)]
pub struct Flights(Arc<Mutex<HashMap<ExactKey, Arc<Flight>>>>);

struct Flight {
    shape: Shape,
    log_limit: usize,
    state: Mutex<State>,
    phase: watch::Sender<Phase>,
}

#[derive(Default)]
struct State {
    log: Vec<Bytes>,
    logged: usize,
    /// The log has outgrown its limit: nobody can join from the beginning any more.
    overflow: bool,
    listeners: Vec<Listener>,
}

type Sender = mpsc::Sender<Result<Bytes, Break>>;

#[derive(Clone)]
struct Listener {
    sender: Sender,
    /// The leader's own caller, as against a follower.
    own: bool,
    whole: Arc<AtomicBool>,
}

impl Listener {
    fn new(sender: Sender, own: bool) -> Self {
        Self { sender, own, whole: Arc::default() }
    }

    /// How long it may hold up the others.
    fn patience(&self, own: Duration) -> Duration {
        if self.own { own } else { own.min(FOLLOWER_PATIENCE) }
    }
}

/// A panicking holder leaves plain data behind, so a poisoned lock is still good.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Flight {
    fn new(shape: Shape, log_limit: usize) -> Self {
        Self { shape, log_limit, state: Mutex::default(), phase: watch::Sender::new(Phase::Waiting) }
    }

    /// Adds a listener and hands it what has come so far; `None` when the beginning is gone.
    fn subscribe(&self, from_beginning: bool) -> Option<Subscription> {
        let mut state = lock(&self.state);
        if state.overflow && from_beginning {
            return None;
        }
        let (sender, pieces) = mpsc::channel(state.log.len() + BACKLOG);
        if from_beginning {
            for piece in &state.log {
                sender.try_send(Ok(piece.clone())).ok()?;
            }
        }
        let listener = Listener::new(sender, false);
        let whole = Arc::clone(&listener.whole);
        state.listeners.push(listener);
        Some(Subscription { pieces, whole, phase: self.phase.subscribe() })
    }
}

impl Flights {
    /// Joins the fill for `key`, or starts it. At most `log_limit` bytes are kept for late followers.
    pub fn join(&self, key: ExactKey, shape: Shape, log_limit: usize) -> Join {
        let mut flights = lock(&self.0);
        match flights.entry(key) {
            Slot::Vacant(slot) => {
                let flight = Arc::new(Flight::new(shape, log_limit));
                slot.insert(Arc::clone(&flight));
                drop(flights);
                let (lead, subscription) = Lead::of(flight, Some((self.clone(), key)));
                Join::Lead(lead, subscription)
            }
            Slot::Occupied(slot) => {
                let flight = slot.get();
                let open = matches!(*flight.phase.borrow(), Phase::Waiting | Phase::Open(_));
                if open && shape.unshared {
                    return Join::alone();
                }
                if open
                    && flight.shape == shape
                    && let Some(subscription) = flight.subscribe(true)
                {
                    return Join::Follow(subscription);
                }
                match flight.subscribe(false) {
                    Some(subscription) => Join::Wait(subscription),
                    None => Join::alone(),
                }
            }
        }
    }

    /// The fill for `key`, if its answer is whole and being kept at this moment.
    pub fn closing(&self, key: ExactKey) -> Option<watch::Receiver<Phase>> {
        let flight = lock(&self.0).get(&key).cloned()?;
        let phase = flight.phase.subscribe();
        let closing = matches!(*phase.borrow(), Phase::Closing(_));
        closing.then_some(phase)
    }

    /// How many fills are under way.
    pub fn len(&self) -> usize {
        lock(&self.0).len()
    }

    /// No fill under way?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Join {
    /// A lead that nobody can follow: for requests that are not to be shared.
    pub fn alone() -> Self {
        let (lead, subscription) = Lead::of(Arc::new(Flight::new(Shape::default(), 0)), None);
        Self::Lead(lead, subscription)
    }
}

/// The right and duty to fill one key. Dropped unfinished, it frees its followers.
pub struct Lead {
    flight: Arc<Flight>,
    registered: Option<(Flights, ExactKey)>,
}

impl Lead {
    fn of(flight: Arc<Flight>, registered: Option<(Flights, ExactKey)>) -> (Self, Subscription) {
        let (sender, pieces) = mpsc::channel(BACKLOG);
        let listener = Listener::new(sender, true);
        let subscription = Subscription { pieces, whole: Arc::clone(&listener.whole), phase: flight.phase.subscribe() };
        lock(&flight.state).listeners.push(listener);
        (Self { flight, registered }, subscription)
    }

    /// Announces upstream's status and headers to the followers. An answer that is not to be shared frees them: only
    /// the leader's own caller stays.
    pub fn open(&mut self, head: Arc<Head>, shared: bool) {
        if shared {
            self.flight.phase.send_replace(Phase::Open(head));
            return;
        }
        self.deregister();
        lock(&self.flight.state).listeners.retain(|listener| listener.own);
        self.flight.phase.send_replace(Phase::Failed);
    }

    /// Gives a piece to every listener; waits for slow ones, and leaves those that stall: the leader's own caller
    /// after `patience`, a follower, which holds up strangers, sooner.
    pub async fn publish(&self, piece: Bytes, patience: Duration) {
        let slow =
            self.log(&piece).into_iter().filter_map(|listener| match listener.sender.try_send(Ok(piece.clone())) {
                Err(mpsc::error::TrySendError::Full(piece)) => Some((listener, piece)),
                _ => None,
            });
        let sends = slow.map(|(listener, piece)| async move {
            if tokio::time::timeout(listener.patience(patience), listener.sender.send(piece)).await.is_err() {
                self.dismiss(&listener.sender);
            }
        });
        join_all(sends).await;
    }

    fn log(&self, piece: &Bytes) -> Vec<Listener> {
        let mut state = lock(&self.flight.state);
        state.logged += piece.len();
        if state.logged > self.flight.log_limit {
            state.overflow = true;
            state.log = Vec::new();
        } else {
            state.log.push(piece.clone());
        }
        state.listeners.retain(|listener| !listener.sender.is_closed());
        state.listeners.clone()
    }

    fn dismiss(&self, stalled: &Sender) {
        lock(&self.flight.state).listeners.retain(|listener| !listener.sender.same_channel(stalled));
    }

    /// The answer is whole: whoever comes from now on waits for it to be kept.
    pub fn closing(&self) {
        self.flight.phase.send_if_modified(|phase| match phase {
            Phase::Open(head) => {
                *phase = Phase::Closing(Arc::clone(head));
                true
            }
            _ => false,
        });
    }

    /// The answer has been kept, though its body has not ended yet: nobody needs to wait any longer.
    pub fn kept(&mut self) {
        self.deregister();
        self.flight.phase.send_replace(Phase::Kept);
    }

    /// Ends the body cleanly for every listener.
    pub fn finish(mut self, kept: bool) {
        let kept = kept || matches!(*self.flight.phase.borrow(), Phase::Kept);
        for listener in &lock(&self.flight.state).listeners {
            listener.whole.store(true, Ordering::Release);
        }
        self.end(if kept { Phase::Kept } else { Phase::Failed });
    }

    /// Ends the body short, and says why.
    pub async fn break_off(mut self, why: Break, patience: Duration) {
        let listeners = std::mem::take(&mut lock(&self.flight.state).listeners);
        let told = listeners
            .iter()
            .map(|listener| tokio::time::timeout(listener.patience(patience), listener.sender.send(Err(why.clone()))));
        join_all(told).await;
        self.end(Phase::Failed);
    }

    /// Resolves when nobody listens any more.
    pub async fn abandoned(&self) {
        loop {
            let listener = {
                let mut state = lock(&self.flight.state);
                state.listeners.retain(|listener| !listener.sender.is_closed());
                state.listeners.first().cloned()
            };
            match listener {
                Some(listener) => listener.sender.closed().await,
                None => return,
            }
        }
    }

    /// Takes the fill off the list if nobody listens; false when somebody joined meanwhile.
    pub fn withdraw(&mut self) -> bool {
        let Some((flights, key)) = &self.registered else { return !self.heard() };
        let mut flights = lock(&flights.0);
        if self.heard() {
            return false;
        }
        flights.remove(key);
        drop(flights);
        self.registered = None;
        true
    }

    /// Does anybody listen?
    pub fn heard(&self) -> bool {
        lock(&self.flight.state).listeners.iter().any(|listener| !listener.sender.is_closed())
    }

    fn end(&mut self, phase: Phase) {
        self.deregister();
        self.flight.phase.send_replace(phase);
        let mut state = lock(&self.flight.state);
        state.listeners.clear();
        state.log = Vec::new();
    }

    fn deregister(&mut self) {
        if let Some((flights, key)) = self.registered.take() {
            lock(&flights.0).remove(&key);
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        let over = matches!(*self.flight.phase.borrow(), Phase::Kept | Phase::Failed);
        if !over {
            self.end(Phase::Failed);
        }
    }
}

#[cfg(test)]
mod tests;
