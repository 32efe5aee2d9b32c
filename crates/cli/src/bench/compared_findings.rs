//! The findings above the pictures of experiments that compare strategies: what a reader is to see, in figures.

use std::collections::BTreeSet;

use super::compared::{SINGLE, WHOLE, bytes_of, sums};
use super::report::{Report, Row};

/// Returns the finding for the most pages at once: the best strategy beside the first.
pub fn dsm_finding(report: &Report, bytes: Option<usize>) -> String {
    let whole = |row: &&Row| row.operation.as_deref() == Some(WHOLE);
    let rows = || report.lines.iter().map(|line| &line.row).filter(whole);
    let most = rows().filter_map(|row| row.packs).max();
    let of = bytes.map(|bytes| format!(" of {}", bytes_of(bytes))).unwrap_or_default();
    let words = number_of(most.unwrap_or_default(), "page") + &of;
    best_beside_first(words, rows().filter(|row| row.packs == most))
}

/// Returns the finding for packs of this size, with the most flows and the most packs in a message.
pub fn flows_finding(report: &Report, bytes: usize) -> String {
    let rows = || report.lines.iter().map(|line| &line.row).filter(|row| row.bytes == Some(bytes));
    let most = rows().map(|row| (row.flows, row.packs)).max();
    let flows = most.and_then(|most| most.0).unwrap_or_default();
    let words = format!("{}, packs of {}", number_of(flows, "flow"), bytes_of(bytes));
    best_beside_first(words, rows().filter(|row| Some((row.flows, row.packs)) == most))
}

/// Returns a text like `1 flow` or `4 flows`.
pub fn number_of(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Returns `words`, and how the strategy with the shortest time compares with the first strategy.
fn best_beside_first<'a>(words: String, rows: impl Iterator<Item = &'a Row>) -> String {
    let times: Vec<(f64, &str)> =
        rows.filter_map(|row| Some((row.median_ns?, row.strategy.as_deref()?))).collect();
    let best = times.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    match (times.first(), best) {
        (Some(first), Some(best)) if first.0 > best.0 => {
            format!("{words}: {} {:.1} × as fast as {}", best.1, first.0 / best.0, first.1)
        }
        (Some(first), _) => format!("{words}: {} is fastest", first.1),
        _ => words,
    }
}

/// Returns the best rates of single messages of the smallest size and of the largest, in parts of the rails' sum.
pub fn rails_finding(report: &Report) -> String {
    let single = |row: &&Row| row.operation.as_deref() == Some(SINGLE);
    let rows = || report.lines.iter().map(|line| &line.row).filter(single);
    let sums = sums(report);
    let of_size = |bytes: usize| {
        let best = rows()
            .filter(|row| row.bytes == Some(bytes))
            .filter_map(|row| Some((1e3 * row.gbytes_per_s?, row.strategy.as_deref()?)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(rate, strategy)| {
            let part = sums.get(&bytes).map(|sum| format!(", {:.0} % of all rails", 100.0 * rate / sum));
            format!("{}: {strategy} {rate:.0} MB/s{}", bytes_of(bytes), part.unwrap_or_default())
        })
    };
    let sizes: BTreeSet<usize> = rows().filter_map(|row| row.bytes).collect();
    let ends = [sizes.first(), sizes.last().filter(|_| sizes.len() > 1)];
    ends.into_iter().flatten().filter_map(|bytes| of_size(*bytes)).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(strategy: &str, median_ns: f64) -> Row {
        Row { strategy: Some(strategy.into()), median_ns: Some(median_ns), ..Row::default() }
    }

    #[test]
    fn the_best_strategy_is_compared_with_the_first() {
        let finding = |rows: &[Row]| best_beside_first("4 pages".into(), rows.iter());
        let three = [row("fifo", 9.0), row("aggregate", 3.0), row("split", 2.0)];
        assert_eq!(finding(&three), "4 pages: split 4.5 × as fast as fifo");
        assert_eq!(finding(&[row("fifo", 1.0), row("split", 2.0)]), "4 pages: fifo is fastest");
        assert_eq!(finding(&[]), "4 pages");
    }
}
