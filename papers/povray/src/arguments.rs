//! The command line.

use std::path::PathBuf;

use canele_show::picture::{MOST_PIXELS, check_writable};
use clap::Parser;
use clap::builder::RangedI64ValueParser;

use crate::error::PovrayError;

const LONGEST_SIDE: i64 = 65_535;

const EXAMPLES: &str = "\
Examples:
  povray-farm                                        a plate of canelés, alone
  canele run -n 4 povray-farm                        a master and three workers
  canele run -n 4 povray-farm --scene house.pov --width 1920 --height 1080 --output house.png
  canele run -n 4 --on-failure continue povray-farm  workers may die: the others render their slices

The program povray 3.7 must be in PATH on each host, and the scene at the same path. Slices together are the whole
picture only if no pixel depends on chance or on earlier pixels: no radiosity, focal blur, or jitter of lights.";

/// Renders a POV-Ray scene. Rank 0 hands out slices of the picture to the other ranks when they ask; a single
/// rank renders alone.
#[derive(Debug, Clone, Parser)]
#[command(name = "povray-farm", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// Scene to render [default: a plate of canelés]
    #[arg(long, value_name = "FILE.pov")]
    pub scene: Option<PathBuf>,
    /// Picture to write, as PNG
    #[arg(long, value_name = "FILE", default_value = "povray.png")]
    pub output: PathBuf,
    /// Width of the picture, in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 800, value_parser = side())]
    pub width: u32,
    /// Height of the picture, in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = 600, value_parser = side())]
    pub height: u32,
    /// Number of rows of a slice
    #[arg(long, value_name = "ROWS", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    pub slice_rows: u32,
    /// POV-Ray's quality: 0 to 5 leave out shadows, up to 7 reflections, 9 has all
    #[arg(long, value_name = "Q", default_value_t = 9, value_parser = clap::value_parser!(u8).range(0..=11))]
    pub quality: u8,
    /// Depth of antialiasing: the number of times that pixels at edges are divided; 0 divides none
    #[arg(long, value_name = "TIMES", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=9))]
    pub antialias: u8,
    /// Number of POV-Ray processes of each worker at a time; two hide the half second that each waits at its
    /// start and end
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub processes: u8,
    /// Show neither progress nor a summary
    #[arg(long)]
    pub quiet: bool,
}

impl Arguments {
    /// Checks on rank 0 that the picture is possible and can be written.
    ///
    /// # Errors
    /// The picture is too large, or its file cannot be written.
    pub fn check(&self) -> Result<(), PovrayError> {
        let (width, height) = (self.width, self.height);
        if u64::from(width) * u64::from(height) > MOST_PIXELS {
            return Err(PovrayError::TooLarge { width, height });
        }
        Ok(check_writable(&self.output)?)
    }
}

fn side() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=LONGEST_SIDE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from([&["povray-farm"], arguments].concat())
    }

    #[test]
    fn the_command_and_its_defaults_are_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
        let arguments = parse(&[]).unwrap();
        assert_eq!((arguments.width, arguments.height, arguments.processes), (800, 600, 2));
        assert!(arguments.scene.is_none());
    }

    #[test]
    fn senseless_values_are_refused() {
        let bad = [
            ("--width", &["0", "-1", "65536", "wide"][..]),
            ("--height", &["0", "-1", "65536", "high"]),
            ("--slice-rows", &["0", "-1"]),
            ("--quality", &["-1", "12", "best"]),
            ("--antialias", &["-1", "10"]),
            ("--processes", &["0", "17"]),
        ];
        for (name, values) in bad {
            for value in values {
                assert!(parse(&[name, value]).is_err(), "{name} {value}");
            }
        }
    }

    #[test]
    fn pictures_that_are_too_large_are_refused() {
        let large = parse(&["--width", "65535", "--height", "65535"]).unwrap();
        assert!(matches!(large.check(), Err(PovrayError::TooLarge { .. })));
    }
}
