//! A trace as a picture: a lane for each rank, coloured by the rank's activity, with arrows for messages. The
//! bytes between ranks and the causes of waits are below.

use std::collections::BTreeMap;

use canele_launch::amount;
use plotters::element::PathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::findings::what;
use super::recorded::{RankTrace, SliceKind, Trace, TracedMessage};
use super::summary::{Summary, span};
use super::table::time;
use crate::bench::Failure;
use canele_chart::{CAPTION, FONT, LABEL, PlotArea, SIZE, picture};

/// The most ranks that have a lane.
const MOST_LANES: usize = 64;
/// The most arrows that are drawn, since more would form one black area. Of neighbouring messages the slowest
/// is drawn, because it says most.
const MOST_ARROWS: usize = 120;
/// The width in pixels, along the lanes, in which only one arrow from one rank to another is drawn.
const ARROW_PIXELS: i32 = 24;
/// Pixels to the left of the lanes and, next, to the right and above them.
const LEFT: i32 = 70;
const RIGHT: i32 = 20;
const TOP: i32 = 70;
/// Pixels below the lanes, for the axis.
const AXIS: i32 = 56;
/// The largest side, in pixels, of the square of bytes between ranks.
const SQUARE: i32 = 320;
/// The height of a line of text in pixels and, next, its most characters.
const LINE: i32 = 20;
const MOST_CHARACTERS: usize = 90;
/// The most causes that are named.
const MOST_CAUSES: usize = 8;

const COMPUTES: RGBColor = RGBColor(222, 228, 234);
const CALL: RGBColor = RGBColor(0, 90, 181);
const COLLECTIVE: RGBColor = RGBColor(0, 140, 100);
const WAIT: RGBColor = RGBColor(213, 94, 0);

/// Draws a trace.
///
/// # Errors
/// Fails with the error of the drawing library.
pub fn draw(trace: &Trace, summary: &Summary) -> Result<String, Failure> {
    let lanes = trace.ranks.len().clamp(1, MOST_LANES) as i32;
    let lane = (360 / lanes).clamp(6, 40);
    let below = TOP + lanes * lane + AXIS;
    let numbers: Vec<u32> = trace.ranks.keys().take(MOST_LANES).copied().collect();
    let cell = (SQUARE / numbers.len().max(1) as i32).clamp(5, 48);
    let has_pairs = summary.pairs.iter().any(|pair| pair.bytes > 0);
    let square_height = if has_pairs { 44 + cell * numbers.len() as i32 } else { 0 };
    let causes = summary.causes.len().min(MOST_CAUSES) as i32;
    let causes_height = if causes > 0 { LINE * (causes + 1) } else { 0 };
    let is_beside = LEFT + cell * numbers.len() as i32 <= LEFT + 260;
    let height =
        if is_beside { square_height.max(causes_height) } else { square_height + causes_height + 16 };
    picture((below + height + 12) as u32, "", |area| {
        head(area, summary)?;
        timeline(area, trace, lane)?;
        if has_pairs {
            square(area, &numbers, summary, (below, cell))?;
        }
        let place = if is_beside { (LEFT + 300, below) } else { (LEFT, below + square_height + 16) };
        causes_text(area, summary, place)
    })
}

fn style(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&BLACK)
}

