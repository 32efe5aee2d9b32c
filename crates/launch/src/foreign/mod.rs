//! Programs that use another MPI. Their launcher has not started them, so each rank would be a job of its
//! own. A job of several ranks must not repeat its work in each rank. So such programs are refused, or ended
//! once they are found.
//!
//! ```text
//!   before the start of a rank    libraries of its executable or mpi4py        `refusal`, `linker`, `python`
//!   while ranks have not joined   libraries that they and their children map   `watch`, `mapped`
//!   at the end, if none joined    the mpi4py that their Python imports         `mpi4py`
//! ```
//!
//! Owns the detection and the texts. Programs without MPI and unknown cases are left alone; so is a job whose
//! user says `--foreign allow`.

mod elf;
mod library;
mod linker;
mod mapped;
mod mpi4py;
mod python;
mod refusal;
mod watch;

pub use library::{is_mpi_library, is_own_library};
pub use mpi4py::{Mpi4py, mpi4py_of};
pub use watch::Watch;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::ending::TIMED_OUT;
use crate::launcher::Launcher;
use crate::plan::{Plan, Program};

/// The tunable that allows programs of another MPI.
const FOREIGN: &str = "CANELE_FOREIGN";
/// The end of every text.
const ALLOW: &str = "`--foreign allow` lets it run all the same";
const COMPILE: &str = "Compile it with mpicc (canele cc), or start it with the launcher of that MPI";

impl Launcher {
    /// Reports, after the end of a job, that none of its ranks has joined it because of another MPI. The job
    /// has failed then. A job that its user has ended gets no report.
    pub(super) fn tell_unjoined(&mut self) {
        let members = self.job.members();
        let joined_none = members.iter().all(|member| member.pid.is_some() && !member.initialised);
        if !joined_none || self.has_told_unjoined || self.passed_on.is_some() || self.plan.allows_foreign() {
            return;
        }
        let has_failed = self.status.is_some_and(|status| ![0, TIMED_OUT].contains(&status));
        if let Some(text) = mpi4py::text(&self.plan, has_failed) {
            self.output.say(&text);
            if self.plan.size() > 1 {
                self.status = self.status.filter(|status| *status != 0).or(Some(1));
            }
        }
    }
}

/// Returns the advice for a program that uses this library.
fn advice(library: &Path) -> &'static str {
    let name = library.file_name().unwrap_or_default().as_bytes();
    // Canelé has libraries of these names, too.
    let ours = [&b"libmpi.so.12"[..], b"libmpich.so.12", b"libmpi.so.40", b"libmpi_abi.so.1"];
    let is_abi_of_ours = ours.iter().any(|own| name.starts_with(own));
    match is_abi_of_ours {
        true => {
            "Canelé has a library of that name, which the program must find first: unset what puts the other one before it (a path linked \
             into the program, which `patchelf --remove-rpath` takes away, or LD_LIBRARY_PATH set by a script), or compile it with mpicc (canele cc)"
        }
        false => COMPILE,
    }
}

impl Plan {
    /// Returns the value of a variable in the environment of the ranks.
    fn variable(&self, name: &str) -> Option<OsString> {
        let set = self.environment.iter().rev().find(|(variable, _)| variable == name);
        set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
    }

    /// Returns true if the user allows programs of another MPI, each rank by itself.
    pub fn allows_foreign(&self) -> bool {
        self.variable(FOREIGN).is_some_and(|value| value == "allow")
    }

    /// Returns the directory in which ranks start.
    fn start_directory(&self) -> &Path {
        self.directory.as_deref().unwrap_or(Path::new("."))
    }

    /// Returns the file of a program, as it is found at its start.
    fn file(&self, program: &Program) -> Option<PathBuf> {
        self.command_file(Path::new(&program.command[0]))
    }

    /// Returns the file of a command.
    fn command_file(&self, name: &Path) -> Option<PathBuf> {
        if name.as_os_str().as_bytes().contains(&b'/') {
            return Some(self.start_directory().join(name));
        }
        let folders = self.variable("PATH")?;
        std::env::split_paths(&folders)
            .map(|folder| self.start_directory().join(folder).join(name))
            .find(|file| file.is_file())
    }
}
