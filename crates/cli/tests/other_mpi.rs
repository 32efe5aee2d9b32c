//! Programs that another MPI's wrapper has built: the launcher says why they are jobs of one rank, and nobody else is told so.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::installation::{Installation, is_there, printed};
use support::{Ended, canele, ranks};

/// A folder of this test, removed when dropped, in which files are compiled.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    /// Compiles a text into a file; libraries lie in the folder, too.
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

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const MPI: &str = "int MPI_Init(int *c, char ***v) { return c != 0 && v != 0; }\n";
const SOLVER: &str = "int MPI_Init(int *, char ***);\nint solve(void) { return MPI_Init(0, 0); }\n";
const PROGRAM: &str = "#include <stdlib.h>\nint solve(void);\n\
                       int main(int n, char **v) { return solve() + (n > 1 ? atoi(v[1]) : 0); }\n";

/// A program whose library is linked to another MPI's.
fn program(folder: &Folder, mpi: &str) -> String {
    folder.library(mpi, MPI, &[]);
    folder.library("libsolver.so", SOLVER, &[&format!("-l:{mpi}")]);
    folder.compile("program", PROGRAM, &["-lsolver", &format!("-Wl,-rpath-link,{}", folder.0.display())])
}

fn says_nothing(ended: &Ended) {
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""));
}

#[test]
fn ranks_of_another_mpi_are_told_which_one_it_is() {
    for mpi in ["libmpi.so.40", "libmpich.so.10", "libmpi_abi.so.0"] {
        let folder = Folder::new("other-mpi");
        let program = program(&folder, mpi);
        let ended = canele(&["run", "-n", "4", &program]);
        assert_eq!(ended.code(), Some(0), "{}", ended.error);
        let library = folder.0.join(mpi);
        assert_eq!(ended.error.lines().count(), 1, "{}", ended.error);
        assert!(ended.error.starts_with("canele: no rank has joined the job"), "{}", ended.error);
        for part in [program.as_str(), library.to_str().unwrap(), "each of the 4", "mpicc"] {
            assert!(ended.error.contains(part), "{part}: {}", ended.error);
        }
    }
}

#[test]
fn a_job_that_fails_is_told_too_and_keeps_its_status() {
    let folder = Folder::new("other-mpi-fails");
    let program = program(&folder, "libmpi.so.40");
    let ended = canele(&["run", "-n", "2", &program, "3"]);
    assert_eq!(ended.code(), Some(3), "{}", ended.error);
    assert_eq!(ended.error.matches("no rank has joined the job").count(), 1, "{}", ended.error);
}

#[test]
fn programs_are_found_as_they_are_started() {
    let folder = Folder::new("other-mpi-path");
    program(&folder, "libmpi.so.40");
    let path = format!("PATH={}:{}", folder.0.display(), std::env::var("PATH").unwrap());
    for options in [&["--env", path.as_str()][..], &["--wd", folder.0.to_str().unwrap()]] {
        let name = if options[0] == "--wd" { "./program" } else { "program" };
        let ended = canele(&[&["run", "-n", "2"], options, &[name]].concat());
        assert!(ended.error.contains("no rank has joined the job"), "{options:?}: {}", ended.error);
    }
}

#[test]
fn nobody_else_is_told() {
    let folder = Folder::new("no-other-mpi");
    // One rank is a job of one, whoever starts it.
    let other = program(&folder, "libmpi.so.40");
    says_nothing(&canele(&["run", "-n", "1", &other]));
    // Programs without MPI: linked, scripts, linked to a library with a similar name.
    says_nothing(&canele(&["run", "-n", "4", "hostname"]));
    says_nothing(&canele(&["run", "-n", "2", "sh", "-c", &other]));
    folder.library("libmpifr.so.6", MPI, &[]);
    folder.library("libsolver.so", SOLVER, &["-l:libmpifr.so.6"]);
    says_nothing(&canele(&["run", "-n", "2", &folder.compile("similar", PROGRAM, &["-lsolver"])]));
    // A program of Canelé's own that joins.
    says_nothing(&ranks::succeeds(&["-n", "4"], &["exchange", "1"], &[]));
}

