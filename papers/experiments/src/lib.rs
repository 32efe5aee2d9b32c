//! `canele paper`: runs the papers' experiments again, and writes the results beside the published figures.
//!
//! ```text
//! experiments ──▶ Outcome (tables, curves, claims, checks) ──▶ saved (papers.json) ──▶ papers.md, *.svg
//!    │ real:       jobs of `canele bench`, of the example programs, of peers
//!    └ simulated:  the real protocols on the papers' networks, with the papers' processors
//! ```
//! Owns the order of experiments, the saved results, and the report. An experiment that this machine cannot
//! run is left out, and the report gives the reason.
#![forbid(unsafe_code)]

mod bip;
mod compared;
mod console;
mod deck;
mod experiments;
mod lab;
mod markdown;
mod mpc;
mod mpi_mpc;
mod newmadeleine;
mod outcome;
mod rank;
mod saved;
mod simulated;
mod svg;

pub use rank::{RankArguments, main as rank_main};
pub use simulated::NETWORKS;

use std::path::PathBuf;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};

use console::{print, say};
use experiments::{EXPERIMENTS, Experiment};
use lab::Lab;
use outcome::{Ended, Outcome};
use saved::Saved;

/// The error of an experiment or of one of its ranks; the user reads its text.
pub type PaperError = Box<dyn std::error::Error + Send + Sync>;

/// Arguments of `canele paper`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PaperArguments {
    /// Folder for papers.md, pictures and measurements
    #[arg(long, short, value_name = "FOLDER", default_value = "papers-results")]
    output: PathBuf,
    /// Measure fewer sizes and rounds, in about three minutes; counts and results are checked, and times are
    /// rough
    #[arg(long)]
    quick: bool,
    /// Run only these experiments, anew; saved results of other experiments stay
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Measure everything anew, also the results that an interrupted run has saved
    #[arg(long)]
    fresh: bool,
    /// Compare with other MPI implementations through this command (`bench/peers` of the sources)
    #[arg(long, value_name = "COMMAND")]
    peers: Option<PathBuf>,
    /// List the experiments
    #[arg(long)]
    list: bool,
}

const EXAMPLES: &str = "Examples:
  canele paper --list                        the experiments
  canele paper --quick                       all of them, roughly
  canele paper --output report               all of them, into report/papers.md
  canele paper --only bip-packets,mpc-curve  only these two
  canele paper --peers bench/peers           beside other MPI implementations

An interrupted run goes on where it stopped. An experiment that needs something missing here (an example program
that is not built, strace, other MPI implementations) is left out, and the report gives the reason.";

/// Returns exit status 0 if all checks held, 1 if one did not or an experiment failed, 2 for wrong usage.
pub fn main(arguments: &PaperArguments) -> ExitCode {
    if arguments.list {
        EXPERIMENTS.iter().for_each(|one| print(&format!("{:<24} {}: {}", one.name, one.system, one.title)));
        return ExitCode::SUCCESS;
    }
    let chosen = match chosen(&arguments.only) {
        Ok(chosen) => chosen,
        Err(wrong) => {
            say(&wrong);
            return ExitCode::from(2);
        }
    };
    match run(arguments, &chosen) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            say(&format!("paper: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Returns the experiments of these names in their own order; all if none is named.
fn chosen(names: &[String]) -> Result<Vec<&'static Experiment>, String> {
    if let Some(unknown) = names.iter().find(|name| EXPERIMENTS.iter().all(|one| one.name != **name)) {
        let list = EXPERIMENTS.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
        return Err(format!("paper: no experiment {unknown}: there are {list}"));
    }
    let is_chosen = |one: &&Experiment| names.is_empty() || names.iter().any(|name| name == one.name);
    Ok(EXPERIMENTS.iter().filter(is_chosen).collect())
}

/// Runs the remaining experiments; returns true if none failed.
fn run(arguments: &PaperArguments, chosen: &[&'static Experiment]) -> Result<bool, PaperError> {
    let folder = &arguments.output;
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make the folder {}: {error}", folder.display()))?;
    let mut saved = Saved::open(folder, arguments.quick, arguments.fresh, &arguments.only)?;
    let bar = progress_bar(chosen.len() as u64);
    let lab = Lab::new(arguments.quick, arguments.peers.clone(), bar.clone())?;
    let mut is_well = true;
    for experiment in chosen {
        bar.set_message(experiment.name);
        if !saved.has(experiment.name) {
            let ended = end(experiment, &lab);
            tell(&bar, experiment, &ended);
            saved.keep(experiment.name, ended)?;
        }
        is_well &= saved.get(experiment.name).is_some_and(Ended::is_well);
        bar.inc(1);
    }
    bar.finish_and_clear();
    saved.finish(EXPERIMENTS.iter().all(|one| saved.has(one.name)))?;
    let kept: Vec<_> = EXPERIMENTS.iter().filter(|one| saved.has(one.name)).collect();
    let written = markdown::write(folder, &kept, &saved)?;
    print(&format!("{} experiments: {}", chosen.len(), written.display()));
    Ok(is_well)
}

fn end(experiment: &Experiment, lab: &Lab) -> Ended {
    match (experiment.run)(lab) {
        Ok(outcome) => Ended::Done(outcome),
        Err(lab::Trouble::Missing(what)) => Ended::LeftOut(what),
        Err(lab::Trouble::Failed(why)) => Ended::Failed(why.to_string()),
    }
}

/// Prints at once the failures, and the reasons for leaving out experiments.
fn tell(bar: &ProgressBar, experiment: &Experiment, ended: &Ended) {
    let lines = match ended {
        Ended::LeftOut(why) => vec![format!("left out: {why}")],
        Ended::Failed(why) => vec![format!("failed: {why}")],
        Ended::Done(Outcome { checks, .. }) => checks
            .iter()
            .filter(|check| !check.held)
            .map(|check| format!("does not hold: {}", check.what))
            .collect(),
    };
    bar.suspend(|| lines.iter().for_each(|line| say(&format!("paper: {}: {line}", experiment.name))));
}

fn progress_bar(steps: u64) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    let style = ProgressStyle::with_template("paper [{elapsed}] {bar:30.208} {pos}/{len} {wide_msg}");
    // The template is a constant; if it were wrong, the plain bar would still show progress.
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╾─"));
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}
