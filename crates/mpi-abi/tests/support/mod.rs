//! C programs, compiled against the header and run with the library, alone or as jobs, none of them for ever. Tests of other
//! packages include this file by its path.
#![allow(dead_code, reason = "each test uses its part")]

#[path = "../../../canele/tests/launch/mod.rs"]
pub mod launch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, OnceLock};

/// The library that programs are compiled for and run with.
pub struct Interface {
    package: &'static str,
    /// Its name in the folder of a build.
    built: &'static str,
    /// The names that programs and the compiler look for.
    names: &'static [&'static str],
    link: &'static str,
    include: PathBuf,
}

impl Interface {
    /// The standard's.
    pub fn standard() -> Interface {
        Interface {
            package: "canele-mpi-abi",
            built: "libmpi_abi.so",
            names: &["libmpi_abi.so.1", "libmpi_abi.so"],
            link: "-lmpi_abi",
            include: concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi-abi/include").into(),
        }
    }

    /// MPICH's.
    pub fn mpich() -> Interface {
        Interface {
            package: "canele-mpich-abi",
            built: "libmpi.so",
            names: &["libmpi.so.12"],
            link: "-l:libmpi.so.12",
            include: concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi-abi/include/mpich").into(),
        }
    }

    /// Open MPI's.
    pub fn openmpi() -> Interface {
        Interface {
            package: "canele-openmpi-abi",
            built: "libopenmpi_abi.so",
            names: &["libmpi.so.40"],
            link: "-l:libmpi.so.40",
            include: concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi-abi/include/openmpi").into(),
        }
    }

    /// This library, with programs compiled against the headers of this folder.
    pub fn with_headers(self, include: PathBuf) -> Interface {
        Interface { include, ..self }
    }

    /// Builds the library; a folder with it as programs look for it, for this process alone.
    pub fn install(&self) -> PathBuf {
        // Nothing links with it, so no test has it built. The launcher finds any of them beside that of the standard.
        // With the command, whose dependencies have the features that they have in the workspace: nothing else is built anew.
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

    /// A program of these sources in the folder that [`install`](Self::install) made.
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
        // A program that has this function is asked by it, as a library for a device is.
        compiler.arg("-Wl,--export-dynamic-symbol=canele_device_of");
        compiler.arg("-L").arg(folder).args([self.link, "-lpthread"]);
        let output = compiler.output().expect("the compiler starts");
        assert!(output.status.success(), "{name}: {}", text(&output));
        program
    }
}

/// That of the package whose tests include this file.
fn interface() -> Interface {
    match env!("CARGO_PKG_NAME") {
        "canele-mpich-abi" => Interface::mpich(),
        "canele-openmpi-abi" => Interface::openmpi(),
        _ => Interface::standard(),
    }
}

/// This package's folder, whosever tests include this file.
const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi-abi");

/// A folder of this package's tests.
pub fn folder(name: &str) -> PathBuf {
    Path::new(PACKAGE).join("tests").join(name)
}

/// The sources of the conformance program.
pub fn conformance() -> Vec<PathBuf> {
    let sources = folder("conformance");
    names(&sources).iter().map(|name| sources.join(format!("{name}.c"))).collect()
}

/// What it prints on so many ranks.
pub fn conforming(ranks: usize) -> String {
    std::fs::read_to_string(folder("conformance").join(format!("expected-{ranks}.txt"))).unwrap()
}

/// The names of all C files of a folder, without what follows the dot.
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

/// A folder with the library as programs look for it, for this process alone.
pub fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| interface().install())
}

/// How programs in C are compiled.
pub const C: [&str; 2] = ["cc", "-std=gnu11"];

/// A program of these sources.
pub fn compiled(name: &str, sources: &[PathBuf]) -> PathBuf {
    compiled_by(C, name, sources)
}

/// A program in C with OpenMP of these sources.
pub fn compiled_openmp(name: &str, sources: &[PathBuf]) -> PathBuf {
    compiled_by(["cc", "-fopenmp"], name, sources)
}

/// A program in C++ of these sources.
pub fn compiled_cpp(name: &str, sources: &[PathBuf]) -> PathBuf {
    compiled_by(["c++", "-std=c++17"], name, sources)
}

/// Compiled once, though several tests may want the same program at the same time.
fn compiled_by(by: [&str; 2], name: &str, sources: &[PathBuf]) -> PathBuf {
    static PROGRAMS: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let program = PROGRAMS.lock().expect("no test fails here").entry(name.to_owned()).or_default().clone();
    program.get_or_init(|| interface().compile(library(), by, name, sources)).clone()
}

/// Runs a program without a launcher, or as a job of `canele run` with these options. What hangs ends with status 124.
pub fn run(options: Option<&[&str]>, program: &Path, arguments: &[&str]) -> Output {
    let mut run = match options {
        None => Command::new("timeout"),
        Some(_) => launch::command(),
    };
    match options {
        None => run.args(["-k", "5", "60"]),
        Some(options) => run.args(["run", "--timeout", "60"]).args(options),
    };
    // The variable of another test of this package is none of the library's, which refuses such.
    run.env_remove("CANELE_UPDATE");
    // Behind the launcher, which would put the library beside itself first.
    run.arg("env").arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(program).args(arguments);
    run.output().expect("the program starts")
}

/// As [`run`], for a job whose launcher, too, is under the limits that a shell sets by `limits`.
pub fn run_limited(limits: &str, options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits}; exec \"$@\""), "sh"]).arg(launch::command().get_program());
    shell.args(["run", "--timeout", "60"]).args(options).env_remove("CANELE_UPDATE");
    shell.arg("env").arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(program).args(arguments);
    shell.output().expect("the shell starts")
}

/// A remote shell that starts agents here: each of them is a host.
pub fn between_hosts(hosts: &str) -> [String; 4] {
    let shell = format!("bash {}/../cli/tests/support/shell plain", env!("CARGO_MANIFEST_DIR"));
    ["--hosts", hosts, "--rsh", &shell].map(str::to_owned)
}

/// All ranks of a job, or the program alone, say that they have passed.
pub fn passes(program: &Path, ranks: usize) {
    let n = ranks.to_string();
    let job = ["-n", n.as_str()];
    let output = run((ranks > 1).then_some(&job), program, &[]);
    all_passed(program, &output, ranks);
}

/// The same of a run that has ended.
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

/// All that was printed.
pub fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The functions of MPI that the library exports, with their addresses as `readelf` prints them.
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

/// Each function of the standard and its `PMPI_` name are at one address, so they have one body and one cache.
pub fn second_names_are_aliases() {
    let functions = exported_functions();
    // What is in capital letters alone is of Fortran.
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
