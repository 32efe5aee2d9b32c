//! Square matrices, and the generators of those without a file.

use cestac::Real;

/// Most rows and columns: a larger matrix is most likely sparse, and would need 3 GB and more.
pub const LARGEST: usize = 20_000;

/// A square matrix, row after row.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix<R> {
    /// Number of rows and of columns.
    pub size: usize,
    /// `size` × `size` entries.
    pub entries: Vec<R>,
}

impl<R: Copy> Matrix<R> {
    /// Returns a row, counted from 0.
    pub fn row(&self, row: usize) -> &[R] {
        &self.entries[row * self.size..][..self.size]
    }

    /// Exchanges two rows.
    pub fn swap_rows(&mut self, one: usize, other: usize) {
        if one != other {
            for column in 0..self.size {
                self.entries.swap(one * self.size + column, other * self.size + column);
            }
        }
    }

    /// Exchanges two columns.
    pub fn swap_columns(&mut self, one: usize, other: usize) {
        if one != other {
            for row in self.entries.chunks_exact_mut(self.size) {
                row.swap(one, other);
            }
        }
    }
}

impl<R: Real<Float = f64>> Matrix<R> {
    /// Makes the matrix of exactly these numbers.
    pub fn exactly(numbers: &Matrix<f64>) -> Self {
        Self { size: numbers.size, entries: numbers.entries.iter().map(|number| R::from(*number)).collect() }
    }

    /// Makes the Hilbert matrix. Its entries are quotients, and rounded as such.
    pub fn hilbert(size: usize) -> Self {
        let place = (0..size).flat_map(|row| (0..size).map(move |column| row + column + 1));
        Self { size, entries: place.map(|place| R::from(1.0) / R::from(place as f64)).collect() }
    }

    /// Returns the sums of all rows: the right-hand side of a system whose solution is 1 everywhere.
    pub fn row_sums(&self) -> Vec<R> {
        let sum = |row: &[R]| row.iter().fold(R::from(0.0), |sum, entry| sum + *entry);
        self.entries.chunks_exact(self.size).map(sum).collect()
    }
}

/// Makes a matrix of multiples of 2^-32 between -1 and 1, reproducible by its seed.
pub fn random(size: usize, seed: u64) -> Matrix<f64> {
    let mut state = seed;
    let mut next = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        f64::from((word >> 32) as i32) / f64::from(1u32 << 31)
    };
    Matrix { size, entries: (0..size * size).map(|_| next()).collect() }
}
