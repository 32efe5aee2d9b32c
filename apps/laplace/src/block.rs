//! The part of the plate that one rank computes: storage, half sweeps, and the edges that it swaps.
//!
//! A block of `height` × `width` cells is kept with a border one cell wide, which holds copies of
//! the neighbours' edge cells (or the 0 degrees outside of the plate). Cells are coloured like a
//! chessboard by their place *in the plate*, and each colour has its own plane:
//!
//! ```text
//!   with border      red plane    black plane        a row of a plane starts at the first or the
//!   r b r b r b      r r r        b b b   shift 1    second cell of the row: that is its shift
//!   b r b r b r      r r r        b b b   shift 0    (here of the black plane)
//! ```
//!
//! All four neighbours of a cell are then in the other plane, and the neighbours of a run of cells are runs
//! too. So the inner loop reads and writes contiguous memory. Fixed cells cost nothing: the loop goes over
//! runs of free cells, which are found once.
//!
//! It never communicates: edges are packed into and unpacked from buffers of the caller.

use std::ops::Range;

use crate::layout::{Extent, Side};
use crate::plate::Plate;

/// The colour of a cell: red where row + column in the plate is even.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Updated in the first half of a sweep.
    Red,
    /// Updated in the second half.
    Black,
}

/// Neighbouring free cells of one colour in one row.
struct Run {
    /// Row in the block, counted with the border.
    row: usize,
    /// First cell and the one after the last, as places in the row of the plane.
    cells: Range<usize>,
}

/// The cells of one colour.
struct Plane {
    cells: Vec<f64>,
    free: Vec<Run>,
}

/// Temperatures of one rank's part of the plate.
pub struct Block {
    width: usize,
    height: usize,
    /// Number of cells in a row of a plane.
    stride: usize,
    /// True if the top left cell of the block is black.
    starts_black: bool,
    /// The red plane and the black plane.
    planes: [Plane; 2],
}

impl Block {
    /// Makes the block of a rank that owns `extent`; `part` is that part of the plate.
    pub fn new(extent: &Extent, part: &Plate) -> Self {
        let (width, height) = (extent.width(), extent.height());
        let stride = (width + 3) / 2;
        let plane = || Plane { cells: vec![0.0; stride * (height + 2)], free: Vec::new() };
        let starts_black = !(extent.rows.start + extent.columns.start).is_multiple_of(2);
        let mut block = Self { width, height, stride, starts_black, planes: [plane(), plane()] };
        for (row, cells) in part.temperatures.chunks_exact(width).enumerate() {
            for (column, temperature) in cells.iter().enumerate() {
                let (colour, place) = block.place(row + 1, column + 1);
                block.planes[colour as usize].cells[place] = *temperature;
            }
        }
        for colour in [Colour::Red, Colour::Black] {
            block.planes[colour as usize].free = block.free_runs(colour, &part.fixed);
        }
        block
    }

    /// Returns the number of computed cells.
    pub fn free_cells(&self) -> usize {
        self.planes.iter().flat_map(|plane| &plane.free).map(|run| run.cells.len()).sum()
    }

    /// Returns the temperatures of the block, row after row.
    pub fn temperatures(&self) -> Vec<f64> {
        let cells = (1..=self.height).flat_map(|row| (1..=self.width).map(move |column| (row, column)));
        let value = |(row, column)| {
            let (colour, place) = self.place(row, column);
            self.planes[colour as usize].cells[place]
        };
        cells.map(value).collect()
    }

    /// Gives every free cell of `colour` the mean of its four neighbours.
    pub fn half_sweep(&mut self, colour: Colour) {
        self.for_each_run(colour, |cells, around| {
            for (n, cell) in cells.iter_mut().enumerate() {
                *cell = around.mean(n);
            }
        });
    }

