//! Programs that another MPI's wrapper has built, or that load another MPI: they are refused or ended with
//! one text, and other programs run.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use support::folder::Folder;
use support::hosts::start_on;
use support::installation::{Installation, is_there, printed};
use support::{Ended, canele, ranks, start_with};

impl Folder {
    /// Compiles a text into a file, with libraries from the folder.
    fn compile(&self, name: &str, text: &str, words: &[&str]) -> String {
        let (source, file) = (self.0.join("source.c"), self.0.join(name));
        fs::write(&source, text).unwrap();
        let mut cc = Command::new("cc");
        cc.arg(&source).arg("-o").arg(&file).arg("-L").arg(&self.0).args(words);
        cc.arg(format!("-Wl,-rpath,{}", self.0.display())).current_dir(&self.0);
        assert!(cc.status().unwrap().success(), "{name}");
        file.to_str().unwrap().to_owned()
    }

    fn library(&self, file: &str, text: &str, words: &[&str]) -> String {
        let soname = format!("-Wl,-soname,{file}");
        self.compile(file, text, &[&["-shared", "-fPIC", &soname], words].concat())
    }
}

const MPI: &str = "int MPI_Init(int *c, char ***v) { return c != 0 && v != 0; }\n";
const SOLVER: &str = "int MPI_Init(int *, char ***);\nint solve(void) { return MPI_Init(0, 0); }\n";
const PROGRAM: &str = "#include <stdlib.h>\nint solve(void);\n\
                       int main(int n, char **v) { return solve() + (n > 1 ? atoi(v[1]) : 0); }\n";

/// Makes a program whose library is linked to another MPI's.
fn program(folder: &Folder, mpi: &str) -> String {
    folder.library(mpi, MPI, &[]);
    folder.library("libsolver.so", SOLVER, &[&format!("-l:{mpi}")]);
    folder.compile("program", PROGRAM, &["-lsolver", &format!("-Wl,-rpath-link,{}", folder.0.display())])
}

fn says_nothing(ended: &Ended) {
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""));
}

/// Asserts that no rank was started, with one text that has these parts.
#[track_caller]
fn is_refused(ended: &Ended, parts: &[&str]) {
    assert_eq!((ended.code(), ended.out.as_str()), (Some(1), ""), "{}", ended.error);
    assert_eq!(ended.error.lines().count(), 1, "{}", ended.error);
    assert!(ended.error.starts_with("canele: cannot start "), "{}", ended.error);
    for part in parts.iter().chain(&["--foreign allow"]) {
        assert!(ended.error.contains(part), "{part}: {}", ended.error);
    }
}

#[test]
fn a_program_of_another_mpi_is_not_started() {
    for mpi in ["libmpi.so.20", "libmpich.so.10", "libmpi_abi.so.0"] {
        let folder = Folder::new("other-mpi");
        let program = program(&folder, mpi);
        let library = folder.0.join(mpi);
        let parts = [program.as_str(), library.to_str().unwrap(), "each of the 4", "mpicc"];
        is_refused(&canele(&["run", "-n", "4", &program]), &parts);
    }
}

#[test]
fn one_program_of_several_and_those_on_other_hosts_are_looked_at_too() {
    let folder = Folder::new("other-mpi-several");
    let program = program(&folder, "libmpi.so.20");
    is_refused(&canele(&["run", "-n", "1", "echo", "one", ":", "-n", "1", &program]), &["each of the 2"]);
    let ended = start_on("plain", "h0:1,h1:1", &["--on-failure", "continue"], &[&program]).end();
    is_refused(&ended, &["libmpi.so.20", "each of the 2"]);
    // The program is the interpreter of a script.
    let script = folder.0.join("script");
    fs::write(&script, format!("#!{program}\n")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    is_refused(&canele(&["run", "-n", "2", script.to_str().unwrap()]), &["libmpi.so.20"]);
}

#[test]
fn programs_are_found_as_they_are_started() {
    let folder = Folder::new("other-mpi-path");
    program(&folder, "libmpi.so.20");
    let path = format!("PATH={}:{}", folder.0.display(), std::env::var("PATH").unwrap());
    for options in [&["--env", path.as_str()][..], &["--wd", folder.0.to_str().unwrap()]] {
        let name = if options[0] == "--wd" { "./program" } else { "program" };
        is_refused(&canele(&[&["run", "-n", "2"], options, &[name]].concat()), &["libmpi.so.20"]);
    }
}

#[test]
fn who_means_it_runs_such_programs_and_they_are_not_told_that_they_are_several() {
    let folder = Folder::new("other-mpi-allowed");
    let program = program(&folder, "libmpi.so.20");
    says_nothing(&canele(&["run", "-n", "2", "--foreign", "allow", &program]));
    says_nothing(&start_with(&["run", "-n", "2", &program], &[("CANELE_FOREIGN", "allow")], b"").end());
    let print = "echo ${PMI_RANK-none} ${PMI_SIZE-none} ${OMPI_COMM_WORLD_SIZE-none}";
    let ended = canele(&["run", "-n", "2", "--foreign", "allow", "sh", "-c", print]);
    assert_eq!(ended.lines(), ["0 none none", "1 none none"], "{}", ended.error);
    let ended = canele(&["run", "-n", "2", "sh", "-c", print]);
    assert_eq!(ended.lines(), ["0 2 2", "1 2 2"], "{}", ended.error);
    // The program's own exit status is kept.
    let ended = canele(&["run", "-n", "2", "--foreign", "allow", &program, "3"]);
    assert_eq!(ended.code(), Some(3), "{}", ended.error);
}

#[test]
fn other_programs_are_not_refused() {
    let folder = Folder::new("no-other-mpi");
    // One rank is a job of its own, under any launcher.
    let other = program(&folder, "libmpi.so.20");
    says_nothing(&canele(&["run", "-n", "1", &other]));
    // Programs without MPI: linked to no library, and to one with a similar name.
    let ended = canele(&["run", "-n", "4", "hostname"]);
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""));
    folder.library("libmpifr.so.6", MPI, &[]);
    folder.library("libsolver.so", SOLVER, &["-l:libmpifr.so.6"]);
    says_nothing(&canele(&["run", "-n", "2", &folder.compile("similar", PROGRAM, &["-lsolver"])]));
    // A program over Canelé's own API that joins the job.
    says_nothing(&ranks::succeeds(&["-n", "4"], &["exchange", "1"], &[]));
}

