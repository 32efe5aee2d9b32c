//! Programs in Fortran for tests, and the wrapper of an installation that compiles them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Once;

use super::installation::{Installation, is_there, printed};

/// Returns true if there is a compiler; fails in CI, where there must be one.
pub fn has_compiler() -> bool {
    let is_ci = std::env::var_os("CI").is_some();
    let there = is_there("gfortran");
    assert!(there || !is_ci, "gfortran is needed in CI, where .ci/run installs it");
    there
}

/// A script that compiles the modules once and then copies them: all tests compile the same modules, which
/// takes half a minute.
const QUICK: &str = r#"#!/bin/sh
compiler=$(PATH=/usr/local/bin:/usr/bin:/bin command -v gfortran)
case " $* " in *" -fPIC "*" -o "*.f90" ") ;; *) exec "$compiler" "$@" ;; esac
kept=$(dirname "$0")/kept
for source; do :; done
key=$( (echo "$*" | sed 's/-I[^ ]*//g'; "$compiler" --version; cat *.f90) | md5sum | cut -d' ' -f1)
mkdir -p "$kept"
exec 9>"$kept/$key.lock"
flock 9
if [ ! -d "$kept/$key" ]; then
    "$compiler" "$@" || exit
    mkdir "$kept/$key.new" && cp "$source.o" "$kept/$key.new/" && { cp *.mod "$kept/$key.new/" || :; }
    mv "$kept/$key.new" "$kept/$key"
else
    cp "$kept/$key"/* .
fi
"#;

/// Returns the folder of the script, which is named gfortran.
fn quick_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("quick-fortran")
}

/// Writes that script once, and returns its path.
pub fn quick_compiler() -> PathBuf {
    static WRITTEN: Once = Once::new();
    let file = quick_folder().join("gfortran");
    WRITTEN.call_once(|| {
        fs::create_dir_all(quick_folder()).unwrap();
        let new = quick_folder().join(format!("gfortran.{}", std::process::id()));
        fs::write(&new, QUICK).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(&new, &file).unwrap();
    });
    file
}

/// Returns a search path of this folder, then that of the script, then the usual ones.
pub fn path_with(folder: &Path) -> String {
    quick_compiler();
    format!("{}:{}:{}", folder.display(), quick_folder().display(), std::env::var("PATH").unwrap())
}

/// Returns a command of an installation whose user has an empty cache at first.
pub fn command(here: &Installation, name: &str, words: &[&str]) -> Command {
    let mut command = here.command(name, words);
    command.env("XDG_CACHE_HOME", here.path("cache")).env("PATH", path_with(&here.path("bin")));
    command
}

pub fn run(here: &Installation, name: &str, words: &[&str]) -> Output {
    command(here, name, words).output().unwrap()
}

pub fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Writes a program that names the MPI that it uses, and calls MPI only if it has a hundred arguments.
pub fn write_program(here: &Installation, file: &str, uses: &str, includes: &str) {
    let text = format!(
        "      program main\n{uses}      implicit none\n{includes}      integer :: error\n\
         \x20     if (command_argument_count() .eq. 100) call MPI_Init(error)\n\
         \x20     print *, MPI_VERSION\n      end program\n"
    );
    fs::write(here.path(file), text).unwrap();
}

/// Returns the folder of modules that a wrapper names.
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
