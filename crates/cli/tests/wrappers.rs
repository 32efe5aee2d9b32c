//! `mpicc`, `mpicxx` and `mpiexec` of an installation: their header, their library, their exit status.

mod support;

use std::fs;

use support::hosts::rsh;
use support::installation::{Installation, is_there, printed};

#[test]
fn a_program_runs_over_the_library_it_was_built_with_or_another_one_that_is_searched_first() {
    let here = Installation::complete("with a blank");
    let other = here.library("other", "theirs");
    here.source("program.c");
    printed(&here.run("mpicc", &["-O1", "-o", "program", "program.c"]));
    let alone = || here.command("../program", &[]);
    assert_eq!(printed(&alone().output().unwrap()), "ours");
    assert_eq!(printed(&alone().env("LD_LIBRARY_PATH", &other).output().unwrap()), "theirs");
    // Under Canelé's launcher programs load its library, whatever the search path says.
    for command in ["mpiexec", "mpirun"] {
        let mut run = here.command(command, &["-n", "2", "./program"]);
        assert_eq!(printed(&run.env("LD_LIBRARY_PATH", &other).output().unwrap()), "ours\nours");
    }
}

#[test]
fn programs_find_the_library_of_any_build_and_under_any_launcher() {
    let here = Installation::complete("with a blank");
    let source = "#include <mpi.h>\n#include <stdio.h>\nconst char *which(void);\n\
                  int main(void) { puts(which()); return 0; }\n";
    fs::write(here.path("program.c"), source).unwrap();
    let nowhere = ["-o", "program", "program.c", "-Wl,-rpath,/nowhere"];
    let mut plain = std::process::Command::new("cc");
    plain.args(nowhere).args(["-I", "include", "-L", "lib/canele", "-lmpi_abi"]).current_dir(here.prefix());
    for mut build in [
        here.command("mpicc", &nowhere[..3]),
        here.command("mpicc", &nowhere),
        here.command_of_tree(&["cc", "-o", "program", "program.c"]),
        here.command_of_tree(&[&["cc"], &nowhere[..]].concat()),
        plain,
    ] {
        printed(&build.output().unwrap());
        for mut run in [
            here.command("mpiexec", &["-n", "2", "./program"]),
            here.command("canele", &["run", "-n", "2", "./program"]),
            here.command_of_tree(&["run", "-n", "2", "./program"]),
        ] {
            let output = run.output().unwrap();
            assert_eq!(printed(&output), "ours\nours", "{build:?} {run:?}");
            assert!(output.stderr.is_empty(), "{output:?}");
        }
    }
}

#[test]
fn ranks_of_other_hosts_find_the_library_of_their_agents_installation() {
    let (here, there) = (Installation::complete("here"), Installation::complete("there"));
    there.library("lib/canele", "theirs");
    here.source("program.c");
    printed(&here.run("mpicc", &["-o", "program", "program.c"]));
    let canele = there.path("bin/canele");
    let (rsh, canele) = (rsh("plain"), canele.to_str().unwrap());
    let output = here.run("mpiexec", &["--rsh", &rsh, "--canele", canele, "-host", "h0,h1", "./program"]);
    assert_eq!(printed(&output), "theirs\ntheirs");
}

#[test]
fn all_names_of_the_compilers_work() {
    let here = Installation::complete("with a blank");
    here.source("program.c");
    here.source("program.cc");
    for (name, words) in [
        ("mpicc", &["program.c"][..]),
        ("mpicxx", &["program.cc"]),
        ("mpic++", &["program.cc"]),
        ("mpiCC", &["program.cc"]),
        ("canele", &["cc", "program.c"]),
        ("canele", &["c++", "program.cc"]),
    ] {
        if words.contains(&"program.cc") && !is_there("c++") {
            continue;
        }
        printed(&here.run(name, &[words, &["-o", "out"]].concat()));
        assert_eq!(printed(&here.command("../out", &[]).output().unwrap()), "ours", "{name}");
        fs::remove_file(here.path("out")).unwrap();
    }
}

#[test]
fn the_status_and_the_messages_are_the_compilers() {
    let here = Installation::complete("with a blank");
    fs::write(here.path("wrong.c"), "int main(void) { return x; }\n").unwrap();
    let output = here.run("mpicc", &["-c", "wrong.c"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("wrong.c"));
    fs::write(here.path("seven"), "exit 7\n").unwrap();
    let output = here.command("mpicc", &["-dumpmachine"]).env("CANELE_CC", "sh seven").output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    let output = here.command("mpicc", &["x.c"]).env("CANELE_CC", "/no/such/cc").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("/no/such/cc") && error.contains("CANELE_CC"), "{error}");
}

#[test]
fn what_is_not_linked_needs_no_library_and_what_is_not_compiled_nothing() {
    let here = Installation::complete("with a blank");
    here.source("program.c");
    fs::remove_dir_all(here.path("lib")).unwrap();
    printed(&here.run("mpicc", &["-c", "program.c"]));
    let output = here.run("mpicc", &["program.o"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.starts_with("canele: canele cc: ") && error.contains("scripts/install"), "{error}");
    fs::remove_dir_all(here.path("include")).unwrap();
    assert!(!here.run("mpicc", &["-c", "program.c"]).status.success());
    assert_eq!(printed(&here.run("mpicc", &["-dumpmachine"])), {
        let output = std::process::Command::new("cc").arg("-dumpmachine").output().unwrap();
        printed(&output)
    });
    assert!(here.run("mpicc", &["-v"]).status.success());
}

#[test]
fn build_systems_get_their_answers() {
    let here = Installation::complete("with a blank");
    let root = here.prefix().display();
    let include = format!("-I\"{root}/include\"");
    let link =
        format!("-L\"{root}/lib/canele\" \"-Wl,--enable-new-dtags,-rpath,{root}/lib/canele\" -lmpi_abi");
    for (words, expected) in [
        (&["-show"][..], format!("cc {include} {link}")),
        (&["--showme"], format!("cc {include} {link}")),
        (&["-show", "-c", "a.c"], format!("cc -c a.c {include}")),
        (&["-link_info"], format!("cc {include} {link}")),
        (&["-compile_info"], format!("cc {include}")),
        (&["--showme:compile"], include.clone()),
        (&["--showme:link"], link.clone()),
        (&["--showme:incdirs"], format!("\"{root}/include\"")),
        (&["--showme:libdirs"], format!("\"{root}/lib/canele\"")),
        (&["--showme:libs"], "mpi_abi".into()),
        (&["--showme:command"], "cc".into()),
    ] {
        assert_eq!(printed(&here.run("mpicc", words)), expected, "{words:?}");
    }
}

#[test]
fn nothing_to_do_is_wrong_usage_with_help() {
    let here = Installation::complete("plain");
    for (name, words) in [
        ("mpicc", &[][..]),
        ("mpicxx", &[]),
        ("mpifort", &[]),
        ("canele", &["cc"]),
        ("mpiexec", &[]),
        ("mpiexec", &["-n"]),
    ] {
        let output = here.run(name, words);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{name}: {error}");
        assert!(error.starts_with("canele: ") && error.len() > 30, "{error}");
    }
    for (name, words, word) in [
        ("mpicc", &["--help"][..], "CANELE_CC"),
        ("canele", &["c++", "--help"], "CANELE_CXX"),
        ("mpirun", &["--help"], "-genv"),
        ("mpirun", &["--version"], "Canel"),
    ] {
        assert!(printed(&here.run(name, words)).contains(word), "{name}");
    }
}
