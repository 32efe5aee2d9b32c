//! The command `canele`: runs parallel programs, shows the machine and running jobs, measures, demonstrates,
//! and simulates.
//!
//! Owns the command line and the exit statuses: 0, the first failing rank's, 128 + n for signal n, 2 for
//! wrong usage. Under the names of MPI's commands, the statuses are those of these commands. Every message of
//! the command itself goes to standard error and starts with `canele: `.
#![forbid(unsafe_code)]

mod bench;
mod compile;
mod completion;
mod demo;
mod doctor;
mod info;
mod jobs;
mod manual;
mod mpichversion;
mod run;
mod sim;
mod top;
mod trace;
mod tune;
mod why;

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use canele_launch::mpiexec::{self, Asked};
use canele_launch::{JoinRole, StartError, adopt, serve_host, serve_join, supervise};
use canele_sys::printable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use compile::Language;

/// Message passing between processes, in user space.
#[derive(Debug, Parser)]
#[command(name = "canele", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Canele {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  canele run -n 4 ./program input.dat     start four ranks of a program
  canele cc -o program program.c          compile one that uses MPI
  canele demo laplace                     see one compute a picture
  canele info                             show this machine and its networks
  canele why                              find out why a job hangs, and which rank waits for which
  canele top                              watch the activity and the traffic of the ranks of running jobs
  canele trace run.json                   see where the time of a job went (`run --trace run.json`)
  canele doctor                           find obstacles for jobs, and their remedies
  canele bench latency                    measure the latency of messages
  canele tune                             measure the costs of this machine, by which jobs choose protocols
  canele paper --quick                    run the papers' experiments again
  canele sim campaign --seeds 0..1000     check the protocols on simulated networks
  canele COMMAND --help                   options and examples of one command";

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the ranks of a parallel program and wait for them
    Run(run::RunArguments),
    /// Compile and link C programs that use MPI
    Cc(compile::CompileArguments),
    /// Compile and link C++ programs that use MPI
    #[command(name = "c++")]
    Cxx(compile::CompileArguments),
    /// Compile and link Fortran programs that use MPI
    Fortran(compile::CompileArguments),
    /// Show the machine, the rails, the settings, or a running job
    Info(info::InfoArguments),
    /// Show what each rank of a running job waits for, and why the job does not go on
    Why(why::WhyArguments),
    /// Show the activity and the traffic of the ranks of running jobs, live
    Top(top::TopArguments),
    /// Sum up a trace of `run --trace`: causes of waits, imbalance, time in calls, messages
    Trace(trace::TraceArguments),
    /// Find obstacles for jobs on this machine or on hosts, with remedies
    Doctor(doctor::DoctorArguments),
    /// Started by `doctor` on each host: looks at it, and connects to the others
    #[command(hide = true)]
    DoctorHost,
    /// Started by `doctor`: one of two processes that read each other's memory
    #[command(hide = true)]
    DoctorPeer {
        /// Process id, address and word that the other process has printed.
        words: Vec<u64>,
    },
    /// Measure latency, bandwidth, rates and collectives beside the machine's limits
    Bench(bench::BenchArguments),
    /// Started by `bench`: one rank of a measurement
    #[command(hide = true)]
    BenchRank(bench::RankArguments),
    /// Measure the costs of this machine's caches, copies and networks, and write its profile, by which jobs
    /// choose protocols
    Tune(tune::TuneArguments),
    /// Started by `tune`: one of the processes that measure
    #[command(hide = true)]
    TuneWorker(tune::WorkerArguments),
    /// Run one of the example programs
    Demo(demo::DemoArguments),
    /// Run the experiments of the papers again, and write the results beside the published figures
    Paper(canele_papers::PaperArguments),
    /// Started by `paper`: one rank of an experiment
    #[command(hide = true)]
    PaperRank(canele_papers::RankArguments),
    /// Simulate ranks and networks in one process, on virtual time
    Sim(sim::SimArguments),
    /// Print the script by which a shell completes command lines
    Completion(completion::CompletionArguments),
    /// Started by `scripts/install`: writes the man pages
    #[command(hide = true)]
    Manual {
        /// Existing folder for the pages, which are written into its folders `man1` and `man3`.
        folder: PathBuf,
    },
    /// Check that words are a command line of `canele` or `mpiexec`, and run nothing; for tests of documents
    #[command(hide = true)]
    Parse {
        /// The words, of which the first is the command.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        words: Vec<OsString>,
    },
    /// Started by `run --hosts` on each host: runs the ranks there
    #[command(hide = true)]
    Agent,
    /// Started by ranks that another launcher has started: stands in for `run`
    #[command(hide = true)]
    Join {
        /// Process that it stands in for.
        #[arg(value_parser = ["launcher", "agent"])]
        role: String,
    },
    /// Started by a program that runs alone and starts processes itself: the launcher of its job
    #[command(hide = true)]
    Adopt {
        /// Process id of the program.
        program: u32,
    },
    /// Started by `run`: holds the ranks, and ends them if the launcher dies
    #[command(hide = true)]
    Supervise {
        /// Process id of the launcher, for users who list processes.
        launcher: u32,
    },
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().peekable();
    let name = words.next().unwrap_or_default();
    if let Some(main) = mpi_command(&name) {
        return main(words.collect());
    }
    // Installations without links name the command in the first word.
    match words.peek().and_then(|first| mpi_command(first)) {
        Some(main) => main(words.skip(1).collect()),
        None => command(std::iter::once(name).chain(words)),
    }
}

