//! The direction of the dependencies: edges between the workspace's crates only go down.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The layers from the bottom up; a crate may depend on those before it.
const LAYERS: [&str; 24] = [
    "canele-sys",
    "canele-trace",
    "canele-secure",
    "canele-mem",
    "canele-control",
    "canele-rail",
    "canele-proto",
    "canele-sim",
    "canele-collective",
    "canele-engine",
    "canele-testing",
    "canele",
    "canele-python",
    "canele-capi",
    "canele-mpi",
    "canele-mpi-tables",
    "canele-mpi-c",
    "canele-mpich-c",
    "canele-mpi-abi",
    "canele-mpich-abi",
    "canele-launch",
    "canele-cli",
    "canele-show",
    "cestac",
];
/// Programs on top: they see the public interface, stochastic numbers, and what they share to show things.
const PROGRAMS: [&str; 5] =
    ["canele-dsm", "canele-gauss", "canele-laplace", "canele-mandelbrot", "canele-povray"];
/// All of them in one file.
const BUNDLE: &str = "canele-bundle";
/// Interfaces for other languages, whose pointers are the program's.
const INTERFACES: [&str; 6] =
    ["canele-mpi-c", "canele-mpich-c", "canele-mpi-abi", "canele-mpich-abi", "canele-python", "canele-capi"];
/// What programs may use.
const PUBLIC: [&str; 3] = ["canele", "canele-show", "cestac"];

/// The crates of the workspace and what they depend on, development aside.
fn edges() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo can be run");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("there are packages");
    let ours: Vec<String> = packages.iter().map(|p| text(&p["name"])).collect();
    let mut edges = BTreeMap::new();
    for package in packages {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let dependencies = dependencies.filter(|d| d["kind"].is_null()).map(|d| text(&d["name"]));
        edges.insert(text(&package["name"]), dependencies.filter(|name| ours.contains(name)).collect());
    }
    edges
}

#[test]
fn dependencies_only_go_down() {
    let layer = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    for (name, dependencies) in edges() {
        if name == BUNDLE {
            assert_eq!(dependencies, PROGRAMS, "{name} has all programs and nothing else");
            continue;
        }
        if PROGRAMS.contains(&name.as_str()) {
            assert!(
                dependencies.iter().all(|d| PUBLIC.contains(&d.as_str())),
                "{name} uses {dependencies:?}"
            );
            continue;
        }
        let own = layer(&name).unwrap_or_else(|| panic!("{name} has no layer: give it one here"));
        for dependency in dependencies {
            let other =
                layer(&dependency).unwrap_or_else(|| panic!("{name} depends on the program {dependency}"));
            assert!(other < own, "{name} depends on {dependency}, which lies above it");
        }
    }
}

#[test]
fn unsafe_code_is_forbidden_outside_of_the_lowest_crates_and_drivers() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for (name, _) in edges() {
        if ["canele-sys", "canele-mem", "canele-rail"].contains(&name.as_str())
            || INTERFACES.contains(&name.as_str())
        {
            continue;
        }
        let folder = name.strip_prefix("canele-").unwrap_or(&name);
        let candidates = ["crates", "apps"].map(|top| format!("{root}/{top}/{folder}/src"));
        let folder =
            candidates.iter().find(|path| std::path::Path::new(path).is_dir()).expect("a crate has a folder");
        let heads =
            ["lib.rs", "main.rs"].map(|file| std::fs::read_to_string(format!("{folder}/{file}")).ok());
        for head in heads.into_iter().flatten() {
            assert!(
                head.contains("#![forbid(unsafe_code)]"),
                "{name} does not forbid unsafe code in {folder}"
            );
        }
    }
}

/// The packages of a selection with the features that they are built with.
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
