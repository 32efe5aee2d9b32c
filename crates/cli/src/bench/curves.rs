//! Curves over the message size: ours, and each limit measured at those sizes. Both axes logarithmic, the
//! sizes in powers of two.

use super::Failure;
use super::case::{Figure, Limit};
use super::plot::{CAPTION, FONT, LABEL, LIMIT, name, ours, range};
use super::report::{Line, Report};
use super::table::{axis_time, size};
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use std::collections::BTreeMap;

type Points = Vec<(f64, f64)>;

/// An empty message has no place on a logarithmic axis; it stands at this size, left of the first.
const EMPTY_AT: f64 = 0.5;

struct Curves {
    ours: BTreeMap<String, Points>,
    limits: BTreeMap<String, Points>,
    /// Else time.
    bandwidth: bool,
}

/// Draws a report with several sizes.
pub fn draw(report: &Report, area: DrawingArea<SVGBackend, Shift>) -> Result<(), Failure> {
    let curves = gather(report);
    let all = || curves.ours.values().chain(curves.limits.values()).flatten();
    let (x, y) = (range(all().map(|point| point.0)), range(all().map(|point| point.1)));
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .caption(format!("canele bench {}", report.bench), (FONT, CAPTION))
        .x_label_area_size(52)
        .y_label_area_size(84)
        .build_cartesian_2d(x.log_scale().base(2.0), y.log_scale())?;
    let unit = if curves.bandwidth { "bandwidth (GB/s)" } else { "one-way time" };
    chart
        .configure_mesh()
        .x_desc("message size (bytes)")
        .y_desc(unit)
        .x_labels(26)
        .y_labels(12)
        .x_label_formatter(&|bytes| label_of_size(*bytes))
        .y_label_formatter(&|figure| {
            if curves.bandwidth { label_of_rate(*figure) } else { axis_time(*figure) }
        })
        .label_style((FONT, LABEL))
        .axis_desc_style((FONT, LABEL + 1))
        .bold_line_style(BLACK.mix(0.12))
        .light_line_style(BLACK.mix(0.04))
        .draw()?;
    for (limit, points) in &curves.limits {
        let (dash, gap) = dashes(limit);
        let line = DashedLineSeries::new(points.clone(), dash, gap, LIMIT.stroke_width(2));
        let legend =
            move |(x, y)| DashedPathElement::new(vec![(x, y), (x + 28, y)], dash, gap, LIMIT.stroke_width(2));
        chart.draw_series(line)?.label(format!("limit: {limit}")).legend(legend);
    }
    for (index, (name, points)) in curves.ours.iter().enumerate() {
        let colour = ours(index);
        let legend = move |(x, y)| PathElement::new(vec![(x, y), (x + 28, y)], colour.stroke_width(3));
        chart
            .draw_series(LineSeries::new(points.clone(), colour.stroke_width(3)))?
            .label(name)
            .legend(legend);
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(if curves.bandwidth {
            SeriesLabelPosition::LowerRight
        } else {
            SeriesLabelPosition::UpperLeft
        })
        .legend_area_size(36)
        .margin(12)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, LABEL))
        .draw()?;
    Ok(area.present()?)
}

/// The limits are all grey, told apart by their dashes, the same in every picture.
fn dashes(limit: &str) -> (u32, u32) {
    match limit {
        "line" => (28, 1),
        "copy1" => (12, 5),
        "copy2" => (6, 4),
        _ => (2, 4),
    }
}

fn gather(report: &Report) -> Curves {
    let bandwidth = report.lines.iter().any(|line| line.figure == Figure::Bandwidth);
    let mut curves = Curves { ours: BTreeMap::new(), limits: BTreeMap::new(), bandwidth };
    for line in &report.lines {
        if let Some(point) = point(line, bandwidth) {
            curves.ours.entry(name(line)).or_default().push(point);
        }
    }
    let (first, last) = curves
        .ours
        .values()
        .flatten()
        .fold((f64::INFINITY, 0.0f64), |(first, last), point| (first.min(point.0), last.max(point.0)));
    for (limit, ns) in &report.limits {
        let mut add =
            |points: &[(f64, f64)]| curves.limits.entry(limit.to_string()).or_default().extend(points);
        match *limit {
            Limit::Copy1(bytes)
            | Limit::Copy2(bytes)
            | Limit::Stream(bytes)
            | Limit::Socket(bytes)
            | Limit::SocketStream(bytes) => {
                add(&[(bytes as f64, if bandwidth { bytes as f64 / ns } else { *ns })]);
            }
            // A message of one cell costs a line whatever its size.
            Limit::Line if !bandwidth => add(&[(first, *ns), (last.min(64.0).max(first), *ns)]),
            Limit::Line | Limit::Cells | Limit::Flags | Limit::SocketWindow(_) | Limit::Rail(..) => {}
        }
    }
    curves
}

fn point(line: &Line, bandwidth: bool) -> Option<(f64, f64)> {
    let bytes = line.row.bytes? as f64;
    let figure = if bandwidth { line.row.gbytes_per_s } else { line.row.median_ns };
    Some((bytes.max(EMPTY_AT), figure?))
}

fn label_of_size(bytes: f64) -> String {
    if bytes < 1.0 { "0".into() } else { size(bytes as usize) }
}

fn label_of_rate(rate: f64) -> String {
    if rate < 1.0 { format!("{rate:.2}") } else { format!("{rate:.0}") }
}
