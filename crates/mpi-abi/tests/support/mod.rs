//! C programs, compiled against the header and run with the library, alone or as jobs with a time limit.
//! Tests of other packages include this file by its path.
#![allow(dead_code, reason = "each test uses its part")]

#[path = "../../../canele/tests/launch/mod.rs"]
pub mod launch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, OnceLock};

/// A library, with the headers that programs for it are compiled against.
pub struct Interface {
    package: &'static str,
    /// The name of the library in a build's folder.
    built: &'static str,
    /// The names that programs and the compiler look for.
    names: &'static [&'static str],
    link: &'static str,
    include: PathBuf,
}

impl Interface {
    /// Returns the interface of the standard's ABI.
    pub fn standard() -> Interface {
        Interface {
            package: "canele-mpi-abi",
            built: "libmpi_abi.so",
            names: &["libmpi_abi.so.1", "libmpi_abi.so"],
            link: "-lmpi_abi",
            include: concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi-abi/include").into(),
        }
    }

    /// Returns the interface of MPICH's ABI.
    pub fn mpich() -> Interface {
        Interface {
            package: "canele-mpich-abi",
            built: "libmpi.so",
            names: &["libmpi.so.12"],
            link: "-l:libmpi.so.12",
            include: concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi-abi/include/mpich").into(),
        }
    }

    /// Returns the interface of Open MPI's ABI.
    pub fn openmpi() -> Interface {
        Interface {
            package: "canele-openmpi-abi",
            built: "libopenmpi_abi.so",
            names: &["libmpi.so.40"],
            link: "-l:libmpi.so.40",
            include: concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi-abi/include/openmpi").into(),
        }
    }

    /// Returns this interface with the headers of another folder.
    pub fn with_headers(self, include: PathBuf) -> Interface {
        Interface { include, ..self }
    }

    /// Builds the library, and returns a folder with it under the names that programs look for, made for this
    /// process alone.
    pub fn install(&self) -> PathBuf {
        // No test links with the library, so cargo does not build it. The launcher finds each library beside
        // that of the standard. All are built together with the command: their dependencies then have the
        // features that they have in the workspace, and are not built again.
        let mut build = Command::new(env!("CARGO"));
        build
            .args(["build", "--quiet", "-p", "canele-cli", "-p", "canele-mpi-abi", "-p", self.package])
            .current_dir(PACKAGE);
        build.args((!cfg!(debug_assertions)).then_some("--release"));
        assert!(build.status().expect("cargo can be run").success(), "the library can be built");
        let test = std::env::current_exe().unwrap();
        let built = test.parent().unwrap().parent().unwrap().join(self.built);
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{}", self.package, std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in self.names {
            let _ = std::fs::remove_file(folder.join(name));
            std::os::unix::fs::symlink(&built, folder.join(name)).unwrap();
        }
        folder
    }

    /// Compiles a program of these sources in the folder that [`install`](Self::install) made.
    pub fn compile(
        &self,
        folder: &Path,
        [compiler, standard]: [&str; 2],
        name: &str,
        sources: &[PathBuf],
    ) -> PathBuf {
        let program = folder.join(name);
        let mut compiler = Command::new(compiler);
        compiler.args([standard, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]);
        compiler.arg("-I").arg(&self.include);
        compiler.args(sources).arg("-o").arg(&program);
        // The library calls this function of a program like that of a device library.
        compiler.arg("-Wl,--export-dynamic-symbol=canele_device_of");
        compiler.arg("-L").arg(folder).args([self.link, "-lpthread"]);
        let output = compiler.output().expect("the compiler starts");
        assert!(output.status.success(), "{name}: {}", text(&output));
        program
    }
}

/// Returns the interface of the package whose tests include this file.
fn interface() -> Interface {
    match env!("CARGO_PKG_NAME") {
        "canele-mpich-abi" => Interface::mpich(),
        "canele-openmpi-abi" => Interface::openmpi(),
        _ => Interface::standard(),
    }
}

/// The folder of this package, also for other packages that include this file.
const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi-abi");

/// Returns a folder of this package's tests.
pub fn folder(name: &str) -> PathBuf {
    Path::new(PACKAGE).join("tests").join(name)
}

/// Returns the sources of the conformance program.
pub fn conformance() -> Vec<PathBuf> {
    let sources = folder("conformance");
    names(&sources).iter().map(|name| sources.join(format!("{name}.c"))).collect()
}

/// Returns the output of the conformance program on so many ranks.
pub fn conforming(ranks: usize) -> String {
    std::fs::read_to_string(folder("conformance").join(format!("expected-{ranks}.txt"))).unwrap()
}

/// Returns the names of all C files of a folder, without their ending.
pub fn names(folder: &Path) -> Vec<String> {
    let mut there: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|of| of == "c"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    there.sort();
    there
}

/// Returns a folder with the library under the names that programs look for, made for this process alone.
pub fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| interface().install())
}