/// Returns the command of MPI that has this name, in any folder.
fn mpi_command(name: &OsStr) -> Option<fn(Vec<OsString>) -> ExitCode> {
    match Path::new(name).file_name().and_then(OsStr::to_str)? {
        "mpicc" => Some(|words| compile::main(Language::C, words)),
        "mpicxx" | "mpic++" | "mpiCC" => Some(|words| compile::main(Language::Cxx, words)),
        "mpifort" | "mpif90" | "mpif77" => Some(|words| compile::main(Language::Fortran, words)),
        "mpiexec" | "mpirun" => Some(mpiexec),
        "mpichversion" => Some(|words| mpichversion::main(&words)),
        _ => None,
    }
}

fn command(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let command = match parsed(words.into_iter().collect()) {
        Ok(canele) => canele.command,
        Err(error) => return usage(&error),
    };
    match command {
        Command::Run(arguments) => run::main(&arguments, None),
        Command::Cc(arguments) => compile::main(Language::C, arguments.words()),
        Command::Cxx(arguments) => compile::main(Language::Cxx, arguments.words()),
        Command::Fortran(arguments) => compile::main(Language::Fortran, arguments.words()),
        Command::Info(arguments) => info::main(&arguments),
        Command::Why(arguments) => why::main(&arguments),
        Command::Top(arguments) => top::main(&arguments),
        Command::Trace(arguments) => trace::main(&arguments),
        Command::Doctor(arguments) => doctor::main(&arguments),
        Command::DoctorHost => doctor::host_main(),
        Command::DoctorPeer { words } => doctor::peer_main(&words),
        Command::Bench(arguments) => bench::main(&arguments),
        Command::BenchRank(arguments) => bench::rank_main(&arguments),
        Command::Tune(arguments) => tune::main(&arguments),
        Command::TuneWorker(arguments) => tune::worker_main(&arguments),
        Command::Demo(arguments) => demo::main(arguments),
        Command::Paper(arguments) => canele_papers::main(&arguments),
        Command::PaperRank(arguments) => canele_papers::rank_main(&arguments),
        Command::Sim(arguments) => sim::main(&arguments),
        Command::Completion(arguments) => completion::main(&arguments),
        Command::Manual { folder } => manual::main(&folder),
        Command::Parse { words } => parse_only(words),
        Command::Agent => helper("agent: only `canele run --hosts` starts this", serve_host()),
        Command::Join { role } => {
            let role = if role == "launcher" { JoinRole::Launcher } else { JoinRole::Agent };
            helper("join: only ranks that another launcher has started start this", serve_join(role))
        }
        Command::Adopt { program } => match adopt(program) {
            Ok(status) => ExitCode::from(status),
            Err(StartError::Description(text)) => wrong_usage(&text),
            Err(StartError::System(error)) => {
                wrong_usage(&format!("adopt: only a program that starts processes starts this ({error})"))
            }
        },
        Command::Supervise { .. } => helper("supervise: only `canele run` starts this", supervise()),
    }
}

