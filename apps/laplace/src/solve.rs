//! The sweeps: half sweep, swap edges, half sweep, swap edges, until hardly anything changes.
//!
//! Only the colour that has just changed is swapped. The result is the same to the last bit for any number of
//! ranks: every cell is computed from the same numbers in the same order. The largest change, which decides
//! when to stop, does not depend on the order of its parts.

use std::time::{Duration, Instant};

use crate::block::{Block, Colour};
use crate::error::LaplaceError;
use crate::layout::{Layout, Side};
use crate::team::{Edge, Team};

/// The condition that ends the sweeps.
#[derive(Debug, Clone, Copy)]
pub struct Stop {
    /// The sweeps end when the largest change in a sweep, in degrees, is below this.
    pub tolerance: f64,
    /// The sweeps end after this number.
    pub max_sweeps: u64,
    /// The change is computed every so many sweeps, and in the last one.
    pub check_every: u64,
}

/// The result of the sweeps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Number of sweeps.
    pub sweeps: u64,
    /// Largest change in the last sweep, in degrees.
    pub change: f64,
    /// Time of all sweeps on this rank.
    pub time: Duration,
    /// The part of it for swapping edges and agreeing on the change, including waits.
    pub communication: Duration,
}

/// Sweeps over the block until `stop`. At each check of the change it calls `seen` with sweeps and change.
pub fn solve<T: Team>(
    block: &mut Block,
    layout: &Layout,
    team: &mut T,
    stop: &Stop,
    mut seen: impl FnMut(u64, f64),
) -> Result<Outcome, LaplaceError> {
    let start = Instant::now();
    let mut borders = Borders::new(layout, team.rank());
    borders.swap(block, Colour::Black, team)?;
    let mut sweeps = 0;
    loop {
        sweeps += 1;
        let Some(change) = sweep(block, &mut borders, team, stop, sweeps)? else { continue };
        seen(sweeps, change);
        if change < stop.tolerance || sweeps == stop.max_sweeps {
            return Ok(Outcome { sweeps, change, time: start.elapsed(), communication: borders.time() });
        }
    }
}

/// Does sweep `number`, counted from 1. Returns the largest change of all blocks in degrees, if this sweep
/// computes it.
///
/// # Errors
/// Communication failed.
pub fn sweep<T: Team>(
    block: &mut Block,
    borders: &mut Borders,
    team: &mut T,
    stop: &Stop,
    number: u64,
) -> Result<Option<f64>, LaplaceError> {
    let looks = number.is_multiple_of(stop.check_every) || number == stop.max_sweeps;
    let mut change: f64 = 0.0;
    for colour in [Colour::Red, Colour::Black] {
        if looks {
            change = change.max(block.half_sweep_measured(colour));
        } else {
            block.half_sweep(colour);
        }
        borders.swap(block, colour, team)?;
    }
    if !looks {
        return Ok(None);
    }
    let asked = Instant::now();
    let largest = team.maximum(change)?;
    borders.agreeing += asked.elapsed();
    Ok(Some(largest))
}

/// One of this number of swaps is timed, because reading the clock takes as long as a part of a swap. It is
/// odd, so that both colours are timed.
const SWAPS_PER_TIMED: u64 = 17;

/// The edges of a block that border on other blocks, and the time of their swaps.
pub struct Borders {
    sides: Vec<Side>,
    edges: Vec<Edge>,
    swaps: u64,
    /// Time of the timed swaps: the first one, and then one of [`SWAPS_PER_TIMED`].
    swapping: Duration,
    agreeing: Duration,
}

impl Borders {
    /// Makes the edges of block `rank` of a layout.
    pub fn new(layout: &Layout, rank: usize) -> Self {
        let neighbours = Side::ALL.into_iter().filter_map(|side| Some((side, layout.neighbour(rank, side)?)));
        let edge = |(side, peer)| (side, Edge { peer, outgoing: Vec::new(), incoming: Vec::new() });
        let (sides, edges) = neighbours.map(edge).unzip();
        Self { sides, edges, swaps: 0, swapping: Duration::ZERO, agreeing: Duration::ZERO }
    }

    /// Returns the time of all swaps, estimated from the timed ones, and of agreeing on the change.
    fn time(&self) -> Duration {
        let timed = self.swaps.div_ceil(SWAPS_PER_TIMED).max(1);
        self.agreeing + self.swapping.mul_f64(self.swaps as f64 / timed as f64)
    }

    fn swap<T: Team>(&mut self, block: &mut Block, colour: Colour, team: &mut T) -> Result<(), LaplaceError> {
        if self.edges.is_empty() {
            return Ok(());
        }
        let start = self.swaps.is_multiple_of(SWAPS_PER_TIMED).then(Instant::now);
        for (side, edge) in self.sides.iter().zip(&mut self.edges) {
            edge.outgoing.clear();
            block.pack(*side, colour, &mut edge.outgoing);
            edge.incoming.resize(block.border_cells(*side, colour), 0.0);
        }
        team.swap(&mut self.edges)?;
        for (side, edge) in self.sides.iter().zip(&self.edges) {
            block.unpack(*side, colour, &edge.incoming);
        }
        self.swapping += start.map_or(Duration::ZERO, |start| start.elapsed());
        self.swaps += 1;
        Ok(())
    }
}
