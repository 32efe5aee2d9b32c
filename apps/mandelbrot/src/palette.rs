//! The colours of the picture: the inside is black, the outside follows a smooth circle of colours.

use crate::escape::Fate;

/// The circle: deep blue, blue, white, orange, nearly black, and deep blue again. Each entry has the place on
/// the circle (0 to 1), then red, green, blue.
const CIRCLE: [(f64, [f64; 3]); 6] = [
    (0.0, [0.0, 7.0, 100.0]),
    (0.16, [32.0, 107.0, 203.0]),
    (0.42, [237.0, 255.0, 255.0]),
    (0.6425, [255.0, 170.0, 0.0]),
    (0.8575, [0.0, 2.0, 0.0]),
    (1.0, [0.0, 7.0, 100.0]),
];

/// Times around the circle for each doubling of the level.
const ROUNDS_PER_DOUBLING: f64 = 0.6;

/// Returns the red, green and blue of a point.
pub fn colour(fate: Fate) -> [u8; 3] {
    match fate {
        Fate::Inside => [0, 0, 0],
        // The logarithm prevents noise from the many high levels near the set.
        Fate::Escaped { level, .. } => on_circle((level + 1.0).log2() * ROUNDS_PER_DOUBLING),
    }
}

fn on_circle(rounds: f64) -> [u8; 3] {
    let place = rounds.rem_euclid(1.0);
    let after = CIRCLE.iter().position(|(start, _)| *start > place).unwrap_or(CIRCLE.len() - 1);
    let ((start, from), (end, to)) = (CIRCLE[after - 1], CIRCLE[after]);
    let part = (place - start) / (end - start);
    // The curve is flat at both ends, so that no edge shows between two pieces.
    let part = part * part * (3.0 - 2.0 * part);
    [0, 1, 2].map(|nth| (from[nth] + part * (to[nth] - from[nth])).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inside_is_black_and_the_circle_closes() {
        assert_eq!(colour(Fate::Inside), [0, 0, 0]);
        assert_eq!(on_circle(0.0), [0, 7, 100]);
        assert_eq!(on_circle(1.0), [0, 7, 100]);
        assert_eq!(on_circle(-0.58), on_circle(0.42));
        assert_eq!(on_circle(3.42), [237, 255, 255]);
    }

    #[test]
    fn near_levels_have_near_colours() {
        for step in 0..20_000 {
            let at = |level: f64| colour(Fate::Escaped { count: 1, level });
            let level = f64::from(step) * 0.05;
            let (one, other) = (at(level), at(level * 1.001));
            assert!(one.iter().zip(other).all(|(a, b)| a.abs_diff(b) <= 4), "{level}: {one:?} {other:?}");
        }
    }
}