fn parsed(mut words: Vec<OsString>) -> Result<Canele, clap::Error> {
    if words.get(1).is_some_and(|word| word == "run") {
        words = run::with_number(words);
    }
    Canele::try_parse_from(words)
}

/// Checks a command line, prints its error if it has one, and runs nothing.
fn parse_only(words: Vec<OsString>) -> ExitCode {
    let is_mpiexec = words.first().is_some_and(|name| name == "mpiexec" || name == "mpirun");
    let asked = match is_mpiexec {
        true => mpiexec::translate(words[1..].to_vec(), |name| std::env::var_os(name)),
        false => Ok(Asked::Run { remarks: Vec::new(), words }),
    };
    match asked.map(|asked| if let Asked::Run { words, .. } = asked { parsed(words).err() } else { None }) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(error)) => usage(&error),
        Err(text) => wrong_usage(&format!("mpiexec: {text}")),
    }
}

/// Returns the exit status of a process that `canele run` starts for itself.
fn helper(otherwise: &str, result: std::io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => wrong_usage(&format!("{otherwise} ({error})")),
    }
}

/// Runs `mpiexec` and `mpirun`: `canele run` with the options of other launchers.
fn mpiexec(words: Vec<OsString>) -> ExitCode {
    match mpiexec::translate(words, |name| std::env::var_os(name)) {
        Ok(Asked::Help) => {
            print(mpiexec::HELP);
            ExitCode::SUCCESS
        }
        Ok(Asked::Version) => {
            print(concat!("mpiexec (Canelé) ", env!("CARGO_PKG_VERSION")));
            ExitCode::SUCCESS
        }
        Ok(Asked::Run { remarks, words }) => {
            remarks.iter().for_each(|remark| say(&format!("mpiexec: {remark}")));
            command(words)
        }
        Err(text) => wrong_usage(&format!("mpiexec: {text}")),
    }
}

/// Prints the text of clap: help to standard output (0), wrong usage to standard error (2).
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            written(error.print());
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            wrong_usage(&format!("a command is needed\n\n{}", Canele::command().render_help()))
        }
        _ => wrong_usage(&wrong_words(error)),
    }
}

/// Returns the error in the words of a command line.
pub(crate) fn wrong_words(error: &clap::Error) -> String {
    let named = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let (argument, value) = (named(ContextKind::InvalidArg), named(ContextKind::InvalidValue));
    let is_no_number = error.source().is_some_and(|source| source.is::<ParseIntError>());
    if error.kind() == ErrorKind::ValueValidation && is_no_number {
        let is_negative = value.parse::<i128>().is_ok_and(|value| value < 0);
        let what = if is_negative { "is below 0" } else { "is no whole number, or it is too large" };
        return format!("{argument}: {value:?} {what}");
    }
    if error.kind() == ErrorKind::UnknownArgument && argument.parse::<f64>().is_ok() {
        return format!("{argument}: no option has this name, and no option here takes a number below 0");
    }
    let text = error.render().to_string();
    text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
}

/// Prints an error in the command line. Returns exit status 2.
pub(crate) fn wrong_usage(text: &str) -> ExitCode {
    say(text);
    ExitCode::from(2)
}

/// Prints a result to standard output. Control characters from files and other processes are made visible.
pub(crate) fn print(text: &str) {
    use std::io::Write;
    written(writeln!(std::io::stdout(), "{}", printable::lines(text)));
}

/// Ends the command with status 1 if standard output could not be written. The reader may close it; that is no
/// failure.
fn written(result: std::io::Result<()>) {
    if let Err(error) = result
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        say(&format!("standard output: {error}"));
        std::process::exit(1);
    }
}

/// Prints one message of the command itself, with control characters made visible.
pub(crate) fn say(text: &str) {
    use std::io::Write;
    // If standard error is closed, there is no reader to inform.
    let _ = writeln!(std::io::stderr(), "canele: {}", printable::lines(text));
}
