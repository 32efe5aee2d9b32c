//! The counters of a job's ranks as a table: a row for each counter, a column for each rank.
//!
//! Owns the selection: counters that are zero everywhere are left out, and many ranks are shown by sum,
//! minimum and maximum.

use canele_launch::{RankReport, amount};
use canele_sys::counters::{Counter, CounterRow};

use crate::jobs::counter;

/// Most ranks with their own columns.
const MOST_COLUMNS: usize = 8;

/// Returns the table; with `zeros`, it includes counters that are zero everywhere.
pub fn table(ranks: &[RankReport], zeros: bool) -> Vec<String> {
    let told: Vec<&RankReport> = ranks.iter().filter(|rank| !rank.counters.is_empty()).collect();
    if told.is_empty() {
        return vec!["no rank has told its counters yet".into()];
    }
    let rows = Counter::TABLE.iter().filter_map(|row| {
        let values: Vec<u64> = told.iter().map(|rank| counter(rank, row.name)).collect();
        (zeros || values.iter().any(|value| *value > 0)).then_some((row, values))
    });
    let few = told.len() <= MOST_COLUMNS;
    let head = match few {
        true => told.iter().map(|rank| format!("{:>10}", format!("rank {}", rank.rank))).collect(),
        false => format!("{:>12} {:>24} {:>24}", "sum", "least", "most"),
    };
    let mut lines = vec![format!("{:<24} {:<9} {head}", "counter", "unit")];
    lines.extend(rows.map(|(row, values)| {
        let cells = if few { cells(row, &values) } else { ends(row, &values, &told) };
        format!("{:<24} {:<9} {cells}", row.name, row.unit)
    }));
    if !zeros {
        lines.push("(those that are zero everywhere are left out: --zeros shows them)".into());
    }
    lines
}

fn cells(row: &CounterRow, values: &[u64]) -> String {
    values.iter().map(|value| format!("{:>10}", short(row, *value))).collect()
}

/// Returns the sum of all ranks, and the ranks with least and most.
fn ends(row: &CounterRow, values: &[u64], ranks: &[&RankReport]) -> String {
    let end = |place: usize| format!("{} (rank {})", short(row, values[place]), ranks[place].rank);
    let places = 0..values.len();
    let least = places.clone().min_by_key(|place| values[*place]).map_or(String::new(), end);
    let most = places.max_by_key(|place| values[*place]).map_or(String::new(), end);
    let sum = values.iter().fold(0_u64, |sum, value| sum.saturating_add(*value));
    format!("{:>12} {least:>24} {most:>24}", short(row, sum))
}

/// Returns a short value: amounts and times with their own units, counts above a million rounded.
fn short(row: &CounterRow, value: u64) -> String {
    match row.unit {
        "bytes" => amount(value),
        "ns" if value >= 1_000_000_000 => format!("{:.2} s", value as f64 / 1e9),
        "ns" => crate::bench::time(value as f64),
        _ if value >= 10_000_000 => format!("{:.2} M", value as f64 / 1e6),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(count: u32) -> Vec<RankReport> {
        let rank = |rank: u32| RankReport {
            rank,
            counters: [
                ("short_sent".into(), (rank + 5).into()),
                ("eager_sent_bytes".into(), 2_500_000.into()),
            ]
            .into_iter()
            .collect(),
            ..RankReport::default()
        };
        (0..count).map(rank).collect()
    }

    fn words(lines: &[String]) -> Vec<String> {
        lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn few_ranks_have_a_column_each_and_rows_of_zeros_are_left_out() {
        let lines = words(&table(&ranks(2), false));
        assert_eq!(
            lines[..3],
            ["counter unit rank 0 rank 1", "short_sent messages 5 6", "eager_sent_bytes bytes 2.5 MB 2.5 MB",]
        );
        assert!(lines.len() == 4 && lines[3].contains("--zeros"));
        assert_eq!(table(&ranks(2), true).len(), 1 + Counter::COUNT);
    }

    #[test]
    fn of_many_ranks_the_sum_the_least_and_the_most_are_shown() {
        let lines = words(&table(&ranks(9), false));
        assert_eq!(
            lines[..2],
            ["counter unit sum least most", "short_sent messages 81 5 (rank 0) 13 (rank 8)"]
        );
    }

    #[test]
    fn before_any_rank_counts_it_says_so() {
        assert_eq!(table(&[RankReport::default()], false), ["no rank has told its counters yet"]);
    }
}
