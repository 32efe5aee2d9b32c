//! The number of each pixel of the picture.

/// The view to draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// Pixels in a row.
    pub columns: usize,
    /// Rows of pixels.
    pub rows: usize,
    /// Real part of the middle.
    pub x: f64,
    /// Imaginary part of the middle.
    pub y: f64,
    /// Distance of neighbouring pixels.
    pub step: f64,
    /// Iterations after which a point counts as inside.
    pub limit: u32,
}

impl View {
    /// Returns the number x + iy of a pixel; x grows to the right, y upwards.
    pub fn number(&self, column: usize, row: usize) -> (f64, f64) {
        let from_middle = |place: usize, length: usize| place as f64 + 0.5 - length as f64 / 2.0;
        (
            self.x + self.step * from_middle(column, self.columns),
            self.y - self.step * from_middle(row, self.rows),
        )
    }

    /// Returns true if neighbouring pixels are so close that rounding would merge them.
    pub fn is_too_deep(&self) -> bool {
        self.step < 8.0 * f64::EPSILON * self.x.abs().max(self.y.abs()).max(0.01)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_the_picture_is_the_middle_of_the_view() {
        let view = View { columns: 5, rows: 3, x: -0.5, y: 0.25, step: 0.5, limit: 1 };
        assert_eq!(view.number(2, 1), (-0.5, 0.25));
        assert_eq!(view.number(0, 0), (-1.5, 0.75));
        assert_eq!(view.number(4, 2), (0.5, -0.25));
    }
}
