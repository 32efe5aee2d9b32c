//! The command `canele`: runs parallel programs, tells about the machine and about running jobs,
//! measures, demonstrates, and simulates.
//!
//! Owns the command line and the exit statuses: 0, the first failing rank's, 128 + n for signal n,
//! 2 for wrong usage. Every message of the command itself goes to standard error and starts `canele: `.
#![forbid(unsafe_code)]

mod bench;
mod demo;
mod info;
mod run;
mod sim;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};

/// Message passing between processes, in user space.
#[derive(Debug, Parser)]
#[command(name = "canele", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Canele {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  canele run -n 4 ./program input.dat     start four ranks of a program
  canele demo laplace                     see one compute a picture
  canele info                             what this machine offers
  canele bench latency                    measure it
  canele sim campaign --seeds 0..1000     check the protocols on simulated networks
  canele COMMAND --help                   options and examples of one command";

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the ranks of a parallel program and wait for them
    Run(run::Arguments),
    /// Show the machine, the rails, the settings, or a running job
    Info(info::Arguments),
    /// Measure latency, bandwidth, rates and collectives beside the machine's limits
    Bench(bench::Arguments),
    /// Started by `bench`: one rank of a measurement
    #[command(hide = true)]
    BenchRank(bench::RankArguments),
    /// Run one of the example programs
    Demo(demo::Arguments),
    /// Simulate ranks and networks in one process, on virtual time
    Sim(sim::Arguments),
    /// Started by `run --hosts` on each host: runs the ranks there
    #[command(hide = true)]
    Agent,
    /// Started by `run`: holds the ranks, and ends them should the launcher die
    #[command(hide = true)]
    Keep {
        /// Process id of the launcher, for whoever lists processes.
        launcher: u32,
    },
}

fn main() -> ExitCode {
    let command = match Canele::try_parse() {
        Ok(canele) => canele.command,
        Err(error) => return usage(&error),
    };
    match command {
        Command::Run(arguments) => run::main(arguments),
        Command::Info(arguments) => info::main(&arguments),
        Command::Bench(arguments) => bench::main(&arguments),
        Command::BenchRank(arguments) => bench::rank_main(&arguments),
        Command::Demo(arguments) => demo::main(arguments),
        Command::Sim(arguments) => sim::main(&arguments),
        Command::Agent => run::deputise(),
        Command::Keep { .. } => run::keep(),
    }
}

/// Prints what clap has to say: help to standard output (0), wrong usage to standard error (2).
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A closed standard output is the reader's choice, not a failure.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            wrong_usage(&format!("a command is needed\n\n{}", Canele::command().render_help()))
        }
        _ => {
            let text = error.render().to_string();
            wrong_usage(text.strip_prefix("error: ").unwrap_or(&text).trim_end())
        }
    }
}

/// Says what is wrong with the command line. Exit status 2.
pub(crate) fn wrong_usage(text: &str) -> ExitCode {
    say(text);
    ExitCode::from(2)
}

/// One message of the command itself.
pub(crate) fn say(text: &str) {
    use std::io::Write;
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(std::io::stderr(), "canele: {text}");
}
