//! The mpi4py that a Python imports, as Python itself reports it. Python is asked for the import path;
//! nothing of mpi4py is imported.
//!
//! Owns asking Python: after the end of a job, and to examine a machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use canele_sys::bounded_read::{self, MOST_SETTINGS};

use super::linker::Search;
use super::python::Modules;
use crate::installation;
use crate::plan::Plan;

/// A script that prints the folder of the mpi4py. It imports nothing from the working directory, which may be
/// another user's.
const FIND: &str = "
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import importlib.util, pathlib
print(pathlib.Path(importlib.util.find_spec('mpi4py').origin).parent)
";

/// The time in which a Python must answer.
const ASKING: Duration = Duration::from_secs(10);

/// The mpi4py of a Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mpi4py {
    /// This Python has none.
    Missing,
    /// One in this folder can load Canelé's library.
    Usable(PathBuf),
    /// The one in this folder was built for other MPI implementations only. If it is known, the library of
    /// its implementation follows.
    OfOthers(PathBuf, Option<PathBuf>),
}

/// Returns the mpi4py that a Python imports; none if this is not a Python that runs.
pub fn mpi4py_of(python: &Path) -> Option<Mpi4py> {
    let asked = |code: &str| {
        let mut command = Command::new(python);
        output_of(command.args(["-c", code]).stdin(Stdio::null()).stderr(Stdio::null()), ASKING)
    };
    let Some(output) = asked(FIND) else {
        return asked("pass").map(|_| Mpi4py::Missing);
    };
    let folder = PathBuf::from(String::from_utf8_lossy(&output).trim());
    let modules = Modules::of(&folder);
    if modules.are_of_others() {
        return Some(Mpi4py::OfOthers(folder, None));
    }
    // The search uses the variables that programs have under `canele run`.
    let mut environment = Vec::new();
    installation::add_library_path(&mut environment);
    let search = Search::new(|name| {
        let set = environment.iter().find(|(variable, _)| variable == name);
        set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
    });
    let library = modules.built.and_then(|built| search.mpi_of_module(&built, python));
    Some(match library {
        Some(library) => Mpi4py::OfOthers(folder, Some(library)),
        None => Mpi4py::Usable(folder),
    })
}

/// Returns a text about a job that no rank has joined, if a Python of one of its programs has mpi4py for
/// another MPI. If the job has not failed, the program must name mpi4py.
pub fn text(plan: &Plan, has_failed: bool) -> Option<String> {
    let mut environment = plan.environment.clone();
    installation::add_library_path(&mut environment);
    let plan = Plan { environment, ..plan.clone() };
    let ranks = plan.size();
    let why = plan.programs.iter().find_map(|program| {
        let python = plan.python_program(program)?;
        if !has_failed && (ranks < 2 || !python.names_mpi4py()) {
            return None;
        }
        let folder = plan.ask(Command::new(&python.python).args(["-c", FIND]))?;
        let search = Search::new(|name| plan.variable(name));
        let why = plan.why_mpi4py(Path::new(folder.trim()), &python.python, &search)?;
        Some(format!("no rank has joined the job: of {}, {why}", program.command[0].to_string_lossy()))
    })?;
    Some(why.replace("would be", "was").replace("{ranks}", &ranks.to_string()))
}

/// Returns the output of a command, if it succeeds in time; kills it otherwise.
fn output_of(command: &mut Command, time: Duration) -> Option<Vec<u8>> {
    let until = Instant::now() + time;
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let (tell, told) = mpsc::channel();
    let reading = child.stdout.take().map(|stdout| {
        // The receiver is gone after a timeout.
        let read = move || drop(tell.send(bounded_read::read_all(stdout, MOST_SETTINGS)));
        thread::Builder::new().spawn(read)
    });
    let bytes = match reading {
        Some(Ok(_)) => told.recv_timeout(time).ok().and_then(Result::ok),
        _ => None,
    };
    while bytes.is_some() && Instant::now() < until {
        if let Some(status) = child.try_wait().ok()? {
            return bytes.filter(|_| status.success());
        }
        thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

impl Plan {
    /// Returns the output of a command that runs as the ranks do, if it succeeds.
    fn ask(&self, command: &mut Command) -> Option<String> {
        command.envs(self.environment.iter().cloned()).stdin(Stdio::null()).stderr(Stdio::null());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        output_of(command, ASKING).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_does_not_end_is_killed() {
        let asked = |script: &str, time| output_of(Command::new("sh").args(["-c", script]), time);
        assert_eq!(asked("echo here", ASKING).as_deref(), Some(&b"here\n"[..]));
        assert_eq!(asked("echo here; exit 1", ASKING), None);
        let soon = Duration::from_millis(50);
        assert_eq!(asked("echo here; exec sleep 600", soon), None);
        assert_eq!(asked("exec sleep 600 >&-", soon), None);
    }
}
