//! `canele doctor`: reports obstacles for jobs on this machine and on hosts, and their remedies.
//!
//! Owns the list of checks and their judgement. Changes nothing, and starts no rank.

mod finding;
mod hosts;
mod kernel;
mod limits;
mod other_mpi;
mod own;
mod profile;
mod python;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use canele_launch::host_probe::{ProbeRequest, answer, survey};
use canele_launch::{NamedHost, RankOrder, place_ranks};
use canele_sys::topology;
use canele_sys::tunables::{LAUNCHER_VARIABLES, Tunables};

use crate::run::HostOptions;
use crate::{print, say, wrong_usage};
use finding::{Finding, Level, Section, ok, problem};
pub use kernel::peer_main;

/// Arguments of `canele doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArguments {
    /// Number of ranks that a job would have [default: as many as the hosts take, or one for each processor]
    #[arg(short = 'n', long = "ranks", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ranks: Option<u32>,
    #[command(flatten)]
    place: HostOptions,
    /// Check this interpreter of Python, too: its mpi4py, and that Canelé's wheel there is unchanged; may be
    /// repeated [default: the first python3 of PATH]
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::FilePath)]
    python: Vec<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Without hosts, and outside of an allocation, this machine is checked; with hosts each host is checked, and the
connections between them over each rail.

Exit status: 0, or 1 if there is a problem; 2 for wrong usage.

Examples:
  canele doctor                           this machine
  canele doctor --hosts h0:2,h1:2         hosts, and the network between them
  canele doctor --python venv/bin/python  an interpreter, its mpi4py, and Canelé's wheel
  canele doctor -n 64 --json              room for 64 ranks here, for a program to read";

/// Examines this machine or the hosts, and prints the findings.
pub fn main(arguments: &DoctorArguments) -> ExitCode {
    match examine(arguments) {
        Ok(sections) => {
            let sections = report::merged(sections);
            print(&if arguments.json { report::json(&sections) } else { report::text(&sections) });
            match report::worst(&sections) {
                Level::Problem => ExitCode::FAILURE,
                Level::Ok | Level::Remark => ExitCode::SUCCESS,
            }
        }
        Err(text) => wrong_usage(&text),
    }
}

fn examine(arguments: &DoctorArguments) -> Result<Vec<Section>, String> {
    let placement = arguments.place.whereabouts(RankOrder::ByHost)?.placement;
    let here = match (&placement, arguments.ranks) {
        (None, Some(ranks)) => ranks,
        // Only the launcher runs here.
        (Some(_), _) => 1,
        (None, None) => topology::usable(),
    };
    let settings: Vec<(String, String)> = std::env::vars().filter(|(name, _)| is_of_ranks(name)).collect();
    let mut own = of_machine(&ProbeRequest { ranks: here, elsewhere: 0, settings: settings.clone() }, true);
    own.push(profile::examine());
    own.extend(arguments.python.iter().flat_map(|path| python::examine(path)));
    if arguments.python.is_empty() {
        own.extend(of_first_python());
    }
    let mut sections = vec![Section { of: vec!["this machine".into()], findings: own }];
    if let Some(placement) = placement {
        let tunables = Tunables::from_env().unwrap_or_default();
        let ranks = ranks_of(&placement.hosts, arguments.ranks)?;
        let all: u32 = ranks.iter().sum();
        let request = |host: usize| {
            let elsewhere = all.saturating_sub(ranks[host]);
            ProbeRequest { ranks: ranks[host], elsewhere, settings: settings.clone() }
        };
        let start_timeout = Duration::from_millis(tunables.remote_start_ms);
        sections.extend(hosts::sections(&survey(&placement, request, &tunables.rails, start_timeout)?));
    }
    Ok(sections)
}

/// Returns the number of ranks of each host; 0 means one for each of its processors.
fn ranks_of(hosts: &[NamedHost], ranks: Option<u32>) -> Result<Vec<u32>, String> {
    let most = canele_launch::capacity(hosts)?;
    let Some(ranks) = ranks.or(most) else { return Ok(vec![0; hosts.len()]) };
    let (placed, _) = place_ranks(hosts, ranks, &RankOrder::ByHost)?;
    Ok(placed.into_iter().map(|host| host.ranks).collect())
}

/// Returns true for the environment variables that a job passes to all its hosts.
fn is_of_ranks(name: &str) -> bool {
    name.starts_with("CANELE_") && !LAUNCHER_VARIABLES.contains(&name)
}

/// Returns the findings about the machine of this process.
fn of_machine(request: &ProbeRequest, has_user: bool) -> Vec<Finding> {
    let ranks = if request.ranks == 0 { topology::usable() } else { request.ranks };
    let mut found = own::examine();
    let tunables = Tunables::from_pairs(request.settings.iter().map(|(name, value)| (name, value)));
    found.push(match &tunables {
        Ok(_) => ok("settings", format!("CANELE_… variables that are set: {}", request.settings.len())),
        Err(error) => {
            problem("settings", error.to_string(), "no rank starts: correct the variable, or unset it")
        }
    });
    let tunables = tunables.unwrap_or_default();
    found.extend(limits::examine(ranks, request.elsewhere, &tunables));
    found.extend(kernel::examine(&tunables));
    found.extend(other_mpi::examine(has_user));
    if !has_user {
        found.extend(of_first_python());
    }
    found
}

/// Examines the Python that programs are started with unless an option names another.
fn of_first_python() -> Vec<Finding> {
    let first = python::first(&other_mpi::path_folders());
    first.map(|path| python::examine(&path)).unwrap_or_default()
}

/// Runs the part of `canele doctor` on another host.
pub fn host_main() -> ExitCode {
    let examine =
        |request: &ProbeRequest| serde_json::to_value(of_machine(request, false)).unwrap_or_default();
    match answer(examine) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("doctor-host: only `canele doctor` starts this ({error})"));
            ExitCode::from(2)
        }
    }
}
