//! The joint meaning of three samples: mean, significant digits, order. Both forms compute it with these
//! functions.
//!
//! All values are computed in double precision, from differences to the first sample, which are nearly exact.

use std::cmp::Ordering;
use std::fmt;

use crate::rounding::Float;

/// Number of samples of a stochastic number.
pub const SAMPLES: usize = 3;
/// Student's value for 2 degrees of freedom and a probability of 95 %.
const STUDENT: f64 = 4.303;

/// The samples of a stochastic number, in the order of their random streams.
pub type Samples<F> = [F; SAMPLES];

/// Returns the mean of three samples in double precision.
fn mean_of(samples: Samples<f64>) -> f64 {
    let [first, second, third] = samples;
    let mean = first + ((second - first) + (third - first)) / 3.0;
    if mean.is_finite() || second == first && third == first {
        return if second == first && third == first { first } else { mean };
    }
    // Differences of huge numbers overflow; those of infinities are NaN.
    first / 3.0 + second / 3.0 + third / 3.0
}

/// Returns the mean, which is the ordinary number that the samples represent.
pub fn mean<F: Float>(samples: Samples<F>) -> F {
    F::from_f64(mean_of(samples.map(F::to_f64)))
}

/// The accuracy of three samples.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Accuracy {
    /// A sample is a NaN.
    NoNumber,
    /// All samples are equal; they may be 0.
    Exact,
    /// The square of 10^C, where C is the number of significant digits.
    Square(f64),
}

impl Accuracy {
    fn of(samples: Samples<f64>) -> Self {
        if samples.iter().any(|sample| sample.is_nan()) {
            return Self::NoNumber;
        }
        let [first, second, third] = samples;
        if first == second && first == third {
            return Self::Exact;
        }
        let mean = mean_of(samples);
        let deviation = samples.map(|sample| (sample - mean) / mean);
        let sum = deviation.iter().map(|one| one * one).sum::<f64>();
        // 10^C = √3 |mean| / (s t), and s² is half of the sum of squares.
        let square = 6.0 / (STUDENT * STUDENT * sum);
        // Infinite samples and a mean of 0 leave no digit.
        Self::Square(if square.is_nan() { 0.0 } else { square })
    }
}

/// Returns the number of significant decimal digits, at most those of the type. Equal samples have all of
/// them, even if they are 0; a NaN among the samples gives 0.
pub fn digits<F: Float>(samples: Samples<F>) -> u32 {
    match Accuracy::of(samples.map(F::to_f64)) {
        Accuracy::NoNumber => 0,
        Accuracy::Exact => F::DIGITS,
        // Rounds down, and to 0 for values less than 1.
        Accuracy::Square(square) => ((0.5 * square.log10()) as u32).min(F::DIGITS),
    }
}

/// Returns true if all samples are 0, or less than one digit is significant.
pub fn is_computed_zero<F: Float>(samples: Samples<F>) -> bool {
    match Accuracy::of(samples.map(F::to_f64)) {
        Accuracy::NoNumber => false,
        Accuracy::Exact => samples[0] == F::ZERO,
        Accuracy::Square(square) => square < 100.0,
    }
}

/// Returns true if no digit is significant, although the samples are not all 0.
pub fn is_noise<F: Float>(samples: Samples<F>) -> bool {
    is_computed_zero(samples) && samples.iter().any(|sample| *sample != F::ZERO)
}

/// Returns true if the mean is negative.
pub fn is_negative<F: Float>(samples: Samples<F>) -> bool {
    mean_of(samples.map(F::to_f64)) < 0.0
}

/// The order of two numbers, and its certainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// `Equal` if the difference is a computed zero, else the order of the means; none for a NaN.
    pub order: Option<Ordering>,
    /// True if the difference is a computed zero, but not 0 in all samples.
    pub is_unstable: bool,
}

/// Compares two numbers by the samples of their difference.
pub fn compare<F: Float>(a: Samples<F>, b: Samples<F>) -> Comparison {
    let (a, b) = (a.map(F::to_f64), b.map(F::to_f64));
    // Equal infinities have the difference 0.
    let difference = std::array::from_fn(|k| if a[k] == b[k] { 0.0 } else { a[k] - b[k] });
    let order = if is_computed_zero(difference) {
        Some(Ordering::Equal)
    } else {
        mean_of(difference).partial_cmp(&0.0)
    };
    Comparison { order, is_unstable: is_noise(difference) }
}

