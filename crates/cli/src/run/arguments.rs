//! The command line of `canele run`. Owns its syntax and the splitting at `:`; starts nothing.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use canele_launch::{
    BindPolicy, BindTo, InputTo, JobSpec, MapBy, OutputSpec, Pattern, Program, RankOrder, count_units,
};
use clap::Parser;

use super::choices::{Foreign, InitialErrhandler, OnFailure, Wait};
use super::place::{HostOptions, Whereabouts};
use crate::wrong_words;

/// Arguments of `canele run`.
#[derive(Debug, clap::Args)]
#[command(override_usage = USAGE, after_help = EXAMPLES)]
pub struct RunArguments {
    /// Number of ranks [default: as many as fit, with hosts that have numbers or in an allocation of a batch
    /// system; otherwise it is needed]
    #[arg(short = 'n', long = "ranks", visible_alias = "np", value_name = "N")]
    ranks: Option<u32>,
    #[command(flatten)]
    pub place: HostOptions,
    /// Processors that each rank may run on: an equal share of the cores that no other job has (auto), any
    /// (none), or one unit: hwthread, core, l3cache, numa or package (socket). UNIT:N gives N adjacent units,
    /// as core:2. If there are more ranks than units, ranks share them in turn [default: auto]
    #[arg(long, value_name = "auto|none|UNIT[:N]")]
    pub bind: Option<BindTo>,
    /// Spread the ranks of each host over these units in turn, and bind each rank to its unit. ppr:N puts N
    /// ranks on each unit, pe=N gives N cores to each rank, and with fill the ranks of a unit have
    /// consecutive numbers. node places ranks on the hosts in turn; slot fills one host after the other
    #[arg(long, value_name = "[ppr:N:]UNIT[:pe=N][:fill]")]
    pub map_by: Option<MapBy>,
    /// Print the processors that each rank is bound to
    #[arg(long)]
    pub report_bindings: bool,
    /// Way in which ranks wait for messages (environment CANELE_WAIT) [default: adaptive]
    #[arg(long, value_enum)]
    pub wait: Option<Wait>,
    /// Compare the collective calls of MPI programs on all ranks, and end the job with a message about two
    /// calls that do not match (environment CANELE_CHECK)
    #[arg(long)]
    pub check: bool,
    /// Number of processes that the job may have, including those that it starts itself; MPI programs read it
    /// as MPI_UNIVERSE_SIZE [default: sum of the hosts' numbers, or processors of this host]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub universe: Option<u32>,
    /// Effect of a rank's failure on the others
    #[arg(long, value_enum, default_value_t = OnFailure::Stop)]
    pub on_failure: OnFailure,
    /// Error handler that communicators of MPI programs have at first (environment CANELE_MPI_ERRHANDLER)
    /// [default: mpi_errors_are_fatal]
    #[arg(long, value_enum, value_name = "HANDLER")]
    pub initial_errhandler: Option<InitialErrhandler>,
    /// Treatment of a job of several ranks whose program uses another MPI, in which each rank would be a job
    /// of its own (environment CANELE_FOREIGN) [default: refuse]
    #[arg(long, value_enum)]
    pub foreign: Option<Foreign>,
    /// End the job after this time in seconds, as 60 or 0.5, with exit status 124; print what its ranks wait
    /// for
    #[arg(long, value_name = "S", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<Duration>,
    /// End the job when the process of this host with this id ends; for a program that starts a job and may be
    /// killed
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub end_with: Option<u32>,
    /// Start each line of output with its rank, as `[3] `, or with this text, in which %r is the rank, %h the
    /// host and %t the time in seconds since 1970
    #[arg(long, value_name = "TEXT", num_args = 0..=1, require_equals = true, default_missing_value = "[%r] ")]
    pub label: Option<Pattern>,
    /// Start each line of output with the time at which it arrived
    #[arg(long)]
    pub timestamp: bool,
    /// Write the output of each rank R to DIR/rank.R/stdout and DIR/rank.R/stderr
    #[arg(long = "output", value_name = "DIR", conflicts_with_all = ["stdout_file", "stderr_file"])]
    pub output_directory: Option<String>,
    /// Write standard output of the ranks to this file, in whose name %r is the rank and %h the host, as
    /// out.%r
    #[arg(long, value_name = "FILE")]
    pub stdout_file: Option<Pattern>,
    /// Write standard error of the ranks to this file, with %r and %h as in --stdout-file
    #[arg(long, value_name = "FILE")]
    pub stderr_file: Option<Pattern>,
    /// Print the output that is written to files here, too
    #[arg(long)]
    pub tee: bool,
    /// Ranks that get standard input: all, none, or a list as 0 or 1,4-6 [default: 0]
    #[arg(long, value_name = "RANKS")]
    pub stdin: Option<InputTo>,
    /// Record calls, waits and messages of the ranks, and write a timeline to this file; Perfetto
    /// (ui.perfetto.dev) opens it, and `canele trace` sums it up
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub trace: Option<PathBuf>,
    /// Print at the end how each rank ended
    #[arg(long)]
    pub report_exits: bool,
    /// Set an environment variable for the ranks, as OMP_NUM_THREADS=4; may be repeated
    #[arg(long = "env", value_name = "K=V", value_parser = assignment)]
    pub environment: Vec<(OsString, OsString)>,
    /// Start the ranks in this directory
    #[arg(long = "wd", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub directory: Option<PathBuf>,
    /// Program and its arguments; further programs of the same job follow after `:`
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG ARGS", value_hint = clap::ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

const USAGE: &str = "canele run -n N [--hosts H0:R,H1:R…] [OPTIONS] PROG ARGS… [: -n M PROG2 ARGS…]";

const EXAMPLES: &str = "\
In an allocation of Slurm, PBS, LSF or Grid Engine that has other hosts the job runs on these hosts,
and is started by srun, ssh, blaunch or qrsh. With --hosts or --hostfile the ranks are numbered host
by host, and hosts are reached through the remote shell alone. Program and directory must exist on
each host. There the ranks get the variables of --env, and of this environment only the variables
CANELE_….

Each rank finds CANELE_RANK, CANELE_SIZE, CANELE_LOCAL_RANK and CANELE_LOCAL_SIZE in its
environment, and these numbers under the names of other launchers, too (OMPI_COMM_WORLD_RANK,
PMI_RANK, MPI_LOCALRANKID and so on). Standard input goes to rank 0, or to the ranks of --stdin.
Signals to this command go to all ranks; a second interrupt kills them. The first SIGQUIT (Ctrl-\\)
prints what the ranks wait for instead, as `canele why` does.

Exit status: 0, or the status of the first rank that failed (128 + n if signal n killed it); 124
after --timeout; 126 or 127 if a program cannot be started; 2 for wrong usage.

Examples:
  canele run -n 4 ./solver input.dat
  canele run -n 8 --label --timeout 60 ./solver input.dat
  canele run -n 2 --bind core --env CANELE_WAIT=poll ./pingpong
  canele run -n 1 ./master : -n 3 ./worker --fast
  canele run --hosts h0:2,h1:2 ./solver input.dat
  canele run -n 64 --hostfile cluster.txt --rsh 'ssh -p 2222' --canele /opt/bin/canele ./solver";

/// Returns the words of `canele run` with `-n N` in place of `-np N`, which other launchers accept.
/// Unchanged, it would mean the number `p`.
pub fn with_number(mut words: Vec<OsString>) -> Vec<OsString> {
    let run = <RunArguments as clap::Args>::augment_args(clap::Command::new("run"));
    let takes_value = |word: &OsStr| {
        let is_named = |argument: &clap::Arg| {
            argument.get_long().is_some_and(|name| word == OsStr::new(&format!("--{name}")))
                || argument.get_short().is_some_and(|name| word == OsStr::new(&format!("-{name}")))
        };
        let takes =
            |argument: &clap::Arg| argument.get_action().takes_values() && !argument.is_require_equals_set();
        run.get_arguments().any(|argument| takes(argument) && is_named(argument))
    };
    let mut is_value = false;
    for word in words.iter_mut().skip(2) {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if word == "-np" {
            *word = "-n".into();
        }
        if word == "--" || !word.to_string_lossy().starts_with('-') {
            break;
        }
        is_value = takes_value(word);
    }
    words
}

/// A further program of the job, after a `:`.
#[derive(Debug, Parser)]
#[command(name = "canele run … :", disable_help_flag = true)]
struct Further {
    #[arg(short = 'n', long = "ranks", alias = "np", value_name = "M")]
    ranks: u32,
    #[arg(required = true, trailing_var_arg = true, value_name = "PROG ARGS")]
    command: Vec<OsString>,
}

impl RunArguments {
    /// Returns the requested job. Its ranks print to `output`, or to this process's standard output.
    ///
    /// # Errors
    /// Returns a text about the error in the command line.
    pub fn job(&self, output: Option<OwnedFd>) -> Result<JobSpec, String> {
        let wait = self.wait.map(|wait| ("CANELE_WAIT".into(), wait.value().into()));
        let check = self.check.then(|| ("CANELE_CHECK".into(), "1".into()));
        let errhandler =
            self.initial_errhandler.map(|handler| ("CANELE_MPI_ERRHANDLER".into(), handler.value().into()));
        let foreign = self.foreign.map(|foreign| ("CANELE_FOREIGN".into(), foreign.value().into()));
        let options = wait.into_iter().chain(check).chain(errhandler).chain(foreign);
        let programs = self.programs()?;
        let placement = self.place.whereabouts(self.order())?.placement;
        let slots = match &placement {
            None => {
                let ranks = programs.iter().fold(0_u32, |sum, program| sum.saturating_add(program.ranks));
                self.place.slots_here(ranks)?
            }
            Some(_) => None,
        };
        Ok(JobSpec {
            programs,
            placement,
            bind: self.bind_policy()?,
            report_bindings: self.report_bindings,
            universe: self.universe.or(slots),
            on_failure: self.on_failure.into(),
            timeout: self.timeout,
            end_with: self.end_with,
            print: self.print()?,
            input: self.stdin.clone().unwrap_or_default(),
            report_exits: self.report_exits,
            environment: options.chain(self.environment.iter().cloned()).collect(),
            directory: self.directory.clone(),
            trace: self.trace.clone(),
            output,
        })
    }

