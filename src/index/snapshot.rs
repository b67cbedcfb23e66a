//! Graphs on disk, so that a restart need not build them again.
//!
//! A snapshot is a convenience and never trusted: a manifest names length and BLAKE3 of every file, the fingerprint
//! of the vectors and the entries in order, and ends with its own hash. Anything that does not agree is left out and
//! built again. The check comes before hnsw_rs sees a file, because its loader panics or exits on damage. Nothing is
//! synced to disk: a snapshot that a power cut tore fails its hash.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hnsw_rs::api::AnnT;
use hnsw_rs::hnswio::HnswIo;
use uuid::Uuid;

use super::graph::{CodeDistance, Graph};
use super::{Partition, Partitions, Point};
use crate::types::{Attributes, EntryId, Fingerprint, PartitionKey, Timestamp};

const MAGIC: &[u8; 4] = b"RFSN";
/// Raised whenever the manifest or hnsw_rs's dump format changes.
const VERSION: u8 = 1;
const MANIFEST: &str = "manifest";
/// A smaller graph is built again sooner than it is read.
const WORTHWHILE: usize = 1_000;

/// Why a snapshot was not written. Nothing depends on it.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The folder cannot be written.
    #[error("the index snapshot cannot be written: {0}")]
    Io(#[from] std::io::Error),
    /// The graph library gave up.
    #[error("the index snapshot cannot be written: the graph could not be dumped")]
    Dump,
}

/// What became of a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotReport {
    /// Graphs written or taken over.
    pub graphs: usize,
    /// Graphs in the snapshot that could not be used.
    pub refused: usize,
}

/// A dumped graph as the manifest describes it.
struct Dumped {
    key: PartitionKey,
    name: String,
    files: [Digest; 2],
    ids: Vec<EntryId>,
    strays: Vec<u32>,
}

/// Length and BLAKE3 of a file.
#[derive(PartialEq, Eq)]
struct Digest {
    length: u64,
    hash: [u8; 32],
}

impl Digest {
    fn of(path: &Path) -> std::io::Result<Self> {
        let file = File::open(path)?;
        let mut hasher = blake3::Hasher::new();
        let length = file.metadata()?.len();
        hasher.update_reader(file)?;
        Ok(Self { length, hash: *hasher.finalize().as_bytes() })
    }
}

fn files(dir: &Path, name: &str) -> [PathBuf; 2] {
    [dir.join(format!("{name}.hnsw.graph")), dir.join(format!("{name}.hnsw.data"))]
}

/// Writes the graphs worth keeping into `dir`, replacing the snapshot there.
///
/// # Errors
/// When `dir` cannot be written; the earlier snapshot is then still whole, or gone.
pub(super) fn save(
    partitions: &Partitions,
    dir: &Path,
    fingerprint: &Fingerprint,
) -> Result<SnapshotReport, SnapshotError> {
    fs::create_dir_all(dir)?;
    let generation = Uuid::now_v7().simple().to_string();
    let mut dumped = Vec::new();
    for (key, partition) in partitions.all() {
        let Some(graph) = partition.graph().filter(|graph| graph.points().len() >= WORTHWHILE) else { continue };
        dumped.push(dump(&graph, key, dir, &format!("{generation}-{}", dumped.len()))?);
    }
    let partial = dir.join("manifest.partial");
    File::create(&partial)?.write_all(&encode(fingerprint, &dumped))?;
    fs::rename(&partial, dir.join(MANIFEST))?;
    remove_others(dir, &dumped)?;
    Ok(SnapshotReport { graphs: dumped.len(), refused: 0 })
}

fn dump(graph: &Graph, key: PartitionKey, dir: &Path, name: &str) -> Result<Dumped, SnapshotError> {
    let written = catch_unwind(AssertUnwindSafe(|| graph.inner().file_dump(dir, name)));
    let name = written.map_err(|_| SnapshotError::Dump)?.map_err(|_| SnapshotError::Dump)?;
    let [links, data] = files(dir, &name);
    let strays = graph.strays().iter().filter_map(|position| u32::try_from(*position).ok()).collect();
    let ids = graph.points().iter().map(|point| point.id).collect();
    Ok(Dumped { key, name, files: [Digest::of(&links)?, Digest::of(&data)?], ids, strays })
}

