//! `scripts/install`: CMake's FindMPI and pkg-config find the installed files, and build programs that run.

mod support;

use std::fs;
use std::process::Command;

use support::installation::{Installation, is_there, printed};

const PROJECT: &str = "cmake_minimum_required(VERSION 3.16)
project(program C CXX)
find_package(MPI REQUIRED)
add_executable(program program.c)
target_link_libraries(program MPI::MPI_C)
add_executable(program++ program.cc)
target_link_libraries(program++ MPI::MPI_CXX)
find_package(canele 0.1 REQUIRED)
add_executable(own own.c)
target_link_libraries(own canele::canele)
message(STATUS \"version ${MPI_C_VERSION}, launcher ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG}\")
";

#[test]
fn cmake_finds_the_installation_through_its_wrappers() {
    if !is_there("cmake") || !is_there("c++") {
        return;
    }
    let here = Installation::complete("cmake");
    here.source("program.c");
    here.source("program.cc");
    here.own_source("own.c");
    fs::write(here.path("CMakeLists.txt"), PROJECT).unwrap();
    let path = format!("{}:{}", here.path("bin").display(), std::env::var("PATH").unwrap());
    let cmake = |words: &[&str]| {
        let mut command = Command::new("timeout");
        command
            .args(["-s", "KILL", "300", "cmake"])
            .args(words)
            .current_dir(here.prefix())
            .env("PATH", &path);
        printed(&command.output().unwrap())
    };
    let told =
        cmake(&["-S", ".", "-B", "build", &format!("-DCMAKE_PREFIX_PATH={}", here.prefix().display())]);
    let found = format!("version 5.0, launcher {} -n", here.path("bin/mpiexec").display());
    assert!(told.contains(&found), "{told}");
    cmake(&["--build", "build"]);
    for program in ["../build/program", "../build/program++"] {
        assert_eq!(printed(&here.command(program, &[]).output().unwrap()), "ours");
    }
    assert_eq!(printed(&here.command("../build/own", &[]).output().unwrap()), "installed");
}

#[test]
fn pkg_config_says_what_the_wrapper_does() {
    if !is_there("pkg-config") {
        return;
    }
    let here = Installation::complete("pkg-config");
    here.source("program.c");
    here.own_source("own.c");
    for (name, source, says) in [
        ("canele-mpi", "program.c", "ours"),
        ("mpi", "program.c", "ours"),
        ("mpi-c", "program.c", "ours"),
        ("mpi-cxx", "program.c", "ours"),
        ("mpich", "program.c", "ours"),
        ("ompi", "program.c", "ours"),
        ("ompi-c", "program.c", "ours"),
        ("ompi-cxx", "program.c", "ours"),
        ("canele", "own.c", "installed"),
    ] {
        let mut command = Command::new("pkg-config");
        command.args(["--cflags", "--libs", name]).env("PKG_CONFIG_PATH", here.path("lib/pkgconfig"));
        let flags = printed(&command.output().unwrap());
        let source = format!("../{source}");
        let mut words = vec!["-o", "../program", &source];
        words.extend(flags.split_whitespace());
        let mut cc = Command::new("cc");
        printed(&cc.args(words).current_dir(here.path("bin")).output().unwrap());
        assert_eq!(printed(&here.command("../program", &[]).output().unwrap()), says, "{flags}");
        fs::remove_file(here.path("program")).unwrap();
    }
}

#[test]
fn pkg_config_knows_the_names_of_other_mpis_as_recent_releases() {
    if !is_there("pkg-config") {
        return;
    }
    let here = Installation::complete("recent");
    let asked = |name: &str, word: &str| {
        let mut command = Command::new("pkg-config");
        command.args([word, name]).env("PKG_CONFIG_LIBDIR", here.path("lib/pkgconfig"));
        command.output().unwrap()
    };
    for name in ["mpich", "ompi", "ompi-c", "ompi-cxx"] {
        printed(&asked(name, "--atleast-version=4.1"));
    }
    assert_eq!(printed(&asked("mpi-cxx", "--modversion")), env!("CARGO_PKG_VERSION"));
    // These files name a compiler's modules, which `canele fortran --prepare` compiles.
    for name in ["mpi-fort", "ompi-fort"] {
        assert!(!asked(name, "--exists").status.success(), "{name}");
    }
}

#[test]
fn installing_again_renews_and_removing_leaves_nothing() {
    let here = Installation::complete("again");
    let before = fs::metadata(here.path("bin/canele")).unwrap().modified().unwrap();
    let told = printed(&here.install(&[]));
    assert!(told.contains("bin/mpicc") && told.contains(here.prefix().to_str().unwrap()), "{told}");
    assert!(fs::metadata(here.path("bin/canele")).unwrap().modified().unwrap() > before);
    assert_eq!(fs::canonicalize(here.path("bin/mpirun")).unwrap(), here.path("bin/canele"));
    assert_eq!(fs::read_to_string(here.path("lib/canele/libmpi.so.12")).unwrap(), "by MPICH's ABI");
    assert_eq!(fs::read_to_string(here.path("lib/canele/libmpi.so.40")).unwrap(), "by Open MPI's ABI");
    fs::write(here.path("bin/other"), "").unwrap();
    printed(&here.install(&["--remove"]));
    for (folder, left) in [("bin", 1), ("include", 0), ("lib", 1), ("lib/pkgconfig", 0)] {
        assert_eq!(fs::read_dir(here.path(folder)).unwrap().count(), left, "{folder}");
    }
    assert_eq!(here.install(&["--remove"]).status.code(), Some(1));
}

#[test]
fn files_of_others_are_not_overwritten() {
    let here = Installation::built("others");
    fs::create_dir_all(here.path("bin")).unwrap();
    fs::write(here.path("bin/mpicc"), "theirs").unwrap();
    let output = here.install(&[]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains(here.path("bin/mpicc").to_str().unwrap()), "{error}");
    assert_eq!(fs::read_to_string(here.path("bin/mpicc")).unwrap(), "theirs");
    assert!(!here.path("bin/canele").exists());
}