    fn order(&self) -> RankOrder {
        let in_turn = self.map_by.is_some_and(|map| map.hosts_in_turn);
        if in_turn { RankOrder::InTurn } else { RankOrder::ByHost }
    }

    fn bind_policy(&self) -> Result<BindPolicy, String> {
        match &self.place.rankfile()? {
            Some(_) if self.bind.is_some() || self.map_by.is_some() => {
                Err("--rankfile says where each rank runs: --bind and --map-by have no say then".into())
            }
            Some(file) => Ok(BindPolicy::slots(file.slots.clone())),
            None => BindPolicy::new(self.bind.unwrap_or_default(), self.map_by)
                .map_err(|text| format!("--bind and --map-by: {text}")),
        }
    }

    fn print(&self) -> Result<OutputSpec, String> {
        let files = match &self.output_directory {
            Some(directory) => {
                let file =
                    |name: &str| format!("{}/rank.%r/{name}", directory.replace('%', "%%")).parse().map(Some);
                [file("stdout")?, file("stderr")?]
            }
            None => [self.stdout_file.clone(), self.stderr_file.clone()],
        };
        if self.tee && files == [None, None] {
            return Err("--tee prints what is written to files, too: --output names them".into());
        }
        Ok(OutputSpec { label: self.label.clone(), timestamp: self.timestamp, files, tee: self.tee })
    }