fn remove_others(dir: &Path, dumped: &[Dumped]) -> std::io::Result<()> {
    let keep: HashSet<PathBuf> = dumped.iter().flat_map(|graph| files(dir, &graph.name)).collect();
    for file in fs::read_dir(dir)? {
        let path = file?.path();
        let ours = path.extension().is_some_and(|extension| extension == "graph" || extension == "data");
        if ours && !keep.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Takes over the graphs in `dir` that agree with the partitions as they are now.
pub(super) fn load(partitions: &Partitions, dir: &Path, fingerprint: &Fingerprint) -> SnapshotReport {
    let mut report = SnapshotReport::default();
    let Ok(bytes) = fs::read(dir.join(MANIFEST)) else { return report };
    let Some(dumped) = decode(fingerprint, &bytes) else {
        report.refused = 1;
        return report;
    };
    for graph in dumped {
        match partitions.get(&graph.key).and_then(|partition| restore(&partition, dir, graph)) {
            Some(()) => report.graphs += 1,
            None => report.refused += 1,
        }
    }
    report
}

fn restore(partition: &Partition, dir: &Path, dumped: Dumped) -> Option<()> {
    for (path, digest) in files(dir, &dumped.name).iter().zip(&dumped.files) {
        if Digest::of(path).ok()? != *digest {
            return None;
        }
    }
    // The loaded graph borrows its loader: a few bytes a graph, once a process.
    let io: &'static HnswIo = Box::leak(Box::new(HnswIo::new(dir, &dumped.name)));
    let loaded = catch_unwind(AssertUnwindSafe(|| io.load_hnsw_with_dist::<i8, CodeDistance>(CodeDistance)));
    let mut inner = loaded.ok()?.ok()?;
    if inner.get_nb_point() != dumped.ids.len() {
        return None;
    }
    inner.set_searching_mode(true);
    let alive: HashMap<EntryId, Arc<Point>> = partition.points().into_iter().map(|point| (point.id, point)).collect();
    let gone = |id| Arc::new(Point::new(id, Timestamp(0), Attributes::default()));
    let points = dumped.ids.into_iter().map(|id| alive.get(&id).cloned().unwrap_or_else(|| gone(id))).collect();
    let strays = dumped.strays.into_iter().map(|position| position as usize).collect();
    partition.adopt(Graph::restored(inner, points, strays));
    Some(())
}

fn encode(fingerprint: &Fingerprint, dumped: &[Dumped]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(MAGIC);
    out.push(VERSION);
    out.extend_from_slice(&fingerprint.0);
    put_count(&mut out, dumped.len());
    for graph in dumped {
        out.extend_from_slice(&graph.key.0);
        put_count(&mut out, graph.name.len());
        out.extend_from_slice(graph.name.as_bytes());
        for file in &graph.files {
            out.extend_from_slice(&file.length.to_le_bytes());
            out.extend_from_slice(&file.hash);
        }
        put_count(&mut out, graph.ids.len());
        for id in &graph.ids {
            out.extend_from_slice(id.0.as_bytes());
        }
        put_count(&mut out, graph.strays.len());
        for stray in &graph.strays {
            out.extend_from_slice(&stray.to_le_bytes());
        }
    }
    let hash = blake3::hash(&out);
    out.extend_from_slice(hash.as_bytes());
    out
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

/// `None` unless every byte is as it was written, by this version, for this fingerprint.
fn decode(fingerprint: &Fingerprint, bytes: &[u8]) -> Option<Vec<Dumped>> {
    let (body, hash) = bytes.split_last_chunk::<32>()?;
    let mut rest = body.strip_prefix(MAGIC)?.strip_prefix(&[VERSION])?.strip_prefix(&fingerprint.0)?;
    if blake3::hash(body).as_bytes() != hash {
        return None;
    }
    let input = &mut rest;
    (0..take_count(input)?).map(|_| take_graph(input)).collect()
}

fn take_graph(input: &mut &[u8]) -> Option<Dumped> {
    let key = PartitionKey(take(input)?);
    let length = take_count(input)?;
    let (name, rest) = input.split_at_checked(length)?;
    *input = rest;
    let name = str::from_utf8(name).ok()?.to_owned();
    let mut file = || Some(Digest { length: u64::from_le_bytes(take(input)?), hash: take(input)? });
    let files = [file()?, file()?];
    let ids = (0..take_count(input)?).map(|_| Some(EntryId(Uuid::from_bytes(take(input)?)))).collect::<Option<_>>()?;
    let strays = (0..take_count(input)?).map(|_| Some(u32::from_le_bytes(take(input)?))).collect::<Option<_>>()?;
    Some(Dumped { key, name, files, ids, strays })
}

fn take<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = input.split_first_chunk::<N>()?;
    *input = rest;
    Some(*taken)
}

fn take_count(input: &mut &[u8]) -> Option<usize> {
    Some(u32::from_le_bytes(take(input)?) as usize)
}
