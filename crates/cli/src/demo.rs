//! `canele demo`: finds an example program of this installation and runs it as a job.
//!
//! Owns no part of the programs, which are ordinary users of the library.

use std::ffi::OsString;
use std::process::ExitCode;

use canele_launch::installation::example_program;
use canele_sys::topology;
use clap::Parser;

use crate::{run, say, usage, wrong_usage};

/// Arguments of `canele demo`.
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE, after_help = EXAMPLES)]
pub struct DemoArguments {
    #[command(flatten)]
    size: Size,
    /// Name of the program, and its arguments (`canele demo PROGRAM --help` shows its options)
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM ARGS")]
    command: Vec<OsString>,
}

/// The one option that is not the program's, wherever it stands.
#[derive(Debug, clap::Args)]
struct Size {
    /// Number of ranks, before or after the program's name [default: one for each processor, at most 4]
    #[arg(short = 'n', long = "ranks", value_name = "N")]
    ranks: Option<u32>,
}

/// That option alone, as it is collected from the command line.
#[derive(Debug, Parser)]
#[command(name = "canele demo", override_usage = USAGE)]
struct Collected {
    #[command(flatten)]
    size: Size,
}

/// Largest default number of ranks.
const MOST_RANKS: u32 = 4;

const USAGE: &str = "canele demo laplace|mandelbrot|gauss|dsm|povray [-n N] [ARGS…]";

const EXAMPLES: &str = "Programs:
  laplace      temperatures of a plate by red-black relaxation
  mandelbrot   the Mandelbrot set, slices handed out over mailboxes
  gauss        linear systems in stochastic arithmetic, a sample on each of three ranks
  dsm          a matrix transposed in distributed shared memory
  povray       a scene for POV-Ray, which must be installed, rendered slice by slice

Examples:
  canele demo laplace                     temperatures of a plate, on up to 4 ranks
  canele demo mandelbrot -n 2             the Mandelbrot set, one master and one worker
  canele demo povray -n 3                 a plate of canelés, one master and two workers
  canele demo laplace --help              options of the program itself";

/// Name and executable of the package `canele-NAME`. POV-Ray's own executable has the name `povray`.
const PROGRAMS: [(&str, &str); 5] = [
    ("laplace", "laplace"),
    ("mandelbrot", "mandelbrot"),
    ("gauss", "gauss"),
    ("dsm", "dsm"),
    ("povray", "povray-farm"),
];

/// Runs the chosen program.
pub fn main(arguments: DemoArguments) -> ExitCode {
    let (ranks, mut command) = match split(arguments) {
        Ok(split) => split,
        Err(error) => return usage(&error),
    };
    let Some(&(name, executable)) = PROGRAMS.iter().find(|&&(name, _)| command[0] == *name) else {
        let asked = command[0].to_string_lossy();
        return wrong_usage(&format!(
            "no program {asked}: there are {}",
            PROGRAMS.map(|(name, _)| name).join(", ")
        ));
    };
    match example_program(executable) {
        Ok(path) => {
            command[0] = path.into_os_string();
            run::main(&run::RunArguments::new(ranks, command), None)
        }
        Err(looked_at) => {
            say(&format!(
                "the program {executable} is not at {}: the wheel has it, and in the sources \
                 `cargo build --release -p canele-{name}` builds it",
                looked_at.display()
            ));
            ExitCode::from(127)
        }
    }
}

/// Returns the number of ranks, and the program with its own arguments: all but that number, and everything
/// after a `--`.
fn split(arguments: DemoArguments) -> Result<(u32, Vec<OsString>), clap::Error> {
    let (mut ours, mut its) = (vec![OsString::from("canele demo")], Vec::new());
    let mut words = arguments.command.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        match &*text {
            "--" => {
                its.push(word);
                its.extend(words.by_ref());
            }
            "-n" | "--ranks" => ours.extend([word].into_iter().chain(words.next())),
            _ if text.starts_with("-n") || text.starts_with("--ranks=") => ours.push(word),
            _ => its.push(word),
        }
    }
    if let Some(before) = arguments.size.ranks {
        ours.push(OsString::from(format!("-n{before}")));
    }
    let ranks = Collected::try_parse_from(ours)?.size.ranks;
    Ok((ranks.unwrap_or_else(default_ranks), its))
}

/// Returns at most the number of processors: otherwise the times printed by a program would include those of
/// other ranks.
fn default_ranks() -> u32 {
    topology::usable().min(MOST_RANKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(words: &str) -> Result<(u32, Vec<OsString>), clap::Error> {
        #[derive(Parser)]
        struct Demo {
            #[command(flatten)]
            arguments: DemoArguments,
        }
        super::split(Demo::try_parse_from(format!("demo {words}").split(' '))?.arguments)
    }

    #[test]
    fn the_number_of_ranks_may_stand_anywhere_and_the_rest_is_the_programs() {
        for (words, ranks, its) in [
            ("laplace", default_ranks(), "laplace"),
            ("-n 2 laplace --quiet", 2, "laplace --quiet"),
            ("laplace -n 2 --quiet", 2, "laplace --quiet"),
            ("laplace --quiet -n2", 2, "laplace --quiet"),
            ("--ranks 3 laplace", 3, "laplace"),
            ("laplace --ranks=3 --plate x", 3, "laplace --plate x"),
            ("laplace -n 4 --help", 4, "laplace --help"),
            ("laplace --help", default_ranks(), "laplace --help"),
            ("laplace -- -n 2", default_ranks(), "laplace -- -n 2"),
        ] {
            let expected = its.split(' ').map(OsString::from).collect();
            assert_eq!(split(words).unwrap(), (ranks, expected), "{words}");
        }
    }

    #[test]
    fn numbers_that_are_missing_wrong_or_given_twice_are_refused() {
        for words in ["laplace -n", "laplace -n two", "laplace -n -1", "-n 2 laplace -n 3"] {
            assert!(split(words).is_err(), "{words}");
        }
    }
}
