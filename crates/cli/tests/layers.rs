//! The dependencies between the workspace's crates, and the crates that may contain `unsafe`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

/// Every crate with the crates of the workspace that it may depend on, without dependencies for development.
const ALLOWED: [(&str, &[&str]); 39] = [
    ("canele-sys", &[]),
    ("canele-secure", &[]),
    ("canele-chart", &[]),
    ("canele-mpi-tables", &[]),
    ("canele-profile", &["canele-sys"]),
    ("canele-trace", &["canele-sys"]),
    ("canele-mem", &["canele-sys"]),
    ("canele-control", &["canele-profile", "canele-sys"]),
    ("canele-rail", &["canele-mem", "canele-profile", "canele-secure", "canele-sys"]),
    ("canele-proto", &["canele-mem", "canele-profile", "canele-rail", "canele-sys"]),
    ("canele-sim", &["canele-mem", "canele-proto", "canele-rail", "canele-sys"]),
    ("canele-collective", &["canele-mem", "canele-profile", "canele-proto", "canele-rail", "canele-sys"]),
    (
        "canele-engine",
        &[
            "canele-collective",
            "canele-control",
            "canele-mem",
            "canele-profile",
            "canele-proto",
            "canele-rail",
            "canele-sys",
            "canele-trace",
        ],
    ),
    ("canele-testing", &["canele-control", "canele-engine", "canele-rail", "canele-sys"]),
    // The public interface, in Rust and in other languages.
    ("canele", &["canele-engine", "canele-mem", "canele-sys"]),
    ("canele-capi", &["canele", "canele-sys"]),
    ("canele-python", &["canele", "canele-collective", "canele-engine", "canele-mem", "canele-sys"]),
    // MPI: its meaning, and for each ABI its layout, its C interface over that, and its library.
    ("canele-mpi", &["canele-engine", "canele-mem", "canele-sys"]),
    ("canele-mpi-layout", &["canele-mpi-tables"]),
    ("canele-mpich-layout", &["canele-mpi-tables"]),
    ("canele-openmpi-layout", &["canele-mpi-tables"]),
    (
        "canele-mpi-c",
        &["canele-control", "canele-engine", "canele-mem", "canele-mpi", "canele-mpi-layout", "canele-sys"],
    ),
    (
        "canele-mpich-c",
        &["canele-control", "canele-engine", "canele-mem", "canele-mpi", "canele-mpich-layout", "canele-sys"],
    ),
    (
        "canele-openmpi-c",
        &[
            "canele-control",
            "canele-engine",
            "canele-mem",
            "canele-mpi",
            "canele-openmpi-layout",
            "canele-sys",
        ],
    ),
    ("canele-mpi-abi", &["canele-mpi-c", "canele-mpi-tables"]),
    ("canele-mpich-abi", &["canele-mpi-tables", "canele-mpich-c"]),
    ("canele-openmpi-abi", &["canele-mpi-tables", "canele-openmpi-c", "canele-openmpi-layout"]),
    ("canele-mpi-fortran", &[]),
    // The command.
    (
        "canele-launch",
        &["canele-control", "canele-profile", "canele-rail", "canele-secure", "canele-sys", "canele-trace"],
    ),
    (
        "canele-papers",
        &["canele", "canele-chart", "canele-launch", "canele-proto", "canele-sim", "canele-sys"],
    ),
    (
        "canele-cli",
        &[
            "canele",
            "canele-chart",
            "canele-collective",
            "canele-control",
            "canele-engine",
            "canele-launch",
            "canele-mem",
            "canele-mpi-tables",
            "canele-papers",
            "canele-profile",
            "canele-proto",
            "canele-rail",
            "canele-sim",
            "canele-sys",
        ],
    ),
    // Programs see the public interface and their common output.
    ("canele-show", &["canele", "canele-sys"]),
    ("cestac", &["canele"]),
    ("canele-dsm", &["canele", "canele-show"]),
    ("canele-gauss", &["canele", "canele-show", "cestac"]),
    ("canele-laplace", &["canele", "canele-show"]),
    ("canele-mandelbrot", &["canele", "canele-show"]),
    ("canele-povray", &["canele", "canele-show"]),
    (
        "canele-bundle",
        &["canele-dsm", "canele-gauss", "canele-laplace", "canele-mandelbrot", "canele-povray"],
    ),
];

