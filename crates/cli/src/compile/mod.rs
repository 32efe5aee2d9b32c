//! `canele cc` and `canele c++`, also called `mpicc` and `mpicxx`: the system's compiler with what MPI programs need.
//!
//! Owns which compiler is run, and that the process becomes it: its exit status is the compiler's own. Never reads a source,
//! never changes a word that is the compiler's.

mod compiler;
mod line;
mod profiling;
mod query;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use crate::{print, say, wrong_usage};
use canele_launch::installation::{configuration_folder, include_folder, library_folder};
use compiler::CompilerChoice;
use line::{Needs, compile_flags, link_flags};
use profiling::ProfilingFlags;
use query::{Query, typed};

/// The variable that a wrapper sets for its compiler. A wrapper that finds it was started as another one's compiler. MPICH's wrappers do the same.
const RECURSION: &str = "MPICH_RECURSION_CHECK";

/// Arguments of `canele cc` and `canele c++`: all are the compiler's, whatever they are.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct CompileArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMPILER ARGS")]
    words: Vec<OsString>,
}

impl CompileArguments {
    /// The words.
    pub fn words(self) -> Vec<OsString> {
        self.words
    }
}

/// What is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `canele cc`, `mpicc`.
    C,
    /// `canele c++`, `mpicxx`, `mpic++`, `mpiCC`.
    Cxx,
}

impl Language {
    fn command(self) -> &'static str {
        match self {
            Language::C => "canele cc",
            Language::Cxx => "canele c++",
        }
    }
}

/// Becomes the compiler, or says what is asked.
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
    let choice = match CompilerChoice::take(language, &mut words, |name| std::env::var(name).ok()) {
        Ok(choice) => choice,
        Err(text) => return Ok(wrong_usage(&format!("{}: {text}", language.command()))),
    };
    let (query, words) = query::split(words);
    if let Some(query) = query {
        print(&answer(query, choice, words)?);
        return Ok(ExitCode::SUCCESS);
    }
    let others = format!("{}COMPILER or {}", language.options()[0], language.variables()[0]);
    let named_by = choice.named_by;
    let needs = Needs::of(&words);
    let command = command(choice, words, needs)?;
    let compiler = command[0].to_string_lossy();
    if std::env::var_os(RECURSION).is_some() {
        let named = named_by.map(|by| format!(", {by} names {compiler}")).unwrap_or_default();
        return Err(format!(
            "a compiler wrapper of MPI started this one as its compiler{named}: name a compiler that is no wrapper with {others}"
        ));
    }
    let error = Command::new(&command[0]).args(&command[1..]).env(RECURSION, "1").exec();
    let named = named_by.map(|by| format!(", which {by} names")).unwrap_or_default();
    Err(format!(
        "cannot run the compiler {compiler}{named}: {error}; install it, or name another one with {others}"
    ))
}

/// The whole command line. What the user says stands first, so that it is found first.
fn command(choice: CompilerChoice, words: Vec<OsString>, needs: Needs) -> Result<Vec<OsString>, String> {
    let profiling = if needs == Needs::Nothing { ProfilingFlags::default() } else { profiling(&choice)? };
    let mut command = choice.compiler;
    command.extend(words);
    if needs >= Needs::Header {
        command.extend(compile_flags(&include_folder()?, &profiling));
    }
    if needs >= Needs::Library {
        command.extend(link_flags(&library_folder()?, &profiling));
    }
    Ok(command)
}

fn profiling(choice: &CompilerChoice) -> Result<ProfilingFlags, String> {
    match &choice.profiling {
        // What is only compiled needs no library.
        Some(name) => ProfilingFlags::find(name, library_folder().ok().as_deref(), &configuration_folder()?),
        None => Ok(ProfilingFlags::default()),
    }
}

fn answer(query: Query, choice: CompilerChoice, words: Vec<OsString>) -> Result<String, String> {
    // Often asked without a source: what it would take to build a program is meant.
    let needs = Needs::with_a_source(&words);
    let line = match query {
        Query::Version => return Ok(format!("Canelé {}", env!("CARGO_PKG_VERSION"))),
        Query::Line => command(choice, words, needs)?,
        Query::CompileLine => command(choice, words, Needs::Header)?,
        Query::CompileFlags => compile_flags(&include_folder()?, &profiling(&choice)?),
        Query::LinkFlags => link_flags(&library_folder()?, &profiling(&choice)?),
        Query::IncludeFolders => vec![include_folder()?.into()],
        Query::LibraryFolders => vec![library_folder()?.into()],
        Query::LibraryNames => vec![line::LIBRARY.into()],
        Query::Compiler => choice.compiler,
    };
    Ok(typed(&line))
}

/// What `--help` says.
pub fn help(language: Language) -> String {
    let (default, variables) = (language.default_compiler(), language.variables().join(", "));
    let option = language.options().join("COMPILER, ") + "COMPILER";
    let profile = language.profiling_variable();
    let variable = language.variables()[0];
    let (command, suffix, names) = match language {
        Language::C => (language.command(), "c", "mpicc"),
        Language::Cxx => (language.command(), "cc", "mpicxx, mpic++ and mpiCC"),
    };
    format!(
        "Compiles and links programs that use MPI. Also called {names}.

Usage: {command} COMPILER ARGS…

All arguments but these go to the compiler, and behind them what finds mpi.h and the library. Programs run over any
library of the MPI standard ABI: where LD_LIBRARY_PATH names one, it is taken.

  {option:<28}the compiler, with arguments if it needs some, as in {first}\"ccache clang\"; else the first of
                              {variables} that is set; else {default}
  -profile=NAME               a profiling library, linked before MPI's; else the one that {profile} names
  --show                      print the command instead of running it; also -show, --showme
  --showme:compile, :link     print what is added to compile, to link
  --showme:incdirs, :libdirs, :libs, :command, :version
  -compile_info, -link_info   print the commands for both

A profiling library has functions of MPI that call those with the prefix PMPI_. -profile=NAME takes libNAME beside
MPI's library, or what NAME.conf in PREFIX/etc or the current folder says, or libNAME where the linker finds it.
NAME.conf sets variables, as a shell does: PROFILE_PRELIB and PROFILE_POSTLIB are what is linked before and behind
MPI's library, PROFILE_INCPATHS is for the compiler.

Examples:
  {command} -O2 -o hello hello.{suffix} && canele run -n 4 ./hello
  {command} -c part.{suffix}
  {command} {first}clang -o hello hello.{suffix}
  {variable}=clang {command} -o hello hello.{suffix}",
        first = language.options()[0]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_asked_about_itself_gets_nothing_added() {
        let words = ["--version"].map(OsString::from).to_vec();
        let needs = Needs::of(&words);
        let choice =
            CompilerChoice { compiler: vec!["cc".into()], named_by: None, profiling: Some("none".into()) };
        assert_eq!(command(choice, words, needs), Ok(vec!["cc".into(), "--version".into()]));
    }
}
