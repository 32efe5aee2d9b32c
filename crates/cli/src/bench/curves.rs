//! Curves over the message size: Canelé's, and each limit measured at those sizes. Both axes are logarithmic,
//! the sizes in powers of two.

use super::Failure;
use super::case::{Figure, Limit};
use super::plot::{finding, name};
use super::report::{Line, Report};
use super::table::axis_time;
use canele_chart::{Axis, Chart, Curve, LIMIT, Legend, PlotArea, Points, Scale, label_of_size, ours};
use std::collections::BTreeMap;

/// The place of an empty message on the logarithmic axis, left of the first size.
const EMPTY_AT: f64 = 0.5;

struct Curves {
    ours: BTreeMap<String, Points>,
    limits: BTreeMap<String, Points>,
    /// True for bandwidth, false for time.
    bandwidth: bool,
}

/// Draws a report with several sizes.
pub fn draw(report: &Report, area: &PlotArea) -> Result<(), Failure> {
    let curves = gather(report);
    let limit = |(limit, points): (&String, &Points)| Curve {
        name: format!("limit: {limit}"),
        points: points.clone(),
        colour: LIMIT,
        dashes: Some(dashes(limit)),
        marked: false,
    };
    let own = |(index, (name, points)): (usize, (&String, &Points))| Curve {
        name: name.clone(),
        points: points.clone(),
        colour: ours(index),
        dashes: None,
        marked: true,
    };
    let (what, label): (_, fn(f64) -> String) = match curves.bandwidth {
        true => ("bandwidth (GB/s)", label_of_rate),
        false => ("one-way time", axis_time),
    };
    let chart = Chart {
        caption: finding(report),
        x: Axis { what: "message size (bytes)", scale: Scale::Log(2.0), labels: 26, label: label_of_size },
        y: Axis { what, scale: Scale::Log(10.0), labels: 12, label },
        curves: curves.limits.iter().map(limit).chain(curves.ours.iter().enumerate().map(own)).collect(),
        legend: if curves.bandwidth { Legend::LowerRight } else { Legend::UpperLeft },
    };
    chart.draw(area)
}

/// Returns the dashes of a limit. All limits are grey and differ by their dashes, which are the same in every
/// picture.
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
            // A message of one cell costs one line, whatever its size.
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

fn label_of_rate(rate: f64) -> String {
    if rate < 1.0 { format!("{rate:.2}") } else { format!("{rate:.0}") }
}
