//! Medians and similar statistics of a few figures, by nearest rank: every result is a measured figure.

/// Returns the figure at the quantile `share` (0 to 1); `NaN` if there are no figures.
pub fn quantile(figures: &[f64], share: f64) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

/// Returns the middle figure; for an even number, the lower of the two in the middle.
pub fn median(figures: &[f64]) -> f64 {
    quantile(figures, 0.5)
}

/// Returns the distance of the quartiles, relative to the median.
pub fn spread(figures: &[f64]) -> f64 {
    (quantile(figures, 0.75) - quantile(figures, 0.25)) / median(figures)
}

/// Returns the arithmetic mean; `NaN` for no figures.
pub fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_measured_figures() {
        let nine = [9.0, 1.0, 8.0, 2.0, 7.0, 3.0, 6.0, 4.0, 5.0];
        assert_eq!(median(&nine), 5.0);
        assert_eq!(quantile(&nine, 0.0), 1.0);
        assert_eq!(quantile(&nine, 0.25), 3.0);
        assert_eq!(quantile(&nine, 0.99), 9.0);
        assert_eq!(quantile(&nine, 1.0), 9.0);
        assert_eq!(median(&[4.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0]), 4.0);
    }

    #[test]
    fn the_99th_percentile_of_many_leaves_out_one_in_a_hundred() {
        let many: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(quantile(&many, 0.99), 198.0);
    }

    #[test]
    fn spread_ignores_a_lone_outlier() {
        assert_eq!(spread(&[10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 1000.0]), 0.0);
        assert_eq!(spread(&[8.0, 8.0, 8.0, 10.0, 10.0, 12.0, 12.0, 12.0]), 0.4);
    }

    #[test]
    fn nothing_measured_is_not_a_number() {
        assert!(median(&[]).is_nan() && mean(&[]).is_nan() && spread(&[]).is_nan());
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
    }
}
