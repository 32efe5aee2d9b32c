//! The command line.

use clap::{Args, Parser, Subcommand};

use crate::placement::Placement;
use crate::space::Settings;

const EXAMPLES: &str = "\
The matrix, its transpose and the histogram lie in shared pages; the result is compared with a serial reference.

Examples:
  dsm                                                alone: a server and a client in one process
  canele run -n 4 dsm                                a page server and three clients
  canele run -n 6 dsm --servers 2 --placement blocks  clients guess the placement, and ask the next server if they are wrong
  canele run -n 2 dsm requests                       the time of requests for 1 to 64 pages at once";

/// Transposes a matrix and counts its entries in distributed shared memory. Page servers hold the pages, and
/// clients cache them.
#[derive(Debug, Clone, Parser)]
#[command(name = "dsm", version, after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    /// Experiment to run instead of the demonstration
    #[command(subcommand)]
    pub experiment: Option<Experiment>,
    /// The demonstration
    #[command(flatten)]
    pub demonstration: Demonstration,
}

/// Options of the demonstration.
#[derive(Debug, Clone, Args)]
pub struct Demonstration {
    /// Number of pages of the matrix, one for each row; the transpose takes as many again
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub pages: u32,
    /// Size of a page in bytes, a multiple of 8
    #[arg(long, value_name = "BYTES", default_value_t = 65_536)]
    pub page_bytes: usize,
    /// Number of ranks that serve pages; the others compute
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub servers: u32,
    /// Distribution of pages over the servers
    #[arg(long, value_enum, default_value = "round-robin")]
    pub placement: Placement,
    /// Distribution by which clients guess the server of a page; after a wrong guess they ask the next
    /// servers
    #[arg(long, value_enum, default_value = "round-robin")]
    pub guess: Placement,
    /// Seed of the entries
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Show neither progress nor a summary
    #[arg(long)]
    pub quiet: bool,
}

impl Demonstration {
    /// Returns the settings of the address space: the matrix, its transpose, and a page of counts.
    pub fn settings(&self) -> Settings {
        Settings {
            pages: 2 * self.pages + 1,
            page_bytes: self.page_bytes,
            servers: self.servers,
            placement: self.placement,
            guess: self.guess,
        }
    }
}

/// The other tasks of the program.
#[derive(Debug, Clone, Subcommand)]
pub enum Experiment {
    /// Measures requests for several pages at once, as in NewMadeleine's first experiment, under several
    /// strategies in turns
    Requests(Requests),
}

/// Options of the experiment.
#[derive(Debug, Clone, Args)]
pub struct Requests {
    /// Numbers of pages asked for at once
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 2, 3, 4, 8, 16, 32, 64],
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub pages: Vec<u32>,
    /// Size of a page in bytes, a multiple of 8; between hosts, pages of up to 65,536 bytes travel without a
    /// rendezvous
    #[arg(long, value_name = "BYTES", default_value_t = 65 << 10)]
    pub page_bytes: usize,
    /// Strategies that put messages into packets; each is compared with the first
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values_t = ["fifo".to_owned(), "aggregate".to_owned()],
          value_parser = strategy)]
    pub strategy: Vec<String>,
    /// Number of rounds, each of which measures everything once; medians over all rounds are printed
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

impl Requests {
    /// Returns the settings of the address space, for the most pages requested at once.
    pub fn settings(&self) -> Settings {
        let pages = self.pages.iter().max().copied().unwrap_or(0);
        Settings { pages, page_bytes: self.page_bytes, ..Settings::default() }
    }
}

fn strategy(name: &str) -> Result<String, canele::Error> {
    let unknown = || canele::Error::Strategy(name.to_owned());
    canele::strategy::named(name).map(|_| name.to_owned()).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from([&["dsm"], words].concat())
    }

    #[test]
    fn the_command_and_its_defaults_are_consistent() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
        let arguments = parse(&[]).unwrap();
        assert!(arguments.experiment.is_none());
        assert_eq!(arguments.demonstration.settings().pages, 129);
        assert!(arguments.demonstration.settings().check(2).is_ok());
    }

    #[test]
    fn the_experiment_takes_lists() {
        let words = ["requests", "--pages", "3,7", "--strategy", "aggregate", "--json"];
        let Some(Experiment::Requests(requests)) = parse(&words).unwrap().experiment else { panic!() };
        assert_eq!((requests.pages.as_slice(), requests.settings().pages), (&[3, 7][..], 7));
        assert_eq!(requests.strategy, ["aggregate"]);
    }

    #[test]
    fn senseless_arguments_are_refused() {
        for words in [
            &["--pages", "0"][..],
            &["--servers", "0"],
            &["--placement", "anywhere"],
            &["requests", "--pages", "0"],
            &["requests", "--pages", "257"],
            &["requests", "--rounds", "0"],
            &["requests", "--strategy", "lifo"],
            &["replies"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
