//! Interpreters of Python: the use of this library by their mpi4py, and changes of Canelé's installed wheel.
//!
//! Owns the scripts for an interpreter; imports none of its packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use canele_launch::{Mpi4py, mpi4py_of};
use canele_sys::bounded_read::MOST_SETTINGS;
use canele_sys::command_output;
use serde::Deserialize;

use super::finding::{Finding, ok, problem, remark};

const BUILD: &str = "MPICC=mpicc pip install --force-reinstall --no-cache-dir --no-binary mpi4py mpi4py";
/// Most names that are listed; further ones are counted.
const MOST_NAMED: usize = 6;

/// Prints the state of each file of Canelé's wheel that differs from the installed one, or that another
/// package has, too. Nothing is imported from the working directory, which may be a stranger's.
const COMPARE: &str = r#"
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import base64, hashlib, importlib.metadata as metadata, json, os
def files(one):
    has_hash = lambda file: file.hash is not None and file.hash.mode == "sha256"
    return {os.path.normpath(str(one.locate_file(file))): file.hash.value for file in one.files or () if has_hash(file)}
def found(path):
    try:
        digest = hashlib.sha256(open(path, "rb").read()).digest()
    except OSError:
        return None
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
try:
    own = files(metadata.distribution("canele"))
except metadata.PackageNotFoundError:
    own = {}
others = []
if own:
    everything = ((one.metadata["Name"] or "", one.version, one) for one in metadata.distributions())
    others = [(f"{name} {version}", files(one)) for name, version, one in everything if name.lower() != "canele"]
changed = []
for path, installed in own.items():
    now = found(path)
    sharers = [(name, theirs[path]) for name, theirs in others if path in theirs]
    owners = [name for name, hash in sharers if hash == now] or [name for name, _ in sharers]
    if now != installed or owners:
        state = "missing" if now is None else "changed" if now != installed else "shared"
        changed.append({"path": path, "state": state, "owner": owners[0] if owners else None})
print(json.dumps({"files": len(own), "changed": changed}))
"#;

/// The state of a wheel's files.
#[derive(Debug, Deserialize)]
struct Wheel {
    files: usize,
    changed: Vec<Changed>,
}

#[derive(Debug, Deserialize)]
struct Changed {
    path: String,
    state: State,
    /// The package that has a file of this name, too.
    owner: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq, Eq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum State {
    Missing,
    Changed,
    Shared,
}

/// Returns the findings about one interpreter, named `python`.
pub fn examine(python: &Path) -> Vec<Finding> {
    let Some(mpi4py) = mpi4py_of(python) else {
        let text = format!("{} is no Python that runs", python.display());
        return vec![problem("python", text, "name an interpreter, as `--python venv/bin/python3`")];
    };
    let wheel = compared(python).filter(|wheel| wheel.files > 0).map(|wheel| of_wheel(python, &wheel));
    std::iter::once(of_mpi4py(python, &mpi4py)).chain(wheel).collect()
}

fn of_mpi4py(python: &Path, found: &Mpi4py) -> Finding {
    let what = "mpi4py";
    match found {
        Mpi4py::Missing => ok(what, format!("{} has none", python.display())),
        Mpi4py::Usable(folder) => ok(what, format!("{} can load Canelé's library", folder.display())),
        Mpi4py::OfOthers(folder, None) => {
            problem(what, format!("{} was built for other implementations alone", folder.display()), BUILD)
        }
        Mpi4py::OfOthers(folder, Some(library)) => {
            problem(what, format!("{} was built for {}", folder.display(), library.display()), BUILD)
        }
    }
}

fn compared(python: &Path) -> Option<Wheel> {
    let output = command_output::output(
        Command::new(python).args(["-c", COMPARE]).stdin(Stdio::null()),
        MOST_SETTINGS,
    );
    let output = output.ok().filter(|output| output.status.success())?;
    serde_json::from_slice(&output.stdout).ok()
}

fn of_wheel(python: &Path, wheel: &Wheel) -> Finding {
    let what = "Canelé's wheel";
    let of = |state: State| wheel.changed.iter().filter(move |file| file.state == state);
    let lost: Vec<&Changed> = of(State::Missing).chain(of(State::Changed)).collect();
    let shared: Vec<&Changed> = of(State::Shared).collect();
    let reinstall = |packages: String| {
        let first = if packages.is_empty() { String::new() } else { format!("pip uninstall {packages}; ") };
        let python = python.display();
        format!(
            "{first}then install Canelé's wheel again: {python} -m pip install --force-reinstall --no-deps WHEEL"
        )
    };
    if !lost.is_empty() {
        return problem(
            what,
            format!("of {}: {}", python.display(), listed(&lost)),
            reinstall(packages(&lost)),
        );
    }
    if !shared.is_empty() {
        let text = format!(
            "of {}: another package has files of the same names, {}",
            python.display(),
            listed(&shared)
        );
        let before = "its removal or renewal takes Canelé's away: ";
        return remark(what, text, format!("{before}{}", reinstall(packages(&shared))));
    }
    ok(what, format!("of {}: {} files as they were installed", python.display(), wheel.files))
}

/// Returns each file with the package that has it now.
fn listed(files: &[&Changed]) -> String {
    let named = files.iter().take(MOST_NAMED).map(|file| match (file.state, &file.owner) {
        (State::Shared, Some(owner)) => format!("{} ({owner})", file.path),
        (State::Missing, _) => format!("{} is missing", file.path),
        (_, Some(owner)) => format!("{} is {owner}'s now", file.path),
        (_, None) => format!("{} was changed", file.path),
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if files.len() > MOST_NAMED {
        text += &format!(" and {} more", files.len() - MOST_NAMED);
    }
    text
}

/// Returns the names of the packages that have these files.
fn packages(files: &[&Changed]) -> String {
    let owners = files.iter().filter_map(|file| file.owner.as_ref()?.split(' ').next().map(str::to_owned));
    owners.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
}

/// Returns the first interpreter of these folders.
pub fn first(folders: &[PathBuf]) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join("python3")).find(|path| path.is_file())
}
