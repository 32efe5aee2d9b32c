//! The meaning of the pixels of a plate, and the temperatures of a plate or of a part of it.
//!
//! A coloured pixel is fixed at `50 + 50 × (red − blue) / 255` degrees. A grey one (red, green and blue
//! equal) is free and starts at `100 × grey / 255`. A transparent one (alpha below 128) is free and starts at
//! 0. Everything outside of the plate is held at 0 degrees.

use canele_show::Picture;

use crate::layout::Extent;

/// The hottest temperature of a pixel, in degrees; the coldest is 0.
pub const HOTTEST: f64 = 100.0;

/// Temperatures of a rectangle of pixels, in rows from top to bottom.
#[derive(Debug, Clone, PartialEq)]
pub struct Plate {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Temperatures in degrees.
    pub temperatures: Vec<f64>,
    /// True for each pixel that keeps its temperature.
    pub fixed: Vec<bool>,
}

impl Plate {
    /// Returns the plate that a picture describes.
    pub fn from_picture(picture: &Picture) -> Self {
        let (temperatures, fixed) = picture.pixels.iter().map(|pixel| meaning(*pixel)).unzip();
        Self { width: picture.width, height: picture.height, temperatures, fixed }
    }

    /// Returns the number of free pixels.
    pub fn free_cells(&self) -> usize {
        self.fixed.iter().filter(|fixed| !**fixed).count()
    }

    /// Returns the part of the plate inside `extent`.
    pub fn part(&self, extent: &Extent) -> Self {
        let mut part =
            Self { width: extent.width(), height: extent.height(), temperatures: vec![], fixed: vec![] };
        for row in extent.rows.clone() {
            let cells = row * self.width + extent.columns.start..row * self.width + extent.columns.end;
            part.temperatures.extend_from_slice(&self.temperatures[cells.clone()]);
            part.fixed.extend_from_slice(&self.fixed[cells]);
        }
        part
    }

    /// Replaces the temperatures inside `extent`, given row after row.
    pub fn put(&mut self, extent: &Extent, temperatures: &[f64]) {
        for (row, cells) in extent.rows.clone().zip(temperatures.chunks_exact(extent.width())) {
            let start = row * self.width + extent.columns.start;
            self.temperatures[start..start + cells.len()].copy_from_slice(cells);
        }
    }
}

/// Returns the temperature of a pixel in degrees, and true if it is fixed.
fn meaning([red, green, blue, alpha]: [u8; 4]) -> (f64, bool) {
    if alpha < 128 {
        (0.0, false)
    } else if red == green && green == blue {
        (HOTTEST * f64::from(red) / 255.0, false)
    } else {
        (HOTTEST / 2.0 * (1.0 + (f64::from(red) - f64::from(blue)) / 255.0), true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_fixed_and_greys_are_free() {
        let cases = [
            ([255, 0, 0, 255], (100.0, true)),
            ([255, 255, 0, 255], (100.0, true)),
            ([0, 0, 255, 255], (0.0, true)),
            ([0, 255, 0, 255], (50.0, true)),
            ([255, 0, 255, 255], (50.0, true)),
            ([0, 0, 0, 255], (0.0, false)),
            ([255, 255, 255, 255], (100.0, false)),
            ([51, 51, 51, 255], (20.0, false)),
            ([255, 0, 0, 0], (0.0, false)),
        ];
        for (pixel, expected) in cases {
            assert_eq!(meaning(pixel), expected, "{pixel:?}");
        }
    }

    #[test]
    fn parts_put_back_give_the_plate_again() {
        let cells = 0..7 * 5;
        let fixed = cells.clone().map(|cell| cell % 3 == 0).collect();
        let plate =
            Plate { width: 7, height: 5, temperatures: cells.map(|cell| cell as f64).collect(), fixed };
        let mut copy = Plate { temperatures: vec![-1.0; 35], ..plate.clone() };
        for extent in crate::layout::Layout::new(7, 5, 4).unwrap().extents() {
            let part = plate.part(&extent);
            assert_eq!(part.temperatures.len(), extent.width() * extent.height());
            copy.put(&extent, &part.temperatures);
        }
        assert_eq!(copy, plate);
    }
}
