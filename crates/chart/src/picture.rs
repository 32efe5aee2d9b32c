//! The frame of every picture: its size, its colours and its type.

use plotters::prelude::*;

use crate::DrawError;
use crate::chart::PlotArea;

/// Width and height of the picture, in pixels.
pub const SIZE: (u32, u32) = (960, 600);
/// Pixels of a caption.
pub const CAPTION: u32 = 22;
/// Pixels of a label.
pub const LABEL: u32 = 14;
/// The font of all words.
pub const FONT: &str = "sans-serif";
/// Colours of Canelé's curves. They differ in lightness too, for readers who see few hues. The first one, and
/// that of limits, are also those in the pictures beside other MPIs.
const OURS: [RGBColor; 6] = [
    RGBColor(204, 51, 68),
    RGBColor(0, 90, 181),
    RGBColor(0, 140, 100),
    RGBColor(213, 94, 0),
    RGBColor(150, 60, 150),
    RGBColor(90, 60, 30),
];
/// The colour of the machine's limits.
pub const LIMIT: RGBColor = RGBColor(136, 136, 136);

/// Pixels below the chart for a note.
const NOTE_PIXELS: u32 = 28;

/// Returns the drawing of `draw` as SVG, with the note below it unless that is empty.
///
/// # Errors
/// The drawing library reports an error.
pub fn picture(
    height: u32,
    note: &str,
    draw: impl FnOnce(&PlotArea) -> Result<(), DrawError>,
) -> Result<String, DrawError> {
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

/// The number of different colours.
pub const COLOURS: usize = OURS.len();

/// Returns the colour of the curve with this index in the legend.
pub fn ours(index: usize) -> RGBColor {
    OURS[index % OURS.len()]
}

/// Returns the range of a logarithmic axis with a little room around the figures.
pub fn range(figures: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = figures
        .filter(|figure| figure.is_finite() && *figure > 0.0)
        .fold((f64::INFINITY, 0.0f64), |(low, high), figure| (low.min(figure), high.max(figure)));
    if high == 0.0 { 1.0..10.0 } else { low / 1.5..high * 1.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_leaves_out_what_no_logarithm_has() {
        assert_eq!(range([0.0, 3.0, f64::NAN, 6.0].into_iter()), 2.0..9.0);
        assert_eq!(range([].into_iter()), 1.0..10.0);
    }
}
