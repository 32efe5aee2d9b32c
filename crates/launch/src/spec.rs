//! The specification of a job by the caller of the library. Owns the description; decides nothing.

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
use super::remote::ShellCommand;

/// A job to be run.
#[derive(Debug)]
pub struct JobSpec {
    /// The programs, at least one; ranks are numbered through them in order.
    pub programs: Vec<Program>,
    /// The hosts of the ranks; `None`: this host.
    pub placement: Option<Placement>,
    /// The policy by which ranks are bound to processors.
    pub bind: BindPolicy,
    /// True if each rank's processors are reported on standard error.
    pub report_bindings: bool,
    /// The number of processes that the job may have with spawned ones; `None`: the slots of the hosts, or
    /// this host's processors.
    pub universe: Option<u32>,
    /// The effect of a rank's failure on the others.
    pub on_failure: OnFailure,
    /// The time after which the job is ended.
    pub timeout: Option<Duration>,
    /// The process of this host whose end ends the job.
    pub end_with: Option<u32>,
    /// The form and place of the ranks' output.
    pub print: OutputSpec,
    /// The ranks that get this process's standard input.
    pub input: InputTo,
    /// True if the way in which each rank ended is reported at the end.
    pub report_exits: bool,
    /// Variables to set for the ranks.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory where the ranks start; `None`: the current directory.
    pub directory: Option<PathBuf>,
    /// The file into which a trace of the ranks is written; `None`: they are not traced.
    pub trace: Option<PathBuf>,
    /// The destination of the ranks' standard output; `None`: that of this process.
    pub output: Option<OwnedFd>,
}

/// The hosts of a job and the way to reach them.
#[derive(Debug, Clone)]
pub struct Placement {
    /// The hosts.
    pub hosts: Vec<NamedHost>,
    /// The order in which ranks are assigned to hosts.
    pub order: RankOrder,
    /// The command that runs another one on a host; `None`: ssh.
    pub remote_shell: Option<ShellCommand>,
    /// The path of this executable on the hosts; `None`: its path here.
    pub executable: Option<PathBuf>,
}

impl JobSpec {
    /// Returns a job of these programs on this host, with defaults for everything else.
    pub fn new(programs: Vec<Program>) -> JobSpec {
        JobSpec {
            programs,
            placement: None,
            bind: BindPolicy::default(),
            report_bindings: false,
            universe: None,
            on_failure: OnFailure::Stop,
            timeout: None,
            end_with: None,
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

/// The reason why a job was not started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The description is invalid: the caller's fault.
    #[error("{0}")]
    Description(String),
    /// The system refused.
    #[error("cannot start the job: {0}")]
    System(#[from] io::Error),
}
