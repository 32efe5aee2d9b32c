//! The reasons why a program is not started: the program, or the mpi4py of its Python, is linked to another
//! MPI.
//!
//! Owns the check of files before the start. Reads headers of executables and beginnings of scripts; runs
//! nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use canele_control::RankSet;

use super::linker::Search;
use super::python::{Modules, PythonProgram, first_line, is_python};
use super::{ALLOW, advice, is_own_library};
use crate::plan::{Plan, Program};

/// The command that builds an mpi4py that can load Canelé's library.
pub const BUILD_MPI4PY: &str =
    "MPICC=mpicc pip install --force-reinstall --no-cache-dir --no-binary mpi4py mpi4py";
/// The command that installs an mpi4py where pip's wheel is enough.
const INSTALL_MPI4PY: &str = "pip install --force-reinstall --no-cache-dir mpi4py";

impl Plan {
    /// Returns the ranks that must not be started, with the reasons. `ranks` is the number of ranks of the
    /// job.
    pub fn refusals(&self, ranks: u32) -> Vec<(RankSet, String)> {
        if ranks < 2 || self.allows_foreign() {
            return Vec::new();
        }
        let search = Search::new(|name| self.variable(name));
        let refusal = |number: usize| {
            let why = self.why_foreign(&self.programs[number], &search)?;
            let own = self.here.iter().filter(|rank| self.program_number(*rank) == number).collect();
            Some((own, format!("{why}; {ALLOW}").replace("{ranks}", &ranks.to_string())))
        };
        (0..self.programs.len()).filter_map(refusal).collect()
    }

    fn why_foreign(&self, program: &Program, search: &Search) -> Option<String> {
        let file = self.file(program)?;
        let script = first_line(&file);
        let executable = match &script {
            Some(line) => self.interpreter(line)?.0,
            None => file.clone(),
        };
        if let Some(library) = search.mpi_of_program(&executable) {
            return Some(format!(
                "it is linked to another MPI, {}, so each of the {{ranks}} ranks would be a job of its own. {}",
                library.display(),
                advice(&library)
            ));
        }
        let python = self.python_program(program)?;
        if !python.imports_mpi4py() {
            return None;
        }
        let folder = python.mpi4py(&|name| self.variable(name))?;
        self.why_mpi4py(&folder, &python.python, search)
    }

    /// Returns the reason why the mpi4py of this folder does not join the job.
    pub fn why_mpi4py(&self, folder: &Path, python: &Path, search: &Search) -> Option<String> {
        const ALONE: &str = "so each of the {ranks} ranks would be a job of its own";
        let modules = Modules::of(folder);
        let place = folder.display();
        if let Some(built) = &modules.built {
            let library = search.mpi_of_module(built, python)?;
            let library = library.display();
            return Some(format!(
                "its mpi4py in {place} was built for another MPI, {library}, {ALONE}. Instead: {BUILD_MPI4PY}, or in a virtual environment: {INSTALL_MPI4PY}"
            ));
        }
        if modules.are_of_others() {
            return Some(format!(
                "its mpi4py in {place} was built for other MPIs alone, {ALONE}. Instead: {BUILD_MPI4PY}"
            ));
        }
        let chosen = self.chosen_for_mpi4py().filter(|_| !modules.abis.is_empty())?;
        Some(format!("{chosen} makes the mpi4py in {place} load another MPI, {ALONE}. Unset that variable"))
    }

    /// Returns the variable that makes pip's mpi4py take another library, with its value.
    fn chosen_for_mpi4py(&self) -> Option<String> {
        let value = |name: &str| Some(self.variable(name)?.to_string_lossy().into_owned());
        if let Some(abi) = value("MPI4PY_MPIABI") {
            let short: String = abi.to_lowercase().chars().filter(|c| !" -_".contains(*c)).collect();
            let is_ours = ["mpich", "impi", "openmpi", "mpiabi"].contains(&&*short);
            return (!is_ours).then(|| format!("MPI4PY_MPIABI={abi}"));
        }
        let library = value("MPI4PY_LIBMPI")?;
        let file = Path::new(&library);
        (file.is_file() && !is_own_library(file)).then(|| format!("MPI4PY_LIBMPI={library}"))
    }

    /// Returns how a program runs in Python, if it does.
    pub(super) fn python_program(&self, program: &Program) -> Option<PythonProgram> {
        let file = self.file(program)?;
        // A script named `python` selects one of several interpreters.
        let script = if is_python(file.as_os_str()) { None } else { first_line(&file) };
        let (python, words) = match script {
            None => (file, program.command[1..].to_vec()),
            Some(line) => {
                let (python, mut words) = self.interpreter(&line)?;
                words.push(file.into());
                words.extend_from_slice(&program.command[1..]);
                (python, words)
            }
        };
        is_python(python.as_os_str())
            .then(|| PythonProgram::of_words(python, &words, self.start_directory()))?
    }

    /// Returns the file of a script's interpreter, and its first arguments.
    fn interpreter(&self, line: &[OsString]) -> Option<(PathBuf, Vec<OsString>)> {
        let first = PathBuf::from(line.first()?);
        if first.file_name()? == "env" {
            let rest = &line[1 + usize::from(line.get(1).is_some_and(|word| word == "-S"))..];
            return Some((self.command_file(Path::new(rest.first()?))?, rest[1..].to_vec()));
        }
        Some((first, line[1..].to_vec()))
    }
}
