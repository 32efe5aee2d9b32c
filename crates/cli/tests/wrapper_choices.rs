//! Choices for `mpicc` and `mpicxx` in the spelling of MPICH and others: the compiler and a profiling
//! library. `mpichversion`.

mod support;

use std::fs;
use std::process::{Command, Output};

use support::installation::{Installation, printed};

/// Makes a library for profiling that prints a word before each `MPI_Init`.
fn tool(here: &Installation, name: &str, word: &str) {
    let source = format!(
        "#include <mpi.h>\n#include <stdio.h>\n\
         int MPI_Init(int *argc, char ***argv) {{ puts(\"{word}\"); return PMPI_Init(argc, argv); }}\n"
    );
    fs::write(here.path("tool.c"), source).unwrap();
    printed(&here.run("mpicc", &["-fPIC", "-c", "tool.c"]));
    let mut link = match name.ends_with(".a") {
        true => Command::new("ar"),
        false => Command::new("cc"),
    };
    link.args(if name.ends_with(".a") { &["rcs"][..] } else { &["-shared", "-o"] });
    printed(&link.args([name, "tool.o"]).current_dir(here.prefix()).output().unwrap());
}

fn program(here: &Installation) {
    let source = "#include <mpi.h>\nint main(int argc, char **argv) { return MPI_Init(&argc, &argv); }\n";
    fs::write(here.path("program.c"), source).unwrap();
}

