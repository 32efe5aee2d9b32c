//! The common parts of pictures: curves in a frame with two axes, and the frame of bars.
//!
//! Owns the drawing. Knows no benchmark: the code that makes a chart gives its curves a meaning.

use crate::DrawError;
use crate::picture::{CAPTION, FONT, LABEL, range};
use plotters::coord::Shift;
use plotters::coord::combinators::LogCoord;
use plotters::coord::ranged1d::{AsRangedCoord, SegmentedCoord, ValueFormatter};
use plotters::element::DashedPathElement;
use plotters::prelude::*;

/// The area for drawing.
pub type PlotArea<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Places in units of the axes.
pub type Points = Vec<(f64, f64)>;

/// Pixels that a line of a legend takes.
const LINE: i32 = 24;

/// One curve.
#[derive(Clone)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Its points, from the left.
    pub points: Points,
    /// Its colour.
    pub colour: RGBColor,
    /// Pixels of a dash and of the gap behind it; none for a solid line.
    pub dashes: Option<(u32, u32)>,
    /// True if its points are marked, because they were measured one by one.
    pub marked: bool,
}

/// One axis.
pub struct Axis {
    /// The quantity that it shows, with its unit.
    pub what: &'static str,
    /// The mapping of figures to places.
    pub scale: Scale,
    /// The largest number of labels on it.
    pub labels: usize,
    /// The text of the label at a figure.
    pub label: fn(f64) -> String,
}

/// The mapping of figures to places.
#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    /// Logarithmic, with labels at powers of this.
    Log(f64),
    /// From zero.
    Linear,
}

/// The place of the legend.
#[derive(Clone, Copy, PartialEq)]
pub enum Legend {
    /// The legend is in the upper left corner.
    UpperLeft,
    /// The legend is in the lower left corner.
    LowerLeft,
    /// The legend is in the lower right corner.
    LowerRight,
    /// The legend is outside of the chart: see [`legend`].
    None,
}

/// Curves over one figure; the first axis is logarithmic.
pub struct Chart {
    /// The line above it.
    pub caption: String,
    /// The axis below.
    pub x: Axis,
    /// The axis on the left.
    pub y: Axis,
    /// The curves, in the order of drawing.
    pub curves: Vec<Curve>,
    /// The place of the legend.
    pub legend: Legend,
}

impl Chart {
    /// Draws the chart.
    ///
    /// # Errors
    /// The drawing library reports an error.
    pub fn draw(&self, area: &PlotArea) -> Result<(), DrawError> {
        let y = range(self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.1));
        match self.y.scale {
            Scale::Log(base) => self.draw_over(area, with_labels(y, base).log_scale().base(base)),
            // The extra room at the top is for the legend.
            Scale::Linear => self.draw_over(area, 0.0..y.end),
        }
    }

    fn draw_over<Y>(&self, area: &PlotArea, y: Y) -> Result<(), DrawError>
    where
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let x = range(self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.0));
        let base = if let Scale::Log(base) = self.x.scale { base } else { 10.0 };
        let mut chart = ChartBuilder::on(area)
            .margin(16)
            .caption(&self.caption, (FONT, CAPTION))
            .x_label_area_size(52)
            .y_label_area_size(84)
            .build_cartesian_2d(x.log_scale().base(base), y)?;
        chart
            .configure_mesh()
            .x_desc(self.x.what)
            .y_desc(self.y.what)
            .x_labels(self.x.labels)
            .y_labels(self.y.labels)
            .x_label_formatter(&|figure| (self.x.label)(*figure))
            .y_label_formatter(&|figure| (self.y.label)(*figure))
            .label_style((FONT, LABEL))
            .axis_desc_style((FONT, LABEL + 1))
            .bold_line_style(BLACK.mix(0.12))
            .light_line_style(BLACK.mix(0.04))
            .draw()?;
        for curve in &self.curves {
            let style = curve.style();
            let (points, colour) = (curve.points.clone(), curve.colour);
            let drawn = match curve.dashes {
                None => chart.draw_series(LineSeries::new(points, style))?,
                Some((dash, gap)) => chart.draw_series(DashedLineSeries::new(points, dash, gap, style))?,
            };
            if self.legend != Legend::None {
                let named = drawn.label(&curve.name);
                match curve.dashes {
                    None => named.legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 28, y)], style)),
                    Some((dash, gap)) => named.legend(move |(x, y)| {
                        DashedPathElement::new(vec![(x, y), (x + 28, y)], dash, gap, style)
                    }),
                };
            }
            let marks = curve.points.iter().filter(|_| curve.marked);
            chart.draw_series(marks.map(|point| Circle::new(*point, 4, colour.filled())))?;
        }
        let place = match self.legend {
            Legend::UpperLeft => SeriesLabelPosition::UpperLeft,
            Legend::LowerLeft => SeriesLabelPosition::LowerLeft,
            Legend::LowerRight => SeriesLabelPosition::LowerRight,
            Legend::None => return Ok(()),
        };
        chart
            .configure_series_labels()
            .position(place)
            .legend_area_size(36)
            .margin(12)
            .background_style(WHITE.mix(0.9))
            .border_style(BLACK.mix(0.3))
            .label_font((FONT, LABEL))
            .draw()?;
        Ok(())
    }
}

