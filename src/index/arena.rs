//! The vectors of one partition in rows, for scanning.
//!
//! Rows are dense: removing one moves the last into its place, so there are no tombstones. Storage grows in blocks,
//! since copying a hundred megabytes to enlarge one allocation would hold up every reader.

use std::sync::Arc;

use super::top::Top;
use super::vector::{Code, dot, dot_codes};
use super::{Point, Query};

/// Rows a block.
const BLOCK: usize = 256;
/// Up to here comparing codes first saves nothing.
const SMALL: usize = 128;

/// Equal-sized rows in blocks.
struct Rows<T> {
    width: usize,
    blocks: Vec<Vec<T>>,
}

impl<T: Copy> Rows<T> {
    fn new(width: usize) -> Self {
        Self { width, blocks: Vec::new() }
    }

    fn get(&self, row: usize) -> &[T] {
        let start = row % BLOCK * self.width;
        &self.blocks[row / BLOCK][start..start + self.width]
    }

    /// Adds a row at the end, which is `row`.
    fn push(&mut self, row: usize, values: &[T]) {
        if row.is_multiple_of(BLOCK) {
            self.blocks.push(Vec::new());
        }
        self.blocks[row / BLOCK].extend_from_slice(values);
    }

    /// Removes `row` by moving the last one, `last`, into its place.
    fn swap_remove(&mut self, row: usize, last: usize) {
        let start = last % BLOCK * self.width;
        let moved = self.blocks[last / BLOCK].split_off(start);
        if row != last {
            let start = row % BLOCK * self.width;
            self.blocks[row / BLOCK][start..start + self.width].copy_from_slice(&moved);
        }
        if last.is_multiple_of(BLOCK) {
            self.blocks.pop();
        }
    }
}

/// Vectors, their codes, and whose they are.
pub(super) struct Arena {
    vectors: Rows<f32>,
    codes: Rows<i8>,
    /// Scale and error of each code.
    quantised: Vec<(f32, f32)>,
    points: Vec<Arc<Point>>,
    /// Is the row in the partition's graph?
    covered: Vec<bool>,
}

impl Arena {
    pub(super) fn new(dimension: usize) -> Self {
        Self {
            vectors: Rows::new(dimension),
            codes: Rows::new(dimension),
            quantised: Vec::new(),
            points: Vec::new(),
            covered: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    pub(super) fn points(&self) -> &[Arc<Point>] {
        &self.points
    }

    pub(super) fn code(&self, row: usize) -> &[i8] {
        self.codes.get(row)
    }

    pub(super) fn set_covered(&mut self, row: usize, covered: bool) {
        self.covered[row] = covered;
    }

    pub(super) fn covered(&self, row: usize) -> bool {
        self.covered[row]
    }

    pub(super) fn push(&mut self, point: Arc<Point>, vector: &[f32]) {
        let row = self.len();
        let code = Code::of(vector);
        self.vectors.push(row, vector);
        self.codes.push(row, &code.values);
        self.quantised.push((code.scale, code.error));
        self.covered.push(false);
        point.set_row(Some(row));
        self.points.push(point);
    }

    /// Takes the point out; false when it is not here.
    pub(super) fn remove(&mut self, point: &Point) -> bool {
        let Some(row) = point.row().filter(|row| self.points.get(*row).is_some_and(|p| p.id == point.id)) else {
            return false;
        };
        let last = self.len() - 1;
        self.vectors.swap_remove(row, last);
        self.codes.swap_remove(row, last);
        self.quantised.swap_remove(row);
        self.covered.swap_remove(row);
        self.points.swap_remove(row).set_row(None);
        if let Some(moved) = self.points.get(row) {
            moved.set_row(Some(row));
        }
        true
    }

    /// Offers the row of `point` to `top` if the query admits it.
    pub(super) fn offer(&self, query: &Query<'_>, point: &Point, top: &mut Top<usize>) {
        if let Some(row) = point.row()
            && query.admits(point)
        {
            top.offer(dot(query.vector, self.vectors.get(row)), row);
        }
    }

    /// Offers every admitted row to `top`, or only those that the graph does not cover.
    pub(super) fn scan(&self, query: &Query<'_>, uncovered_only: bool, top: &mut Top<usize>) {
        let rows = (0..self.len()).filter(|row| !(uncovered_only && self.covered[*row]));
        if self.len() <= SMALL {
            for row in rows.filter(|row| query.admits(&self.points[*row])) {
                top.offer(dot(query.vector, self.vectors.get(row)), row);
            }
        } else {
            self.scan_codes(query, rows, top);
        }
    }

    /// Two passes with the same result as comparing everything: bounds from the codes rule out all rows that cannot
    /// be among the best, and the rest are compared in full.
    fn scan_codes(&self, query: &Query<'_>, rows: impl Iterator<Item = usize>, top: &mut Top<usize>) {
        let asked = Code::of(query.vector);
        let mut bounds = Vec::with_capacity(self.len());
        let mut floor = Top::new(query.k);
        for row in rows {
            let (scale, error) = self.quantised[row];
            let product = dot_codes(&asked.values, self.codes.get(row)) * asked.scale * scale;
            let slack = asked.error + error + asked.error * error + 1e-5;
            bounds.push((row, product + slack));
            if product - slack > floor.bar() && query.admits(&self.points[row]) {
                floor.offer(product - slack, ());
            }
        }
        let bar = floor.bar();
        for (row, upper) in bounds {
            if upper >= bar && upper > top.bar() && query.admits(&self.points[row]) {
                top.offer(dot(query.vector, self.vectors.get(row)), row);
            }
        }
    }
}
