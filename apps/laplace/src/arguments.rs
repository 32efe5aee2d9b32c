//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::exchange::MOST_THREADS;
use crate::solve::Stop;

/// The text that `--help` shows below the options: painting a plate, and running on several processes.
const MORE: &str = "\
How to paint a plate (any drawing program, any size, saved as PNG):
  coloured pixel   fixed: stays at 50 + 50 x (red - blue) / 255 degrees.
                   Pure red is 100 degrees, green and purple 50, pure blue 0.
  grey pixel       free (red = green = blue): its temperature is computed.
                   It starts at 100 x grey / 255 degrees: black at 0, white at 100.
  transparent      free, starts at 0 degrees.
Everything outside of the picture is held at 0 degrees. The result maps
0 degrees to black, over purple and orange, to pale yellow at 100.

Examples:
  laplace                                       the sample plate, alone
  canele run -n 4 laplace                       the same on 4 processes
  canele run -n 4 laplace --plate mine.png --output mine-heat.png
  canele run -n 2 laplace --threads 2           2 processes that compute in 2 threads each
  canele run -n 2 laplace --tolerance 0.1       a quick look";

/// Computes the temperature of a plate painted as a PNG picture (Laplace equation, red-black
/// Gauss-Seidel). The result is the same to the last bit on any number of processes.
#[derive(Debug, Clone, Parser)]
#[command(name = "laplace", version, after_help = MORE)]
pub struct Arguments {
    /// The plate, a PNG picture [default: a sample, the letters CANELÉ under a pastry]
    #[arg(long, value_name = "FILE")]
    pub plate: Option<PathBuf>,
    /// The heat map to write, a PNG picture
    #[arg(long, value_name = "FILE", default_value = "laplace.png")]
    pub output: PathBuf,
    /// Stop when no pixel changes by so many degrees in a sweep
    #[arg(long, value_name = "DEGREES", default_value = "0.001", value_parser = positive, allow_negative_numbers = true)]
    pub tolerance: f64,
    /// Stop after so many sweeps in any case
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_sweeps: u64,
    /// Look at the largest change every so many sweeps
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub check_every: u64,
    /// Computing threads of each process, each with a block of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_THREADS as i64))]
    pub threads: u32,
    /// Print what was measured as one JSON object instead of the summary
    #[arg(long)]
    pub json: bool,
    /// Show neither progress nor a summary
    #[arg(long)]
    pub quiet: bool,
}

impl Arguments {
    /// Returns the condition that ends the sweeps.
    pub fn stop(&self) -> Stop {
        Stop { tolerance: self.tolerance, max_sweeps: self.max_sweeps, check_every: self.check_every }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        Ok(_) => Err("the tolerance must be above 0 degrees, for example 0.001".into()),
        Err(_) => Err("not a number; give degrees, for example 0.001".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from([&["laplace"], arguments].concat())
    }

    #[test]
    fn defaults_are_those_of_the_published_experiment() {
        let arguments = parse(&[]).unwrap();
        assert_eq!(arguments.tolerance, 1e-3);
        assert_eq!(arguments.plate, None);
        assert_eq!(arguments.output, PathBuf::from("laplace.png"));
    }

    #[test]
    fn senseless_numbers_are_refused() {
        for bad in ["0", "-1", "nan", "inf", "warm"] {
            assert!(parse(&["--tolerance", bad]).is_err(), "--tolerance {bad}");
            assert!(parse(&[&format!("--tolerance={bad}")]).is_err(), "--tolerance={bad}");
        }
        for name in ["--max-sweeps", "--check-every", "--threads"] {
            assert!(parse(&[name, "0"]).is_err(), "{name} 0");
            assert!(parse(&[name, "1"]).is_ok(), "{name} 1");
        }
    }

    #[test]
    fn the_command_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
