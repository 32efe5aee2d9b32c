//! A trace as a picture: a lane for each rank, coloured by what the rank does, with arrows for messages; below, who sends how much to whom.

use canele_launch::amount;
use plotters::element::PathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::read::{RankTrace, SliceKind, Trace};
use super::summary::{Summary, span};
use super::table::time;
use crate::bench::Failure;
use canele_chart::{CAPTION, FONT, LABEL, PlotArea, SIZE, picture};

/// Ranks that have a lane.
const MOST_LANES: usize = 64;
/// Arrows that are drawn: more are one black area.
const MOST_ARROWS: usize = 400;
/// Pixels beside the lanes and above them.
const LEFT: i32 = 70;
const RIGHT: i32 = 20;
const TOP: i32 = 70;
/// The largest square of who sends to whom.
const SQUARE: i32 = 320;

const COMPUTES: RGBColor = RGBColor(222, 228, 234);
const CALL: RGBColor = RGBColor(0, 90, 181);
const COLLECTIVE: RGBColor = RGBColor(0, 140, 100);
const WAIT: RGBColor = RGBColor(213, 94, 0);

/// Draws a trace.
///
/// # Errors
/// Whatever the drawing library says.
pub fn draw(trace: &Trace, summary: &Summary) -> Result<String, Failure> {
    let lanes = trace.ranks.len().clamp(1, MOST_LANES) as i32;
    let lane = (360 / lanes).clamp(6, 40);
    let below = TOP + lanes * lane + 60;
    picture((below + SQUARE + 80) as u32, "", |area| {
        head(area, summary)?;
        timeline(area, trace, lane)?;
        square(area, trace, summary, below)
    })
}

fn style(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&BLACK)
}

fn head(area: &PlotArea, summary: &Summary) -> Result<(), Failure> {
    let finding = summary.late_senders.first().map_or_else(String::new, |late| {
        format!("; rank {} waited {} for rank {}", late.receiver, time(late.waited), late.sender)
    });
    let title = format!("{}: {}{finding}", summary.command, time(summary.took));
    area.draw(&Text::new(title, (LEFT, 12), style(CAPTION)))?;
    let mut x = LEFT;
    for (colour, name) in
        [(COMPUTES, "computes"), (CALL, "in a call"), (COLLECTIVE, "in a collective"), (WAIT, "waits")]
    {
        area.draw(&Rectangle::new([(x, 46), (x + 14, 58)], colour.filled()))?;
        area.draw(&Text::new(name, (x + 20, 45), style(LABEL)))?;
        x += 130;
    }
    Ok(())
}

fn timeline(area: &PlotArea, trace: &Trace, lane: i32) -> Result<(), Failure> {
    let spans = trace.ranks.values().filter_map(span);
    let Some((start, end)) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return Ok(()) };
    let width = SIZE.0 as i32 - LEFT - RIGHT;
    let scale = f64::from(width) / (end - start).max(1e-3);
    let x = |at: f64| LEFT + ((at - start) * scale) as i32;
    let y = |row: usize| TOP + row as i32 * lane;
    let shown: Vec<u32> = trace.ranks.keys().take(MOST_LANES).copied().collect();
    for (row, number) in shown.iter().enumerate() {
        let label = style(LABEL).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(format!("rank {number}"), (LEFT - 6, y(row) + lane / 2), label))?;
        for (from, to, colour) in
            runs(&trace.ranks[number], width as usize, |at| ((at - start) * scale) as usize)
        {
            let corners = [(LEFT + from as i32, y(row) + 1), (LEFT + to as i32, y(row) + lane - 1)];
            area.draw(&Rectangle::new(corners, colour.filled()))?;
        }
    }
    let row_of = |rank: u32| shown.iter().position(|number| *number == rank);
    let apart = trace.messages.values().filter(|message| message.from != message.to);
    // The longest tell most.
    let mut arrows: Vec<_> = apart.collect();
    arrows.sort_by(|a, b| (b.received_at - b.sent_at).total_cmp(&(a.received_at - a.sent_at)));
    for message in arrows.into_iter().take(MOST_ARROWS) {
        let (Some(from), Some(to)) = (row_of(message.from), row_of(message.to)) else { continue };
        let path = vec![(x(message.sent_at), y(from) + lane / 2), (x(message.received_at), y(to) + lane / 2)];
        area.draw(&PathElement::new(path, BLACK.mix(0.35).stroke_width(1)))?;
        area.draw(&Circle::new((x(message.received_at), y(to) + lane / 2), 2, BLACK.mix(0.5).filled()))?;
    }
    let bottom = y(shown.len()) + 4;
    for tick in 0..=4 {
        let at = start + (end - start) * f64::from(tick) / 4.0;
        let label = style(LABEL).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&PathElement::new(vec![(x(at), bottom - 4), (x(at), bottom)], BLACK.stroke_width(1)))?;
        area.draw(&Text::new(
            time(at - start),
            (x(at).clamp(LEFT + 20, SIZE.0 as i32 - 40), bottom + 2),
            label,
        ))?;
    }
    Ok(())
}

