//! Temperatures as colours: from black over purple, red and orange to pale yellow.
//!
//! The colours are those of *inferno* (van der Walt and Smith, matplotlib 1.5): equal steps of temperature
//! look equally far apart, also in grey. Each channel is a polynomial of degree 6, fitted by Matt Zucker
//! (public domain), within 1 % of the table.

use canele_show::Picture;

use crate::plate::{HOTTEST, Plate};

/// Coefficients for red, green and blue, constant term first.
const INFERNO: [[f64; 3]; 7] = [
    [0.000_218_940_4, 0.001_651_004_6, -0.019_480_898_4],
    [0.106_513_419_5, 0.563_956_436_8, 3.932_712_388_9],
    [11.602_493_082_5, -3.972_853_965_7, -15.942_394_106_3],
    [-41.703_996_131_4, 17.436_398_882_1, 44.354_145_198_7],
    [77.162_935_699_4, -33.402_358_942_1, -81.807_309_257_4],
    [-71.319_428_245, 32.626_064_264, 73.209_519_858],
    [25.131_126_224_8, -12.242_668_952_4, -23.070_325_002_9],
];

/// Returns the heat map of a plate.
pub fn heat_map(plate: &Plate) -> Picture {
    let colours: Vec<[u8; 4]> = (0..=1023).map(|step| colour(f64::from(step) / 1023.0)).collect();
    let pixel = |degrees: &f64| colours[(degrees / HOTTEST * 1023.0).round().clamp(0.0, 1023.0) as usize];
    Picture {
        width: plate.width,
        height: plate.height,
        pixels: plate.temperatures.iter().map(pixel).collect(),
    }
}

/// Returns the colour of a heat from 0 to 1.
fn colour(heat: f64) -> [u8; 4] {
    let channel = |nth: usize| {
        let value = INFERNO.iter().rev().fold(0.0, |sum, terms| sum * heat + terms[nth]);
        (value * 255.0).round().clamp(0.0, 255.0) as u8
    };
    [channel(0), channel(1), channel(2), 255]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hotter_is_always_brighter() {
        let luma = |heat: f64| {
            let [red, green, blue, _] = colour(heat).map(f64::from);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        let steps: Vec<f64> = (0..=50).map(|step| luma(f64::from(step) / 50.0)).collect();
        assert!(steps.is_sorted(), "{steps:?}");
        assert!(steps[0] < 5.0 && steps[50] > 230.0);
    }

    #[test]
    fn known_colours_of_the_table() {
        for (heat, expected) in [(0.0, [0, 0, 4]), (0.5, [188, 55, 84]), (1.0, [252, 255, 164])] {
            for (ours, theirs) in colour(heat).into_iter().zip(expected) {
                assert!(ours.abs_diff(theirs) <= 5, "{heat}: {:?} is not {expected:?}", colour(heat));
            }
        }
    }
}
