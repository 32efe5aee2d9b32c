//! The picture of a report. Each experiment has its own kind of picture. Other benchmarks have curves over
//! the message size if there are several sizes, else bars.

use super::arguments::Bench;
use super::report::{Line, Report};
use super::{Failure, bars, compared, curves, urgent};
use crate::info::processor_model;
use canele_chart::{Chart, Legend, PlotArea, SIZE, legend, picture, size};
use canele_launch::TimeOfDay;
use std::collections::BTreeSet;

/// Height of a chart beside others, in pixels.
const PANEL_PIXELS: u32 = 400;
/// Returns the picture as SVG.
pub fn plot(report: &Report) -> Result<String, Failure> {
    if !report.lines.iter().any(|line| line.row.median_ns.is_some()) {
        return Err("nothing was measured".into());
    }
    let sizes: BTreeSet<usize> = report.lines.iter().filter_map(|line| line.row.bytes).collect();
    let note = note(report);
    match report.bench {
        Bench::Dsm | Bench::Flows | Bench::Rails => {
            let charts = compared::charts(report);
            picture(height(&charts), &note, |area| beside_each_other(area, &charts))
        }
        Bench::Priority => picture(urgent::height(report), &note, |area| urgent::draw(report, area)),
        Bench::Collectives => picture(bars::height(report), &note, |area| bars::draw(report, area)),
        _ if sizes.len() > 1 => picture(SIZE.1, &note, |area| curves::draw(report, area)),
        _ => picture(bars::height(report), &note, |area| bars::draw(report, area)),
    }
}

/// Returns place and time of the measurement, and the spread of its rounds.
fn note(report: &Report) -> String {
    let spread = report.lines.iter().map(|line| line.spread).fold(0.0, f64::max);
    let percent = spread * 100.0;
    format!("{}; medians of rounds, whose quartiles are at most {percent:.0} % apart", machine_and_day())
}

/// Returns a text like `AMD EPYC, 2 processors, 2026-11-25`.
pub fn machine_and_day() -> String {
    let now = TimeOfDay::now().to_string();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let (model, day) = (processor_model(), now.split('T').next().unwrap_or_default());
    format!("{model}, {processors} processor{}, {day}", if processors == 1 { "" } else { "s" })
}

/// Returns the result in one line: the figures of the first row and the last.
pub fn finding(report: &Report) -> String {
    let row = |line: &Line| {
        let figure = bars::figure(line)?;
        let size = line.row.bytes.map(|bytes| size(bytes) + if bytes < 1024 { " B" } else { "B" });
        let name = line.row.operation.clone().or(size)?;
        Some(format!("{name} {}", bars::words(line, figure)))
    };
    let rows: Vec<String> = report.lines.iter().filter_map(row).collect();
    let ends: Vec<&str> = match &rows[..] {
        [] => Vec::new(),
        [one] => vec![one],
        [first, .., last] => vec![first, last],
    };
    format!("{}: {}", report.bench, ends.join("; "))
}

/// Returns the height: a chart that names its curves is alone, others are in two columns.
fn height(charts: &[Chart]) -> u32 {
    if is_named(charts) { SIZE.1 } else { (charts.len() as u32 / 2 + 1) * PANEL_PIXELS }
}

fn is_named(charts: &[Chart]) -> bool {
    matches!(charts, [chart] if chart.legend != Legend::None)
}

/// Draws one chart alone, or several with the names of their curves in the last place.
fn beside_each_other(area: &PlotArea, charts: &[Chart]) -> Result<(), Failure> {
    if is_named(charts) {
        return charts[0].draw(area);
    }
    let places = area.split_evenly((charts.len() / 2 + 1, 2));
    for (chart, place) in charts.iter().zip(&places) {
        chart.draw(place)?;
    }
    let curves = charts.first().map_or(&[][..], |chart| &chart.curves);
    legend(&places[charts.len()], curves)
}

/// Returns the name of a row in a legend: all properties that distinguish it except its size.
pub fn name(line: &Line) -> String {
    let mut words = vec![line.row.operation.clone().unwrap_or_else(|| "canele".into())];
    words.extend(line.row.strategy.clone());
    words.extend(line.row.flows.map(|count| format!("{count} flows")));
    words.extend(line.row.packs.map(|count| format!("{count} packs")));
    words.extend(line.row.threads.map(|count| format!("{count} threads")));
    words.extend(line.row.buffers.map(|buffers| format!("{buffers:?} buffers").to_lowercase()));
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::latency;
    use super::*;

    /// Returns true if every tag that opens closes, in order, and attributes are quoted.
    fn well_formed(svg: &str) -> bool {
        let mut open = Vec::new();
        for tag in svg.split('<').skip(1) {
            let Some((tag, _)) = tag.split_once('>') else { return false };
            if tag.matches('"').count() % 2 != 0 {
                return false;
            }
            match tag.strip_prefix('/') {
                Some(name) if open.pop() != Some(name) => return false,
                Some(_) => {}
                None if tag.ends_with('/') || tag.starts_with(['?', '!']) => {}
                None => open.extend(tag.split_whitespace().next()),
            }
        }
        open.is_empty() && svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>")
    }

    #[test]
    fn curves_are_well_formed_and_labelled() {
        let svg = plot(&latency()).unwrap();
        assert!(well_formed(&svg), "{svg}");
        let title = "latency: 0 B 80.0 ns, 1.00 × line; 1MB 40.00 µs, 2.00 × stream";
        assert_eq!(finding(&latency()), title);
        let apart = "medians of rounds, whose quartiles are at most ";
        assert!(svg.contains(title) && svg.contains(apart), "{svg}");
        for word in
            ["canele, private buffers", "copy1", "stream", "line", "message size", "one-way time", "1K", "1M"]
        {
            assert!(svg.contains(word), "{word}");
        }
    }

    #[test]
    fn bars_are_well_formed_and_labelled() {
        let mut report = latency();
        report.bench = Bench::Collectives;
        report.lines.iter_mut().for_each(|line| line.row.operation = Some("barrier <1>".into()));
        let svg = plot(&report).unwrap();
        assert!(well_formed(&svg), "{svg}");
        assert!(svg.contains("barrier &lt;1&gt;") && svg.contains("2.00 × copy1"), "{svg}");
    }

    #[test]
    fn the_check_notices_broken_pictures() {
        assert!(well_formed("<svg a=\"b\"><g/><t>x</t></svg>"));
        assert!(
            !well_formed("<svg><g></svg>") && !well_formed("<svg a=\"></svg>") && !well_formed("<svg></svg")
        );
    }

    #[test]
    fn nothing_measured_is_an_error() {
        assert!(plot(&Report { lines: vec![], ..latency() }).is_err());
    }
}