/// The crates that may contain `unsafe`, each with the reason.
const UNSAFE: [(&str, &str); 14] = [
    ("canele-sys", "the kernel and the processor"),
    ("canele-mem", "memory that other processes write"),
    ("canele-rail", "rings in shared memory"),
    ("canele-mpi-c", "pointers of the program"),
    ("canele-mpich-c", "pointers of the program"),
    ("canele-mpi-abi", "pointers of the program"),
    ("canele-mpich-abi", "pointers of the program"),
    ("canele-openmpi-layout", "handles that are addresses"),
    ("canele-openmpi-c", "pointers of the program"),
    ("canele-openmpi-abi", "pointers of the program"),
    ("canele-mpi-fortran", "pointers of the program"),
    ("canele-capi", "pointers of the program"),
    ("canele-python", "pointers of the program"),
    ("cestac", "instructions that round, in two modules"),
];

/// A crate of the workspace.
struct Member {
    name: String,
    folder: PathBuf,
    /// The other members that it depends on, without dependencies for development.
    dependencies: BTreeSet<String>,
}

fn members() -> Vec<Member> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo can be run");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("there are packages");
    let names: BTreeSet<String> = packages.iter().map(|p| text(&p["name"])).collect();
    let member = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let dependencies = dependencies.filter(|d| d["kind"] != "dev").map(|d| text(&d["name"]));
        Member {
            name: text(&package["name"]),
            folder: PathBuf::from(text(&package["manifest_path"])).with_file_name(""),
            dependencies: dependencies.filter(|name| names.contains(name)).collect(),
        }
    };
    packages.iter().map(member).collect()
}

#[test]
fn crates_depend_on_those_that_they_may() {
    let mut allowed: BTreeMap<&str, BTreeSet<String>> = ALLOWED
        .iter()
        .map(|(name, others)| (*name, others.iter().map(ToString::to_string).collect()))
        .collect();
    for Member { name, dependencies, .. } in members() {
        let may = allowed.remove(&*name).unwrap_or_else(|| panic!("{name} is not in the table: add it"));
        let forbidden: Vec<_> = dependencies.difference(&may).collect();
        assert!(forbidden.is_empty(), "{name} depends on {forbidden:?}, which the table does not allow");
        let unused: Vec<_> = may.difference(&dependencies).collect();
        assert!(unused.is_empty(), "{name} no longer depends on {unused:?}: take it out of the table");
    }
    assert!(allowed.is_empty(), "there is no crate {:?}: take it out of the table", allowed.keys());
}

/// A crate that may contain `unsafe` in one module denies it elsewhere.
#[test]
fn unsafe_code_is_forbidden_outside_of_the_crates_that_need_it() {
    for Member { name, folder, .. } in members() {
        let is_exempt = UNSAFE.iter().any(|(exempt, _)| *exempt == name);
        let rule = match &*name {
            "cestac" => "#![deny(unsafe_code)]",
            _ if is_exempt => continue,
            _ => "#![forbid(unsafe_code)]",
        };
        let heads = ["lib.rs", "main.rs"].map(|file| folder.join("src").join(file));
        let heads: Vec<_> = heads.iter().filter(|head| head.exists()).collect();
        assert!(!heads.is_empty(), "{name} has a crate root in {}", folder.display());
        for head in heads {
            let text = std::fs::read_to_string(head).expect("a crate root can be read");
            assert!(text.contains(rule), "{name} does not have {rule} in {}", head.display());
        }
    }
}

/// Returns the packages of a selection with the features that they are built with.
fn features(selection: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--edges", "normal,build", "--prefix", "none", "--no-dedupe", "--format", "{p} [{f}]"])
        .args(selection)
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Scripts and tests build the command alone. One feature that differs would compile nearly everything twice.
#[test]
fn a_build_of_the_command_alone_shares_all_packages_with_the_workspace() {
    let (alone, shared) = (features(&["--package", "canele-cli"]), features(&["--workspace"]));
    let other: Vec<&String> = alone.difference(&shared).collect();
    assert!(other.is_empty(), "ask for the same features in crates/cli/Cargo.toml: {other:#?}");
}
