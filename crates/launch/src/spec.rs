//! What a job is to be, as the caller of the library describes it. Owns the description; decides nothing.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use canele_control::OnFailure;

use super::binding::BindPolicy;
use super::hosts::{NamedHost, RankOrder};
use super::input::InputTo;
use super::output_files::OutputSpec;
use super::plan::Program;

/// A job to be run.
#[derive(Debug)]
pub struct JobSpec {
    /// The programs, at least one; ranks are numbered through them in order.
    pub programs: Vec<Program>,
    /// Where the ranks run; `None`: on this host.
    pub placement: Option<Placement>,
    /// How ranks are bound to processors.
    pub bind: BindPolicy,
    /// Says on standard error to which processors each rank is bound.
    pub report_bindings: bool,
    /// How many processes the job may have with those that it spawns; `None`: the slots of the hosts, or this host's processors.
    pub universe: Option<u32>,
    /// What happens to the other ranks when one fails.
    pub on_failure: OnFailure,
    /// Ends the job after this time.
    pub timeout: Option<Duration>,
    /// How and where what the ranks print is written.
    pub print: OutputSpec,
    /// Which ranks get this process's standard input.
    pub input: InputTo,
    /// Says at the end how each rank ended.
    pub report_exits: bool,
    /// Variables to set for the ranks.
    pub environment: Vec<(OsString, OsString)>,
    /// Where the ranks start; `None`: in the current directory.
    pub directory: Option<PathBuf>,
    /// The file into which a trace of the ranks is written; `None`: they are not traced.
    pub trace: Option<PathBuf>,
    /// Where the ranks' standard output goes; `None`: to this process's.
    pub output: Option<OwnedFd>,
}

/// The hosts of a job and how they are reached.
#[derive(Debug, Clone)]
pub struct Placement {
    /// The hosts.
    pub hosts: Vec<NamedHost>,
    /// How ranks go to them.
    pub order: RankOrder,
    /// The command, with arguments, that runs another one on a host; `None`: ssh.
    pub remote_shell: Option<String>,
    /// Where this executable lies on the hosts; `None`: where it lies here.
    pub executable: Option<PathBuf>,
}

impl JobSpec {
    /// A job of these programs on this host, with everything else at its default.
    pub fn new(programs: Vec<Program>) -> JobSpec {
        JobSpec {
            programs,
            placement: None,
            bind: BindPolicy::default(),
            report_bindings: false,
            universe: None,
            on_failure: OnFailure::Stop,
            timeout: None,
            print: OutputSpec::default(),
            input: InputTo::default(),
            report_exits: false,
            environment: Vec::new(),
            directory: None,
            trace: None,
            output: None,
        }
    }
}

/// Why a job was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The description makes no sense: the caller's fault.
    #[error("{0}")]
    Description(String),
    /// The system refused.
    #[error("cannot start the job: {0}")]
    System(#[from] io::Error),
}
