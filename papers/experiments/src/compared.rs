//! Comparison of Canelé with other MPI implementations, from the output of `bench/peers --json`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::outcome::{Table, three};

/// The participants that are Canelé, by their names in that output: its own API, and its MPI.
const OURS: [(&str, &str); 2] = [("native", "own API"), ("canele", "Canelé's MPI")];
/// The other participants.
const OTHERS: [(&str, &str); 3] = [("mpich", "MPICH"), ("intel", "Intel MPI"), ("openmpi", "Open MPI")];

/// All figures of a comparison.
#[derive(Deserialize)]
pub struct Compared {
    figures: Vec<Figures>,
}

/// One figure of a program.
#[derive(Deserialize)]
struct Figures {
    program: String,
    figure: String,
    bytes: u64,
    unit: String,
    /// The values of each participant, one for each round.
    values: BTreeMap<String, Vec<Option<f64>>>,
}

impl Compared {
    /// Returns one row for each time: medians of all participants, and Canelé's ratio to the best other one
    /// and to Open MPI.
    pub fn table(&self) -> Table {
        let names = OURS.iter().chain(&OTHERS).map(|(_, title)| *title);
        let mut table =
            Table::new(["figure"].into_iter().chain(names).chain(["to the best other", "to Open MPI"]));
        for figure in self.figures.iter().filter(|figure| figure.unit != "%") {
            let times = OURS.iter().chain(&OTHERS).map(|(name, _)| figure.median(name));
            let cells = times
                .map(|time| time.map_or_else(String::new, |time| format!("{} {}", three(time), figure.unit)));
            let name = match figure.bytes {
                0 => format!("{}: {}", figure.program, figure.figure),
                bytes => format!("{}: {}, {bytes} B", figure.program, figure.figure),
            };
            table.row(std::iter::once(name).chain(cells).chain(figure.ratios()));
        }
        table
    }

    /// Returns true if there are figures, and every one was measured for Canelé and for another
    /// implementation.
    pub fn is_whole(&self) -> bool {
        let has_ours = |figure: &Figures| OURS.iter().any(|(name, _)| figure.median(name).is_some());
        let has_other = |figure: &Figures| OTHERS.iter().any(|(name, _)| figure.median(name).is_some());
        !self.figures.is_empty() && self.figures.iter().all(|figure| has_ours(figure) && has_other(figure))
    }
}

impl Figures {
    /// Returns the median of a participant's rounds; for an even number, the lower of the two in the middle.
    fn median(&self, participant: &str) -> Option<f64> {
        let mut values: Vec<f64> = self.values.get(participant)?.iter().flatten().copied().collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len().saturating_sub(1) / 2).copied()
    }

    /// Returns the ratios of Canelé, by its own API if measured, to the best other participant and to Open
    /// MPI.
    fn ratios(&self) -> [String; 2] {
        let ours = OURS.iter().find_map(|(name, _)| self.median(name));
        let times = |other: Option<f64>| {
            let ratio = ours.zip(other).map(|(ours, other)| ours / other);
            ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
        };
        let best = OTHERS.iter().filter_map(|(name, _)| self.median(name)).min_by(f64::total_cmp);
        [times(best), times(self.median("openmpi"))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_medians() {
        let text = r#"{"figures": [{"program": "laplace", "figure": "sweep", "bytes": 8, "unit": "ns", "values":
            {"canele": [50, 20, 30, null], "mpich": [60], "openmpi": [90, 90]}}], "rounds": 4}"#;
        let compared: Compared = serde_json::from_str(text).unwrap();
        let row = ["laplace: sweep, 8 B", "", "30.0 ns", "60.0 ns", "", "90.0 ns", "0.50", "0.33"];
        assert_eq!(compared.table().rows, [row]);
        assert!(compared.is_whole());
    }
}
