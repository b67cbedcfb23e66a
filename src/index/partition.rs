//! The vectors that may answer each other: an arena, and a graph over most of it once it is large.
//!
//! One lock, held for one search or one change; never while a graph is built or dropped.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::arena::Arena;
use super::graph::{Graph, Plan};
use super::top::Top;
use super::vector::Code;
use super::{Candidate, Point, Query, SearchKind};
use crate::config;
use crate::types::Similarity;

/// One partition's vectors.
pub struct Partition {
    dimension: usize,
    inner: RwLock<Inner>,
}

struct Inner {
    arena: Arena,
    graph: Option<Arc<Graph>>,
    /// Rows that the graph covers, all alive.
    covered: usize,
}

impl Inner {
    /// Is there work for [`Partition::maintain`]?
    fn due(&self, options: &config::Index) -> bool {
        let live = self.arena.len();
        let Some(graph) = &self.graph else {
            return live >= options.graph_from.max(1);
        };
        // Too small for a graph again, with a margin so that it does not come and go with one entry.
        if live < options.graph_from / 2 || live == 0 {
            return true;
        }
        let tail = live.saturating_sub(self.covered).saturating_sub(graph.strays().len());
        let dead = graph.points().len().saturating_sub(self.covered + graph.strays().len());
        let patience = options.graph_from.min(1_024);
        tail >= (live / 8).max(patience).max(1) || dead > (graph.points().len() / 5).max(patience)
    }

    /// Puts a graph in place, marks what it covers, and gives back the old one to be dropped without the lock.
    fn install(&mut self, graph: Option<Arc<Graph>>) -> Option<Arc<Graph>> {
        for row in 0..self.arena.len() {
            self.arena.set_covered(row, false);
        }
        self.covered = 0;
        for (position, point) in graph.iter().flat_map(|graph| graph.points().iter().enumerate()) {
            let stray = graph.as_ref().is_some_and(|graph| graph.strays().contains(&position));
            if let Some(row) = point.row().filter(|_| !stray) {
                self.arena.set_covered(row, true);
                self.covered += 1;
            }
        }
        std::mem::replace(&mut self.graph, graph)
    }
}

/// How a search went.
pub(super) struct Found {
    pub(super) candidates: Vec<Candidate>,
    pub(super) kind: SearchKind,
    /// The graph gave too few, so everything was scanned after all.
    pub(super) fell_back: bool,
}

