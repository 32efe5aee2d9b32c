//! The table of errors: each candidate's time measured and estimated, and the conclusion about the profile.

use serde::Serialize;

use crate::bench::{Failure, time};

/// Spread above which the best round is used instead of the median.
pub const WIDE: f64 = 0.1;
/// Largest error of a good estimate, in per cent.
const GOOD_PER_CENT: f64 = 30.0;
/// Largest ratio of a good choice's time to that of the fastest candidate.
const NEAR_BEST: f64 = 1.15;
/// Share of good estimates or choices below which the profile should be measured again.
const ENOUGH: f64 = 0.7;

/// A candidate, and its times.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedRow {
    pub operation: String,
    /// The memory of a message; none for collectives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<&'static str>,
    pub bytes: usize,
    /// The protocol or the algorithm.
    pub candidate: String,
    pub is_chosen: bool,
    pub estimated_ns: f64,
    pub measured_ns: f64,
    /// True if the rounds differed so much that the best one is used.
    pub is_disturbed: bool,
}

impl CheckedRow {
    /// Returns the deviation of the estimate from the measurement, in per cent of the measurement.
    fn error_per_cent(&self) -> f64 {
        (self.estimated_ns / self.measured_ns - 1.0) * 100.0
    }

    fn is_same_call(&self, other: &Self) -> bool {
        (&self.operation, self.memory, self.bytes) == (&other.operation, other.memory, other.bytes)
    }
}

/// The numbers of good estimates and choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct CheckSummary {
    estimates: usize,
    good_estimates: usize,
    /// Number of calls with several candidates, of which the chosen one was measured.
    choices: usize,
    good_choices: usize,
}

impl CheckSummary {
    fn of(rows: &[CheckedRow]) -> Self {
        let good_estimates = rows.iter().filter(|row| row.error_per_cent().abs() <= GOOD_PER_CENT).count();
        let mut summary = Self { estimates: rows.len(), good_estimates, choices: 0, good_choices: 0 };
        for chosen in rows.iter().filter(|row| row.is_chosen) {
            let same: Vec<f64> =
                rows.iter().filter(|row| row.is_same_call(chosen)).map(|row| row.measured_ns).collect();
            if same.len() < 2 {
                continue;
            }
            let best = same.into_iter().fold(f64::INFINITY, f64::min);
            summary.choices += 1;
            summary.good_choices += usize::from(chosen.measured_ns <= NEAR_BEST * best);
        }
        summary
    }

    /// Returns advice for the user, if needed.
    fn advice(self) -> Option<&'static str> {
        let is_enough = |good: usize, of: usize| good as f64 >= ENOUGH * of as f64;
        let is_good =
            is_enough(self.good_estimates, self.estimates) && is_enough(self.good_choices, self.choices);
        (!is_good).then_some(
            "many estimates are far off: measure the profile again with `canele tune`, while the machine is idle",
        )
    }
}

/// Sorts the candidates of a call next to each other, short calls first.
pub fn sort(rows: &mut [CheckedRow]) {
    let mut operations: Vec<String> = Vec::new();
    for row in rows.iter() {
        if !operations.contains(&row.operation) {
            operations.push(row.operation.clone());
        }
    }
    let place = |row: &CheckedRow| operations.iter().position(|name| *name == row.operation);
    rows.sort_by_key(|row| (place(row), row.memory, row.bytes));
}

/// Returns the table for people.
pub fn table(rows: &[CheckedRow]) -> String {
    let mut lines = vec![format!(
        "{:<16} {:>8}  {:<15} {:>12} {:>12} {:>8}",
        "operation", "bytes", "candidate", "measured", "estimated", "error"
    )];
    lines.extend(rows.iter().map(line));
    let summary = CheckSummary::of(rows);
    let CheckSummary { estimates, good_estimates, choices, good_choices } = summary;
    lines.push(String::new());
    lines.push(format!("{good_estimates} of {estimates} estimates are within {GOOD_PER_CENT:.0} %"));
    if choices > 0 {
        lines.push(format!("{good_choices} of {choices} choices are within 15 % of the fastest candidate"));
    }
    if rows.iter().any(|row| row.is_disturbed) {
        lines.push("! the rounds differ by more than 10 %: the best one counts".into());
    }
    lines.extend(summary.advice().map(str::to_owned));
    lines.push(String::new());
    lines.join("\n")
}

