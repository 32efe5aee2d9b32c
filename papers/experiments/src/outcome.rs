//! The result of an experiment: tables, curves, judged claims, and checks.

use serde::{Deserialize, Serialize};

/// The end of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ended {
    /// The experiment ran.
    Done(Outcome),
    /// This machine lacks a program that it needs.
    LeftOut(String),
    /// The experiment ran, and failed.
    Failed(String),
}

/// The result of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Paragraphs of Markdown, before everything else.
    pub text: Vec<String>,
    pub tables: Vec<Table>,
    pub figures: Vec<Figure>,
    /// Published figures with those of the simulation.
    pub claims: Vec<Claim>,
    /// Conditions that hold on any machine: counts, results, orders of magnitude of counters. Never times.
    pub checks: Vec<Check>,
}

/// A table; its first column names the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// A picture of curves over one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The name without ending; the file is `papers-NAME.svg`.
    pub name: String,
    pub caption: String,
    pub x: Quantity,
    pub y: Quantity,
    pub curves: Vec<Plotted>,
}

/// The quantity on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Quantity {
    Bytes,
    Microseconds,
    MegabytesPerSecond,
    Ranks,
    Speedup,
    Packs,
    Pages,
}

/// A curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plotted {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// A published figure, and the result of simulating its system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub what: String,
    pub unit: String,
    pub published: f64,
    pub simulated: f64,
    /// True if the simulation was adjusted to give this figure, so it proves nothing.
    pub calibrated: bool,
}

/// A condition that must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub what: String,
    pub held: bool,
}

/// Largest deviation of a simulated figure that counts as agreement, in percent.
pub const AGREES_WITHIN: f64 = 15.0;

impl Ended {
    /// Returns true unless it failed or a check did not hold.
    pub fn is_well(&self) -> bool {
        match self {
            Self::Done(outcome) => outcome.checks.iter().all(|check| check.held),
            Self::LeftOut(_) => true,
            Self::Failed(_) => false,
        }
    }
}

impl Outcome {
    pub fn say(&mut self, text: &str) {
        self.text.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }

    pub fn check(&mut self, what: impl Into<String>, held: bool) {
        self.checks.push(Check { what: what.into(), held });
    }

    /// Adds a figure that judges the simulation.
    pub fn judge(&mut self, what: impl Into<String>, unit: &str, published: f64, simulated: f64) {
        self.claim(what, unit, (published, simulated), false);
    }

    /// Adds a figure that the simulation was adjusted to.
    pub fn calibrate(&mut self, what: impl Into<String>, unit: &str, published: f64, simulated: f64) {
        self.claim(what, unit, (published, simulated), true);
    }

    fn claim(
        &mut self,
        what: impl Into<String>,
        unit: &str,
        (published, simulated): (f64, f64),
        calibrated: bool,
    ) {
        let (what, unit) = (what.into(), unit.into());
        self.claims.push(Claim { what, unit, published, simulated, calibrated });
    }
}

impl Table {
    pub fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl Plotted {
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect() }
    }
}

impl Claim {
    /// Returns the deviation in percent of the published figure.
    pub fn deviation(&self) -> f64 {
        (self.simulated / self.published - 1.0) * 100.0
    }
}

/// Returns a figure with three significant digits.
pub fn three(figure: f64) -> String {
    if figure == 0.0 || !figure.is_finite() {
        return format!("{figure}");
    }
    let places = (2 - figure.abs().log10().floor() as i32).max(0) as usize;
    format!("{figure:.places$}")
}
