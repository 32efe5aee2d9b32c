//! `canele cc`, `canele c++` and `canele fortran`, also called `mpicc`, `mpicxx` and `mpifort`: the system's
//! compiler with flags for MPI.
//!
//! Owns the choice of the compiler. The process becomes the compiler, so its exit status is the compiler's.
//! Never reads a source, and never changes a word that is meant for the compiler.

mod abi;
mod compiler;
mod fortran;
mod help;
mod line;
mod profiling;
mod query;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::{print, say, wrong_usage};
use abi::{abi_folder, abi_name};
use canele_launch::installation::{
    configuration_folder, default_abi, fortran_library_folder, include_folder, include_folder_of,
    library_folder, link_folder_of,
};
use compiler::CompilerChoice;
use fortran::{PreparedPlace, modules, prepare, take_prepare};
pub use help::help;
use line::{Needs, compile_flags, joined, link_flags};
use profiling::ProfilingFlags;
use query::{Query, typed};

/// The variable that a wrapper sets for its compiler. By it a wrapper detects that it was started as the
/// compiler of another wrapper. MPICH's wrappers do the same.
const RECURSION: &str = "MPICH_RECURSION_CHECK";

/// Arguments of `canele cc`, `canele c++` and `canele fortran`: all are the compiler's, whatever they are.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct CompileArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMPILER ARGS")]
    words: Vec<OsString>,
}

impl CompileArguments {
    /// Returns the arguments as words.
    pub fn words(self) -> Vec<OsString> {
        self.words
    }
}

/// The language of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// C: `canele cc`, `mpicc`.
    C,
    /// C++: `canele c++`, `mpicxx`, `mpic++`, `mpiCC`.
    Cxx,
    /// Fortran: `canele fortran`, `mpifort`, `mpif90`, `mpif77`.
    Fortran,
}

impl Language {
    fn command(self) -> &'static str {
        match self {
            Language::C => "canele cc",
            Language::Cxx => "canele c++",
            Language::Fortran => "canele fortran",
        }
    }
}

/// Becomes the compiler, or answers a query.
pub fn main(language: Language, words: Vec<OsString>) -> ExitCode {
    match words.as_slice() {
        [] => wrong_usage(&format!("{}: nothing to compile\n\n{}", language.command(), help(language))),
        [only] if only == "--help" || only == "-help" => {
            print(&help(language));
            ExitCode::SUCCESS
        }
        _ => run(language, words).unwrap_or_else(|text| {
            say(&format!("{}: {text}", language.command()));
            ExitCode::FAILURE
        }),
    }
}

fn run(language: Language, mut words: Vec<OsString>) -> Result<ExitCode, String> {
    let wrong = |text: String| Ok(wrong_usage(&format!("{}: {text}", language.command())));
    // The modules for Fortran exist for one ABI only.
    let installed = if language == Language::Fortran { None } else { default_abi() };
    let choice = match CompilerChoice::take(language, &mut words, variable, installed) {
        Ok(choice) => choice,
        Err(text) => return wrong(text),
    };
    if language == Language::Fortran {
        match take_prepare(&mut words) {
            Ok(None) => {}
            Ok(Some(place)) => return prepare_modules(&choice, &words, &place),
            Err(text) => return wrong(text),
        }
    }
    let (query, words) = query::split(words);
    if let Some(query) = query {
        // Build systems take the output on either stream as the answer.
        let is_seen = io::stderr().is_terminal();
        let tell = |text: &str| {
            if is_seen {
                tell(language, text)
            }
        };
        print(&Wrapper { language, choice, words, tell: &tell }.answer(query)?);
        return Ok(ExitCode::SUCCESS);
    }
    if std::env::var_os(RECURSION).is_some() {
        let compiler = choice.compiler[0].to_string_lossy();
        let named = choice.named_by.map(|by| format!(", {by} names {compiler}")).unwrap_or_default();
        return Err(format!(
            "a compiler wrapper of MPI started this one as its compiler{named}: name a compiler that is no wrapper with {}",
            namers(language)
        ));
    }
    let needs = Needs::of(&words);
    let wrapper = Wrapper { language, choice, words, tell: &|text| tell(language, text) };
    let command = wrapper.command(needs)?;
    let error = Command::new(&command[0]).args(&command[1..]).env(RECURSION, "1").exec();
    Err(cannot_run(language, &wrapper.choice, &error))
}

/// Returns the value of a variable of the environment.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Prints a message for the user, beside the compiler's output.
fn tell(language: Language, text: &str) {
    say(&format!("{}: {text}", language.command()));
}

/// Returns the option and the variable that name a compiler.
fn namers(language: Language) -> String {
    format!("{}COMPILER or {}", language.options()[0], language.variables()[0])
}

/// Returns the message that a compiler cannot be started.
fn cannot_run(language: Language, choice: &CompilerChoice, error: &io::Error) -> String {
    let others = &language.default_compilers()[1..];
    let named = match choice.named_by {
        Some(by) => format!(", which {by} names"),
        None if others.is_empty() => String::new(),
        None => format!(" (nor is there {})", others.join(", ")),
    };
    let compiler = choice.compiler[0].to_string_lossy();
    format!(
        "cannot run the compiler {compiler}{named}: {error}; install it, or name another one with {}",
        namers(language)
    )
}

