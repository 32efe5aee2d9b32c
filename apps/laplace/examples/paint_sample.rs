//! Paints the sample plate: a fluted pastry, hot from the oven, on a cold dish over the letters
//! CANELÉ in a cold frame. `cargo run -p canele-laplace --example paint_sample [FILE]`
//! writes `apps/laplace/sample.png` or FILE.

use std::f64::consts::PI;
use std::path::PathBuf;

use canele_show::Picture;

const WIDTH: usize = 512;
const HEIGHT: usize = 384;

const FREE: [u8; 4] = [0, 0, 0, 255];
const COLD: [u8; 4] = [0, 0, 255, 255];
const HOT: [u8; 4] = [255, 0, 0, 255];
const WARM: [u8; 4] = [255, 0, 128, 255];
const COOL: [u8; 4] = [96, 24, 150, 255];

/// Letters on a grid of 5 × 9, the top two rows for the accent.
const LETTERS: [[&str; 9]; 6] = [
    ["     ", "     ", " ### ", "#   #", "#    ", "#    ", "#    ", "#   #", " ### "],
    ["     ", "     ", " ### ", "#   #", "#   #", "#####", "#   #", "#   #", "#   #"],
    ["     ", "     ", "#   #", "##  #", "# # #", "# # #", "#  ##", "#   #", "#   #"],
    ["     ", "     ", "#####", "#    ", "#    ", "#### ", "#    ", "#    ", "#####"],
    ["     ", "     ", "#    ", "#    ", "#    ", "#    ", "#    ", "#    ", "#####"],
    ["  ## ", " ##  ", "#####", "#    ", "#    ", "#### ", "#    ", "#    ", "#####"],
];
/// Pixels of the plate to a square of a letter's grid.
const SQUARE: usize = 9;
const LETTERS_TOP: usize = 268;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usual = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/sample.png"));
    let file = std::env::args_os().nth(1).map_or_else(usual, PathBuf::from);
    let places = (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y)));
    let pixels = places.map(|(x, y)| pixel(x, y)).collect();
    Picture { width: WIDTH, height: HEIGHT, pixels }.write(&file)?;
    println!("painted {}", file.display());
    Ok(())
}

fn pixel(x: usize, y: usize) -> [u8; 4] {
    let frame = 6;
    if x < frame || y < frame || x >= WIDTH - frame || y >= HEIGHT - frame {
        return COLD;
    }
    letters(x, y)
        .or_else(|| pastry(x as f64 - 256.0, y as f64))
        .or_else(|| steam(x as f64 - 256.0, y as f64))
        .unwrap_or(FREE)
}

fn letters(x: usize, y: usize) -> Option<[u8; 4]> {
    let left = (WIDTH - (LETTERS.len() * 6 - 1) * SQUARE) / 2;
    let column = x.checked_sub(left)? / SQUARE;
    let row = y.checked_sub(LETTERS_TOP)? / SQUARE;
    let line = LETTERS.get(column / 6)?.get(row)?;
    if line.as_bytes().get(column % 6) == Some(&b'#') {
        return Some(HOT);
    }
    // A cold nail in every empty square separates the letters.
    let from_middle = |place: usize, start: usize| ((place - start) % SQUARE).abs_diff(SQUARE / 2);
    let is_nail = row >= 2 && from_middle(x, left) <= 1 && from_middle(y, LETTERS_TOP) <= 1;
    is_nail.then_some(COLD)
}

/// Paints the pastry seen from the side, `x` from its axis, and its dish.
fn pastry(x: f64, y: f64) -> Option<[u8; 4]> {
    let (top, bottom) = (82.0, 234.0);
    if (244.0..250.0).contains(&y) && x.abs() < 170.0 {
        return Some(COLD);
    }
    let half_width = 74.0 + 34.0 * (y - top) / (bottom - top);
    let across = x / half_width;
    if across.abs() > 1.0 {
        return None;
    }
    // The visible half of the pastry has nine flutes, which narrow towards the sides.
    let flute = across.asin() / PI * 9.0;
    let crest = (flute * 2.0 * PI).cos();
    let round = (1.0 - across * across).sqrt();
    let rim = top - 17.0 * round + 2.5 * crest;
    if y < rim || y > bottom + 6.0 * round + 2.0 * crest {
        return None;
    }
    let on_top = y < top + 14.0 * round;
    let dimple = (x / 40.0).powi(2) + ((y - 79.0) / 6.5).powi(2);
    if dimple < 1.0 {
        return Some(COOL);
    }
    // The sides of the grooves between the flutes stay free.
    if crest < 0.1 && !on_top {
        return (crest < -0.9).then_some(COOL);
    }
    let blue = 150.0 * across.abs() + if on_top { 70.0 } else { 0.0 };
    Some([255, 70, blue.min(255.0) as u8, 255])
}

/// Paints three wisps above the pastry, with cold air between them.
fn steam(x: f64, y: f64) -> Option<[u8; 4]> {
    if (12.0..50.0).contains(&y) && [-57.0, -19.0, 19.0, 57.0].iter().any(|air| (x - air).abs() < 1.5) {
        return Some(COLD);
    }
    let wisp =
        |middle: f64, top: f64| (top..52.0).contains(&y) && (x - middle - 7.0 * (y / 7.5).sin()).abs() < 2.5;
    (wisp(-38.0, 26.0) || wisp(0.0, 15.0) || wisp(38.0, 26.0)).then_some(WARM)
}
