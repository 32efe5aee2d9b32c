//! The picture: virtual time over the number of ranks, a curve for each operation and network, both axes logarithmic.

use std::collections::BTreeMap;
use std::error::Error;

use plotters::prelude::*;

use super::case::Row;
use crate::bench::plot::{CAPTION, FONT, LABEL, SIZE, ours, range};

/// As SVG.
pub fn plot(rows: &[Row]) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    let mut curves: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        let point = (row.ranks as f64, row.virtual_ns as f64 / 1e3);
        curves.entry(format!("{}, {}", row.operation, row.network)).or_default().push(point);
    }
    let all = || curves.values().flatten();
    area.fill(&WHITE)?;
    let (x, y) = (range(all().map(|point| point.0)), range(all().map(|point| point.1)));
    let mut chart = ChartBuilder::on(&area)
        .margin(16)
        .caption("canele sim scale", (FONT, CAPTION))
        .x_label_area_size(52)
        .y_label_area_size(84)
        .build_cartesian_2d(x.log_scale(), y.log_scale())?;
    chart
        .configure_mesh()
        .x_desc("ranks")
        .y_desc("virtual time (µs)")
        .label_style((FONT, LABEL))
        .axis_desc_style((FONT, LABEL + 1))
        .bold_line_style(BLACK.mix(0.12))
        .light_line_style(BLACK.mix(0.04))
        .draw()?;
    for (index, (name, points)) in curves.iter().enumerate() {
        // Of the second half of the colours' cycle on, lines are thinner: there are more curves than colours.
        let (colour, width) = (ours(index), if index < 6 { 3 } else { 1 });
        let legend = move |(x, y)| PathElement::new(vec![(x, y), (x + 28, y)], colour.stroke_width(width));
        chart
            .draw_series(LineSeries::new(points.clone(), colour.stroke_width(width)))?
            .label(name)
            .legend(legend);
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .legend_area_size(36)
        .margin(12)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, LABEL))
        .draw()?;
    area.present()?;
    drop(chart);
    drop(area);
    Ok(svg)
}
