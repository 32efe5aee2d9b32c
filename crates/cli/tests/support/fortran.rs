//! Programs in Fortran for tests, and the wrapper of an installation that compiles them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::installation::{Installation, is_there, printed};

/// The libraries of these tests have a few functions, and are not called.
pub const LENIENT: [&str; 2] = ["-Wl,--unresolved-symbols=ignore-all", "-Wl,-z,lazy"];

/// Whether there is a compiler; where all tests count, there must be one.
pub fn has_compiler() -> bool {
    let is_ci = std::env::var_os("CI").is_some();
    let there = is_there("gfortran");
    assert!(there || !is_ci, "gfortran is needed in CI, where .ci/run installs it");
    there
}

/// A command of an installation whose user has an empty cache at first.
pub fn command(here: &Installation, name: &str, words: &[&str]) -> Command {
    let mut command = here.command(name, words);
    command.env("XDG_CACHE_HOME", here.path("cache"));
    command
}

pub fn run(here: &Installation, name: &str, words: &[&str]) -> Output {
    command(here, name, words).output().unwrap()
}

pub fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A program that says which MPI it uses, and calls nothing unless it has a hundred arguments.
pub fn write_program(here: &Installation, file: &str, uses: &str, includes: &str) {
    let text = format!(
        "      program main\n{uses}      implicit none\n{includes}      integer :: error\n\
         \x20     if (command_argument_count() .eq. 100) call MPI_Init(error)\n\
         \x20     print *, MPI_VERSION\n      end program\n"
    );
    fs::write(here.path(file), text).unwrap();
}

/// The folder of modules that a wrapper names.
pub fn modules(here: &Installation, words: &[&str]) -> PathBuf {
    let words = [&["--showme:incdirs"], words].concat();
    printed(&run(here, "mpifort", &words)).into()
}

pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
