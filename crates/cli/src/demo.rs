//! `canele demo`: finds an example program beside the `canele` executable and runs it as a job.
//!
//! Owns nothing of the programs; they are ordinary users of the library.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::{run, say, wrong_usage};

/// Arguments of `canele demo`.
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE, after_help = EXAMPLES)]
pub struct Arguments {
    /// Number of ranks
    #[arg(short = 'n', long = "ranks", default_value_t = 4, value_name = "N")]
    ranks: u32,
    /// laplace or mandelbrot, and what is passed to it (`--help` there shows its own options)
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM ARGS")]
    command: Vec<OsString>,
}

const USAGE: &str = "canele demo [-n N] laplace|mandelbrot [ARGS…]";

const EXAMPLES: &str = "Programs:
  laplace      temperatures of a plate by red-black relaxation
  mandelbrot   the Mandelbrot set, slices handed out over mailboxes

Examples:
  canele demo laplace                     temperatures of a plate, on 4 ranks
  canele demo -n 2 mandelbrot             the Mandelbrot set, one master and one worker
  canele demo laplace --help              what the program itself can do";

const PROGRAMS: [&str; 2] = ["laplace", "mandelbrot"];

/// Runs the chosen program.
pub fn main(arguments: Arguments) -> ExitCode {
    let mut command = arguments.command;
    let Some(&name) = PROGRAMS.iter().find(|&&name| command[0] == *name) else {
        let asked = command[0].to_string_lossy();
        return wrong_usage(&format!("no program {asked}: there are {}", PROGRAMS.join(" and ")));
    };
    match beside_this_executable(name) {
        Ok(path) => {
            command[0] = path.into_os_string();
            run::start(run::Arguments::new(arguments.ranks, command))
        }
        Err(looked_at) => {
            say(&format!(
                "the program {name} is not at {}: build it with `cargo build --release -p canele-{name}`",
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