    /// Returns the default number of ranks: those that the hosts take, or those spread over the units here.
    fn ranks_of_place(&self) -> Result<u32, String> {
        let per_unit = self.map_by.and_then(|map| Some((map.unit, map.per_unit?)));
        match (self.place.whereabouts(self.order())?, per_unit) {
            (Whereabouts { capacity: Some(capacity), .. }, _) => Ok(capacity),
            (Whereabouts { placement: None, .. }, Some((unit, each))) => {
                let units =
                    count_units(unit).map_err(|error| format!("the processors of this host: {error}"))?;
                Ok(units.saturating_mul(each))
            }
            (Whereabouts { placement: Some(_), .. }, _) => {
                Err("-n N is needed where hosts have no numbers of ranks".into())
            }
            (Whereabouts { placement: None, .. }, None) => {
                Err("the number of ranks is needed, as in `canele run -n 4 PROG ARGS…`".into())
            }
        }
    }

    /// Returns the arguments of `canele run -n RANKS COMMAND…`, with all others at their defaults.
    pub fn new(ranks: u32, command: Vec<OsString>) -> RunArguments {
        RunArguments {
            ranks: Some(ranks),
            place: HostOptions::default(),
            bind: None,
            map_by: None,
            report_bindings: false,
            wait: None,
            check: false,
            universe: None,
            on_failure: OnFailure::Stop,
            initial_errhandler: None,
            foreign: None,
            timeout: None,
            end_with: None,
            label: None,
            timestamp: false,
            output_directory: None,
            stdout_file: None,
            stderr_file: None,
            tee: false,
            stdin: None,
            trace: None,
            report_exits: false,
            environment: Vec::new(),
            directory: None,
            command,
        }
    }