/// What a rank does at each pixel, put together where it is the same: from, to, colour. A pixel shows the innermost of what is longest in it.
fn runs(rank: &RankTrace, width: usize, pixel: impl Fn(f64) -> usize) -> Vec<(usize, usize, RGBColor)> {
    let mut row = vec![COMPUTES; width + 1];
    for (kind, colour) in
        [(SliceKind::Call, CALL), (SliceKind::Collective, COLLECTIVE), (SliceKind::Wait, WAIT)]
    {
        for slice in rank.slices.iter().filter(|slice| slice.kind == kind) {
            let (from, to) = (pixel(slice.start).min(width), pixel(slice.end).min(width));
            row[from..=to].fill(colour);
        }
    }
    let mut runs: Vec<(usize, usize, RGBColor)> = Vec::new();
    for (at, colour) in row.into_iter().enumerate() {
        match runs.last_mut() {
            Some((_, to, of)) if *of == colour => *to = at + 1,
            _ => runs.push((at, at + 1, colour)),
        }
    }
    runs
}

/// Who sends how much to whom: the more, the darker.
fn square(area: &PlotArea, trace: &Trace, summary: &Summary, top: i32) -> Result<(), Failure> {
    let numbers: Vec<u32> = trace.ranks.keys().take(MOST_LANES).copied().collect();
    let most = summary.pairs.iter().map(|pair| pair.bytes).max().unwrap_or(0);
    if numbers.is_empty() || most == 0 {
        return Ok(());
    }
    let title = format!("Bytes from each rank (rows) to each other (columns), at most {}", amount(most));
    area.draw(&Text::new(title, (LEFT, top), style(LABEL)))?;
    let cell = (SQUARE / numbers.len() as i32).clamp(5, 48);
    let top = top + 40;
    for (row, from) in numbers.iter().enumerate() {
        let middle = row as i32 * cell + cell / 2;
        if cell >= 12 {
            let side = style(LABEL).pos(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(from.to_string(), (LEFT - 6, top + middle), side))?;
            let above = style(LABEL).pos(Pos::new(HPos::Center, VPos::Bottom));
            area.draw(&Text::new(from.to_string(), (LEFT + middle, top - 2), above))?;
        }
        for (column, to) in numbers.iter().enumerate() {
            let bytes = summary.pairs.iter().find(|pair| (pair.from, pair.to) == (*from, *to));
            let share = bytes.map_or(0.0, |pair| ((pair.bytes + 1) as f64).ln() / ((most + 1) as f64).ln());
            let (x, y) = (LEFT + column as i32 * cell, top + row as i32 * cell);
            area.draw(&Rectangle::new(
                [(x, y), (x + cell - 1, y + cell - 1)],
                CALL.mix(share.max(0.04)).filled(),
            ))?;
        }
    }
    Ok(())
}