/// Runs `canele fortran --prepare`.
fn prepare_modules(
    choice: &CompilerChoice,
    words: &[OsString],
    place: &PreparedPlace,
) -> Result<ExitCode, String> {
    let folder = prepare(choice, words, place, &|text| tell(Language::Fortran, text))?;
    print(&folder.display().to_string());
    Ok(ExitCode::SUCCESS)
}

/// A wrapper's command line, without the wrapper's own options.
struct Wrapper<'a> {
    language: Language,
    choice: CompilerChoice,
    words: Vec<OsString>,
    /// Gets messages for the user.
    tell: &'a dyn Fn(&str),
}

impl Wrapper<'_> {
    /// Returns the whole command line. The user's words come first, so that their folders are searched first.
    /// A header and a library in a folder of one ABI precede them. A build for Python names the folder of its
    /// environment, where Canelé's header of another ABI may be.
    fn command(&self, needs: Needs) -> Result<Vec<OsString>, String> {
        let mut command = self.choice.compiler.clone();
        command.extend(self.words.iter().cloned());
        if needs == Needs::Nothing {
            return Ok(command);
        }
        let modules = self.modules()?;
        let mut flags = self.compile_flags(modules.as_deref())?;
        // Every MPI has a `libmpi.so`: a folder that the user names may have another one.
        if let Some(abi) = abi_folder(self.choice.abi).filter(|_| needs == Needs::Library) {
            flags.push(joined("-L", &link_folder_of(abi)?));
        }
        let is_first = modules.is_none() && self.include_folder()? != include_folder()?;
        let at = if is_first { self.choice.compiler.len() } else { command.len() };
        command.splice(at..at, flags);
        if needs == Needs::Library {
            command.extend(self.link_flags(modules)?);
        }
        Ok(command)
    }

    fn compile_flags(&self, modules: Option<&Path>) -> Result<Vec<OsString>, String> {
        let profiling = self.profiling()?;
        Ok(match modules {
            Some(modules) => compile_flags(modules, &profiling),
            None => compile_flags(&self.include_folder()?, &profiling),
        })
    }

    fn link_flags(&self, modules: Option<PathBuf>) -> Result<Vec<OsString>, String> {
        let libraries = (self.language, self.choice.abi);
        let first = self.first_folder(modules)?;
        Ok(link_flags(libraries, first.as_deref(), &self.library_folder()?, &self.profiling()?))
    }

    /// Returns the folder that is searched before that of the libraries when linking: that of the modules, or
    /// of the ABI's link name.
    fn first_folder(&self, modules: Option<PathBuf>) -> Result<Option<PathBuf>, String> {
        match abi_folder(self.choice.abi) {
            Some(abi) => link_folder_of(abi).map(Some),
            None => Ok(modules),
        }
    }

    fn include_folder(&self) -> Result<PathBuf, String> {
        include_folder_of(abi_name(self.choice.abi))
    }

    /// Returns the folder of the modules for Fortran, and of their archive.
    fn modules(&self) -> Result<Option<PathBuf>, String> {
        match self.language {
            Language::C | Language::Cxx => Ok(None),
            Language::Fortran => modules(&self.choice, &self.words, self.tell).map(Some),
        }
    }

    fn library_folder(&self) -> Result<PathBuf, String> {
        match self.language {
            Language::C | Language::Cxx => library_folder(),
            Language::Fortran => fortran_library_folder(),
        }
    }

    fn profiling(&self) -> Result<ProfilingFlags, String> {
        match &self.choice.profiling {
            // Compiling alone needs no library.
            Some(name) => {
                ProfilingFlags::find(name, library_folder().ok().as_deref(), &configuration_folder()?)
            }
            None => Ok(ProfilingFlags::default()),
        }
    }

    fn answer(&self, query: Query) -> Result<String, String> {
        // Queries often have no source: they ask for the flags to build a program.
        let needs = Needs::with_a_source(&self.words);
        let modules = || self.modules();
        let line = match query {
            Query::Version => return Ok(format!("Canelé {}", env!("CARGO_PKG_VERSION"))),
            Query::Line => self.command(needs)?,
            Query::CompileLine => self.command(Needs::Header)?,
            Query::CompileFlags => self.compile_flags(modules()?.as_deref())?,
            Query::LinkFlags => self.link_flags(modules()?)?,
            Query::IncludeFolders => vec![modules()?.map_or_else(|| self.include_folder(), Ok)?.into()],
            Query::LibraryFolders => {
                let first = self.first_folder(modules()?)?;
                first.into_iter().chain([self.library_folder()?]).map(OsString::from).collect()
            }
            Query::LibraryNames => {
                self.language.libraries(self.choice.abi).iter().map(OsString::from).collect()
            }
            Query::Compiler => self.choice.compiler.clone(),
        };
        Ok(typed(&line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_asked_about_itself_gets_nothing_added() {
        for language in [Language::C, Language::Fortran] {
            let words = ["--version"].map(OsString::from).to_vec();
            let needs = Needs::of(&words);
            let choice = CompilerChoice {
                compiler: vec!["cc".into()],
                abi: canele_mpi_tables::Abi::Standard,
                named_by: None,
                profiling: Some("none".into()),
            };
            let wrapper = Wrapper { language, choice, words, tell: &|text| panic!("{text}") };
            assert_eq!(wrapper.command(needs), Ok(vec!["cc".into(), "--version".into()]));
        }
    }
}