/// Writes the mean with its significant digits only, in scientific form; `@.0` for a computed zero. A precision limits
/// the digits after the point.
pub fn write<F: Float>(samples: Samples<F>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mean = mean(samples);
    let text = if is_computed_zero(samples) {
        "@.0".to_owned()
    } else {
        let behind_point = digits(samples).max(1) as usize - 1;
        format!("{mean:.*E}", out.precision().map_or(behind_point, |most| behind_point.min(most)))
    };
    // The formatter's precision would truncate the text.
    match out.width() {
        Some(width) => write!(out, "{text:>width$}"),
        None => out.write_str(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples that print as a number does.
    struct Printed(Samples<f64>);

    impl fmt::Display for Printed {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            write(self.0, out)
        }
    }

    /// Computes the formula as it is published.
    fn published(samples: Samples<f64>) -> f64 {
        let mean = samples.iter().sum::<f64>() / 3.0;
        let s = (samples.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / 2.0).sqrt();
        (3f64.sqrt() * mean.abs() / (s * 4.303)).log10()
    }

    #[test]
    fn digits_follow_the_published_formula() {
        for samples in
            [[1.0, 1.001, 0.9995], [3.0, 3.1, 3.3], [-2e5, -2.00001e5, -2e5], [1e-9, 1.0001e-9, 1.0002e-9]]
        {
            assert_eq!(digits(samples), published(samples).floor() as u32, "{samples:?}");
        }
        assert_eq!(digits([1.0, 1.0, 1f64.next_up()]), 15);
        assert_eq!(digits([2.5f64; 3]), 15);
        assert_eq!(digits([0.0f64; 3]), 15);
        assert_eq!(digits([2.5f32; 3]), 7);
        assert_eq!(digits([1.0, -1.0, 1e-20]), 0);
        assert_eq!(digits([1.0, 1.0, f64::NAN]), 0);
    }

    #[test]
    fn sizes_do_not_matter() {
        for scale in [1e-300, 1.0, 1e300] {
            assert_eq!(digits([scale, 1.001 * scale, 0.9995 * scale]), 2);
        }
        assert!(is_computed_zero([f64::MAX, -f64::MAX, 0.0]));
        assert!(is_computed_zero([f64::INFINITY, f64::MAX, f64::MAX]));
        assert!(!is_computed_zero([f64::INFINITY; 3]));
    }

    #[test]
    fn a_computed_zero_has_less_than_one_digit() {
        let just = |deviation: f64| [1.0 - deviation, 1.0, 1.0 + deviation];
        // s is the deviation, and C = 1 at √3 / 43.03.
        assert!(!is_computed_zero(just(0.0402)) && is_computed_zero(just(0.0403)));
        assert_eq!((digits(just(0.0402)), digits(just(0.0403))), (1, 0));
        assert!(is_computed_zero([0.0, -0.0, 0.0]) && !is_noise([0.0, -0.0, 0.0]));
        assert!(!is_computed_zero([f64::NAN; 3]));
    }

    #[test]
    fn the_order_is_that_of_the_means_unless_the_difference_is_noise() {
        let order = |a, b| compare::<f64>(a, b).order;
        assert_eq!(order([1.0; 3], [2.0; 3]), Some(Ordering::Less));
        assert_eq!(order([2.0, 2.01, 2.02], [1.0; 3]), Some(Ordering::Greater));
        let noise = compare([1.0, 1.1, 0.9], [1.0; 3]);
        assert_eq!(noise, Comparison { order: Some(Ordering::Equal), is_unstable: true });
        let same = compare([1.0, 1.1, 0.9], [1.0, 1.1, 0.9]);
        assert_eq!(same, Comparison { order: Some(Ordering::Equal), is_unstable: false });
        assert_eq!(order([f64::INFINITY; 3], [f64::INFINITY; 3]), Some(Ordering::Equal));
        assert_eq!(order([f64::NAN; 3], [f64::NAN; 3]), None);
    }

    #[test]
    fn only_significant_digits_are_printed() {
        let third = 1.0 / 3.0;
        assert_eq!(Printed([third, third, third + 1e-5]).to_string(), "3.333E-1");
        assert_eq!(Printed([-1.5; 3]).to_string(), "-1.50000000000000E0");
        assert_eq!(format!("{:.3}", Printed([1234.5; 3])), "1.234E3");
        assert_eq!(format!("{:>6}", Printed([1e-20, -1e-20, 0.0])), "   @.0");
        assert_eq!(Printed([0.0; 3]).to_string(), "@.0");
        assert_eq!(Printed([f64::NAN; 3]).to_string(), "NaN");
        assert_eq!(Printed([f64::INFINITY; 3]).to_string(), "inf");
    }
}
