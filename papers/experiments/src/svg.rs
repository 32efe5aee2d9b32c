//! Figures as SVG.

use super::outcome::{Figure, Quantity};
use crate::PaperError;
use canele_chart::{Axis, Chart, Curve, Legend, SIZE, Scale, label_of_size, ours, picture};

/// Draws a figure.
///
/// # Errors
/// Returns the error of the drawing library.
pub fn draw(figure: &Figure) -> Result<String, PaperError> {
    let curve = |(index, plotted): (usize, &super::outcome::Plotted)| Curve {
        name: plotted.name.clone(),
        points: plotted.points.clone(),
        colour: ours(index),
        dashes: None,
        marked: true,
    };
    let chart = Chart {
        caption: figure.caption.clone(),
        x: figure.x.axis(),
        y: figure.y.axis(),
        curves: figure.curves.iter().enumerate().map(curve).collect(),
        // The corner that is free with such curves.
        legend: match (figure.x, figure.y) {
            (Quantity::Packs, _) => Legend::LowerLeft,
            (_, Quantity::Microseconds) => Legend::UpperLeft,
            _ => Legend::LowerRight,
        },
    };
    picture(SIZE.1, "", |area| chart.draw(area))
}

impl Quantity {
    fn axis(self) -> Axis {
        let (what, scale): (&'static str, Scale) = match self {
            Self::Bytes => ("message size (bytes)", Scale::Log(2.0)),
            Self::Microseconds => ("time (µs)", Scale::Log(10.0)),
            Self::MegabytesPerSecond => ("MB/s", Scale::Log(10.0)),
            Self::Ranks => ("ranks", Scale::Log(2.0)),
            Self::Speedup => ("speed-up", Scale::Linear),
            Self::Packs => ("packs per message", Scale::Log(2.0)),
            Self::Pages => ("pages asked for at once", Scale::Log(2.0)),
        };
        let label = if self == Self::Bytes {
            label_of_size as fn(f64) -> String
        } else {
            |figure: f64| figure.to_string()
        };
        Axis { what, scale, labels: 10, label }
    }
}
