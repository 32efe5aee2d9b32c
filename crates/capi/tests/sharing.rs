//! Two libraries in one process share one engine if they have one sharing version and are of one build;
//! otherwise the second one gives the reason.

mod support;

use std::path::PathBuf;
use std::process::Command;

use canele_sys::copies;

use support::{compile, compiled_as, folder, library, printed, text};

/// Makes a library that offers an engine, in a folder of its own.
fn offering(name: &str, defines: &[&str]) -> PathBuf {
    let of_library = library().join(name);
    std::fs::create_dir_all(&of_library).unwrap();
    let path = of_library.join("libmpi_abi.so.1");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]);
    compiler.args(["-Wl,-soname,libmpi_abi.so.1"]).args(defines);
    compiler.arg(folder("tests/sharing/offering.c")).arg("-o").arg(&path);
    let output = compiler.output().expect("a C compiler is there");
    assert!(output.status.success(), "{}", text(&output));
    path
}

/// Starts a job beside a library, and returns the output.
fn start_beside(name: &str, defines: &[&str]) -> (PathBuf, String) {
    let other = offering(name, defines);
    let program = compiled_as(&folder("tests/sharing/start.c"), &format!("start-{name}"));
    let lines = printed(1, &program, &[other.to_str().unwrap()]);
    (other, lines.join("\n"))
}

/// Asserts that an error names both libraries with their versions, and has these words.
#[track_caller]
fn assert_refused((other, error): &(PathBuf, String), theirs: &str, words: &str) {
    let through = format!("this process has joined its job already, through {} {theirs}. ", other.display());
    assert!(error.contains(&through), "{error}");
    let ours = format!(
        "libcanele.so.0 (sharing version {}) cannot share the job with it, because ",
        copies::VERSION
    );
    assert!(error.contains(&ours), "{error}");
    assert!(error.contains(words), "{error}");
    assert!(error.contains("install both libraries from one package"), "{error}");
}

#[test]
fn a_library_of_another_version_is_named_with_its_version_and_the_older_one() {
    let newer = copies::VERSION + 1;
    let refused = start_beside("newer", &[&format!("-DVERSION={newer}"), "-DVALUE"]);
    assert_refused(&refused, &format!("(sharing version {newer})"), "libcanele.so.0 is older: ");
    let refused = start_beside("older", &["-DVERSION=0"]);
    assert_refused(&refused, "(sharing version 0)", &format!("{} is older: ", refused.0.display()));
}

#[test]
fn a_library_without_a_version_is_older_than_versions() {
    let refused = start_beside("unversioned", &["-DVALUE"]);
    let older = format!("{} is older: ", refused.0.display());
    assert_refused(&refused, "(made before sharing versions existed)", &older);
}

#[test]
fn a_library_of_the_same_version_and_another_build_is_refused_in_other_words() {
    let version = format!("-DVERSION={}", copies::VERSION);
    let refused = start_beside("build", &[&version]);
    let theirs = format!("(sharing version {})", copies::VERSION);
    assert_refused(&refused, &theirs, "the two are of different builds");
}

#[test]
fn a_library_that_has_joined_no_job_is_no_hindrance() {
    assert_eq!(start_beside("idle", &["-DNOTHING"]).1, "started");
}

#[test]
fn the_mpi_library_of_the_same_build_is_one_rank_with_this_one() {
    let mut build = Command::new(env!("CARGO"));
    // All are built together, so that they have equal features, and one engine.
    build.args(["build", "--quiet", "-p", "canele-cli", "-p", "canele-capi", "-p", "canele-mpi-abi"]);
    build.args((!cfg!(debug_assertions)).then_some("--release")).current_dir(folder(""));
    assert!(build.status().expect("cargo can be run").success(), "the library can be built");
    let test = std::env::current_exe().expect("a test has a path");
    let built = test.ancestors().nth(2).expect("tests lie in target/PROFILE/deps").join("libmpi_abi.so");
    let mpi = library().join("libmpi_abi.so.1");
    std::os::unix::fs::symlink(&built, &mpi).expect("a link");

    let program = library().join("beside_mpi");
    let include = format!("-I{}", folder("../mpi-abi/include").display());
    let compiler = ["cc", "-std=c11", &include, "-Wl,--no-as-needed", mpi.to_str().unwrap()];
    let output = compile(&compiler, &folder("tests/beside_mpi.c"), &program).expect("a C compiler is there");
    assert!(output.status.success(), "{}", text(&output));
    for first in ["mpi", "canele"] {
        let expected = ["rank 0 got 1, sum 1", "rank 1 got 0, sum 1"];
        assert_eq!(printed(2, &program, &[first]), expected, "{first} starts");
    }
}
