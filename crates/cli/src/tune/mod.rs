//! `canele tune`: measures the costs of this machine and writes its profile.
//!
//! Owns the order of the measurements and the conversion of their figures into a profile. The loops are those
//! of [`canele_mem::limits`]. `canele_profile` defines the profile and its place.
//!
//! ```text
//! canele tune ─▶ job of this executable: canele tune-worker ORDER
//!                  all workers:  warm up, then round by round: each measurement once
//!                  worker 0:     progress and figures ──its output──▶ canele tune ─▶ table, profile
//! ```

mod check;
mod figures;
mod job;
mod networks;
mod plan;
mod table;
mod worker;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use canele_profile::{MachineIdentity, user_path};
use canele_sys::printable;
use canele_sys::topology::Topology;

use crate::bench::Failure;
use crate::run::HostOptions;
use crate::{say, wrong_usage};
use figures::TunedProfile;
pub use worker::{WorkerArguments, main as worker_main};

/// Arguments of `canele tune`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TuneArguments {
    /// Write the profile to this file, or to standard output for `-`
    /// [default: canele/profile.toml below $XDG_CONFIG_HOME or ~/.config]
    #[arg(long, short, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
    /// Measure for a few seconds only, with less exact figures; with --check fewer sizes
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    check: check::CheckOptions,
    #[command(flatten)]
    place: HostOptions,
}

const EXAMPLES: &str = "\
The command measures the times of a cache line, of copies, of rings, of single copies by the kernel, of wake-ups and
of system calls. With two hosts it also measures the latency, the cost of a packet and the rate of each network between
them. Each figure is the median of several rounds. A cost that cannot be measured here keeps its built-in figure. Other
programs that run meanwhile disturb the figures: a spread above 10 % is marked with '!'.

`canele run` reads the file and hands it to all ranks, which choose protocols and algorithms by it.
`canele info --profile` shows it.

With --check no profile is written. Messages between two ranks and collectives are measured with each protocol and
each algorithm that can carry them out. A table shows the times beside their estimates by the profile in use. Messages
go without single copies by the kernel. If rounds differ by more than 10 %, the best one counts ('!').

Examples:
  canele tune                             measure this machine, in about a minute
  canele tune --quick --output -          print rough figures, and write no file
  canele tune --output /etc/canele/profile.toml
  canele tune --hosts h0:1,h1:1           this machine, and the networks between two hosts
  canele tune --check                     compare the estimates with the times of messages and collectives
  canele tune --check=collectives --ranks 8 --bytes 8,64K --json";

/// Measures and writes the profile. Returns 2 for wrong usage, 1 for a failure, else 0.
pub fn main(arguments: &TuneArguments) -> ExitCode {
    let (path, topology) = match check(arguments) {
        Ok(checked) => checked,
        Err(wrong) => return wrong_usage(&wrong),
    };
    let done = match arguments.check.check {
        Some(_) => check::check(&arguments.check, arguments.quick, &arguments.place),
        None => tune(arguments, &topology).and_then(|tuned| publish(&tuned, &path)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("tune: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Returns the path of the profile, and the processors for the measurement.
fn check(arguments: &TuneArguments) -> Result<(PathBuf, Topology), String> {
    arguments.check.refuse_wrong(arguments.output.is_some(), arguments.place.is_elsewhere())?;
    let path = arguments.output.clone().or_else(|| match arguments.check.check {
        // A check writes no file.
        Some(_) => Some(PathBuf::new()),
        None => user_path(),
    });
    let path = path.ok_or("neither XDG_CONFIG_HOME nor HOME is set: name the file with --output FILE")?;
    if path.is_dir() {
        return Err(format!("--output {}: this is a folder", path.display()));
    }
    if let Some(folder) = arguments.output.as_ref().and_then(|path| path.parent())
        && !folder.as_os_str().is_empty()
        && !folder.is_dir()
    {
        return Err(format!("--output {}: there is no folder {}", path.display(), folder.display()));
    }
    if arguments.place.is_elsewhere() {
        networks::check(&arguments.place)?;
    }
    let topology = Topology::discover().map_err(|error| format!("the processors are not known: {error}"))?;
    match topology.processors().len() {
        ..2 => Err("tune needs two processors; this process may run on one only".into()),
        _ => Ok((path, topology)),
    }
}

fn tune(arguments: &TuneArguments, topology: &Topology) -> Result<TunedProfile, Failure> {
    let plan = plan::MeasurementPlan::new(topology.processors(), arguments.quick);
    let measured = job::measure(&plan)?;
    let mut tuned = TunedProfile::new(&MachineIdentity::here(), &plan, &measured);
    if arguments.place.is_elsewhere() {
        tuned.add_networks(networks::measure(&arguments.place, arguments.quick)?);
    }
    Ok(tuned)
}

fn publish(tuned: &TunedProfile, path: &Path) -> Result<(), Failure> {
    let text = tuned.profile.to_text();
    if path == Path::new("-") {
        std::io::stderr().lock().write_all(printable::lines(&table::table(tuned)).as_bytes())?;
        return Ok(std::io::stdout().lock().write_all(text.as_bytes())?);
    }
    write(path, &text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let table = format!("{}\nwritten to {}\n", table::table(tuned), path.display());
    Ok(std::io::stdout().lock().write_all(printable::lines(&table).as_bytes())?)
}

/// Writes the whole file or none: jobs that start meanwhile read the previous one.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(name);
    let written = std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    written
}
