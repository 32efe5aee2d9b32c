//! `canele cc` and `canele c++`, also called `mpicc` and `mpicxx`: the system's compiler with what MPI programs need.
//!
//! Owns which compiler is run, and that the process becomes it: its exit status is the compiler's own. Never reads a source,
//! never changes a word it was given.

mod line;
mod query;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use crate::{print, say, wrong_usage};
use canele_launch::installation::{include_folder, library_folder};
use line::{Needs, compile_flags, link_flags};
use query::{Query, typed};

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

    /// The variable that names the compiler, and the compiler if it does not.
    fn compiler(self) -> (&'static str, &'static str) {
        match self {
            Language::C => ("CANELE_CC", "cc"),
            Language::Cxx => ("CANELE_CXX", "c++"),
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

fn run(language: Language, words: Vec<OsString>) -> Result<ExitCode, String> {
    let (variable, default) = language.compiler();
    let compiler = compiler(std::env::var(variable).ok().as_deref(), default);
    let (query, words) = query::split(words);
    if let Some(query) = query {
        print(&answer(query, compiler, words)?);
        return Ok(ExitCode::SUCCESS);
    }
    let needs = Needs::of(&words);
    let command = command(compiler, words, needs)?;
    let error = Command::new(&command[0]).args(&command[1..]).exec();
    Err(format!(
        "cannot run the compiler {}: {error}; the variable {variable} names another one",
        command[0].to_string_lossy()
    ))
}

/// The compiler may have arguments of its own, as in `ccache gcc`.
fn compiler(named: Option<&str>, default: &str) -> Vec<OsString> {
    let named: Vec<OsString> = named.unwrap_or_default().split_whitespace().map(OsString::from).collect();
    if named.is_empty() { vec![default.into()] } else { named }
}

/// The whole command line. What the user says stands first, so that it is found first.
fn command(compiler: Vec<OsString>, words: Vec<OsString>, needs: Needs) -> Result<Vec<OsString>, String> {
    let mut command = compiler;
    command.extend(words);
    if needs >= Needs::Header {
        command.extend(compile_flags(&include_folder()?));
    }
    if needs >= Needs::Library {
        command.extend(link_flags(&library_folder()?));
    }
    Ok(command)
}

fn answer(query: Query, compiler: Vec<OsString>, words: Vec<OsString>) -> Result<String, String> {
    // Often asked without a source: what it would take to build a program is meant.
    let needs = Needs::with_a_source(&words);
    let line = match query {
        Query::Version => return Ok(format!("Canelé {}", env!("CARGO_PKG_VERSION"))),
        Query::Line => command(compiler, words, needs)?,
        Query::CompileLine => command(compiler, words, Needs::Header)?,
        Query::CompileFlags => compile_flags(&include_folder()?),
        Query::LinkFlags => link_flags(&library_folder()?),
        Query::IncludeFolders => vec![include_folder()?.into()],
        Query::LibraryFolders => vec![library_folder()?.into()],
        Query::LibraryNames => vec![line::LIBRARY.into()],
        Query::Compiler => compiler,
    };
    Ok(typed(&line))
}

/// What `--help` says.
pub fn help(language: Language) -> String {
    let (variable, default) = language.compiler();
    let (command, suffix, names) = match language {
        Language::C => (language.command(), "c", "mpicc"),
        Language::Cxx => (language.command(), "cc", "mpicxx, mpic++ and mpiCC"),
    };
    format!(
        "Compiles and links programs that use MPI. Also called {names}.

Usage: {command} COMPILER ARGS…

All arguments go to the compiler, `{default}` or what {variable} names, and behind them what finds mpi.h and the
library. Programs run over any library of the MPI standard ABI: where LD_LIBRARY_PATH names one, it is taken.

  --show                      print the command instead of running it; also -show, --showme
  --showme:compile, :link     print what is added to compile, to link
  --showme:incdirs, :libdirs, :libs, :command, :version
  -compile_info, -link_info   print the commands for both

Examples:
  {command} -O2 -o hello hello.{suffix} && canele run -n 4 ./hello
  {command} -c part.{suffix}
  {variable}=clang {command} -o hello hello.{suffix}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_the_systems_or_the_one_that_was_named() {
        assert_eq!(compiler(None, "cc"), ["cc"]);
        assert_eq!(compiler(Some(" "), "c++"), ["c++"]);
        assert_eq!(compiler(Some("ccache  gcc-12"), "cc"), ["ccache", "gcc-12"]);
    }

    #[test]
    fn a_compiler_asked_about_itself_gets_nothing_added() {
        let words = ["--version"].map(OsString::from).to_vec();
        let needs = Needs::of(&words);
        assert_eq!(command(vec!["cc".into()], words, needs), Ok(vec!["cc".into(), "--version".into()]));
    }
}
