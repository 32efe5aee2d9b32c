//! Pictures of measurements, as SVG: curves in a frame with two axes, and bars.
//!
//! Owns the drawing: colours, type sizes, frames. Knows no benchmark and writes no file.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod chart;
mod label;
mod picture;

pub use chart::{Axis, Bars, Chart, Curve, Legend, PlotArea, Points, Scale, bars, legend};
pub use label::{label_of_size, size};
pub use picture::{CAPTION, COLOURS, FONT, LABEL, LIMIT, SIZE, ours, picture, range};

/// The error of the drawing library.
pub type DrawError = Box<dyn std::error::Error + Send + Sync>;
