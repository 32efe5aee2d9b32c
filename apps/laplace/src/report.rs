//! The report on a run: a table for a person, or one JSON object for a program.

use std::time::Duration;

use canele_show::{Measured, Moved, grouped, percent, print_table, share, significant};
use serde::Serialize;

use crate::arguments::Arguments;
use crate::layout::Layout;
use crate::plate::Plate;
use crate::solve::Outcome;

/// A completed run.
pub struct Run<'a> {
    /// The plate, with the computed temperatures.
    pub plate: &'a Plate,
    /// The division of the plate.
    pub layout: Layout,
    /// Number of ranks.
    pub ranks: usize,
    /// Computing threads of each rank.
    pub threads: usize,
    /// The result of the sweeps.
    pub outcome: Outcome,
    /// The data that all ranks sent.
    pub moved: Moved,
    /// Time of communication, the mean of all threads.
    pub communication: Duration,
}

/// The figures of this program only.
#[derive(Serialize)]
struct Figures {
    width: usize,
    height: usize,
    free: usize,
    sweeps: u64,
    change: f64,
}

impl Run<'_> {
    /// Prints the run in the form that the arguments select; nothing for a quiet run.
    pub fn report(&self, arguments: &Arguments) {
        if arguments.json {
            self.print_json();
        } else if !arguments.quiet {
            self.print_table(arguments);
        }
    }

    fn print_json(&self) {
        Measured {
            program: "laplace",
            ranks: self.ranks,
            threads: self.threads,
            seconds: self.outcome.time.as_secs_f64(),
            communication: share(self.communication, self.outcome.time),
            own: Figures {
                width: self.plate.width,
                height: self.plate.height,
                free: self.plate.free_cells(),
                sweeps: self.outcome.sweeps,
                change: self.outcome.change,
            },
        }
        .print();
    }

    fn print_table(&self, arguments: &Arguments) {
        let (plate, outcome, layout) = (self.plate, self.outcome, self.layout);
        let free = plate.free_cells() as u64;
        let seconds = outcome.time.as_secs_f64().max(f64::MIN_POSITIVE);
        let updates = free as f64 * outcome.sweeps as f64 / seconds / 1e6;
        let (sweeps, change) = (grouped(outcome.sweeps), significant(outcome.change));
        let verdict = if outcome.change < arguments.tolerance { "below" } else { "NOT below" };
        let size = format!("{} x {} pixels, {} of them free", plate.width, plate.height, grouped(free));
        let part = percent(self.communication, outcome.time);
        print_table(&[
            ("plate", format!("{size}, cut into {} x {} blocks", layout.across, layout.down)),
            (
                "sweeps",
                format!(
                    "{sweeps}; the last changed no pixel by more than {change} degrees, {verdict} {}",
                    arguments.tolerance
                ),
            ),
            ("time", format!("{seconds:.3} s, {updates:.0} million updates/s")),
            ("communication", format!("{part} of the time, waiting for others included")),
            ("moved", self.moved.to_string()),
            ("heat map", arguments.output.display().to_string()),
        ]);
    }
}
