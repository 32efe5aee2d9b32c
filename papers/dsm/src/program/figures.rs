//! The figures of the experiment: medians, ratios, and their output.

use std::io::Write;

use serde_json::json;

use crate::arguments::Requests;

/// The measurements for a number of pages under a strategy.
pub struct Row {
    pub pages: u32,
    pub strategy: String,
    /// Nanoseconds of a fetch until requests and announcements are exchanged, one value per round.
    pub requests: Vec<f64>,
    /// Nanoseconds of a fetch until all pages are there, one value per round.
    pub whole: Vec<f64>,
}

/// Prints the figures as a table or as JSON.
pub fn report(options: &Requests, rows: &[Row]) {
    let groups = rows.chunks(options.strategy.len().max(1));
    let figures: Vec<(&Row, Figures)> =
        groups.flat_map(|group| group.iter().map(|row| (row, Figures::of(row, &group[0])))).collect();
    let text = if options.json { json_text(options, &figures) } else { table(options, &figures) };
    // A closed pipe is no reason to fail.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// A row's figures: medians in microseconds, and ratios to those of the first strategy for the same number of pages.
struct Figures {
    requests_us: f64,
    whole_us: f64,
    ratios: Option<[f64; 2]>,
}

impl Figures {
    fn of(row: &Row, first: &Row) -> Self {
        let ratios = |own: &[f64], base: &[f64]| median(own.iter().zip(base).map(|(own, base)| own / base));
        let is_first = std::ptr::eq(row, first);
        Self {
            requests_us: median(row.requests.iter().copied()) / 1e3,
            whole_us: median(row.whole.iter().copied()) / 1e3,
            ratios: (!is_first)
                .then(|| [ratios(&row.requests, &first.requests), ratios(&row.whole, &first.whole)]),
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted = Vec::from_iter(values);
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn json_text(options: &Requests, figures: &[(&Row, Figures)]) -> String {
    let row = |(row, figures): &(&Row, Figures)| {
        json!({
            "pages": row.pages,
            "strategy": row.strategy,
            "requests_rendezvous_us": figures.requests_us,
            "whole_us": figures.whole_us,
            "ratio_requests_rendezvous": figures.ratios.map(|ratios| ratios[0]),
            "ratio_whole": figures.ratios.map(|ratios| ratios[1]),
        })
    };
    let rows: Vec<serde_json::Value> = figures.iter().map(row).collect();
    format!("{:#}\n", json!({ "page_bytes": options.page_bytes, "rounds": options.rounds, "rows": rows }))
}

fn table(options: &Requests, figures: &[(&Row, Figures)]) -> String {
    let mut text = format!(
        "{:>5}  {:<10} {:>21} {:>7} {:>12} {:>7}\n",
        "pages", "strategy", "requests + rendezvous", "ratio", "whole", "ratio"
    );
    for (row, Figures { requests_us, whole_us, ratios }) in figures {
        let [requests, whole] =
            ratios.map_or_else(Default::default, |ratios| ratios.map(|ratio| format!("{ratio:.2}")));
        text += &format!(
            "{:>5}  {:<10} {requests_us:>18.1} µs {requests:>7} {whole_us:>9.1} µs {whole:>7}\n",
            row.pages, row.strategy
        );
    }
    text + &format!("pages of {} B; medians of {} rounds\n", options.page_bytes, options.rounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_medians_over_the_rounds() {
        let row = |requests: &[f64]| Row {
            pages: 3,
            strategy: "any".to_owned(),
            requests: requests.to_vec(),
            whole: vec![4000.0; requests.len()],
        };
        // A machine that becomes slower, for which the ratio of the medians would differ.
        let (first, second) = (row(&[1000.0, 2000.0, 8000.0]), row(&[500.0, 3000.0, 4000.0]));
        let figures = Figures::of(&second, &first);
        assert_eq!((figures.requests_us, figures.whole_us, figures.ratios), (3.0, 4.0, Some([0.5, 1.0])));
        assert_eq!(Figures::of(&first, &first).ratios, None);
    }
}
