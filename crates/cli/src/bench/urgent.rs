//! The picture of the experiment `priority`. For each strategy it shows the median and worst time of an
//! urgent round trip, alone and beside streams. A line shows the time of a piece on the wire, which no urgent
//! message can overtake.

use super::Failure;
use super::plot::finding;
use super::report::{Report, Row};
use super::table::{axis_time, time};
use canele_chart::{FONT, LABEL, LIMIT, PlotArea, ours, range};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const ROW_PIXELS: u32 = 56;
const AROUND_PIXELS: u32 = 170;
/// The times of a row with their colours, and the free pixels above and below their bars.
const BARS: [(&str, usize, [i32; 2]); 2] = [("median", 0, [6, 28]), ("99th percentile", 1, [28, 6])];

/// Returns the height of the picture, in pixels.
pub fn height(report: &Report) -> u32 {
    AROUND_PIXELS + ROW_PIXELS * rows(report).len().max(2) as u32
}

fn rows(report: &Report) -> Vec<&Row> {
    let has_both = |row: &&Row| row.median_ns.is_some() && row.p99_ns.is_some();
    report.lines.iter().map(|line| &line.row).filter(has_both).collect()
}

/// Draws the picture, the first row on top.
pub fn draw(report: &Report, area: &PlotArea) -> Result<(), Failure> {
    let rows = rows(report);
    let piece = rows.iter().filter_map(|row| row.piece_ns).reduce(f64::max);
    let figures = || rows.iter().flat_map(|row| [row.median_ns, row.p99_ns]).flatten();
    let x = range(figures().chain(piece));
    // The room on the right is for the words beside the longest bar.
    let (low, x) = (x.start, x.start..x.end * (x.end / x.start).powf(0.55));
    let piece_is = piece.map(|ns| format!("; grey: a piece of a stream on the wire, {}", time(ns)));
    let what = format!("time there and back{}", piece_is.unwrap_or_default());
    let names: Vec<String> = rows.iter().map(|row| name(row)).collect();
    let mut chart = canele_chart::bars(area, finding(report), (&names, 330), x, (what, axis_time))?;
    for (index, row) in rows.iter().enumerate() {
        let place = rows.len() - 1 - index;
        for ((word, colour, [above, below]), ns) in BARS.into_iter().zip([row.median_ns, row.p99_ns]) {
            let Some(ns) = ns else { continue };
            let corners = [(low, SegmentValue::Exact(place)), (ns, SegmentValue::Exact(place + 1))];
            let mut bar = Rectangle::new(corners, ours(colour).filled());
            bar.set_margin(above as u32, below as u32, 0, 0);
            chart.draw_series([bar])?;
            let middle = chart.backend_coord(&(ns, SegmentValue::CenterOf(place)));
            let at = (middle.0 + 6, middle.1 + (above - below) / 2);
            let style = TextStyle::from((FONT, LABEL)).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(format!("{word} {}", time(ns)), at, style))?;
        }
    }
    if let Some(ns) = piece {
        let ends = [0, rows.len()].map(|place| (ns, SegmentValue::Exact(place)));
        chart.draw_series([PathElement::new(ends, LIMIT.stroke_width(3))])?;
    }
    Ok(())
}

fn name(row: &Row) -> String {
    let mut words = vec![row.operation.clone().unwrap_or_else(|| "urgent".into())];
    words.extend(row.strategy.clone());
    words.join(", ")
}
