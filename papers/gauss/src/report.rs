//! The report on a run: a table for a person, or one JSON object for a program.

use std::time::Duration;

use canele_show::{Measured, grouped, percent, print_table, share};
use cestac::Exchanges;
use serde::Serialize;

use crate::arguments::Arguments;

/// A solved system.
pub struct Outcome {
    /// Number of equations.
    pub size: usize,
    /// `parallel`, `sequential` or `plain`.
    pub form: &'static str,
    /// Number of ranks.
    pub ranks: usize,
    /// The first components of the solution, one per line.
    pub components: String,
    /// The mean value of each printed component.
    pub solution: Vec<f64>,
    /// Fewest and most significant digits of a component.
    pub digits: (u32, u32),
    /// Time of the elimination.
    pub time: Duration,
    /// Exchanges of the elimination, without those of printing.
    pub exchanges: Exchanges,
}

/// The figures of this program only.
#[derive(Serialize)]
struct Figures<'a> {
    size: usize,
    form: &'static str,
    pivoting: String,
    fewest_digits: u32,
    most_digits: u32,
    exchanges: u64,
    exchange_us: f64,
    solution: &'a [f64],
}

impl Outcome {
    /// Returns the microseconds of an exchange, 0 if there is none.
    fn exchange_us(&self) -> f64 {
        self.exchanges.time.as_secs_f64() * 1e6 / self.exchanges.count.max(1) as f64
    }

    fn print_json(&self, pivoting: String) {
        Measured {
            program: "gauss",
            ranks: self.ranks,
            threads: 1,
            seconds: self.time.as_secs_f64(),
            communication: share(self.exchanges.time, self.time),
            own: Figures {
                size: self.size,
                form: self.form,
                pivoting,
                fewest_digits: self.digits.0,
                most_digits: self.digits.1,
                exchanges: self.exchanges.count,
                exchange_us: self.exchange_us(),
                solution: &self.solution,
            },
        }
        .print();
    }
}

/// Prints the outcome in the form that the arguments select.
pub fn report(arguments: &Arguments, outcome: &Outcome) {
    let pivoting = format!("{:?}", arguments.pivoting).to_lowercase();
    if arguments.json {
        return outcome.print_json(pivoting);
    }
    let Outcome { size, form, digits: (fewest, most), time, exchanges, .. } = outcome;
    print!("{}", outcome.components);
    let mut lines = vec![
        ("system", format!("{size} equations, {form} form, pivoting {pivoting}")),
        ("time", format!("{:.3} s", time.as_secs_f64())),
    ];
    if !arguments.plain {
        lines.insert(1, ("digits", format!("{fewest} to {most} significant in the components")));
    }
    if exchanges.count > 0 {
        let (count, each) = (grouped(exchanges.count), outcome.exchange_us());
        lines.push(("exchanges", format!("{count}, {each:.2} µs each")));
        let part = percent(exchanges.time, *time);
        lines.push(("communication", format!("{part} of the time, waiting for other ranks included")));
    }
    print_table(&lines);
}
