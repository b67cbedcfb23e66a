//! What is found, compared with comparing everything.

use std::sync::Arc;

use super::vector::dot;
use super::vector::tests::Noise;
use super::*;
use crate::config;
use crate::types::PartitionKey;

const DIMENSION: usize = 64;
const KEY: PartitionKey = PartitionKey([1; 32]);
const NEVER: Timestamp = Timestamp(u64::MAX);

fn partitions(graph_from: usize) -> Partitions {
    Partitions::new(config::Index { graph_from, ..config::Index::default() }, DIMENSION)
}

/// Vectors in a partition, and beside it for comparison.
struct World {
    partitions: Partitions,
    points: Vec<(Arc<Point>, Vec<f32>)>,
}

impl World {
    fn new(graph_from: usize) -> Self {
        Self { partitions: partitions(graph_from), points: Vec::new() }
    }

    fn add(&mut self, vector: Vec<f32>) -> EntryId {
        let point = Arc::new(Point::new(EntryId::generate(), NEVER, Attributes::default()));
        self.partitions.insert(KEY, Arc::clone(&point), &vector);
        let id = point.id;
        self.points.push((point, vector));
        id
    }

    fn remove_if(&mut self, gone: impl Fn(usize) -> bool) {
        let all = std::mem::take(&mut self.points);
        for (position, (point, vector)) in all.into_iter().enumerate() {
            if gone(position) {
                self.partitions.remove(&KEY, &point);
            } else {
                self.points.push((point, vector));
            }
        }
    }

    fn find(&self, vector: &[f32], k: usize) -> Vec<Candidate> {
        let query = Query { vector, k, filter: &AttributeFilter::Any, now: Timestamp(0) };
        self.partitions.search(&KEY, &query)
    }

    /// By comparing everything in f32.
    fn truth(&self, vector: &[f32], k: usize) -> Vec<f32> {
        let mut all: Vec<f32> = self.points.iter().map(|(_, own)| dot(vector, own).clamp(0.0, 1.0)).collect();
        all.sort_by(|a, b| b.total_cmp(a));
        all.truncate(k);
        all
    }

    /// The share of `queries` whose best candidate is as good as the best there is.
    fn recall(&self, queries: &[Vec<f32>]) -> f64 {
        let alive: std::collections::HashSet<EntryId> = self.points.iter().map(|(point, _)| point.id).collect();
        let right = queries.iter().filter(|query| {
            let found = self.find(query, 1);
            assert!(found.iter().all(|candidate| alive.contains(&candidate.id)), "a removed point was found");
            found.first().is_some_and(|best| best.similarity.get() >= self.truth(query, 1)[0] - 1e-6)
        });
        right.count() as f64 / queries.len() as f64
    }
}

/// Vectors in clusters, as questions about a few topics are.
fn clustered(noise: &mut Noise, count: usize) -> Vec<Vec<f32>> {
    let centres: Vec<Vec<f32>> = (0..60).map(|_| noise.unit(DIMENSION)).collect();
    (0..count).map(|number| noise.near(&centres[number % centres.len()], 0.8)).collect()
}

#[test]
fn a_scan_finds_exactly_the_nearest_whatever_the_size() {
    let mut noise = Noise(3);
    for size in [1, 5, 128, 129, 255, 256, 257, 1_000] {
        let mut world = World::new(1_000_000);
        for vector in clustered(&mut noise, size) {
            world.add(vector);
        }
        for query in clustered(&mut noise, 20) {
            let found: Vec<f32> = world.find(&query, 10).iter().map(|candidate| candidate.similarity.get()).collect();
            assert_eq!(found, world.truth(&query, 10), "{size}");
        }
    }
}

#[test]
fn removals_in_any_order_leave_the_scan_exact() {
    let mut noise = Noise(4);
    let mut world = World::new(1_000_000);
    for vector in clustered(&mut noise, 700) {
        world.add(vector);
    }
    for step in [2, 3, 5, 7] {
        world.remove_if(|position| position % step == step - 1);
        for query in clustered(&mut noise, 20) {
            let found: Vec<f32> = world.find(&query, 5).iter().map(|candidate| candidate.similarity.get()).collect();
            assert_eq!(found, world.truth(&query, 5));
        }
        assert_eq!(world.partitions.get(&KEY).unwrap().len(), world.points.len());
    }
    world.remove_if(|_| true);
    assert!(world.partitions.is_empty(), "an empty partition is no partition");
}

#[test]
fn the_graph_finds_the_nearest_also_after_deletions_and_insertions() {
    let mut noise = Noise(5);
    let mut world = World::new(1_000);
    let mut vectors = clustered(&mut noise, 3_300);
    let late = vectors.split_off(3_000);
    let queries: Vec<Vec<f32>> = vectors.iter().step_by(10).map(|vector| noise.near(vector, 0.2)).collect();
    for vector in vectors {
        world.add(vector);
    }
    assert_eq!(world.partitions.maintain(), Maintained { graphs: 1, points: 3_000 });
    assert!(world.recall(&queries) >= 0.99);
    // 30% gone and some newer than the graph, which is too little to build it again.
    world.remove_if(|position| position * 7 % 61 % 10 < 3);
    for vector in late {
        world.add(vector);
    }
    assert_eq!(world.partitions.maintain(), Maintained::default());
    assert!(world.recall(&queries) >= 0.99);
    let own: Vec<Vec<f32>> = world.points.iter().map(|(_, vector)| vector.clone()).collect();
    assert!(world.recall(&own) >= 1.0, "every vector finds itself");
    let counts = world.partitions.search_counts();
    assert_eq!((counts.scans, counts.fallbacks), (0, 0));
    // More gone: built again without the dead.
    world.remove_if(|position| position % 2 == 0);
    assert_eq!(world.partitions.maintain(), Maintained { graphs: 1, points: world.points.len() });
    assert!(world.recall(&queries) >= 0.99);
    // Too small for a graph: back to the scan.
    world.remove_if(|position| position > 100);
    world.partitions.maintain();
    assert_eq!(world.partitions.get(&KEY).unwrap().search_kind(), SearchKind::Scan);
    assert!(world.recall(&queries) >= 1.0);
}

