//! Compiles the sources of the Fortran interface in a folder. The results are the modules, the header, and an
//! archive of all procedures.
//!
//! A profiling library may have procedures of the same names.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::panic::resume_unwind;
use std::path::Path;

use canele_mpi_tables::fortran::Source;

use super::super::line::ARCHIVE;
use super::commands::{RunError, run_in};
use super::identity::FortranCompiler;
use super::symbols::profile;

/// Ending of the names of sources that are only included.
const HEADER: &str = ".h";

/// The sources to compile, and their compiler.
pub struct Build<'a> {
    /// The compiler.
    pub compiler: &'a FortranCompiler,
    /// The sources in their order.
    pub sources: &'a [Source],
    /// Gets messages for the user.
    pub tell: &'a dyn Fn(&str),
}

/// Returns the name of the archive's file.
pub fn archive_file() -> String {
    format!("lib{ARCHIVE}.a")
}

impl Build<'_> {
    /// Fills an existing empty folder with all files that programs need.
    ///
    /// # Errors
    /// Returns a text with the failed command, its output and a remedy.
    pub fn fill(&self, folder: &Path) -> Result<(), String> {
        let title = self.compiler.title();
        (self.tell)(&format!(
            "compiling the modules mpi and mpi_f08 for {title}, once; this takes some seconds"
        ));
        let unwritten = |error: io::Error| format!("cannot write to {}: {error}", folder.display());
        for source in self.sources {
            fs::write(folder.join(source.name), &source.text).map_err(unwritten)?;
        }
        let objects = self.compile(folder).map_err(|error| {
            format!(
                "cannot compile the modules mpi and mpi_f08 with {title}: {error}\nIf the compiler works otherwise, its installation may be \
                 incomplete; another compiler is named by -fc=COMPILER or CANELE_FC"
            )
        })?;
        for object in &objects {
            profile(folder, object).map_err(|error| {
                format!(
                    "cannot give the procedures in {object} their symbols; is binutils installed? {error}"
                )
            })?;
        }
        archive(folder, &objects)?;
        self.sources
            .iter()
            .map(|source| source.name)
            .filter(|name| !name.ends_with(HEADER))
            .chain(objects.iter().map(String::as_str))
            .try_for_each(|name| fs::remove_file(folder.join(name)))
            .and_then(|()| keep(folder))
            .map_err(unwritten)
    }

    /// Compiles the modules in their order, then all procedures at once. Returns the names of the objects.
    fn compile(&self, folder: &Path) -> Result<Vec<String>, RunError> {
        let compiled = || self.sources.iter().filter(|source| !source.name.ends_with(HEADER));
        let one = |name: &str| run_in(folder, &self.compiler.compile(name, &object(name), folder));
        for source in compiled().filter(|source| source.has_modules) {
            one(source.name)?;
        }
        std::thread::scope(|scope| {
            let procedures = compiled().filter(|source| !source.has_modules);
            let running: Vec<_> = procedures.map(|source| scope.spawn(move || one(source.name))).collect();
            running
                .into_iter()
                .try_for_each(|running| running.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })?;
        Ok(compiled().map(|source| object(source.name)).collect())
    }
}

/// Returns the name of the object file of a source.
fn object(source: &str) -> String {
    format!("{source}.o")
}

fn archive(folder: &Path, objects: &[String]) -> Result<(), String> {
    let mut words: Vec<OsString> = ["ar", "rcs"].map(OsString::from).into();
    words.push(archive_file().into());
    words.extend(objects.iter().map(OsString::from));
    run_in(folder, &words).map_err(|error| {
        format!("cannot put the compiled modules together with ar; is binutils installed? {error}")
    })
}

/// Lets all users read the files, and waits until they are on the disk, because an existing folder is used
/// without a check.
fn keep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        fs::set_permissions(&path, Permissions::from_mode(0o644))?;
        File::open(&path)?.sync_all()?;
    }
    fs::set_permissions(folder, Permissions::from_mode(0o755))
}
