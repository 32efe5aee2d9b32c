//! The texts of `--help` of the compiler wrappers.

use super::Language;

/// Returns the text of `--help`.
pub fn help(language: Language) -> String {
    let (defaults, variables) = (either(language.default_compilers()), language.variables().join(", "));
    let profile = language.profiling_variable();
    let variable = language.variables()[0];
    let (first, older) = (language.options()[0], &language.options()[1..]);
    let option: String =
        older.iter().fold(format!("{first}COMPILER"), |text, older| format!("{text}, {older}"));
    let (command, suffix, names, other) = match language {
        Language::C => (language.command(), "c", "mpicc", "clang"),
        Language::Cxx => (language.command(), "cc", "mpicxx, mpic++ and mpiCC", "clang"),
        Language::Fortran => (language.command(), "f90", "mpifort, mpif90 and mpif77", "flang"),
    };
    let (needed, abi, more) = match language {
        Language::C | Language::Cxx => ("mpi.h and the library", ABI, ""),
        Language::Fortran => ("the modules and the libraries", "", MODULES),
    };
    let variables = wrapped(&format!("{variables} that is set; else {defaults}"));
    format!(
        "Compiles and links programs that use MPI. Also called {names}.

Usage: {command} COMPILER ARGS…

All arguments but these go to the compiler, followed by the options that find {needed}. Programs run
over any library of their ABI; a library in LD_LIBRARY_PATH comes first.

  {option:<28}compiler, with arguments if needed, as in {first}\"ccache {other}\"; otherwise the first of
                              {variables}
{abi}  -profile=NAME               profiling library to link before MPI's; otherwise the library that {profile} names
  --show                      print the command instead of running it; also -show, --showme
  --showme:compile, :link     print the options added to compile, to link
  --showme:incdirs, :libdirs, :libs, :command, :version
  -compile_info, -link_info   print the commands for both
{more}
A profiling library has functions of MPI that call those with the prefix PMPI_. -profile=NAME takes libNAME beside
MPI's library, or the settings of NAME.conf in PREFIX/etc or the current folder, or libNAME in the linker's folders.
NAME.conf sets variables, as a shell does: PROFILE_PRELIB and PROFILE_POSTLIB are linked before and behind MPI's
library, and PROFILE_INCPATHS goes to the compiler.

Examples:
  {command} -O2 -o hello hello.{suffix} && canele run -n 4 ./hello
  {command} -c part.{suffix}
  {command} {first}{other} -o hello hello.{suffix}
  {variable}={other} {command} -o hello hello.{suffix}"
    )
}

/// The text on additional options of the wrappers for C and C++.
const ABI: &str = "  -abi=ABI                    standard: any library of the MPI standard ABI, libmpi_abi.so.1; mpich: MPICH, Intel MPI
                              and libraries with their ABI, libmpi.so.12; openmpi: Open MPI, libmpi.so.40. Default: the
                              ABI in CANELE_ABI, otherwise standard, or mpich if pip has installed Canelé
";

/// The text on additional options of the wrapper for Fortran.
const MODULES: &str = "  --prepare[=FOLDER]          compile the modules for all users, into PREFIX/lib/canele/fortran or FOLDER, and print where

The modules mpi and mpi_f08 and mpif.h are compiled once for each compiler, when it is first used, and kept in
$XDG_CACHE_HOME/canele/fortran, by default ~/.cache/canele/fortran. Options that change kinds of numbers, as
-fdefault-integer-8 and -i8, have modules of their own: give them to compile and to link.
";

/// Returns the words of a list, with "or" before the last one.
fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} or {last}, whichever is there first", others.join(", ")),
    }
}

/// Returns a text for the second column, on several lines if it is long.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is a line");
        if !last.is_empty() && last.len() + word.len() > LINE {
            lines.push(word.to_owned());
        } else {
            let space = if last.is_empty() { "" } else { " " };
            *last += &format!("{space}{word}");
        }
    }
    lines.join("\n                              ")
}

/// Number of letters of a line in the second column.
const LINE: usize = 84;
