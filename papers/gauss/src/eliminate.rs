//! Gauss elimination, for any kind of number.
//!
//! It does not communicate itself: in the parallel form comparisons and absolute values of the pivot search
//! do.

use cestac::Real;
use clap::ValueEnum;

use crate::error::GaussError;
use crate::matrix::Matrix;

/// The rule by which a pivot is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pivoting {
    /// The entry on the diagonal is taken as it is
    None,
    /// The largest entry of the column: about n² absolute values and tests
    Partial,
    /// The largest entry of all that is left: about 2n³/3 absolute values and tests
    Complete,
}

impl Pivoting {
    /// Returns advice for the user if no pivot is left.
    pub(crate) fn advice(self) -> &'static str {
        match self {
            Self::None => "try --pivoting partial; if that fails too, the matrix is singular",
            Self::Partial | Self::Complete => "the matrix is singular, or too close to it for this precision",
        }
    }
}

/// Solves the system of `matrix` and `right_side`. Calls `at` before each step with its number, from 0.
///
/// # Errors
/// No pivot has a significant digit.
pub fn solve<R: Real<Float = f64>>(
    mut matrix: Matrix<R>,
    mut right_side: Vec<R>,
    pivoting: Pivoting,
    mut at: impl FnMut(usize),
) -> Result<Vec<R>, GaussError> {
    let size = matrix.size;
    // The component of the solution of each column.
    let mut components: Vec<usize> = (0..size).collect();
    for step in 0..size {
        at(step);
        let (row, column) = find_pivot(&matrix, step, pivoting);
        matrix.swap_rows(step, row);
        right_side.swap(step, row);
        matrix.swap_columns(step, column);
        components.swap(step, column);
        if matrix.row(step)[step].is_computed_zero() {
            return Err(GaussError::Singular { step: step + 1, size, pivoting });
        }
        eliminate(&mut matrix, &mut right_side, step);
    }
    let values = substitute(&matrix, right_side);
    let mut solution = values.clone();
    for (component, value) in components.into_iter().zip(values) {
        solution[component] = value;
    }
    Ok(solution)
}

/// Returns row and column of the pivot of a step.
fn find_pivot<R: Real>(matrix: &Matrix<R>, step: usize, pivoting: Pivoting) -> (usize, usize) {
    let columns = match pivoting {
        Pivoting::None => return (step, step),
        Pivoting::Partial => step..step + 1,
        Pivoting::Complete => step..matrix.size,
    };
    let mut place = (step, step);
    let mut largest = matrix.row(step)[step].abs();
    for row in step..matrix.size {
        for column in columns.clone().filter(|column| (row, *column) != (step, step)) {
            let candidate = matrix.row(row)[column].abs();
            if candidate > largest {
                (place, largest) = ((row, column), candidate);
            }
        }
    }
    place
}

/// Subtracts multiples of the pivot's row from the rows below.
fn eliminate<R: Real>(matrix: &mut Matrix<R>, right_side: &mut [R], step: usize) {
    let size = matrix.size;
    let (done, below) = matrix.entries.split_at_mut((step + 1) * size);
    let pivot_row = &done[step * size..];
    let (done, right_below) = right_side.split_at_mut(step + 1);
    for (row, right) in below.chunks_exact_mut(size).zip(right_below) {
        let factor = row[step] / pivot_row[step];
        for (entry, pivot_entry) in row.iter_mut().zip(pivot_row).skip(step + 1) {
            *entry -= factor * *pivot_entry;
        }
        *right -= factor * done[step];
    }
}

/// Solves the triangular system that is left by the elimination.
fn substitute<R: Real>(matrix: &Matrix<R>, mut right_side: Vec<R>) -> Vec<R> {
    for step in (0..matrix.size).rev() {
        let mut rest = right_side[step];
        for (entry, value) in matrix.row(step).iter().zip(&right_side).skip(step + 1) {
            rest -= *entry * *value;
        }
        right_side[step] = rest / matrix.row(step)[step];
    }
    right_side
}