/// The compiler of C programs, and its option for the language.
pub const C: [&str; 2] = ["cc", "-std=gnu11"];

/// Compiles a program in C.
pub fn compiled(name: &str, sources: &[PathBuf]) -> PathBuf {
    compiled_by(C, name, sources)
}

/// Compiles a program in C with OpenMP.
pub fn compiled_openmp(name: &str, sources: &[PathBuf]) -> PathBuf {
    compiled_by(["cc", "-fopenmp"], name, sources)
}

/// Compiles a program in C++.
pub fn compiled_cpp(name: &str, sources: &[PathBuf]) -> PathBuf {
    compiled_by(["c++", "-std=c++17"], name, sources)
}

/// Compiles a program once, though several tests may want it at the same time.
fn compiled_by(by: [&str; 2], name: &str, sources: &[PathBuf]) -> PathBuf {
    static PROGRAMS: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let program = PROGRAMS.lock().expect("no test fails here").entry(name.to_owned()).or_default().clone();
    program.get_or_init(|| interface().compile(library(), by, name, sources)).clone()
}

/// Runs a program without a launcher, or as a job of `canele run` with these options. A job that hangs ends
/// with status 124.
pub fn run(options: Option<&[&str]>, program: &Path, arguments: &[&str]) -> Output {
    let mut run = match options {
        None => Command::new("timeout"),
        Some(_) => launch::command(),
    };
    match options {
        None => run.args(["-k", "5", "60"]),
        Some(options) => run.args(["run", "--timeout", "60"]).args(options),
    };
    // The library refuses this variable, which only tests read.
    run.env_remove("CANELE_UPDATE");
    // env runs behind the launcher, which would put its own library first.
    run.arg("env").arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(program).args(arguments);
    run.output().expect("the program starts")
}

/// Runs a job like [`run`], but the shell command `limits` runs first, so the launcher is under its limits,
/// too.
pub fn run_limited(limits: &str, options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits}; exec \"$@\""), "sh"]).arg(launch::command().get_program());
    shell.args(["run", "--timeout", "60"]).args(options).env_remove("CANELE_UPDATE");
    shell.arg("env").arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(program).args(arguments);
    shell.output().expect("the shell starts")
}

/// Returns options for a remote shell that starts agents here: each of them is a host.
pub fn between_hosts(hosts: &str) -> [String; 4] {
    let shell = format!("bash {}/../cli/tests/support/shell plain", env!("CARGO_MANIFEST_DIR"));
    ["--hosts", hosts, "--rsh", &shell].map(str::to_owned)
}

/// Checks that all ranks of a job, or the program alone, pass.
pub fn passes(program: &Path, ranks: usize) {
    let n = ranks.to_string();
    let job = ["-n", n.as_str()];
    let output = run((ranks > 1).then_some(&job), program, &[]);
    all_passed(program, &output, ranks);
}

/// Checks that all ranks of a run that has ended have passed.
pub fn all_passed(program: &Path, output: &Output, ranks: usize) {
    let passed =
        String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.ends_with("passed")).count();
    assert!(
        output.status.success() && passed == ranks,
        "{} with {ranks} ranks: {}\n{}",
        program.display(),
        output.status,
        text(output)
    );
}

/// Returns the whole output.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Returns the functions of MPI that the library exports, with their addresses as `readelf` prints them.
fn exported_functions() -> BTreeMap<String, String> {
    let library = library().join(interface().names[0]);
    let output = Command::new("readelf").args(["--wide", "--dyn-syms"]).arg(&library).output();
    let output = output.expect("readelf comes with the compiler");
    let text = String::from_utf8_lossy(&output.stdout);
    let function = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [_, address, _, "FUNC", "GLOBAL", "DEFAULT", section, name] if section != "UND" => {
            Some((name.to_owned(), address.to_owned()))
        }
        _ => None,
    };
    text.lines().filter_map(function).filter(|(name, _)| name.contains("MPI_")).collect()
}

/// Checks that each function of the standard and its `PMPI_` name have one address, so they have one body and
/// one cache.
pub fn second_names_are_aliases() {
    let functions = exported_functions();
    // Functions with names in capital letters alone are of Fortran.
    let is_of_c =
        |name: &&String| name.starts_with("MPI_") && name[4..].contains(|c: char| c.is_ascii_lowercase());
    let names: Vec<&String> = functions.keys().filter(is_of_c).collect();
    assert!(names.len() > 600, "only {} functions", names.len());
    let is_alias = |name: &&&String| functions.get(&format!("P{name}")) == functions.get(**name);
    let apart: Vec<_> = names.iter().filter(|name| !is_alias(name)).collect();
    assert!(apart.is_empty(), "no alias: {apart:?}");
    let seconds = functions.keys().filter(|name| name.starts_with("PMPI_")).count();
    assert_eq!(seconds, names.len(), "names with P that no function has");
}
