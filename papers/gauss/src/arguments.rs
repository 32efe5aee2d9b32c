//! The command line.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Parser;

use crate::eliminate::Pivoting;
use crate::matrix::LARGEST;

const EXAMPLES: &str = "\
The right-hand side is chosen so that all components of the solution are 1.

Examples:
  gauss --size 100                                     alone, all samples in one process
  canele run -n 3 gauss --size 200                     one sample on each rank
  canele run -n 3 gauss --matrix hilbert --size 8      an ill-conditioned system
  gauss --matrix bcsstk01.mtx --log unstable.txt       a Matrix Market file, and a file of the unstable operations";

/// Solves a linear system by Gauss elimination with stochastic arithmetic (CESTAC), and prints the
/// significant digits of the solution.
#[derive(Debug, Clone, Parser)]
#[command(name = "gauss", version, after_help = EXAMPLES)]
pub struct Arguments {
    /// Number of equations; a Matrix Market file has its own
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=LARGEST as i64))]
    pub size: u32,
    /// Matrix: `random`, `hilbert`, or a Matrix Market file
    #[arg(long, value_name = "MATRIX", default_value = "random")]
    pub matrix: Source,
    /// Search for the pivot of each step
    #[arg(long, value_enum, default_value = "partial")]
    pub pivoting: Pivoting,
    /// Seed of the random matrix and of the random roundings
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Number of components of the solution to print
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub show: usize,
    /// Check all operations and write the unstable ones to this file; slow
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Compute all samples on rank 0, also in a job of 3 ranks
    #[arg(long)]
    pub sequential: bool,
    /// Compute with plain numbers on rank 0, without knowledge of their significant digits
    #[arg(long, conflicts_with_all = ["sequential", "log"])]
    pub plain: bool,
    /// Print the measurements as one JSON object instead of the table
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

/// The source of the matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Random entries between -1 and 1.
    Random,
    /// Entry (i, j) is 1 / (i + j + 1), counted from 0.
    Hilbert,
    /// A Matrix Market file.
    File(PathBuf),
}

impl FromStr for Source {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "random" => Self::Random,
            "hilbert" => Self::Hilbert,
            file => Self::File(file.into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_matrix_is_a_name_or_a_file() {
        let source = |text| Arguments::try_parse_from(["gauss", "--matrix", text]).unwrap().matrix;
        assert_eq!(source("hilbert"), Source::Hilbert);
        assert_eq!(source("a.mtx"), Source::File("a.mtx".into()));
    }

    #[test]
    fn senseless_arguments_are_refused() {
        for words in [&["--size", "0"][..], &["--plain", "--sequential"], &["--pivoting", "some"]] {
            assert!(Arguments::try_parse_from([&["gauss"], words].concat()).is_err(), "{words:?}");
        }
    }
}