/// A program that loads the given libraries, and waits for so many milliseconds, or for ever.
const LOADER: &str = "#include <dlfcn.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
                      int main(int n, char **v) {\n\
                      for (int i = 2; i < n; i++) if (!dlopen(v[i], RTLD_NOW)) return 9;\n\
                      if (atoi(v[1]) == 0) for (;;) pause();\n\
                      return usleep(atoi(v[1]) * 1000) != 0; }\n";

#[test]
fn a_job_is_ended_whose_ranks_have_loaded_another_mpi() {
    let folder = Folder::new("other-mpi-loaded");
    let library = folder.library("libmpi.so.20", MPI, &[]);
    let loader = folder.compile("loader", LOADER, &["-ldl"]);
    let below = format!("{loader} 0 {library}; true");
    for command in [&[loader.as_str(), "0", &library][..], &["sh", "-c", &below]] {
        let ended = canele(&[&["run", "-n", "2"], command].concat());
        assert_eq!(ended.code(), Some(1), "{}", ended.error);
        assert_eq!(ended.error.lines().count(), 1, "{}", ended.error);
        for part in [loader.as_str(), &library, "each of the 2 ranks", "mpicc", "--foreign allow"] {
            assert!(ended.error.contains(part), "{part}: {}", ended.error);
        }
    }
    let ended = start_on("plain", "h0:1,h1:1", &[], &[&loader, "0", &library]).end();
    assert_eq!((ended.code(), ended.error.lines().count()), (Some(1), 1), "{}", ended.error);
}

#[test]
fn a_job_goes_on_whose_ranks_have_canelés_library_too_or_start_others_by_their_launcher() {
    let folder = Folder::new("other-mpi-fine");
    let library = folder.library("libmpi.so.20", MPI, &[]);
    let own = "const char *name = \"CANELE_CONTROL_FD\";\n";
    let own = folder.library("libmpi_abi.so.1", own, &[]);
    let loader = folder.compile("loader", LOADER, &["-ldl"]);
    let below = format!("PMI_FD=7 {loader} 1500 {library}; true");
    let words = ["run", "-n", "1", &loader, "1500", &library, &own, ":", "-n", "1", "sh", "-c", &below];
    says_nothing(&canele(&words));
    says_nothing(&canele(&["run", "-n", "2", "--foreign", "allow", &loader, "1500", &library]));
}