    /// Does [`Self::half_sweep`] and returns the largest change of a cell in degrees.
    pub fn half_sweep_measured(&mut self, colour: Colour) -> f64 {
        /// Independent maxima, so that the compiler may keep several in one register.
        const LANES: usize = 4;
        let mut largest = [0.0; LANES];
        self.for_each_run(colour, |cells, around| {
            let whole = cells.len() - cells.len() % LANES;
            for first in (0..whole).step_by(LANES) {
                for lane in 0..LANES {
                    let change = replace(&mut cells[first + lane], around.mean(first + lane));
                    largest[lane] = larger(largest[lane], change);
                }
            }
            for (n, cell) in cells.iter_mut().enumerate().skip(whole) {
                largest[0] = larger(largest[0], replace(cell, around.mean(n)));
            }
        });
        largest.into_iter().fold(0.0, larger)
    }

    /// Appends to `buffer` the cells of `colour` along the inside of `side`, which the neighbour on that side
    /// needs.
    pub fn pack(&self, side: Side, colour: Colour, buffer: &mut Vec<f64>) {
        let cells = &self.planes[colour as usize].cells;
        buffer.extend(self.line(self.inside(side), colour).map(|place| cells[place]));
    }

    /// Stores the cells that the neighbour on `side` has packed in the border on that side.
    ///
    /// `buffer` must hold [`Self::border_cells`] values; surplus on either side is left alone.
    pub fn unpack(&mut self, side: Side, colour: Colour, buffer: &[f64]) {
        let line = self.line(self.border(side), colour);
        let cells = &mut self.planes[colour as usize].cells;
        for (place, value) in line.zip(buffer) {
            cells[place] = *value;
        }
    }

    /// Returns the number of cells of `colour` in the border on `side`.
    pub fn border_cells(&self, side: Side, colour: Colour) -> usize {
        self.line(self.border(side), colour).count()
    }

    /// Returns the column (with the border) of the first cell of `colour` in a row: 0 or 1.
    fn shift(&self, row: usize, colour: Colour) -> usize {
        (row + usize::from(self.starts_black) + colour as usize) % 2
    }

    /// Returns the colour of a cell and its place in the plane; row and column include the border.
    fn place(&self, row: usize, column: usize) -> (Colour, usize) {
        let colour = if self.shift(row, Colour::Red) == column % 2 { Colour::Red } else { Colour::Black };
        (colour, row * self.stride + column / 2)
    }

    fn free_runs(&self, colour: Colour, fixed: &[bool]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for row in 1..=self.height {
            let mut last_was_free = false;
            let shift = self.shift(row, colour);
            for column in (1..=self.width).filter(|column| column % 2 == shift) {
                let free = !fixed[(row - 1) * self.width + column - 1];
                match runs.last_mut() {
                    Some(run) if free && last_was_free => run.cells.end += 1,
                    _ if free => runs.push(Run { row, cells: column / 2..column / 2 + 1 }),
                    _ => {}
                }
                last_was_free = free;
            }
        }
        runs
    }

    /// Calls `update` for every run of free cells of `colour` with the cells around it.
    #[inline(always)]
    fn for_each_run(&mut self, colour: Colour, mut update: impl FnMut(&mut [f64], Around<'_>)) {
        let (stride, starts_black) = (self.stride, usize::from(self.starts_black));
        let [red, black] = &mut self.planes;
        let (own, other) = if colour == Colour::Red { (red, &black.cells) } else { (black, &red.cells) };
        for Run { row, cells } in &own.free {
            let shift = (row + starts_black + colour as usize) % 2;
            let first = row * stride + cells.start;
            let length = cells.len();
            // Free cells are never in the border, so every neighbour exists.
            let around = Around {
                up: &other[first - stride..][..length],
                down: &other[first + stride..][..length],
                left: &other[first + shift - 1..][..length],
                right: &other[first + shift..][..length],
            };
            update(&mut own.cells[first..][..length], around);
        }
    }

    fn inside(&self, side: Side) -> Line {
        match side {
            Side::Top => Line::Row(1),
            Side::Bottom => Line::Row(self.height),
            Side::Left => Line::Column(1),
            Side::Right => Line::Column(self.width),
        }
    }

    fn border(&self, side: Side) -> Line {
        match side {
            Side::Top => Line::Row(0),
            Side::Bottom => Line::Row(self.height + 1),
            Side::Left => Line::Column(0),
            Side::Right => Line::Column(self.width + 1),
        }
    }

    /// Returns the places in the plane of the cells of `colour` along a line, without the corners of the
    /// border.
    fn line(&self, line: Line, colour: Colour) -> impl Iterator<Item = usize> + use<> {
        let stride = self.stride;
        // First cell (row or column 1 or 2), end, start of the line in the plane, and distance of the cells
        // there.
        let (first, end, start, step) = match line {
            Line::Row(row) => {
                let first = 2 - self.shift(row, colour);
                (first, self.width, row * stride + first / 2, 1)
            }
            Line::Column(column) => {
                let first = if self.shift(1, colour) == column % 2 { 1 } else { 2 };
                (first, self.height, first * stride + column / 2, 2 * stride)
            }
        };
        let count = if end < first { 0 } else { (end - first) / 2 + 1 };
        (0..count).map(move |n| start + n * step)
    }
}

enum Line {
    Row(usize),
    Column(usize),
}

/// The neighbours of a run of cells, each as long as the run.
#[derive(Clone, Copy)]
struct Around<'a> {
    up: &'a [f64],
    down: &'a [f64],
    left: &'a [f64],
    right: &'a [f64],
}