impl Curve {
    fn style(&self) -> ShapeStyle {
        self.colour.stroke_width(if self.marked { 3 } else { 2 })
    }
}

/// Widens the range until it contains two powers of the base, because only powers are labelled.
fn with_labels(mut range: std::ops::Range<f64>, base: f64) -> std::ops::Range<f64> {
    // Tolerance in exponents, so that a power counts as one in spite of rounding.
    const HAIR: f64 = 1e-9;
    let exponent = |figure: f64| figure.log(base);
    // Each step adds one more power.
    while (exponent(range.start) - HAIR).ceil() + 1.0 > exponent(range.end) + HAIR {
        let low = base.powf((exponent(range.start) - HAIR).floor());
        let high = base.powf((exponent(range.end) + HAIR).ceil());
        if range.start / low <= high / range.end {
            range.start = low;
        } else {
            range.end = high;
        }
    }
    range
}

/// Bars, one for each row, on a logarithmic axis.
pub type Bars<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<LogCoord<f64>, SegmentedCoord<plotters::coord::types::RangedCoordusize>>,
>;

/// Makes the frame of bars for rows of these names, the first on top, with `left` pixels for the names.
pub fn bars<'a, 'b>(
    area: &'a PlotArea<'b>,
    caption: String,
    (names, left): (&[String], u32),
    x: std::ops::Range<f64>,
    (what, label): (String, fn(f64) -> String),
) -> Result<Bars<'a, 'b>, DrawError> {
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .caption(caption, (FONT, CAPTION))
        .x_label_area_size(52)
        .y_label_area_size(left)
        .build_cartesian_2d(x.log_scale(), (0..names.len().max(2) - 1).into_segmented())?;
    let name_of = |place: &SegmentValue<usize>| match place {
        SegmentValue::CenterOf(place) if *place < names.len() => names[names.len() - 1 - place].clone(),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .x_desc(what)
        .x_labels(8)
        .x_label_formatter(&|figure| label(*figure))
        .y_labels(names.len())
        .y_label_formatter(&name_of)
        .label_style((FONT, LABEL))
        .axis_desc_style((FONT, LABEL + 1))
        .bold_line_style(BLACK.mix(0.12))
        .light_line_style(BLACK.mix(0.04))
        .draw()?;
    Ok(chart)
}

/// Draws the names of the curves of several adjacent charts, in an area of their own.
pub fn legend(area: &PlotArea, curves: &[Curve]) -> Result<(), DrawError> {
    for (curve, line) in curves.iter().zip(1..) {
        let (y, style) = (40 + line * LINE, curve.style());
        let ends = vec![(40, y), (96, y)];
        match curve.dashes {
            None => area.draw(&PathElement::new(ends, style))?,
            Some((dash, gap)) => area.draw(&DashedPathElement::new(ends, dash, gap, style))?,
        }
        area.draw(&Text::new(curve.name.clone(), (108, y - LABEL as i32 / 2), (FONT, LABEL)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_two_labels_at_least_and_is_no_longer_than_that() {
        assert_eq!(with_labels(0.7..16.0, 10.0), 0.7..16.0);
        for (range, longer) in [(10.6..60.0, 10.0..100.0), (3.0..9.0, 1.0..10.0), (11.0..12.0, 10.0..100.0)] {
            let got = with_labels(range, 10.0);
            assert!((got.start / longer.start - 1.0).abs() < 1e-6, "{got:?}");
            assert!((got.end / longer.end - 1.0).abs() < 1e-6, "{got:?}");
        }
    }
}
