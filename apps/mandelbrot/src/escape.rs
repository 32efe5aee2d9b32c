//! The escape of a point: z → z² + c from 0 until |z| > 2.

/// The result for a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fate {
    /// It did not escape within the limit.
    Inside,
    /// It escaped.
    Escaped {
        /// The first n with |zₙ| > 2, where z₀ = 0.
        count: u32,
        /// The count as a smooth function of the point, for colours without steps; at least 0.
        level: f64,
    },
}

/// Iterations after the escape, which make |z| so large that the level is smooth.
const FURTHER: u32 = 4;

/// Returns the fate of c = x + iy, and the number of iterations that it took.
pub fn escape(x: f64, y: f64, limit: u32) -> (Fate, u32) {
    if in_main_bodies(x, y) {
        return (Fate::Inside, 0);
    }
    let (mut re, mut im) = (0.0_f64, 0.0_f64);
    // The squares of the test are reused in the next iteration.
    let (mut re2, mut im2) = (0.0, 0.0);
    // A point that returns to an earlier value repeats for ever (Brent's cycle search).
    let (mut old_re, mut old_im, mut renew_at) = (0.0, 0.0, 8);
    for count in 1..=limit {
        (re, im) = (re2 - im2 + x, 2.0 * re * im + y);
        (re2, im2) = (re * re, im * im);
        if re2 + im2 > 4.0 {
            return (Fate::Escaped { count, level: level(re, im, x, y, count) }, count);
        }
        if re == old_re && im == old_im {
            return (Fate::Inside, count);
        }
        if count == renew_at {
            (old_re, old_im, renew_at) = (re, im, renew_at.saturating_mul(2));
        }
    }
    (Fate::Inside, limit)
}

/// Returns true if c lies in the large cardioid or the disc left of it, the two largest bodies of the set.
fn in_main_bodies(x: f64, y: f64) -> bool {
    let (from_cusp, y2) = (x - 0.25, y * y);
    let q = from_cusp * from_cusp + y2;
    q * (q + from_cusp) <= 0.25 * y2 || (x + 1.0) * (x + 1.0) + y2 <= 0.0625
}

fn level(mut re: f64, mut im: f64, x: f64, y: f64, count: u32) -> f64 {
    for _ in 0..FURTHER {
        (re, im) = (re * re - im * im + x, 2.0 * re * im + y);
    }
    let logarithm = 0.5 * (re * re + im * im).ln();
    (f64::from(count + FURTHER) + 1.0 - logarithm.log2()).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(x: f64, y: f64) -> Option<u32> {
        match escape(x, y, 5000).0 {
            Fate::Escaped { count, .. } => Some(count),
            Fate::Inside => None,
        }
    }

    #[test]
    fn known_counts() {
        // The orbits are 2: 2, 6. 1: 1, 2, 5. 0.5: 0.5, 0.75, 1.06…, 1.63…, 3.15…. -2 stays at 2 for ever.
        let expected = [
            (2.0, Some(2)),
            (1.0, Some(3)),
            (0.5, Some(5)),
            (3.0, Some(1)),
            (-2.0, None),
            (-2.1, Some(1)),
            (0.25, None),
        ];
        for (x, expected) in expected {
            assert_eq!(count(x, 0.0), expected, "{x}");
        }
        assert_eq!(count(0.0, 1.0), None, "i goes round between -1+i and -i");
        assert_eq!(count(0.0, -1.0), None);
        // Near the cusp a point needs π / √(distance) iterations, to about one.
        let near_cusp = f64::from(count(0.25 + 1e-4, 0.0).unwrap());
        assert!((near_cusp - std::f64::consts::PI * 100.0).abs() < 4.0, "{near_cusp}");
    }

    #[test]
    fn short_cuts_never_change_a_fate() {
        for (a, b) in (0..120).flat_map(|a| (0..80).map(move |b| (a, b))) {
            let (x, y) = (-2.2 + 0.0251 * f64::from(a), -1.0 + 0.0253 * f64::from(b));
            let (mut re, mut im, mut plain) = (0.0_f64, 0.0_f64, None);
            for n in 1..=300 {
                (re, im) = (re * re - im * im + x, 2.0 * re * im + y);
                if re * re + im * im > 4.0 {
                    plain = Some(n);
                    break;
                }
            }
            let found = match escape(x, y, 300).0 {
                Fate::Escaped { count, .. } => Some(count),
                Fate::Inside => None,
            };
            assert_eq!(found, plain, "{x}, {y}");
        }
    }

    #[test]
    fn the_level_is_smooth_where_the_count_jumps() {
        let level = |x: f64| match escape(x, 0.0, 1000).0 {
            Fate::Escaped { level, .. } => level,
            Fate::Inside => panic!("{x} is outside of the set"),
        };
        for step in 0..3000 {
            let x = 0.3 + 0.001 * f64::from(step);
            assert!((level(x) - level(x + 1e-6)).abs() < 1e-3, "{x}");
        }
        assert!(level(100.0).is_finite());
    }

    #[test]
    fn the_limit_bounds_the_work() {
        assert_eq!(escape(-2.0, 0.0, 1).1, 1);
        assert_eq!(escape(-0.75, 1e-6, 100), (Fate::Inside, 100));
    }
}
