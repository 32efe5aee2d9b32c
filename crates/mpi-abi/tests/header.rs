//! The header compiles without a warning in every version of C and C++, with every installed compiler.

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::text;

const STRICT: [&str; 8] = [
    "-fsyntax-only",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-Wshadow",
    "-Wcast-qual",
    "-Wredundant-decls",
];
const STRICT_C: [&str; 3] = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wold-style-definition"];
const STRICT_CPP: [&str; 2] = ["-Wold-style-cast", "-Wconversion"];

/// Compiles a file. Without the compiler it returns none, and fails in CI.
fn compile(compiler: &str, words: &[&str], include: &Path, file: &Path) -> Option<Output> {
    let mut command = Command::new(compiler);
    command.args(words).arg("-I").arg(include).arg(file);
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            assert!(
                std::env::var_os("CI").is_none(),
                "{compiler} is needed in CI, where .ci/run installs it: {error}"
            );
            // Test output of `eprintln!` is captured, this line is not.
            let _ = writeln!(std::io::stderr(), "SKIPPED: {compiler} cannot be started here: {error}");
            None
        }
    }
}

/// Returns the folder of the headers of an ABI; the standard's ABI has no folder of its own.
fn include(abi: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include").join(abi)
}

/// Checks that both compilers accept the file in each of these versions of the language.
fn accepts(compilers: [&str; 2], versions: &[&str], strict: &[&str], include: &Path, file: &Path) {
    for compiler in compilers {
        for version in versions {
            let version = format!("-std={version}");
            let words: Vec<&str> = STRICT.iter().chain(strict).copied().chain([version.as_str()]).collect();
            if let Some(output) = compile(compiler, &words, include, file) {
                assert!(output.status.success(), "{compiler} {}: {}", words.join(" "), text(&output));
            }
        }
    }
}

/// Writes a program that uses every constant that is a macro, because a compiler checks a macro only where it
/// is used.
fn program(abi: &str, name: &str) -> PathBuf {
    let header = std::fs::read_to_string(include(abi).join("mpi.h")).unwrap();
    let constants: Vec<&str> = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define MPI_")?.split_once(' '))
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with("ABI_") && !name.contains('('))
        .collect();
    assert!(constants.len() > 100, "the header has {} macros", constants.len());
    let mut text = String::from(
        "#define MPI_REMOVED_API\n#include <mpi.h>\n#include <mpi-ext.h>\nint main(void) {\n    int used = 0;\n",
    );
    for name in constants {
        text += &format!("    if (MPI_{name} == 0) used++;\n");
    }
    text += "    return used > 0;\n}\n";
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{abi}{name}"));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_header_is_clean_in_every_c() {
    let file = program("", "every_constant.c");
    accepts(
        ["gcc", "clang"],
        &["c99", "c11", "c17", "c2x", "gnu99", "gnu17"],
        &STRICT_C,
        &include(""),
        &file,
    );
}

#[test]
fn the_headers_of_the_other_abis_are_clean() {
    // Constants that are addresses are compared with 0.
    let addresses = ["-Wno-address", "-Wno-tautological-pointer-compare"];
    let (strict_c, strict_cpp) =
        ([&STRICT_C[..], &addresses].concat(), [&STRICT_CPP[..], &addresses].concat());
    for abi in ["mpich", "openmpi"] {
        let file = program(abi, "every_constant.c");
        accepts(["gcc", "clang"], &["c99", "gnu17"], &strict_c, &include(abi), &file);
        let file = program(abi, "every_constant.cpp");
        accepts(["g++", "clang++"], &["c++11", "c++20"], &strict_cpp, &include(abi), &file);
    }
}

#[test]
fn the_header_is_clean_in_every_cpp() {
    let file = program("", "every_constant.cpp");
    let versions = ["c++11", "c++14", "c++17", "c++20", "c++2b", "gnu++11", "gnu++17"];
    accepts(["g++", "clang++"], &versions, &STRICT_CPP, &include(""), &file);
}

#[test]
fn what_is_not_clean_is_noticed() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("not_clean.cpp");
    std::fs::write(&path, "#include <mpi.h>\nMPI_Comm comm = (MPI_Comm)0x101;\n").unwrap();
    for compiler in ["g++", "clang++"] {
        let words: Vec<&str> = STRICT.iter().chain(&STRICT_CPP).copied().collect();
        if let Some(output) = compile(compiler, &words, &include(""), &path) {
            assert!(!output.status.success() && text(&output).contains("old-style"), "{}", text(&output));
        }
    }
}

#[test]
fn removed_functions_are_declared_on_request_and_name_their_successors() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("removed.c");
    std::fs::write(&path, "#include <mpi.h>\nint at(void *p, MPI_Aint *a) { return MPI_Address(p, a); }\n")
        .unwrap();
    for compiler in ["gcc", "clang"] {
        for (words, expected) in
            [(&["-DMPI_REMOVED_API"][..], "use MPI_Get_address"), (&[], "implicit declaration of function")]
        {
            let words: Vec<&str> = STRICT.iter().chain(words).copied().chain(["-std=c11"]).collect();
            if let Some(output) = compile(compiler, &words, &include(""), &path) {
                assert!(!output.status.success() && text(&output).contains(expected), "{}", text(&output));
            }
        }
    }
}
