//! The report on a run: a table for a person, or one JSON object for a program.

use std::time::Duration;

use canele_show::{Measured, Moved, Picture, grouped, percent, print_table, share};
use serde::Serialize;

use crate::arguments::Arguments;
use crate::crew::Crew;
use crate::slices::Work;
use crate::view::View;

/// A completed run.
pub struct Run<'a> {
    /// The view that was drawn.
    pub view: &'a View,
    /// The picture.
    pub work: &'a Work,
    /// Number of ranks.
    pub ranks: usize,
    /// The workers.
    pub crew: Crew,
    /// Time from the first slice distributed to the last one collected.
    pub time: Duration,
    /// The data that all ranks sent.
    pub moved: Moved,
    /// Mean time that a worker asked and waited.
    pub waited: Duration,
}

/// The figures of this program only.
#[derive(Serialize)]
struct Figures {
    columns: usize,
    rows: usize,
    workers: usize,
    slices: u64,
    iterations: u64,
    checksum: String,
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
            program: "mandelbrot",
            ranks: self.ranks,
            threads: self.crew.threads(),
            seconds: self.time.as_secs_f64(),
            communication: share(self.waited, self.time),
            own: Figures {
                columns: self.view.columns,
                rows: self.view.rows,
                workers: self.crew.workers(),
                slices: self.work.slices,
                iterations: self.work.iterations,
                checksum: format!("{:016x}", checksum(self.work.picture())),
            },
        }
        .print();
    }

    fn print_table(&self, arguments: &Arguments) {
        let (view, work) = (self.view, self.work);
        let seconds = self.time.as_secs_f64().max(f64::MIN_POSITIVE);
        let speed = work.iterations as f64 / seconds / 1e6;
        let waited = percent(self.waited, self.time);
        let workers = match self.crew.workers() {
            0 => "computed alone".to_string(),
            1 => format!("handed out to 1 worker, which asked and waited {waited} of the time"),
            workers => {
                format!("handed out to {workers} workers, which asked and waited {waited} of the time")
            }
        };
        let (limit, slices) = (grouped(view.limit.into()), grouped(work.slices));
        let iterations = grouped(work.iterations);
        print_table(&[
            ("picture", format!("{} x {} pixels, up to {limit} iterations each", view.columns, view.rows)),
            ("slices", format!("{slices} of {} rows, {workers}", arguments.slice_rows)),
            ("time", format!("{seconds:.3} s, {iterations} iterations, {speed:.0} million/s")),
            ("moved", self.moved.to_string()),
            ("written", arguments.output.display().to_string()),
        ]);
    }
}

/// Returns a checksum of the picture: FNV-1a, 64 bits, of red, green and blue of all pixels, row after row.
fn checksum(picture: &Picture) -> u64 {
    let samples = picture.pixels.iter().flat_map(|pixel| &pixel[..3]);
    samples.fold(0xcbf2_9ce4_8422_2325, |sum, sample| {
        (sum ^ u64::from(*sample)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_published_algorithm() {
        let of = |text: &[u8]| {
            let pixels = text.chunks(3).map(|three| [three[0], three[1], three[2], 255]).collect();
            checksum(&Picture { width: text.len() / 3, height: 1, pixels })
        };
        assert_eq!(of(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
