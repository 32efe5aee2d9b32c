//! Stochastic solutions compared with those of the plainest program.

use canele_gauss::eliminate::{Pivoting, solve};
use canele_gauss::matrix::{Matrix, random};
use cestac::{Real, Sequential, Session};

/// Solves a system by Gauss elimination with a search in the column, on plain numbers.
#[allow(clippy::needless_range_loop, reason = "as in a book")]
fn plainly(mut rows: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let size = rows.len();
    for step in 0..size {
        let larger = |a: &usize, b: &usize| rows[*a][step].abs().total_cmp(&rows[*b][step].abs());
        let pivot = (step..size).rev().max_by(larger).unwrap();
        rows.swap(step, pivot);
        right.swap(step, pivot);
        for row in step + 1..size {
            let factor = rows[row][step] / rows[step][step];
            for column in step + 1..size {
                rows[row][column] -= factor * rows[step][column];
            }
            right[row] -= factor * right[step];
        }
    }
    for step in (0..size).rev() {
        for column in step + 1..size {
            right[step] -= rows[step][column] * right[column];
        }
        right[step] /= rows[step][step];
    }
    right
}

fn solution<R: Real<Float = f64>>(matrix: &Matrix<f64>, pivoting: Pivoting) -> Vec<R> {
    let matrix = Matrix::<R>::exactly(matrix);
    let right = matrix.row_sums();
    solve(matrix, right, pivoting, |_| ()).unwrap()
}

#[test]
fn plain_numbers_give_the_bits_of_the_plain_program() {
    for (size, seed) in [(1, 1), (2, 2), (17, 3), (60, 4)] {
        let matrix = random(size, seed);
        let rows: Vec<Vec<f64>> = (0..size).map(|row| matrix.row(row).to_vec()).collect();
        let right = rows.iter().map(|row| row.iter().fold(0.0, |sum, entry| sum + entry)).collect();
        assert_eq!(solution::<f64>(&matrix, Pivoting::Partial), plainly(rows, right), "size {size}");
    }
}

#[test]
fn the_digits_that_are_claimed_are_right() {
    let (mut all, mut right) = (0, 0);
    for seed in 0..10 {
        let _session = Session::sequential(seed);
        let matrix = random(50, seed);
        for pivoting in [Pivoting::None, Pivoting::Partial, Pivoting::Complete] {
            for value in solution::<Sequential<f64>>(&matrix, pivoting) {
                all += 1;
                let within =
                    |slack: i32| (value.mean() - 1.0).abs() < 10f64.powi(slack - value.digits() as i32);
                assert!(within(3), "seed {seed}: {value} with {pivoting:?}");
                right += usize::from(within(0));
            }
        }
    }
    // Digits are right with a probability of 95 %.
    assert!(right * 10 >= all * 9, "{right} of {all}");
}

#[test]
fn digits_tell_of_a_bad_condition() {
    let _session = Session::sequential(1);
    let fewest = |size| {
        let matrix = Matrix::<Sequential<f64>>::hilbert(size);
        let right = matrix.row_sums();
        let solution = solve(matrix, right, Pivoting::Partial, |_| ()).unwrap();
        solution.iter().map(|value| value.digits()).min().unwrap()
    };
    let digits = [4, 6, 8, 10].map(fewest);
    assert!(digits.is_sorted_by(|more, fewer| more > fewer), "{digits:?}");
    assert!(digits[0] >= 10 && digits[3] <= 5, "{digits:?}");
}