impl Partition {
    /// An empty partition for vectors of `dimension` components.
    pub fn new(dimension: usize) -> Self {
        Self { dimension, inner: RwLock::new(Inner { arena: Arena::new(dimension), graph: None, covered: 0 }) }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Live vectors.
    pub fn len(&self) -> usize {
        self.read().arena.len()
    }

    /// No live vectors?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How the next search without a filter would go.
    pub fn search_kind(&self) -> SearchKind {
        if self.read().graph.is_some() { SearchKind::Graph } else { SearchKind::Scan }
    }

    /// Adds a vector; true when maintenance is due. A vector of another dimension is not added.
    pub(super) fn insert(&self, point: Arc<Point>, vector: &[f32], options: &config::Index) -> bool {
        if vector.len() != self.dimension {
            return false;
        }
        let mut inner = self.write();
        inner.arena.push(point, vector);
        inner.due(options)
    }

    /// Takes a vector out; true when maintenance is due.
    pub(super) fn remove(&self, point: &Point, options: &config::Index) -> bool {
        let mut inner = self.write();
        let covered = point.row().is_some_and(|row| row < inner.arena.len() && inner.arena.covered(row));
        if inner.arena.remove(point) && covered {
            inner.covered -= 1;
        }
        inner.graph.is_some() && inner.due(options)
    }

    /// The nearest admitted points, best first.
    pub(super) fn search(&self, query: &Query<'_>, breadth: usize) -> Found {
        let inner = self.read();
        if query.vector.len() != self.dimension || query.k == 0 {
            return Found { candidates: Vec::new(), kind: SearchKind::Scan, fell_back: false };
        }
        let by_graph = inner.graph.as_ref().filter(|_| query.filter.is_any());
        let found = by_graph.and_then(|graph| inner.by_graph(graph, query, breadth));
        let (kind, fell_back) = match (&found, by_graph) {
            (Some(_), _) => (SearchKind::Graph, false),
            (None, tried) => (SearchKind::Scan, tried.is_some()),
        };
        let top = found.unwrap_or_else(|| {
            let mut top = Top::new(query.k);
            inner.arena.scan(query, false, &mut top);
            top
        });
        let candidate = |(score, row): (f32, usize)| Candidate {
            id: inner.arena.points()[row].id,
            similarity: Similarity::clamped(score),
        };
        Found { candidates: top.into_sorted().into_iter().map(candidate).collect(), kind, fell_back }
    }

    /// Builds, rebuilds or drops the graph, as is due. Blocks for as long as building takes, holding no lock.
    /// Returns the number of points put into a graph.
    pub(super) fn maintain(&self, options: &config::Index, stop: &AtomicBool) -> usize {
        let plan = {
            let inner = self.read();
            if !inner.due(options) {
                return 0;
            }
            (inner.arena.len() >= options.graph_from.max(1)).then(|| inner.plan(self.dimension))
        };
        let Some(plan) = plan else {
            let old = self.write().install(None);
            drop(old);
            return 0;
        };
        let built = plan.points.len();
        let Some(graph) = Graph::build(plan, options, stop) else { return 0 };
        let old = self.write().install(Some(Arc::new(graph)));
        drop(old);
        built
    }

    /// Puts a graph from a snapshot in place.
    pub(super) fn adopt(&self, graph: Graph) {
        let old = self.write().install(Some(Arc::new(graph)));
        drop(old);
    }

    /// The graph in use, if there is one.
    pub(super) fn graph(&self) -> Option<Arc<Graph>> {
        self.read().graph.clone()
    }

    /// The points, in no particular order.
    pub(super) fn points(&self) -> Vec<Arc<Point>> {
        self.read().arena.points().to_vec()
    }

    /// Is there work for [`Self::maintain`]?
    pub(super) fn due(&self, options: &config::Index) -> bool {
        self.read().due(options)
    }
}

impl Inner {
    fn plan(&self, dimension: usize) -> Plan {
        let mut codes = Vec::with_capacity(self.arena.len() * dimension);
        for row in 0..self.arena.len() {
            codes.extend_from_slice(self.arena.code(row));
        }
        Plan { points: self.arena.points().to_vec(), codes, dimension }
    }

    /// `None` when the graph, searched twice, gave fewer than were wanted: too many of those it finds are gone or
    /// expired, and only a scan can tell what is left.
    fn by_graph(&self, graph: &Graph, query: &Query<'_>, breadth: usize) -> Option<Top<usize>> {
        let code = Code::of(query.vector).values;
        let total = graph.points().len();
        let alive = self.covered.max(1);
        // Removed points take up places among the nearest: ask for more in proportion.
        let widened = breadth.max(4 * query.k).saturating_mul(total.max(1)) / alive;
        for breadth in [widened, widened.saturating_mul(4)] {
            let breadth = breadth.min(total);
            let mut top = Top::new(query.k);
            let mut found = 0;
            for point in graph.near(&code, breadth) {
                // A stray can be met as well; it is offered by the scan below, and not twice.
                if point.row().is_some_and(|row| self.arena.covered(row)) && query.admits(point) {
                    self.arena.offer(query, point, &mut top);
                    found += 1;
                }
            }
            if found >= query.k.min(self.covered) {
                self.arena.scan(query, true, &mut top);
                return Some(top);
            }
            if breadth == total {
                break;
            }
        }
        None
    }
}
