//! Other implementations of MPI that precede this one: commands, libraries, variables. Runs none of their
//! programs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use canele_launch::installation::{MPICH_SONAME, OPENMPI_SONAME, SONAME};
use canele_launch::{is_mpi_library, is_own_library};
use canele_sys::bounded_read::{MOST_DATA, MOST_SETTINGS, read_text};
use canele_sys::command_output;

use super::finding::{Finding, ok, problem, remark};

/// The commands for compiling and launching, which belong together.
const COMMANDS: [&str; 5] = ["mpicc", "mpicxx", "mpifort", "mpiexec", "mpirun"];
/// Beginnings of the names of variables that other launchers and libraries read.
const VARIABLES: [&str; 8] = ["OMPI_", "PMIX_", "PRTE_", "I_MPI_", "MPICH_", "MV2_", "HYDRA_", "MPIR_"];
/// Most names that are listed; further ones are counted.
const MOST_NAMED: usize = 6;
/// Largest length of a script that calls the command.
const LONGEST_SCRIPT: u64 = 4096;

/// Examines all of these; commands only if a user types them on this machine.
pub fn examine(has_user: bool) -> Vec<Finding> {
    let mut found: Vec<Finding> = has_user.then(|| commands(&path_folders())).into_iter().collect();
    found.extend([preloaded(), searched(), cached(), variables()]);
    found
}

/// Returns the folders of PATH.
pub fn path_folders() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// Returns the finding on MPI's commands in these folders, and on their owners.
fn commands(folders: &[PathBuf]) -> Finding {
    let what = "commands on PATH";
    let first = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    let found: Vec<PathBuf> = COMMANDS.iter().filter_map(|name| first(name)).collect();
    let (ours, theirs): (Vec<&PathBuf>, Vec<&PathBuf>) = found.iter().partition(|path| is_own_command(path));
    let list = |paths: &[&PathBuf]| {
        paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    };
    match (ours.is_empty(), theirs.is_empty()) {
        (true, true) => remark(
            what,
            "no mpicc, no mpiexec",
            "`canele cc` and `canele run` are the same; or put the folder of an installation on the PATH",
        ),
        (false, true) => ok(what, format!("Canelé's: {}", list(&ours))),
        (true, false) => remark(
            what,
            format!("of another MPI: {}", list(&theirs)),
            "what they compile and start is not Canelé's: use `canele cc` and `canele run`, or put Canelé's folder first on the PATH",
        ),
        (false, false) => problem(
            what,
            format!("mixed: Canelé's {}, of another MPI {}", list(&ours), list(&theirs)),
            "a program that one compiled runs as many jobs of one rank under the other: put Canelé's folder first on the PATH",
        ),
    }
}

/// Returns true for the command `canele` itself under any name, and for a script that calls the one beside
/// it.
fn is_own_command(path: &Path) -> bool {
    let Ok(file) = fs::canonicalize(path) else { return false };
    if file.file_name() == Some(OsStr::new("canele")) {
        return true;
    }
    let is_short = fs::metadata(&file).is_ok_and(|about| about.len() <= LONGEST_SCRIPT);
    is_short
        && read_text(&file, LONGEST_SCRIPT)
            .is_ok_and(|text| text.starts_with("#!") && text.contains("/canele\""))
}

/// Returns the finding on libraries that every program must load.
fn preloaded() -> Finding {
    let what = "LD_PRELOAD";
    let variable = std::env::var("LD_PRELOAD").unwrap_or_default();
    let file = read_text("/etc/ld.so.preload", MOST_SETTINGS).unwrap_or_default();
    let all = variable.split([':', ' ']).chain(file.split_whitespace()).filter(|word| !word.is_empty());
    let theirs: Vec<&str> = all.filter(|word| is_theirs(Path::new(word))).collect();
    match theirs.is_empty() {
        true => ok(what, "no MPI library"),
        false => problem(
            what,
            format!("the MPI library of another implementation: {}", theirs.join(", ")),
            "its functions replace Canelé's in every program: `unset LD_PRELOAD`, or mend /etc/ld.so.preload",
        ),
    }
}

