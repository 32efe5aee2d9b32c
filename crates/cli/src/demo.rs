//! `canele demo`: finds an example program beside the `canele` executable and runs it as a job.
//!
//! Owns nothing of the programs; they are ordinary users of the library.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::{run, say};

/// Arguments of `canele demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Number of ranks
    #[arg(short = 'n', long = "ranks", default_value_t = 4, value_name = "N")]
    ranks: u32,
    /// Which program
    #[arg(value_enum)]
    program: Demo,
    /// Passed to the program; `--help` here shows its own options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

const EXAMPLES: &str = "Examples:
  canele demo laplace                     temperatures of a plate, on 4 ranks
  canele demo -n 2 mandelbrot             the Mandelbrot set, one master and one worker
  canele demo laplace --help              what the program itself can do";

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Demo {
    /// Temperatures of a plate by red-black relaxation
    Laplace,
    /// The Mandelbrot set, slices handed out over mailboxes
    Mandelbrot,
}

/// Runs the chosen program.
pub fn main(arguments: Arguments) -> ExitCode {
    let name = match arguments.program {
        Demo::Laplace => "laplace",
        Demo::Mandelbrot => "mandelbrot",
    };
    match beside_this_executable(name) {
        Ok(path) => {
            let mut command = vec![path.into_os_string()];
            command.extend(arguments.arguments);
            run::start(run::Arguments::new(arguments.ranks, command))
        }
        Err(looked_at) => {
            say(&format!(
                "the program {name} is not at {}: build it with `cargo build --release -p {name}`",
                looked_at.display()
            ));
            ExitCode::from(127)
        }
    }
}

fn beside_this_executable(name: &str) -> Result<PathBuf, PathBuf> {
    let executable = std::env::current_exe().unwrap_or_default();
    let path = executable.with_file_name(name);
    if path.is_file() { Ok(path) } else { Err(path) }
}
