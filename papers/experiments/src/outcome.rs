//! What an experiment gives: tables, curves, claims that are judged, and checks.

use serde::{Deserialize, Serialize};

/// How an experiment ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ended {
    /// It ran.
    Done(Outcome),
    /// Something that it needs is missing here.
    LeftOut(String),
    /// It ran, and failed.
    Failed(String),
}

/// What an experiment gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Paragraphs of Markdown, before everything else.
    pub text: Vec<String>,
    pub tables: Vec<Table>,
    pub figures: Vec<Figure>,
    /// Published figures beside those of the simulation.
    pub claims: Vec<Claim>,
    /// What must hold on any machine: counts, results, orders of magnitude of counters. Never times.
    pub checks: Vec<Check>,
}

/// A table: its first column names the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// A picture of curves over one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Without its ending; the file is `papers-NAME.svg`.
    pub name: String,
    pub caption: String,
    pub x: Quantity,
    pub y: Quantity,
    pub curves: Vec<Plotted>,
}

/// What an axis shows.
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

/// A published figure, and what the simulation of its system gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    pub what: String,
    pub unit: String,
    pub published: f64,
    pub simulated: f64,
    /// The simulation was made to give this: it proves nothing.
    pub calibrated: bool,
}

/// Something that must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub what: String,
    pub held: bool,
}

/// The largest deviation of a simulated figure that counts as agreement, in percent.
pub const AGREES_WITHIN: f64 = 15.0;

impl Ended {
    /// True unless it failed or a check did not hold.
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

    /// A figure that the simulation was not made to give.
    pub fn judge(&mut self, what: impl Into<String>, unit: &str, published: f64, simulated: f64) {
        self.claim(what, unit, (published, simulated), false);
    }

    /// A figure that the simulation was made to give.
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
    /// In percent of the published figure.
    pub fn deviation(&self) -> f64 {
        (self.simulated / self.published - 1.0) * 100.0
    }
}

/// A figure with three significant digits.
pub fn three(figure: f64) -> String {
    if figure == 0.0 || !figure.is_finite() {
        return format!("{figure}");
    }
    let places = (2 - figure.abs().log10().floor() as i32).max(0) as usize;
    format!("{figure:.places$}")
}