impl Around<'_> {
    /// Returns the mean around cell `n` of the run. The order of the additions affects the result.
    #[inline(always)]
    fn mean(&self, n: usize) -> f64 {
        0.25 * ((self.up[n] + self.down[n]) + (self.left[n] + self.right[n]))
    }
}

/// Replaces a value; returns its change.
#[inline(always)]
fn replace(cell: &mut f64, value: f64) -> f64 {
    let change = (value - *cell).abs();
    *cell = value;
    change
}

/// Returns the larger of two numbers; unlike `f64::max` it is a single instruction.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    fn plate(width: usize, height: usize) -> Plate {
        let cells = width * height;
        let temperatures = (0..cells).map(|n| (n * 37 % 101) as f64).collect();
        Plate { width, height, temperatures, fixed: (0..cells).map(|n| n % 5 == 2).collect() }
    }

    #[test]
    fn a_block_gives_back_what_it_was_made_from() {
        let plate = plate(11, 9);
        for extent in Layout::new(11, 9, 6).unwrap().extents() {
            let part = plate.part(&extent);
            let block = Block::new(&extent, &part);
            assert_eq!(block.temperatures(), part.temperatures);
            assert_eq!(block.free_cells(), part.free_cells());
        }
    }

    #[test]
    fn a_neighbour_packs_as_much_as_the_border_takes() {
        for (width, height, ranks) in [(11, 9, 6), (5, 7, 7), (16, 16, 4), (9, 2, 2), (1, 5, 3)] {
            let layout = Layout::new(width, height, ranks).unwrap();
            let plate = plate(width, height);
            let blocks: Vec<_> =
                layout.extents().map(|extent| Block::new(&extent, &plate.part(&extent))).collect();
            for (rank, side) in (0..ranks).flat_map(|rank| Side::ALL.map(|side| (rank, side))) {
                let Some(peer) = layout.neighbour(rank, side) else { continue };
                let back =
                    Side::ALL.into_iter().find(|back| layout.neighbour(peer, *back) == Some(rank)).unwrap();
                for colour in [Colour::Red, Colour::Black] {
                    let mut packed = vec![];
                    blocks[peer].pack(back, colour, &mut packed);
                    assert_eq!(packed.len(), blocks[rank].border_cells(side, colour));
                }
            }
        }
    }

    #[test]
    fn the_measured_half_sweep_does_the_same_and_finds_the_largest_change() {
        let plate = plate(23, 6);
        let extent = Layout::new(23, 6, 1).unwrap().extent(0);
        let (mut plain, mut measured) = (Block::new(&extent, &plate), Block::new(&extent, &plate));
        for colour in [Colour::Red, Colour::Black, Colour::Red] {
            let before = plain.temperatures();
            plain.half_sweep(colour);
            let change = measured.half_sweep_measured(colour);
            assert_eq!(plain.temperatures(), measured.temperatures());
            let changes = before.iter().zip(plain.temperatures()).map(|(old, new)| (new - old).abs());
            assert_eq!(change, changes.fold(0.0, f64::max));
        }
    }
}