#[test]
fn a_program_of_ours_that_does_not_begin_with_mpi_is_not_told() {
    let here = Installation::complete("ours-unjoined");
    here.source("program.c");
    printed(&here.run("mpicc", &["-o", "program", "program.c"]));
    let output = here.run("canele", &["run", "-n", "2", "./program"]);
    assert_eq!(printed(&output), "ours\nours");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    // A program that insists on another library searches it first.
    let other = here.library("other", "theirs");
    let insists = format!("-Wl,--disable-new-dtags,-rpath,{}", other.display());
    let words = ["-o", "insists", "program.c", "-I", "include", "-L", "other", "-lmpi_abi", insists.as_str()];
    assert!(Command::new("cc").args(words).current_dir(here.prefix()).status().unwrap().success());
    let output = here.run("canele", &["run", "-n", "2", "./insists"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{error}");
    for part in [other.join("libmpi_abi.so.1").to_str().unwrap(), "patchelf", "mpicc"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // pip's mpi4py gets the library to load from a variable, unless the environment sets it.
    let print = ["sh", "-c", "echo $MPI4PY_LIBMPI"];
    let told =
        |options: &[&str]| printed(&here.run("canele", &[&["run", "-n", "1"], options, &print].concat()));
    assert_eq!(told(&[]), here.path("lib/canele/libmpi.so.12").to_str().unwrap());
    assert_eq!(told(&["--env", "MPI4PY_LIBMPI=/x"]), "/x");
    assert_eq!(told(&["--env", "MPI4PY_MPIABI=openmpi"]), "");
}

/// Makes a Python module like pip's mpi4py, with extension modules for these ABIs.
fn mpi4py(folder: &Folder, modules: &[&str]) {
    let package = folder.0.join("mpi4py");
    let _ = fs::remove_dir_all(&package);
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("__init__.py"), "raise RuntimeError('cannot load MPI library')\n").unwrap();
    for module in modules {
        fs::write(package.join(module), "").unwrap();
    }
}

/// Makes a folder with a Python program that imports mpi4py; returns the command that starts it there.
fn python_script(folder: &Folder, text: &str) -> String {
    let script = folder.0.join("script");
    fs::write(&script, format!("#!/usr/bin/env python3\n{text}")).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script.to_str().unwrap().to_owned()
}

const OF_OTHERS: [&str; 1] = ["MPI.msmpi.abi3.so"];

#[test]
fn a_python_program_whose_mpi4py_is_of_other_mpis_is_not_started() {
    if !is_there("python3") {
        return;
    }
    let folder = Folder::new("mpi4py");
    let path = format!("PYTHONPATH={}", folder.0.display());
    let script = python_script(&folder, "print('computed')\nimport mpi4py\n");
    let run = |words: &[&str]| canele(&[&["run", "-n", "2", "--env", path.as_str()], words].concat());
    mpi4py(&folder, &OF_OTHERS);
    let commands: [&[&str]; 4] = [
        &["python3", "-c", "import mpi4py"],
        &["python3", "-u", &script],
        &[&script],
        &["python3", "-m", "mpi4py"],
    ];
    for words in commands {
        is_refused(&run(words), &["mpi4py in ", folder.0.to_str().unwrap(), "--no-binary mpi4py"]);
    }
    // The module was built here for a library.
    let library = folder.library("libmpi.so.20", MPI, &[]);
    mpi4py(&folder, &[]);
    folder.library("mpi4py/MPI.cpython-311-x86_64-linux-gnu.so", SOLVER, &["-l:libmpi.so.20"]);
    is_refused(&run(commands[0]), &["mpi4py in ", &library]);
    // A wheel for both libraries, with a variable that chooses the other one.
    mpi4py(&folder, &[OF_OTHERS[0], "MPI.mpich.cpython-311-x86_64-linux-gnu.so"]);
    for chosen in ["MPI4PY_MPIABI=msmpi".to_owned(), format!("MPI4PY_LIBMPI={library}")] {
        is_refused(&run(&[&["--env", chosen.as_str()], commands[0]].concat()), &[&chosen, "Unset"]);
    }
}

#[test]
fn a_python_program_that_did_not_join_is_told_why_and_the_job_has_failed() {
    if !is_there("python3") {
        return;
    }
    let folder = Folder::new("mpi4py-end");
    let path = format!("PYTHONPATH={}", folder.0.display());
    let run = |ranks: &str, words: &[&str]| {
        canele(&[&["run", "-n", ranks, "--env", path.as_str()], words].concat())
    };
    mpi4py(&folder, &OF_OTHERS);
    // The import is not certain before the program runs.
    let script = python_script(&folder, "if True:\n    import mpi4py\n");
    let ended = run("2", &["python3", &script]);
    assert_eq!(ended.code(), Some(1), "{}", ended.error);
    let last = ended.error.lines().last().unwrap();
    assert!(last.contains("mpi4py in ") && last.contains("--no-binary mpi4py"), "{}", ended.error);
    // With a library of another MPI the program succeeds, and each rank was alone.
    fs::write(folder.0.join("mpi4py/__init__.py"), "").unwrap();
    for words in [&["python3", script.as_str()][..], &[&script]] {
        let ended = run("2", words);
        assert_eq!(ended.code(), Some(1), "{}", ended.error);
        assert!(ended.error.starts_with("canele: no rank has joined the job: "), "{}", ended.error);
        assert_eq!(ended.error.matches("mpi4py in").count(), 1, "{}", ended.error);
        says_nothing(&run("1", words));
    }
    // There is no report if a successful program does not name mpi4py, or is no Python program, or if mpi4py
    // knows one of the ABIs.
    says_nothing(&run("2", &["python3", "-c", "pass"]));
    assert!(!run("2", &["sh", "-c", "exit 1"]).error.contains("mpi4py in"));
    for abi in ["", "mpiabi.", "mpich.", "openmpi."] {
        let good = format!("MPI.{abi}cpython-311-x86_64-linux-gnu.so");
        mpi4py(&folder, &[&OF_OTHERS[..], &[&good]].concat());
        let ended = run("2", &["python3", "-c", "import mpi4py"]);
        assert!(ended.code() == Some(1) && !ended.error.contains("mpi4py in"), "{}", ended.error);
    }
}
