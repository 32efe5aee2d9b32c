//! The mpi4py that a Python imports, as Python itself says. It is asked where it would import it from; nothing of it is imported.
//!
//! Owns asking: after the end of a job, and for those who examine a machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::linker::Search;
use super::python::Modules;
use crate::installation;
use crate::plan::Plan;

/// Prints the folder of the mpi4py. Nothing is imported from the working directory, which may be a stranger's.
const FIND: &str = "
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import importlib.util, pathlib
print(pathlib.Path(importlib.util.find_spec('mpi4py').origin).parent)
";

/// What was found of an mpi4py.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mpi4py {
    /// This Python has none.
    Missing,
    /// One in this folder that can load Canelé's library.
    Usable(PathBuf),
    /// One in this folder that was built for other implementations alone; for the one whose library this is, if it is known.
    OfOthers(PathBuf, Option<PathBuf>),
}

/// The mpi4py that a Python imports; nothing if this is no Python that runs.
pub fn mpi4py_of(python: &Path) -> Option<Mpi4py> {
    let asked = |code: &str| {
        let output =
            Command::new(python).args(["-c", code]).stdin(Stdio::null()).stderr(Stdio::null()).output();
        output.ok().filter(|output| output.status.success())
    };
    let Some(output) = asked(FIND) else {
        return asked("pass").map(|_| Mpi4py::Missing);
    };
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let modules = Modules::of(&folder);
    if modules.are_of_others() {
        return Some(Mpi4py::OfOthers(folder, None));
    }
    // As programs find libraries that `canele run` starts.
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

/// What to say of a job none of whose ranks has joined, one of whose programs runs in a Python with an mpi4py of others. One that has not failed
/// must name mpi4py.
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

impl Plan {
    /// What a command prints that is run as the ranks are, if it succeeds.
    fn ask(&self, command: &mut Command) -> Option<String> {
        command.envs(self.environment.iter().cloned()).stdin(Stdio::null()).stderr(Stdio::null());
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let output = command.output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