    /// Returns the programs, split at `:`.
    ///
    /// # Errors
    /// Returns a text about the error in the command line.
    pub fn programs(&self) -> Result<Vec<Program>, String> {
        let many = self.command.iter().any(|argument| argument == OsStr::new(":"));
        if many && self.ranks.is_none() {
            return Err("-n N is needed for each of several programs".into());
        }
        let mut parts = self.command.split(|argument| argument == OsStr::new(":"));
        let first = parts.next().unwrap_or_default().to_vec();
        let ranks = self.ranks.map_or_else(|| self.ranks_of_place(), Ok)?;
        let mut programs = vec![program(ranks, first)?];
        for part in parts {
            let name = OsString::from("canele run … :");
            let further = Further::try_parse_from(std::iter::once(&name).chain(part))
                .map_err(|error| format!("after `:` — {}", wrong_words(&error)))?;
            programs.push(program(further.ranks, further.command)?);
        }
        Ok(programs)
    }
}

fn program(ranks: u32, command: Vec<OsString>) -> Result<Program, String> {
    if ranks == 0 {
        return Err("-n 0: a job needs at least one rank of each program".into());
    }
    if command.first().is_none_or(|name| name.is_empty()) {
        return Err("no program to run: `canele run -n N PROG ARGS…`".into());
    }
    Ok(Program { ranks, command })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "a number of seconds is needed, as 60 or 0.5".to_string())?;
    match Duration::try_from_secs_f64(number) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("a positive number of seconds is needed".into()),
    }
}

fn assignment(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("an assignment is needed, as NAME=VALUE".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(words: &[&str]) -> Result<Vec<Program>, String> {
        RunArguments::new(2, words.iter().map(OsString::from).collect()).programs()
    }

    #[test]
    fn further_programs_follow_a_colon() {
        let programs = programs(&["a", "-n", "x", ":", "-n", "3", "b", "--flag", ":", "-n1", "c"]).unwrap();
        let counts: Vec<u32> = programs.iter().map(|p| p.ranks).collect();
        assert_eq!(counts, [2, 3, 1]);
        assert_eq!(programs[0].command, ["a", "-n", "x"]);
        assert_eq!(programs[1].command, ["b", "--flag"]);
    }

    #[test]
    fn the_number_of_ranks_may_be_called_as_elsewhere() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let becomes = |line: &str, expected: &str| assert_eq!(with_number(words(line)), words(expected));
        becomes("canele run -np 4 a -np 2", "canele run -n 4 a -np 2");
        becomes("canele run --label=x -np 4 a", "canele run --label=x -n 4 a");
        becomes("canele run --label --bind core -np 4 a", "canele run --label --bind core -n 4 a");
        becomes("canele run --wd -np -np 4 a", "canele run --wd -np -n 4 a");
        becomes("canele run -n 1 -- -np", "canele run -n 1 -- -np");
    }

    #[test]
    fn nonsense_is_refused_with_a_text() {
        for words in [
            &["a", ":"][..],
            &["a", ":", "b"],
            &["a", ":", "-n", "0", "b"],
            &[":", "-n", "1", "b"],
            &["a", ":", "-n", "2"],
            &[""],
        ] {
            assert!(programs(words).is_err(), "{words:?}");
        }
        assert!(seconds("0").is_err() && seconds("x").is_err() && seconds("-1").is_err());
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert!(assignment("=x").is_err() && assignment("x").is_err());
        assert_eq!(assignment("a=b=c"), Ok(("a".into(), "b=c".into())));
    }
}