fn error(output: &Output) -> String {
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn options_and_variables_of_other_wrappers_name_the_compiler() {
    let here = Installation::complete("named");
    for (name, words, variables, starts) in [
        ("mpicc", &["-cc=gcc-99", "-show", "-c", "a.c"][..], &[("CANELE_CC", "tcc")][..], "gcc-99 -c a.c -I"),
        ("mpicc", &["-show", "-c", "a.c"], &[("CANELE_CC", "tcc"), ("MPICH_CC", "icx")], "tcc -c a.c -I"),
        ("mpicc", &["-show"], &[("MPICH_CC", "icx -g"), ("OMPI_CC", "clang")], "icx -g -I"),
        ("mpicc", &["-show"], &[("OMPI_CC", "clang"), ("I_MPI_CC", "icc")], "clang -I"),
        ("mpicc", &["-compile_info"], &[("I_MPI_CC", "icc")], "icc -I"),
        ("mpicxx", &["-cxx=g++-99", "-show"], &[("CANELE_CXX", "tcc")], "g++-99 -I"),
        ("mpic++", &["-CC=g++-98", "-show"], &[], "g++-98 -I"),
        ("mpiCC", &["-show"], &[("MPICH_CXX", "icpx"), ("MPICH_CC", "icx")], "icpx -I"),
        ("mpicxx", &["--showme:command"], &[("OMPI_CXX", "clang++")], "clang++"),
        ("mpicxx", &["--showme:command"], &[("I_MPI_CXX", "icpc")], "icpc"),
    ] {
        let output = here.command(name, words).envs(variables.iter().copied()).output().unwrap();
        assert!(printed(&output).starts_with(starts), "{words:?} {variables:?}: {output:?}");
    }
    fs::write(here.path("own"), "echo own \"$1\"\n").unwrap();
    assert_eq!(printed(&here.run("mpicc", &["-cc=sh own", "-c", "a.c"])), "own -c");
}

#[test]
fn a_profiling_library_wraps_the_functions_of_mpi() {
    let here = Installation::complete("profiled");
    program(&here);
    fs::create_dir_all(here.path("tools")).unwrap();
    fs::create_dir_all(here.path("etc")).unwrap();
    tool(&here, "tools/libfixed.a", "fixed");
    tool(&here, "lib/canele/libbeside.so", "beside");
    fs::write(here.path("etc/set.conf"), "folder=tools\nPROFILE_PRELIB=\"-L$folder -lfixed\"\n").unwrap();
    fs::write(here.path("near.conf"), "PROFILE_PRELIB='-Ltools -lfixed' PROFILE_POSTLIB=-lm\nfalse\n")
        .unwrap();
    // The library beside that of MPI has precedence over a file.
    fs::write(here.path("beside.conf"), "PROFILE_PRELIB=-lmissing\n").unwrap();
    for (words, variable, says) in [
        (&["-Ltools", "-profile=fixed"][..], "", "fixed"),
        (&["-profile=beside"], "fixed", "beside"),
        (&["-profile=set"], "", "fixed"),
        (&["-profile=near"], "", "fixed"),
        (&[], "set", "fixed"),
        (&[], "", ""),
    ] {
        let words = [words, &["-o", "out", "program.c"]].concat();
        printed(&here.command("mpicc", &words).env("MPICC_PROFILE", variable).output().unwrap());
        assert_eq!(printed(&here.command("../out", &[]).output().unwrap()), says, "{words:?} {variable}");
    }
    let line = printed(&here.run("mpicc", &["-show", "-profile=near"]));
    assert!(line.ends_with(" -Ltools -lfixed -lmpi_abi -lm"), "{line}");
    assert!(printed(&here.run("mpicc", &["-profile=near", "--showme:link"])).ends_with("-lmpi_abi -lm"));
}

#[test]
fn a_file_of_a_profiling_library_adds_folders_of_headers() {
    let here = Installation::complete("headers");
    fs::create_dir_all(here.path("tools")).unwrap();
    fs::write(here.path("tools/tool.h"), "#include <mpi.h>\n").unwrap();
    fs::write(here.path("part.c"), "#include <tool.h>\nint version = MPI_VERSION;\n").unwrap();
    fs::write(here.path("tool.conf"), "PROFILE_INCPATHS=-Itools\n").unwrap();
    assert!(!here.run("mpicc", &["-c", "part.c"]).status.success());
    printed(&here.run("mpicc", &["-profile=tool", "-c", "part.c"]));
    // Compiling without linking needs no library.
    fs::remove_dir_all(here.path("lib")).unwrap();
    printed(&here.run("mpicc", &["-profile=tool", "-c", "part.c"]));
}

#[test]
fn a_choice_that_is_none_is_refused_with_what_to_do() {
    let here = Installation::complete("wrong");
    for (name, words, says) in [
        ("mpicc", ["-cc=", "a.c"], "canele: canele cc: -cc= names no compiler: write -cc=cc"),
        ("mpicxx", ["-cxx=", "a.cc"], "canele: canele c++: -cxx= names no compiler: write -cxx=c++"),
        ("mpicxx", ["-CC=", "a.cc"], "canele: canele c++: -CC= names no compiler"),
        (
            "mpicc",
            ["-profile=", "a.c"],
            "canele: canele cc: -profile= names no profiling library: -profile=NAME takes",
        ),
    ] {
        let output = here.run(name, &words);
        assert!(error(&output).starts_with(says), "{output:?}");
        assert_eq!(output.status.code(), Some(2));
    }
    let remedy = "install it, or name another one with -cc=COMPILER or CANELE_CC";
    for (words, variable, named) in [
        (&["-cc=no-such-cc", "a.c"][..], "", "the compiler no-such-cc, which -cc= names: "),
        (&["a.c"], "no-such-cc -g", "the compiler no-such-cc, which OMPI_CC names: "),
    ] {
        let text = error(&here.command("mpicc", words).env("OMPI_CC", variable).output().unwrap());
        assert!(text.contains(named) && text.contains(remedy), "{text}");
    }
    let mut alone = Command::new(here.path("bin/canele"));
    alone.args(["cc", "a.c"]).current_dir(here.prefix()).env("PATH", "/nowhere");
    let text = error(&alone.output().unwrap());
    assert!(text.contains("the compiler cc: ") && text.contains(remedy), "{text}");
}

#[test]
fn a_file_of_a_profiling_library_that_is_no_use_is_refused_with_its_path() {
    let here = Installation::complete("useless");
    for (text, says) in [
        ("PROFILE_PRELIB='-l", "cannot read ./tool.conf"),
        ("exit 3", "cannot read ./tool.conf"),
        ("PROFILE_LIB=-lx\n", "./tool.conf sets none of PROFILE_PRELIB, "),
        ("", "add PROFILE_PRELIB="),
    ] {
        fs::write(here.path("tool.conf"), text).unwrap();
        // A variable of the user's own does not come from the file.
        let mut command = here.command("mpicc", &["-profile=tool", "-c", "a.c"]);
        let text = error(&command.env("PROFILE_PRELIB", "-lm").output().unwrap());
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_wrapper_that_is_named_as_its_own_compiler_is_refused() {
    let here = Installation::complete("again");
    let path = format!("{}:{}", here.path("bin").display(), std::env::var("PATH").unwrap());
    for (name, says) in
        [("mpicc", "started this one as its compiler, MPICH_CC names mpicc: name"), ("mpicxx", "CANELE_CXX")]
    {
        let output = here.command("mpicc", &["-c", "a.c"]).env("PATH", &path).env("MPICH_CC", name).output();
        let text = error(&output.unwrap());
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn mpichversion_answers_as_that_of_mpich() {
    let here = Installation::complete("versions");
    let all = printed(&here.run("mpichversion", &[]));
    for name in [
        "Version: ",
        "Release date: ",
        "ABI: ",
        "Device: ",
        "configure: ",
        "CC: ",
        "CXX: ",
        "Custom Information: ",
    ] {
        assert!(all.lines().any(|line| line.starts_with(&format!("MPICH {name}"))), "{name}: {all}");
    }
    for (words, expected) in [
        (&["-v"][..], "MPICH Version:      5.0.2"),
        (&["--device", "-version"], "MPICH Version:      5.0.2\nMPICH Device:       canele"),
        (&["-b"], "MPICH CC:           cc\nMPICH CXX:          c++\nMPICH FC:           gfortran"),
        (&["-c"], "MPICH configure:    none, built with cargo"),
        (&["-patches"], ""),
    ] {
        assert_eq!(printed(&here.run("mpichversion", words)), expected, "{words:?}");
        assert_eq!(printed(&here.run("canele", &[&["mpichversion"], words].concat())), expected, "{words:?}");
    }
    assert!(printed(&here.run("mpichversion", &["-u"])).ends_with(env!("CARGO_PKG_VERSION")));
    assert!(printed(&here.run("mpichversion", &["--help"])).contains("-device, -d"));
    let output = here.run("mpichversion", &["-x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(error(&output).starts_with("canele: mpichversion: there is no option -x"), "{output:?}");
}
