//! The picture: virtual time over the number of ranks, with a curve for each operation and network. Both axes
//! are logarithmic.

use std::collections::BTreeMap;

use super::case::ScaleRow;
use crate::bench::Failure;
use crate::bench::plot::machine_and_day;
use canele_chart::{Axis, COLOURS, Chart, Curve, Legend, Points, SIZE, Scale, ours, picture};

/// Pixels of a dash and of the gap behind it.
const DASHES: (u32, u32) = (8, 6);

/// Returns the picture as SVG.
pub fn plot(rows: &[ScaleRow]) -> Result<String, Failure> {
    let mut curves: BTreeMap<String, Points> = BTreeMap::new();
    for row in rows {
        let point = (row.ranks as f64, row.virtual_ns as f64 / 1e3);
        curves.entry(format!("{}, {}", row.operation, row.network)).or_default().push(point);
    }
    // There are more curves than colours: further curves are dashed.
    let curve = |(index, (name, points))| Curve {
        name,
        points,
        colour: ours(index),
        dashes: (index >= COLOURS).then_some(DASHES),
        marked: true,
    };
    let axis = |what| Axis { what, scale: Scale::Log(10.0), labels: 8, label: |figure| figure.to_string() };
    let chart = Chart {
        caption: finding(rows),
        x: axis("ranks"),
        y: axis("virtual time (µs)"),
        curves: curves.into_iter().enumerate().map(curve).collect(),
        legend: Legend::UpperLeft,
    };
    let note = format!("virtual time of the simulated network, not of this machine: {}", machine_and_day());
    picture(SIZE.1, &note, |area| chart.draw(area))
}

/// Returns the result of the last row, which has the most ranks.
fn finding(rows: &[ScaleRow]) -> String {
    rows.last().map_or_else(String::new, |row| {
        let ScaleRow { operation, ranks, network, virtual_ns, .. } = row;
        format!("{operation} of {ranks} ranks on {network}: {:.1} µs", *virtual_ns as f64 / 1e3)
    })
}
