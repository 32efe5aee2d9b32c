//! The picture of a report: experiments have one of their own each; of other benchmarks curves over the message size where there
//! are several sizes, else bars. Owns what all share: colours, type sizes, the frame around them. Draws into memory, never into a file.

use super::arguments::Bench;
use super::chart::{self, Area, Chart, Legend};
use super::report::{Line, Report};
use super::table::size;
use super::{Failure, bars, compared, curves, urgent};
use crate::info::processor_model;
use canele_launch::TimeOfDay;
use plotters::prelude::*;
use std::collections::BTreeSet;

/// Width and height of the picture, in pixels.
pub const SIZE: (u32, u32) = (960, 600);
/// Height of a chart that stands beside others, in pixels.
const PANEL_PIXELS: u32 = 400;
/// Type sizes, in pixels.
pub const CAPTION: u32 = 22;
pub const LABEL: u32 = 14;
pub const FONT: &str = "sans-serif";
/// Ours: colours that differ in lightness too, for readers who see few hues.
const OURS: [RGBColor; 6] = [
    RGBColor(0, 90, 181),
    RGBColor(213, 94, 0),
    RGBColor(0, 140, 100),
    RGBColor(150, 60, 150),
    RGBColor(90, 60, 30),
    RGBColor(220, 50, 80),
];
/// The machine's limits.
pub const LIMIT: RGBColor = RGBColor(120, 120, 120);

/// Below the chart, for a note.
const NOTE_PIXELS: u32 = 28;

/// The picture as SVG.
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

/// What `draw` draws, as SVG, and a note below it, if there is one.
pub fn picture(
    height: u32,
    note: &str,
    draw: impl FnOnce(&Area) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mut svg = String::new();
    let below = if note.is_empty() { 0 } else { NOTE_PIXELS };
    let whole = SVGBackend::with_string(&mut svg, (SIZE.0, height + below)).into_drawing_area();
    whole.fill(&WHITE)?;
    let (area, foot) = whole.split_vertically(height);
    draw(&area)?;
    let style = TextStyle::from((FONT, LABEL - 1)).color(&LIMIT);
    foot.draw(&Text::new(note, (16, 4), style))?;
    whole.present()?;
    drop((whole, area, foot));
    Ok(svg)
}

/// Where and when it was measured, and how far rounds differ.
fn note(report: &Report) -> String {
    let spread = report.lines.iter().map(|line| line.spread).fold(0.0, f64::max);
    let percent = spread * 100.0;
    format!("{}; medians of rounds, whose quartiles are at most {percent:.0} % apart", machine_and_day())
}

/// `AMD EPYC, 2 processors, 2026-11-25`.
pub fn machine_and_day() -> String {
    let now = TimeOfDay::now().to_string();
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let (model, day) = (processor_model(), now.split('T').next().unwrap_or_default());
    format!("{model}, {processors} processor{}, {day}", if processors == 1 { "" } else { "s" })
}

/// What came out, in a line: the figures of the first row and the last.
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

/// A chart that names its curves stands alone, others stand in two columns.
fn height(charts: &[Chart]) -> u32 {
    if is_named(charts) { SIZE.1 } else { (charts.len() as u32 / 2 + 1) * PANEL_PIXELS }
}

fn is_named(charts: &[Chart]) -> bool {
    matches!(charts, [chart] if chart.legend != Legend::None)
}

/// One chart alone, or several with the names of their curves in the place behind the last.
fn beside_each_other(area: &Area, charts: &[Chart]) -> Result<(), Failure> {
    if is_named(charts) {
        return charts[0].draw(area);
    }
    let places = area.split_evenly((charts.len() / 2 + 1, 2));
    for (chart, place) in charts.iter().zip(&places) {
        chart.draw(place)?;
    }
    let curves = charts.first().map_or(&[][..], |chart| &chart.curves);
    chart::legend(&places[charts.len()], curves)
}

/// So many of them.
pub const COLOURS: usize = OURS.len();

/// What is ours, by its place in the legend.
pub fn ours(index: usize) -> RGBColor {
    OURS[index % OURS.len()]
}

/// A little room around the figures, on a logarithmic axis.
pub fn range(figures: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = figures
        .filter(|figure| figure.is_finite() && *figure > 0.0)
        .fold((f64::INFINITY, 0.0f64), |(low, high), figure| (low.min(figure), high.max(figure)));
    if high == 0.0 { 1.0..10.0 } else { low / 1.5..high * 1.5 }
}

/// What a row is called in a legend: all that sets it apart but its size.
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

    /// Every tag that opens closes, in order, and attributes are quoted.
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

    #[test]
    fn a_range_leaves_out_what_no_logarithm_has() {
        assert_eq!(range([0.0, 3.0, f64::NAN, 6.0].into_iter()), 2.0..9.0);
        assert_eq!(range([].into_iter()), 1.0..10.0);
    }
}