#[test]
fn a_query_among_the_removed_still_finds_the_nearest_that_is_left() {
    let mut noise = Noise(11);
    let mut world = World::new(100);
    let vectors = clustered(&mut noise, 1_800);
    for vector in vectors.iter().cloned() {
        world.add(vector);
    }
    world.partitions.maintain();
    // Whole clusters go: around their queries the graph knows only the dead.
    world.remove_if(|position| position % 60 < 10);
    assert_eq!(world.partitions.get(&KEY).unwrap().search_kind(), SearchKind::Graph);
    let queries: Vec<Vec<f32>> = (0..10).map(|cluster| vectors[cluster].clone()).collect();
    assert!(world.recall(&queries) >= 1.0);
    assert!(queries.iter().all(|query| world.find(query, 5).len() == 5));
}

#[test]
fn a_thousand_copies_of_one_vector_neither_break_nor_hide_anything() {
    let mut noise = Noise(6);
    let mut world = World::new(1);
    let one = noise.unit(DIMENSION);
    let others: Vec<Vec<f32>> = (0..200).map(|_| noise.unit(DIMENSION)).collect();
    for copy in 0..1_000 {
        world.add(if copy % 2 == 0 { one.clone() } else { noise.near(&one, 1e-7) });
    }
    for vector in others.iter().cloned() {
        world.add(vector);
    }
    world.partitions.maintain();
    let found = world.find(&one, 4);
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|candidate| candidate.similarity.get() > 0.9999));
    assert!(world.recall(&others) >= 1.0);
    // All copies but one go.
    world.remove_if(|position| (1..1_000).contains(&position));
    assert_eq!(world.find(&one, 1)[0].id, world.points[0].0.id);
    assert!(world.recall(&others) >= 1.0);
}

#[test]
fn a_small_graph_grows_with_its_partition() {
    let mut noise = Noise(8);
    let mut world = World::new(1);
    for count in 1..60 {
        let vector = noise.unit(DIMENSION);
        let id = world.add(vector.clone());
        assert_eq!(world.find(&vector, 1)[0].id, id, "before maintenance");
        world.partitions.maintain();
        assert_eq!(world.find(&vector, 1)[0].id, id, "after maintenance");
        assert_eq!(world.find(&vector, 64).len(), count, "all are found when all are asked for");
    }
    assert_eq!(world.partitions.search_counts().scans, 1, "only before the first graph was built");
}

#[test]
fn expired_points_do_not_crowd_out_live_ones() {
    let mut noise = Noise(9);
    let partitions = partitions(1);
    let one = noise.unit(DIMENSION);
    let mut last = None;
    for number in 0..400 {
        let expires_at = if number == 399 { NEVER } else { Timestamp(10) };
        let point = Arc::new(Point::new(EntryId::generate(), expires_at, Attributes::default()));
        last = Some(point.id);
        partitions.insert(KEY, point, &noise.near(&one, 0.01 + number as f32 / 1_000.0));
    }
    partitions.maintain();
    let find = |now| {
        let query = Query { vector: &one, k: 1, filter: &AttributeFilter::Any, now };
        partitions.search(&KEY, &query)[0].id
    };
    assert_ne!(Some(find(Timestamp(9))), last);
    assert_eq!(Some(find(Timestamp(10))), last);
}

#[test]
fn searching_inserting_removing_and_building_at_once_neither_stall_nor_lie() {
    let mut noise = Noise(10);
    let vectors = clustered(&mut noise, 1_500);
    let partitions = partitions(50);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for vector in vectors.iter().step_by(50) {
                        let query = Query { vector, k: 3, filter: &AttributeFilter::Any, now: Timestamp(0) };
                        let found = partitions.search(&KEY, &query);
                        assert!(found.is_sorted_by(|a, b| a.similarity >= b.similarity));
                    }
                }
            });
        }
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                partitions.maintain();
                std::thread::yield_now();
            }
        });
        let mut points = Vec::new();
        for (number, vector) in vectors.iter().enumerate() {
            let point = Arc::new(Point::new(EntryId::generate(), NEVER, Attributes::default()));
            partitions.insert(KEY, Arc::clone(&point), vector);
            points.push(point);
            if number % 4 == 3 {
                partitions.remove(&KEY, &points[number / 2]);
            }
        }
        // However slow the machine is: some searches go through a graph while others change it.
        while partitions.search_counts().graphs < 100 {
            std::thread::yield_now();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(partitions.get(&KEY).unwrap().len(), 1_125);
}