/// Returns the finding on libraries that precede those that a program names.
fn searched() -> Finding {
    let what = "LD_LIBRARY_PATH";
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let theirs: Vec<String> = std::env::split_paths(&path)
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| is_in_the_way(path))
        .map(|path| path.display().to_string())
        .collect();
    match theirs.is_empty() {
        true => ok(what, "no other MPI's library of Canelé's names"),
        false => remark(
            what,
            named(&theirs),
            "`canele run` puts Canelé's own first, but programs started alone take these: leave the folder away",
        ),
    }
}

/// Returns the finding on libraries in the dynamic linker's cache.
fn cached() -> Finding {
    let what = "system's libraries";
    let list = ["/sbin/ldconfig", "ldconfig"].into_iter().find_map(|command| {
        let output = command_output::output(Command::new(command).arg("-p").stdin(Stdio::null()), MOST_DATA);
        output.ok().filter(|output| output.status.success())
    });
    let Some(list) = list else { return ok(what, "unknown: there is no ldconfig") };
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let files =
        list.lines().filter_map(|line| line.split_once(" => ").map(|(_, file)| PathBuf::from(file.trim())));
    let theirs: BTreeSet<PathBuf> = files.filter(|file| is_theirs(file)).collect();
    let names = |all: &BTreeSet<PathBuf>| {
        named(&all.iter().map(|path| path.display().to_string()).collect::<Vec<_>>())
    };
    if theirs.iter().any(|file| is_in_the_way(file)) {
        return remark(
            what,
            format!("another MPI's, by Canelé's names: {}", names(&theirs)),
            "`canele run` and programs of `canele cc` find Canelé's first; others need LD_LIBRARY_PATH where they are started alone",
        );
    }
    match theirs.is_empty() {
        true => ok(what, "no other MPI"),
        false => ok(what, format!("another MPI, not in the way: {}", names(&theirs))),
    }
}

/// Returns true for another MPI's library.
fn is_theirs(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_mpi_library(&name) && !is_own_library(path)
}

/// Returns true for another MPI's library whose name programs use to find Canelé's.
fn is_in_the_way(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    [SONAME, MPICH_SONAME, OPENMPI_SONAME].iter().any(|own| name == OsStr::new(own)) && is_theirs(path)
}

fn named(all: &[String]) -> String {
    let left = all.len().saturating_sub(MOST_NAMED);
    let more = if left > 0 { format!(" and {left} more") } else { String::new() };
    all[..all.len() - left].join(", ") + &more
}

/// Returns the finding on variables of other implementations, as a loaded module sets them.
fn variables() -> Finding {
    let what = "variables";
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let theirs: BTreeSet<String> =
        names.filter(|name| VARIABLES.iter().any(|start| name.starts_with(start))).collect();
    match theirs.is_empty() {
        true => ok(what, "none of other implementations"),
        false => remark(
            what,
            format!("of other implementations: {}", named(&theirs.into_iter().collect::<Vec<_>>())),
            "they mean nothing here; is another MPI's module loaded? (`module list`, `module unload …`)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::super::finding::Level;
    use super::*;

    #[test]
    fn compiler_and_launcher_of_two_implementations_are_a_problem() {
        let root = std::env::temp_dir().join(format!("canele-commands-{}", std::process::id()));
        let folder = |name: &str, files: &[(&str, &str)]| {
            let folder = root.join(name);
            fs::create_dir_all(&folder).unwrap();
            files.iter().for_each(|(file, text)| fs::write(folder.join(file), text).unwrap());
            folder
        };
        let ours = folder(
            "ours",
            &[("canele", ""), ("mpicc", "#!/bin/sh\nexec \"$(dirname \"$0\")/canele\" mpicc\n")],
        );
        symlink("canele", ours.join("mpiexec")).unwrap();
        let theirs = folder("theirs", &[("mpicc", "#!/bin/sh\n"), ("mpirun", "")]);
        let level = |folders: &[&PathBuf]| {
            commands(&folders.iter().map(|one| (*one).clone()).collect::<Vec<_>>()).level
        };
        assert_eq!(level(&[]), Level::Remark);
        assert_eq!(level(&[&ours]), Level::Ok);
        assert_eq!(level(&[&theirs]), Level::Remark);
        let mixed = commands(&[theirs.clone(), ours.clone()]);
        assert_eq!(mixed.level, Level::Problem);
        assert!(mixed.value.contains("theirs/mpicc") && mixed.value.contains("ours/mpiexec"), "{mixed:?}");
        fs::remove_dir_all(root).unwrap();
    }
}
