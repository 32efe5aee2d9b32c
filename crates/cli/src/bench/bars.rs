//! Bars, one per row, on a logarithmic axis, with a mark at the limit. They show benchmarks whose rows differ
//! in more than the size.

use super::Failure;
use super::case::Figure;
use super::plot::finding;
use super::report::{Line, Report};
use super::table::{axis_time, time};
use canele_chart::{FONT, LABEL, LIMIT, PlotArea, ours, range, size};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The explanation of the marks, written on the axes: a legend would cover one of the rows.
const MILLIONS: &str = "per second, in millions (median); grey: the limit named beside the bar";
const TIME: &str = "time (median); grey: the limit named beside the bar";
const ROW_PIXELS: u32 = 30;
const AROUND_PIXELS: u32 = 150;

/// Returns the height of the picture of a report, in pixels.
pub fn height(report: &Report) -> u32 {
    AROUND_PIXELS + ROW_PIXELS * rows(report).len().max(2) as u32
}

/// Returns the rows with times or rates of the first row's kind. The picture has no axis for the share of a
/// processor.
fn rows(report: &Report) -> Vec<&Line> {
    let first = report.lines.iter().find(|line| figure(line).is_some()).map(|line| line.figure);
    report.lines.iter().filter(|line| Some(line.figure) == first && figure(line).is_some()).collect()
}

/// Draws a report as bars, the first row on top.
pub fn draw(report: &Report, area: &PlotArea) -> Result<(), Failure> {
    let rows = rows(report);
    let rate = rows.first().is_some_and(|line| line.figure != Figure::Time);
    let limits = rows.iter().flat_map(|line| line.beside.iter().map(|beside| limit(line, beside.median_ns)));
    let x = range(rows.iter().filter_map(|line| figure(line)).chain(limits));
    // The room on the right is for the words beside the longest bar.
    let (low, x) = (x.start, x.start..x.end * (x.end / x.start).powf(0.5).max(2.0));
    let names: Vec<String> = rows.iter().map(|line| name(line)).collect();
    let what =
        if rate { (MILLIONS.into(), plain as fn(f64) -> String) } else { (TIME.into(), axis_time as _) };
    let mut chart = canele_chart::bars(area, finding(report), (&names, 230), x, what)?;
    for (index, line) in rows.iter().enumerate() {
        let place = rows.len() - 1 - index;
        let Some(length) = figure(line) else { continue };
        let corners = [(low, SegmentValue::Exact(place)), (length, SegmentValue::Exact(place + 1))];
        let mut bar = Rectangle::new(corners, ours(0).filled());
        bar.set_margin(6, 6, 0, 0);
        chart.draw_series([bar])?;
        let far = line.beside.iter().map(|beside| limit(line, beside.median_ns)).fold(length, f64::max);
        let style = TextStyle::from((FONT, LABEL)).pos(Pos::new(HPos::Left, VPos::Center));
        let words = Text::new(words(line, length), (far * 1.12, SegmentValue::CenterOf(place)), style);
        chart.draw_series([words])?;
        for beside in &line.beside {
            let at = limit(line, beside.median_ns);
            let ends = vec![(at, SegmentValue::Exact(place)), (at, SegmentValue::Exact(place + 1))];
            chart.draw_series([PathElement::new(ends, LIMIT.stroke_width(4))])?;
        }
    }
    Ok(())
}

fn plain(figure: f64) -> String {
    figure.to_string()
}

/// Returns nanoseconds, or millions per second.
pub fn figure(line: &Line) -> Option<f64> {
    match line.figure {
        Figure::Time => line.row.median_ns,
        Figure::Rate => line.row.messages_per_s.map(|rate| rate / 1e6),
        Figure::Bandwidth => line.row.gbytes_per_s,
        Figure::Processor => None,
    }
}

fn limit(line: &Line, ns: f64) -> f64 {
    match line.figure {
        Figure::Time | Figure::Processor => ns,
        Figure::Rate => 1e3 / ns,
        Figure::Bandwidth => line.row.bytes.unwrap_or(0) as f64 / ns,
    }
}

fn name(line: &Line) -> String {
    let mut words = vec![line.row.operation.clone().unwrap_or_else(|| "canele".into())];
    words.extend(line.row.strategy.clone());
    words.extend(line.row.flows.map(|count| format!("{count} flows")));
    words.extend(line.row.packs.map(|count| format!("{count} packs")));
    words.extend(line.row.bytes.map(|bytes| format!("{} B", size(bytes))));
    words.extend(line.row.threads.map(|count| format!("{count} threads")));
    if line.row.ranks > 2 || line.row.operation.is_some() && line.row.threads.is_none() {
        words.push(format!("{} ranks", line.row.ranks));
    }
    words.join(", ")
}

/// Returns a row's figure, and its comparison with each limit beside it.
pub fn words(line: &Line, figure: f64) -> String {
    let figure = match line.figure {
        Figure::Time | Figure::Processor => time(figure),
        Figure::Rate => format!("{figure:.1} M/s"),
        Figure::Bandwidth => format!("{figure:.1} GB/s"),
    };
    let ratios = line.beside.iter().map(|beside| format!("{:.2} × {}", beside.ratio, beside.limit));
    std::iter::once(figure).chain(ratios).collect::<Vec<_>>().join(", ")
}