fn head(area: &PlotArea, summary: &Summary) -> Result<(), Failure> {
    let finding = summary
        .causes
        .first()
        .map_or_else(String::new, |cause| format!("; rank {} {}", cause.rank, what(cause)));
    let title = format!("{}: {}{finding}", summary.command, time(summary.took));
    area.draw(&Text::new(shortened(&title), (LEFT, 12), style(CAPTION)))?;
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

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn causes_text(area: &PlotArea, summary: &Summary, (x, mut y): (i32, i32)) -> Result<(), Failure> {
    if summary.causes.is_empty() {
        return Ok(());
    }
    area.draw(&Text::new(
        "Where waits begin: time that other ranks wait, rank, what it does",
        (x, y),
        style(LABEL),
    ))?;
    for cause in summary.causes.iter().take(MOST_CAUSES) {
        y += LINE;
        let text = shortened(&format!("{}  rank {} {}", time(cause.waited), cause.rank, what(cause)));
        area.draw(&Text::new(text, (x, y), style(LABEL)))?;
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
    let (arrows, all) = arrows(trace, |message| x(message.sent_at) / ARROW_PIXELS);
    for message in &arrows {
        let (Some(from), Some(to)) = (row_of(message.from), row_of(message.to)) else { continue };
        let path = vec![(x(message.sent_at), y(from) + lane / 2), (x(message.received_at), y(to) + lane / 2)];
        area.draw(&PathElement::new(path, BLACK.mix(0.35).stroke_width(1)))?;
        area.draw(&Circle::new((x(message.received_at), y(to) + lane / 2), 2, BLACK.mix(0.5).filled()))?;
    }
    let bottom = y(shown.len()) + 4;
    for (at, text) in ticks(end - start) {
        let label = style(LABEL).pos(Pos::new(HPos::Center, VPos::Top));
        let tick = x(start + at);
        area.draw(&PathElement::new(vec![(tick, bottom - 4), (tick, bottom)], BLACK.stroke_width(1)))?;
        area.draw(&Text::new(text, (tick.clamp(LEFT + 10, SIZE.0 as i32 - 40), bottom + 2), label))?;
    }
    if arrows.len() < all {
        let note = format!("{} of {all} messages are drawn: those that take longest", arrows.len());
        area.draw(&Text::new(note, (LEFT, bottom + 18), style(LABEL)))?;
    }
    Ok(())
}

/// Returns the messages to draw, and the number of all messages between different ranks. Of messages in the
/// same `column` between the same ranks, only the slowest is drawn.
fn arrows(trace: &Trace, column: impl Fn(&TracedMessage) -> i32) -> (Vec<&TracedMessage>, usize) {
    let took = |message: &TracedMessage| message.received_at - message.sent_at;
    let mut longest: BTreeMap<(i32, u32, u32), &TracedMessage> = BTreeMap::new();
    let mut all = 0;
    for message in trace.messages.values().filter(|message| message.from != message.to) {
        all += 1;
        let known = longest.entry((column(message), message.from, message.to)).or_insert(message);
        if took(message) > took(known) {
            *known = message;
        }
    }
    let mut arrows: Vec<_> = longest.into_values().collect();
    arrows.sort_by(|a, b| took(b).total_cmp(&took(a)));
    arrows.truncate(MOST_ARROWS);
    (arrows, all)
}

/// Returns the tick marks of an axis of this length, in µs: round numbers of one unit, with their texts.
fn ticks(length: f64) -> Vec<(f64, String)> {
    let (unit, name) = match length {
        ..1e3 => (1.0, "µs"),
        ..1e6 => (1e3, "ms"),
        _ => (1e6, "s"),
    };
    let least = (length / unit / 8.0).max(1e-3);
    let power = 10f64.powf(least.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= least * 0.999);
    let step = step.unwrap_or(least);
    let digits = (-step.log10()).ceil().max(0.0) as usize;
    let count = (length / unit / step).floor() as usize;
    (0..=count.min(16))
        .map(|tick| tick as f64 * step)
        .map(|at| (at * unit, format!("{at:.digits$} {name}")))
        .collect()
}

/// Returns the activity of a rank as runs of equal pixels: from, to, colour. A pixel shows the innermost kind
/// of slice that touches it.
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

/// Draws the bytes between each two ranks; more bytes give a darker square.
fn square(
    area: &PlotArea,
    numbers: &[u32],
    summary: &Summary,
    (top, cell): (i32, i32),
) -> Result<(), Failure> {
    let most = summary.pairs.iter().map(|pair| pair.bytes).max().unwrap_or(0);
    let title = format!("Bytes from rank (row) to rank, up to {}", amount(most));
    area.draw(&Text::new(title, (LEFT, top), style(LABEL)))?;
    let bytes: BTreeMap<_, _> = summary.pairs.iter().map(|pair| ((pair.from, pair.to), pair.bytes)).collect();
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
            let bytes = bytes.get(&(*from, *to));
            let share = bytes.map_or(0.0, |bytes| (*bytes as f64).ln_1p() / (most as f64).ln_1p());
            let (x, y) = (LEFT + column as i32 * cell, top + row as i32 * cell);
            area.draw(&Rectangle::new(
                [(x, y), (x + cell - 1, y + cell - 1)],
                CALL.mix(share.max(0.04)).filled(),
            ))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_one_unit_and_round_numbers() {
        let texts = |length| ticks(length).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(1_000_500.0), ["0.0 s", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1.0 s"]);
        assert_eq!(texts(900.0), ["0 µs", "200 µs", "400 µs", "600 µs", "800 µs"]);
        for length in [0.0, 0.5, 7.0, 999.9, 1e3, 123_456.0, 1e7, 1e12] {
            let ticks = ticks(length);
            assert!((1..=9).contains(&ticks.len()), "{length}: {ticks:?}");
            let unit = |text: &str| text.rsplit_once(' ').unwrap().1.to_owned();
            assert!(
                ticks.iter().all(|(at, text)| *at <= length.max(1e-3) && unit(text) == unit(&ticks[0].1)),
                "{ticks:?}"
            );
        }
    }

    #[test]
    fn of_many_messages_beside_each_other_the_longest_is_drawn() {
        let message = |number: u64| {
            let sent_at = number as f64;
            let received_at = sent_at + if number == 37 { 50.0 } else { 1.0 };
            (number, TracedMessage { from: 0, to: 1, sent_at, received_at, ..TracedMessage::default() })
        };
        let trace = Trace { messages: (0..1000).map(message).collect(), ..Trace::default() };
        let (drawn, all) = arrows(&trace, |message| (message.sent_at / 100.0) as i32);
        assert_eq!((drawn.len(), all, drawn[0].sent_at), (10, 1000, 37.0));
        let (drawn, _) = arrows(&trace, |message| message.sent_at as i32);
        assert_eq!(drawn.len(), MOST_ARROWS);
    }

    #[test]
    fn a_picture_is_no_higher_than_what_is_in_it() {
        let rank = || RankTrace::default();
        let trace = Trace { ranks: [(0, rank()), (1, rank())].into(), ..Trace::default() };
        let svg = draw(&trace, &Summary::of(&trace)).unwrap();
        let height = (TOP + 2 * 40 + AXIS + 12).to_string();
        assert!(svg.contains(&format!("height=\"{height}\"")), "{}", &svg[..200]);
    }
}
