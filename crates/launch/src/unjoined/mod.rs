//! Jobs that no rank has joined: why that may be, if their programs were meant to.
//!
//! Owns asking the programs' own tools about them, once, after the job has ended; the programs themselves are not run. A program
//! that has nothing to do with MPI is told nothing.

mod mpi4py;
mod other_mpi;

pub use mpi4py::mpi4py_of_others;
pub use other_mpi::{is_mpi_library, is_own_library};

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ending::TIMED_OUT;
use super::installation;
use super::launcher::Launcher;
use super::plan::{Plan, Program};

impl Launcher {
    /// Says, after the end of a job, why none of its ranks has joined it, if that is because of another MPI. A user who has ended
    /// the job is told nothing.
    pub(super) fn tell_unjoined(&mut self) {
        let members = self.job.members();
        let joined_none = members.iter().all(|member| member.pid.is_some() && !member.initialised);
        if !joined_none || self.passed_on.is_some() {
            return;
        }
        let has_failed = self.status.is_some_and(|status| ![0, TIMED_OUT].contains(&status));
        let text = other_mpi::text(&self.plan).or_else(|| mpi4py::text(&self.plan, has_failed));
        if let Some(text) = text {
            self.output.say(&text);
        }
    }
}

impl Plan {
    /// The file of a program, as it is found when it is started.
    fn file(&self, program: &Program) -> Option<PathBuf> {
        let name = &program.command[0];
        let here = |path: &Path| self.directory.as_deref().unwrap_or(Path::new(".")).join(path);
        if name.as_bytes().contains(&b'/') {
            return Some(here(Path::new(name)));
        }
        let set = self.environment.iter().rev().find(|(variable, _)| variable == "PATH");
        let folders = set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os("PATH"))?;
        std::env::split_paths(&folders).map(|folder| here(&folder).join(name)).find(|file| file.is_file())
    }

    /// What a command prints that is run as the ranks are, if it succeeds.
    fn ask(&self, command: &mut Command) -> Option<String> {
        let mut environment = self.environment.clone();
        installation::add_library_path(&mut environment);
        command.envs(environment).stdin(Stdio::null()).stderr(Stdio::null());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let output = command.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
