//! The command line.

use std::path::PathBuf;

use canele_show::picture::MOST_PIXELS;
use clap::Parser;

use crate::error::MandelbrotError;
use crate::view::View;

/// Farthest visible point: the set lies within 2 of the origin.
const FARTHEST: f64 = 100.0;
const LONGEST_SIDE: u64 = 65_535;

const EXAMPLES: &str = "\
Examples:
  mandelbrot                                         the sea-horse valley, alone
  canele run -n 4 mandelbrot                         a master and three workers
  canele run -n 2 mandelbrot --threads 2             two processes that compute in two threads each
  canele run -n 4 mandelbrot --center -0.75,0 --width 3.2 --iterations 1000
  canele run -n 4 mandelbrot --size 3840x2160 --output wallpaper.png";

/// Computes a picture of the Mandelbrot set. The first process hands slices of the picture out to
/// the others as they ask for them; a single process computes alone.
#[derive(Debug, Clone, Parser)]
#[command(name = "mandelbrot", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// The picture to write, as PNG
    #[arg(long, value_name = "FILE", default_value = "mandelbrot.png")]
    pub output: PathBuf,
    /// Pixels of the picture
    #[arg(long, value_name = "WxH", default_value = "1920x1080", value_parser = size)]
    pub size: Size,
    /// The point in the middle of the picture
    #[arg(long, value_name = "X,Y", default_value = "-0.74332,0.13139", value_parser = point, allow_hyphen_values = true)]
    pub center: Point,
    /// Width of the picture in the plane of numbers; the whole set needs 3.2
    #[arg(long, value_name = "W", default_value = "0.0019", value_parser = width, allow_negative_numbers = true)]
    pub width: f64,
    /// Points that have not escaped after so many iterations are drawn black
    #[arg(long, value_name = "N", default_value_t = 17_500, value_parser = clap::value_parser!(u32).range(1..))]
    pub iterations: u32,
    /// Rows in a slice handed out
    #[arg(long, value_name = "ROWS", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub slice_rows: u32,
    /// Compute in so many threads of every process, the first one too; its master is then one thread more
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Print what was measured as one JSON object instead of the summary
    #[arg(long)]
    pub json: bool,
    /// Show neither progress nor a summary
    #[arg(long)]
    pub quiet: bool,
}

/// Width and height of the picture in pixels, both at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub usize, pub usize);

/// A number x + iy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point(pub f64, pub f64);

impl Arguments {
    /// Returns the view to draw, checked against the number of ranks.
    pub fn view(&self, ranks: usize) -> Result<View, MandelbrotError> {
        let (Size(columns, rows), Point(x, y)) = (self.size, self.center);
        if ranks > rows {
            return Err(MandelbrotError::MoreRanksThanRows { ranks, rows });
        }
        let view = View { columns, rows, x, y, step: self.width / columns as f64, limit: self.iterations };
        if view.is_too_deep() {
            return Err(MandelbrotError::TooDeep { step: view.step });
        }
        Ok(view)
    }
}

fn size(text: &str) -> Result<Size, String> {
    let sides =
        text.split_once(['x', 'X']).map(|(columns, rows)| (columns.parse::<u64>(), rows.parse::<u64>()));
    let Some((Ok(columns), Ok(rows))) = sides else {
        return Err("give width and height in pixels, for example 1920x1080".into());
    };
    if columns == 0 || rows == 0 {
        return Err("an empty picture: both sides must be at least 1".into());
    }
    if columns > LONGEST_SIDE || rows > LONGEST_SIDE || columns * rows > MOST_PIXELS {
        return Err(format!("too large: at most {LONGEST_SIDE} on a side and {MOST_PIXELS} pixels in all"));
    }
    Ok(Size(columns as usize, rows as usize))
}

fn point(text: &str) -> Result<Point, String> {
    let parts = text.split_once(',').map(|(x, y)| (x.trim().parse::<f64>(), y.trim().parse::<f64>()));
    match parts {
        Some((Ok(x), Ok(y))) if x.abs() <= FARTHEST && y.abs() <= FARTHEST => Ok(Point(x, y)),
        Some((Ok(_), Ok(_))) => {
            Err(format!("nothing to see there: both must be between -{FARTHEST} and {FARTHEST}"))
        }
        _ => Err("give two numbers, for example -0.75,0".into()),
    }
}

fn width(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(width) if width > 0.0 && width <= FARTHEST => Ok(width),
        Ok(_) => Err(format!("the width must be above 0 and at most {FARTHEST}")),
        Err(_) => Err("not a number; the whole set needs 3.2".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from([&["mandelbrot"], arguments].concat())
    }

    #[test]
    fn the_command_and_its_defaults_are_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
        let view = parse(&[]).unwrap().view(4).unwrap();
        assert_eq!((view.columns, view.rows, view.limit), (1920, 1080, 17_500));
    }

    #[test]
    fn a_view_is_read() {
        let arguments = parse(&["--center", "-0.5,1e-3", "--width", "2", "--size", "40x30"]).unwrap();
        assert_eq!(arguments.center, Point(-0.5, 1e-3));
        let view = arguments.view(1).unwrap();
        assert_eq!((view.step, view.rows), (0.05, 30));
    }

    #[test]
    fn senseless_values_are_refused() {
        let bad = [
            ("--size", &["0x5", "5x0", "5", "x", "-1x5", "70000x1", "60000x60000", "ax5", "5x5x5"][..]),
            ("--center", &["1", "1,", "a,b", "nan,0", "inf,0", "1e9,0", "1,2,3"]),
            ("--width", &["0", "-1", "nan", "inf", "1e9", "wide"]),
            ("--iterations", &["0", "-1", "many"]),
            ("--slice-rows", &["0", "-1"]),
        ];
        for (name, values) in bad {
            for value in values {
                assert!(parse(&[name, value]).is_err(), "{name} {value}");
            }
        }
    }

    #[test]
    fn views_that_cannot_be_drawn_are_refused() {
        let small = parse(&["--size", "100x3"]).unwrap();
        assert!(small.view(3).is_ok());
        assert!(matches!(small.view(4), Err(MandelbrotError::MoreRanksThanRows { ranks: 4, rows: 3 })));
        let deep = parse(&["--width", "1e-15"]).unwrap();
        assert!(matches!(deep.view(1), Err(MandelbrotError::TooDeep { .. })));
    }
}