fn line(row: &CheckedRow) -> String {
    let operation = match row.memory {
        Some(memory) => format!("{} {memory}", row.operation),
        None => row.operation.clone(),
    };
    let mark = if row.is_disturbed { "!" } else { " " };
    let chosen = if row.is_chosen { "chosen" } else { "" };
    let error = format!("{:+.0} %", row.error_per_cent());
    let (measured, estimated) = (time(row.measured_ns), time(row.estimated_ns));
    let (bytes, candidate) = (row.bytes, &row.candidate);
    format!(
        "{operation:<16} {bytes:>8}  {candidate:<15} {measured:>12}{mark}{estimated:>12} {error:>8}  {chosen}"
    )
    .trim_end()
    .to_owned()
}

/// Returns the table for programs: one JSON object.
pub fn json(rows: &[CheckedRow]) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct PublishedRow<'a> {
        #[serde(flatten)]
        row: &'a CheckedRow,
        error_per_cent: f64,
    }
    #[derive(Serialize)]
    struct PublishedCheck<'a> {
        rows: Vec<PublishedRow<'a>>,
        summary: CheckSummary,
    }
    let published = rows.iter().map(|row| PublishedRow { row, error_per_cent: row.error_per_cent() });
    let check = PublishedCheck { rows: published.collect(), summary: CheckSummary::of(rows) };
    Ok(serde_json::to_string(&check)? + "\n")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn row(operation: &str, bytes: usize, candidate: &str) -> CheckedRow {
        CheckedRow {
            operation: operation.into(),
            memory: None,
            bytes,
            candidate: candidate.into(),
            is_chosen: false,
            estimated_ns: 100.0,
            measured_ns: 100.0,
            is_disturbed: false,
        }
    }

    #[test]
    fn errors_are_in_per_cent_of_the_measurement() {
        let of = |estimated_ns, measured_ns| {
            CheckedRow { estimated_ns, measured_ns, ..row("barrier", 0, "flat") }.error_per_cent().round()
        };
        assert_eq!((of(150.0, 100.0), of(50.0, 100.0), of(100.0, 200.0)), (50.0, -50.0, -50.0));
    }

    #[test]
    fn estimates_and_choices_are_counted() {
        let of = |bytes, candidate: &str, is_chosen, measured_ns| CheckedRow {
            is_chosen,
            measured_ns,
            ..row("broadcast", bytes, candidate)
        };
        let rows = [
            // The chosen one takes 1.14 times as long as the other one.
            of(8, "tree", true, 114.0),
            of(8, "flat", false, 100.0),
            // The chosen one takes 1.2 times as long here, and the estimate of the other one is also off.
            of(64, "tree", true, 120.0),
            of(64, "flat", false, 70.0),
            // There is no choice here.
            of(1024, "tree", true, 1000.0),
        ];
        let summary = CheckSummary::of(&rows);
        assert_eq!(summary, CheckSummary { estimates: 5, good_estimates: 3, choices: 2, good_choices: 1 });
        assert!(summary.advice().is_some());
        assert_eq!(CheckSummary::of(&rows[..2]).advice(), None);
    }

    #[test]
    fn the_table_says_what_to_do() {
        let far_off = CheckedRow { measured_ns: 1000.0, is_disturbed: true, ..row("gather", 8, "flat") };
        let text = table(&[far_off]);
        assert!(text.contains("-90 %") && text.contains("0 of 1 estimates"), "{text}");
        assert!(text.contains("`canele tune`") && text.contains("the best one counts"), "{text}");
        assert!(!text.contains("choices"), "there was none: {text}");
        let good = table(&[row("gather", 8, "flat")]);
        assert!(!good.contains("`canele tune`") && good.contains("1 of 1 estimates"), "{good}");
    }

    #[test]
    fn candidates_of_a_call_follow_each_other() {
        let mut rows = vec![
            row("reduce", 64, "flat"),
            row("scatter", 8, "flat"),
            row("reduce", 8, "tree"),
            row("reduce", 64, "tree"),
        ];
        sort(&mut rows);
        let order: Vec<_> = rows.iter().map(|row| (&*row.operation, row.bytes, &*row.candidate)).collect();
        assert_eq!(
            order,
            [("reduce", 8, "tree"), ("reduce", 64, "flat"), ("reduce", 64, "tree"), ("scatter", 8, "flat")]
        );
    }

    #[test]
    fn programs_read_rows_and_summary() {
        let text = json(&[row("gather", 8, "flat")]).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["rows"][0]["candidate"], "flat");
        assert_eq!(value["rows"][0]["error_per_cent"], 0.0);
        assert_eq!(value["summary"]["good_estimates"], 1);
    }
}
