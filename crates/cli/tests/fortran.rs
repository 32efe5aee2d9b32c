//! `mpifort`: it compiles the modules once for each compiler, and reports errors of that.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use canele_mpi_tables::fortran::{IntegerLength, sources};
use support::fortran::{command, has_compiler, modules, names, quick_compiler, run, told, write_program};
use support::installation::{Installation, printed};

const COMPILING: &str = "compiling the modules mpi and mpi_f08 for GNU Fortran";

/// Makes a compiler that logs its arguments in `log`, one line for each run, then goes on as `script` says.
fn logging_compiler(here: &Installation, script: &str) -> String {
    let log = here.path("log");
    let (file, log) = (here.path("compiler"), log.display());
    fs::write(&file, format!("#!/bin/sh\necho \"$*\" >>'{log}'\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    format!("-fc={}", file.display())
}

/// Returns how many sources of modules a logging compiler has compiled.
fn compiled(here: &Installation) -> usize {
    let log = fs::read_to_string(here.path("log")).unwrap_or_default();
    log.lines().filter(|line| line.contains("-fPIC")).count()
}

fn all_sources() -> usize {
    sources(IntegerLength::Four).iter().filter(|source| !source.name.ends_with(".h")).count()
}

#[test]
fn programs_use_the_modules_and_the_header_by_all_names_of_the_wrapper() {
    if !has_compiler() {
        return;
    }
    let here = Installation::complete("fortran");
    write_program(&here, "mpi.f90", "      use mpi\n", "");
    write_program(&here, "mpi_f08.f90", "      use mpi_f08\n", "");
    write_program(&here, "fixed.f", "", "      include 'mpif.h'\n");
    for (at, (name, words)) in [
        ("mpifort", &["mpi_f08.f90"][..]),
        ("mpif90", &["mpi.f90"]),
        ("mpif77", &["fixed.f"]),
        ("canele", &["fortran", "mpi_f08.f90"]),
    ]
    .into_iter()
    .enumerate()
    {
        let output = run(&here, name, &[words, &["-o", "program"]].concat());
        printed(&output);
        assert_eq!(told(&output).contains(COMPILING), at == 0, "{name}: {output:?}");
        assert_eq!(printed(&here.command("../program", &[]).output().unwrap()), "5", "{name}");
    }
    let modules = modules(&here, &[]);
    let all = names(&modules);
    for name in ["libcanele_fortran.a", "mpi.mod", "mpi_f08.mod", "mpif.h"] {
        assert!(all.iter().any(|file| file == name), "{name}: {all:?}");
    }
    assert!(!all.iter().any(|name| name.ends_with(".f90") || name.ends_with(".o")), "{all:?}");
}

#[test]
fn wrappers_that_start_together_compile_the_modules_once() {
    if !has_compiler() {
        return;
    }
    let here = Installation::complete("fortran-together");
    write_program(&here, "part.f90", "      use mpi\n", "");
    let compiler = logging_compiler(&here, &format!("exec {} \"$@\"", quick_compiler().display()));
    let start = |at: usize| {
        let object = format!("part{at}.o");
        command(&here, "mpifort", &[&compiler, "-c", "part.f90", "-o", &object]).spawn().unwrap()
    };
    let all: Vec<_> = (0..4).map(start).collect();
    for mut one in all {
        assert!(one.wait().unwrap().success());
    }
    assert_eq!(compiled(&here), all_sources());
    assert!((0..4).all(|at| here.path(&format!("part{at}.o")).is_file()));
}

#[test]
fn options_that_change_kinds_have_modules_of_their_own() {
    if !has_compiler() {
        return;
    }
    let here = Installation::complete("fortran-kinds");
    let compiler = logging_compiler(&here, &format!("exec {} \"$@\"", quick_compiler().display()));
    let plain = modules(&here, &[&compiler]);
    assert_eq!(modules(&here, &[&compiler, "-O3", "-g"]), plain);
    assert_eq!(compiled(&here), all_sources());
    let long = modules(&here, &[&compiler, "-fdefault-real-8"]);
    assert_ne!(long, plain);
    assert_eq!(modules(&here, &[&compiler, "-O1", "-fdefault-real-8"]), long);
    assert_eq!(compiled(&here), 2 * all_sources());
    let log = fs::read_to_string(here.path("log")).unwrap();
    let with_option = log.lines().filter(|line| line.contains("-fPIC") && line.contains("-fdefault-real-8"));
    assert_eq!(with_option.count(), all_sources());
    // With INTEGER of eight bytes, the sources differ.
    assert_ne!(modules(&here, &[&compiler, "-fdefault-integer-8"]), plain);
    let refused = run(&here, "mpifort", &[&compiler, "-c", "part.f90", "-finteger-4-integer-8"]);
    assert!(
        !refused.status.success()
            && told(&refused).contains("-finteger-4-integer-8 makes C's int eight bytes long, too")
    );
    // A second name of the same compiler.
    std::os::unix::fs::symlink(here.path("compiler"), here.path("other")).unwrap();
    assert_eq!(modules(&here, &[&format!("-fc={}", here.path("other").display())]), plain);
}

#[test]
fn a_compiler_that_fails_is_told_with_its_last_lines_and_leaves_nothing() {
    let here = Installation::complete("fortran-failing");
    let says = "case $* in *--version*) echo 'Broken Fortran (a b) 1.0';; \
                *) echo 'no module today' >&2; exit 3;; esac";
    let compiler = logging_compiler(&here, says);
    for words in [&["-c", "a.f90"][..], &["-show"]] {
        let output = run(&here, "mpifort", &[&[compiler.as_str()], words].concat());
        let error = told(&output);
        assert_eq!(output.status.code(), Some(1), "{error}");
        for part in [
            "cannot compile the modules mpi and mpi_f08 with Broken Fortran 1.0: ",
            here.path("compiler").to_str().unwrap(),
            " -c -fPIC -O2 -g0 ",
            "exit status: 3",
            "\n  no module today\n",
            "another compiler is named by -fc=COMPILER or CANELE_FC",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    let left = names(&here.path("cache/canele/fortran"));
    assert!(left.iter().all(|name| name.ends_with(".lock")), "{left:?}");
    let silent = logging_compiler(&here, "exit 4");
    let error = told(&run(&here, "mpifort", &[&silent, "-c", "a.f90"]));
    assert!(error.contains("does not tell its version") && error.contains("exit status: 4"), "{error}");
}

#[test]
fn a_compiler_that_is_not_there_is_named() {
    let here = Installation::complete("fortran-missing");
    let output = run(&here, "mpifort", &["-fc=", "a.f90"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).starts_with("canele: canele fortran: -fc= names no compiler: write -fc=gfortran"));
    let remedy = "install it, or name another one with -fc=COMPILER or CANELE_FC";
    for (words, variable, named) in [
        (&["-fc=no-such", "-c", "a.f90"][..], "", "the compiler no-such, which -fc= names: "),
        (&["-c", "a.f90"], "no-such", "the compiler no-such, which OMPI_FC names: "),
        (&["--version"], "no-such", "the compiler no-such, which OMPI_FC names: "),
    ] {
        let error = told(&command(&here, "mpifort", words).env("OMPI_FC", variable).output().unwrap());
        assert!(error.contains(named) && error.contains(remedy), "{error}");
    }
    let mut alone = Command::new(here.path("bin/mpifort"));
    let output = alone.args(["-c", "a.f90"]).current_dir(here.prefix()).env("PATH", "/nowhere").output();
    let error = told(&output.unwrap());
    let others = "the compiler gfortran (nor is there flang, flang-new, ifx, nvfortran): ";
    assert!(error.contains(others) && error.contains(remedy), "{error}");
    // A wrapper whose compiler is the wrapper itself.
    let wrapper = format!("-fc={}", here.path("bin/mpifort").display());
    let error = told(&run(&here, "mpifort", &[&wrapper, "-c", "a.f90"]));
    assert!(error.contains("started this one as its compiler"), "{error}");
}

#[test]
fn where_no_home_can_be_written_to_a_temporary_folder_is_taken_and_told() {
    if !has_compiler() {
        return;
    }
    let here = Installation::complete("fortran homeless");
    write_program(&here, "part.f90", "      use mpi\n", "");
    fs::write(here.path("file"), "").unwrap();
    fs::create_dir(here.path("tmp")).unwrap();
    let open = here.path("open/canele/fortran");
    fs::create_dir_all(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let with = |cache: &str, home: &str, temporary: &str| {
        let mut command = here.command("mpifort", &["-c", "part.f90"]);
        command.env("XDG_CACHE_HOME", cache).env("HOME", home).env("TMPDIR", here.path(temporary));
        command.output().unwrap()
    };
    let [file, open] = ["file", "open"].map(|name| here.path(name).display().to_string());
    for (cache, home, says) in [
        (file.as_str(), "", "file/canele/fortran: "),
        ("", file.as_str(), "file/.cache/canele/fortran: "),
        (&open, "", "open/canele/fortran: it is no folder to which this user alone may write"),
        ("relative", "", ""),
    ] {
        let output = with(cache, home, "tmp");
        printed(&output);
        let text = told(&output);
        let is_told = text.contains("the modules are kept in ") && text.contains("set XDG_CACHE_HOME");
        assert!(text.contains(says) && is_told != says.is_empty() && text.contains(COMPILING), "{text}");
        // The next run finds the modules, and prints nothing.
        assert_eq!(told(&with(cache, home, "tmp")), "");
        fs::remove_dir_all(here.path("tmp")).unwrap();
        fs::create_dir(here.path("tmp")).unwrap();
    }
    let output = with(&file, "", "file");
    let error = told(&output);
    assert!(
        !output.status.success() && error.contains("there is no folder for the compiled modules"),
        "{error}"
    );
}

#[test]
fn a_wrapper_that_is_killed_keeps_no_other_from_compiling() {
    if !has_compiler() {
        return;
    }
    let here = Installation::complete("fortran-killed");
    write_program(&here, "part.f90", "      use mpi\n", "");
    let (marker, folder) = (here.path("marker"), here.path("cache/canele/fortran"));
    let hangs = format!(
        "case $* in *-fPIC*) [ -e '{0}' ] || {{ echo $$ >'{0}.new'; mv '{0}.new' '{0}'; exec sleep 120; }};; esac\n\
         exec gfortran \"$@\"",
        marker.display()
    );
    let compiler = logging_compiler(&here, &hangs);
    let mut killed = Command::new(here.path("bin/mpifort"));
    killed.args([&compiler, "-c", "part.f90"]).current_dir(here.prefix());
    let mut killed = killed.env("XDG_CACHE_HOME", here.path("cache")).spawn().unwrap();
    for _ in 0..600 {
        if marker.exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(names(&folder).iter().any(|name| name.contains(".new.")));
    // The killed wrapper's compiler still runs.
    printed(&run(&here, "mpifort", &[&compiler, "-c", "part.f90"]));
    let left = names(&folder);
    assert_eq!(left.len(), 2, "{left:?}");
    let sleeping = fs::read_to_string(&marker).unwrap();
    assert!(Command::new("kill").arg(sleeping.trim()).status().unwrap().success());
}

#[test]
fn procedures_of_a_profiling_library_replace_those_of_the_archive() {
    if !has_compiler() {
        return;
    }
    let here = Installation::complete("fortran profiled");
    // The tool is in an object of its own, or beside the program, which pulls the archive's object with both
    // procedures.
    let tool =
        "subroutine MPI_Init(error)\n  integer :: error\n  print *, 'tool'\n  error = 0\nend subroutine\n";
    let program = "program main\n  include 'mpif.h'\n  integer :: error\n  external :: MPI_Init, MPI_Finalize\n  call MPI_Init(error)\n\
                   \x20 if (error .ne. 0) call MPI_Finalize(error)\nend program\n";
    fs::write(here.path("tool.f90"), tool).unwrap();
    fs::write(here.path("program.f90"), program).unwrap();
    printed(&run(&here, "mpifort", &["-c", "tool.f90"]));
    let mut archive = Command::new("ar");
    printed(&archive.args(["rcs", "libtool.a", "tool.o"]).current_dir(here.prefix()).output().unwrap());
    for (words, variable) in [
        (&["-L.", "-profile=tool", "program.f90"][..], ""),
        (&["-L.", "program.f90"], "tool"),
        (&["program.f90", "tool.o"], ""),
    ] {
        let words = [words, &["-o", "program"]].concat();
        printed(&command(&here, "mpifort", &words).env("MPIFORT_PROFILE", variable).output().unwrap());
        assert_eq!(printed(&here.command("../program", &[]).output().unwrap()), "tool", "{words:?}");
    }
}

#[test]
fn the_doctor_says_whether_the_library_for_fortran_is_there() {
    let here = Installation::complete("fortran doctor");
    let file = here.path("lib/canele/libcanele_fort.so.0");
    let finding = || {
        let output = run(&here, "canele", &["doctor"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().find(|line| line.contains("Fortran")).map(str::to_owned)
    };
    assert!(finding().is_some_and(|line| line.contains(file.to_str().unwrap())));
    fs::remove_file(&file).unwrap();
    assert!(finding().is_some_and(|line| line.contains("is neither installed nor built")));
}