#[test]
fn a_program_of_ours_that_does_not_begin_with_mpi_is_not_told() {
    let here = Installation::complete("ours-unjoined");
    here.source("program.c");
    printed(&here.run("mpicc", &["-o", "program", "program.c"]));
    let output = here.run("canele", &["run", "-n", "2", "./program"]);
    assert_eq!(printed(&output), "ours\nours");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    // Another one before it is searched first by a program that insists on it.
    let other = here.library("other", "theirs");
    let insists = format!("-Wl,--disable-new-dtags,-rpath,{}", other.display());
    let words = ["-o", "insists", "program.c", "-I", "include", "-L", "other", "-lmpi_abi", insists.as_str()];
    assert!(Command::new("cc").args(words).current_dir(here.prefix()).status().unwrap().success());
    let output = here.run("canele", &["run", "-n", "2", "./insists"]);
    assert_eq!(printed(&output), "theirs\ntheirs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains(other.join("libmpi_abi.so.1").to_str().unwrap()), "{error}");
}

/// A Python module as pip installs mpi4py: with extension modules for these ABIs.
fn mpi4py(folder: &Folder, modules: &[&str]) {
    let package = folder.0.join("mpi4py");
    let _ = fs::remove_dir_all(&package);
    fs::create_dir_all(&package).unwrap();
    fs::write(package.join("__init__.py"), "raise RuntimeError('cannot load MPI library')\n").unwrap();
    for module in modules {
        fs::write(package.join(module), "").unwrap();
    }
}

#[test]
fn a_python_program_that_failed_is_told_that_its_mpi4py_is_of_other_mpis() {
    if !is_there("python3") {
        return;
    }
    let folder = Folder::new("mpi4py");
    let path = format!("PYTHONPATH={}", folder.0.display());
    let script = folder.0.join("script");
    fs::write(&script, "#!/usr/bin/env python3\nimport mpi4py\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.to_str().unwrap();
    let run = |words: &[&str]| canele(&[&["run", "-n", "2", "--env", path.as_str()], words].concat());
    let of_others = ["MPI.openmpi.cpython-311-x86_64-linux-gnu.so", "MPI.msmpi.abi3.so"];
    mpi4py(&folder, &of_others);
    for words in [&["python3", "-c", "import mpi4py"][..], &[script]] {
        let ended = run(words);
        assert_eq!(ended.code(), Some(1), "{}", ended.error);
        let last = ended.error.lines().last().unwrap();
        assert!(last.contains("mpi4py in ") && last.contains("--no-binary mpi4py"), "{}", ended.error);
        assert!(last.contains(folder.0.to_str().unwrap()), "{last}");
    }
    // With a library of another MPI it succeeds, and each rank is alone.
    fs::write(folder.0.join("mpi4py/__init__.py"), "").unwrap();
    for words in [&["python3", "-c", "import mpi4py"][..], &["python3", script], &[script]] {
        let ended = run(words);
        assert_eq!(ended.code(), Some(0), "{}", ended.error);
        assert!(ended.error.starts_with("canele: no rank has joined the job: mpi4py in"), "{}", ended.error);
        says_nothing(&canele(&[&["run", "-n", "1", "--env", path.as_str()], words].concat()));
    }
    // Not if a program that succeeds does not name it, nor is no Python program, nor if mpi4py was built here or knows one of the ABIs.
    says_nothing(&run(&["python3", "-c", "pass"]));
    assert!(!run(&["sh", "-c", "exit 1"]).error.contains("mpi4py in"));
    for abi in ["", "mpiabi.", "mpich."] {
        let good = format!("MPI.{abi}cpython-311-x86_64-linux-gnu.so");
        mpi4py(&folder, &[&of_others[..], &[&good]].concat());
        let ended = run(&["python3", "-c", "import mpi4py"]);
        assert!(ended.code() == Some(1) && !ended.error.contains("mpi4py in"), "{}", ended.error);
    }
}
