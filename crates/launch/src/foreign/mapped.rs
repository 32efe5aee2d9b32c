//! The MPI libraries that running processes have mapped.
//!
//! Owns the parsing of `/proc` for a rank and the processes below it. Every file there may be missing or of
//! any length. Reading takes long for processes with many mappings, so no event loop calls this.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::library::{has_mark, is_mpi_library, is_of_installation};

/// The bytes of a list of mappings, or of an environment, that are read.
const MOST_BYTES: u64 = 8 << 20;
/// The most processes below one rank that are checked, and the most threads of each that may have started
/// some.
const MOST_PROCESSES: usize = 256;
const MOST_THREADS: usize = 64;
/// The bytes of a thread's list of children that are read, enough for all checked processes.
const MOST_CHILDREN_BYTES: u64 = 16 * MOST_PROCESSES as u64;
/// The number of libraries that are remembered.
const MOST_KNOWN: usize = 1024;

/// Variables by which other launchers connect the processes that they start.
const OF_LAUNCHERS: [&str; 5] = ["PMI_FD", "PMI_PORT", "PMIX_NAMESPACE", "PMIX_RANK", "HYDI_CONTROL_FD"];

/// A process that uses another MPI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// The process: the rank's own, or one below it.
    pub pid: u32,
    /// The library that it has mapped.
    pub library: PathBuf,
}

/// Known library files, by device and inode; true for Canelé's.
#[derive(Debug, Default)]
pub struct KnownLibraries(HashMap<String, bool>);

impl KnownLibraries {
    /// Returns true if a mapped file is Canelé's. A file that cannot be read counts as Canelé's.
    fn is_own(&mut self, file: &str, pid: u32, path: &str) -> bool {
        if let Some(is_own) = self.0.get(file) {
            return *is_own;
        }
        // The process may see other files under these names.
        let there = PathBuf::from(format!("/proc/{pid}/root{path}"));
        let is_own = has_mark(&there).or_else(|| has_mark(Path::new(path))).unwrap_or(true);
        if self.0.len() < MOST_KNOWN {
            self.0.insert(file.to_owned(), is_own);
        }
        is_own
    }

    /// Returns the first process of a rank that has mapped another MPI and nothing of Canelé. The processes
    /// below the rank count, too, unless another launcher has started them.
    pub fn foreign_process(&mut self, rank: u32) -> Option<Foreign> {
        let place = launcher_variables(rank);
        let mut waiting = vec![rank];
        let mut seen = 0;
        while let Some(pid) = waiting.pop() {
            seen += 1;
            if seen > MOST_PROCESSES || pid != rank && launcher_variables(pid) != place {
                continue;
            }
            match self.mapped(pid) {
                Mapped::Own => continue,
                Mapped::Other(library) => return Some(Foreign { pid, library }),
                Mapped::None => waiting.extend(children(pid)),
            }
        }
        None
    }

    fn mapped(&mut self, pid: u32) -> Mapped {
        let Ok(file) = File::open(format!("/proc/{pid}/maps")) else { return Mapped::None };
        let mut other: Option<PathBuf> = None;
        let mut last = String::new();
        for line in BufReader::new(file.take(MOST_BYTES)).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            let Some((file, path)) = file_and_path(&line) else { continue };
            if path == last {
                continue;
            }
            path.clone_into(&mut last);
            let name = path.rsplit('/').next().unwrap_or_default();
            if name.starts_with("libcanele") || path.ends_with("/canele/_native.abi3.so") {
                return Mapped::Own;
            }
            if !is_mpi_library(name) {
                continue;
            }
            if self.is_own(file, pid, path) || is_of_installation(Path::new(path)) {
                return Mapped::Own;
            }
            let is_shorter = |known: &PathBuf| name.len() < known.file_name().unwrap_or_default().len();
            if other.as_ref().is_none_or(is_shorter) {
                other = Some(path.into());
            }
        }
        other.map_or(Mapped::None, Mapped::Other)
    }
}

enum Mapped {
    None,
    Own,
    Other(PathBuf),
}

/// Returns the device and inode of the file in a line of mappings, and its path.
fn file_and_path(line: &str) -> Option<(&str, &str)> {
    let path = &line[line.find('/')?..];
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    // `7f0000000000-7f0000001000 r-xp 00000000 fe:00 131 /lib/libc.so.6`
    let before = line[..line.find('/')?].trim_end();
    let at = before.match_indices(' ').nth(2)?.0;
    Some((&before[at + 1..], path))
}

/// Returns the processes that the threads of a process have started.
fn children(pid: u32) -> Vec<u32> {
    let threads =
        fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().take(MOST_THREADS);
    let of_thread = |thread: fs::DirEntry| {
        let mut list = String::new();
        if let Ok(file) = File::open(thread.path().join("children")) {
            let _ = file.take(MOST_CHILDREN_BYTES).read_to_string(&mut list);
        }
        // A space follows each number that was not cut off.
        let whole = list.rfind(' ').map_or("", |end| &list[..end]);
        whole.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect::<Vec<u32>>()
    };
    threads.flat_map(of_thread).take(MOST_PROCESSES).collect()
}

/// Returns the variables that other launchers have given a process at its start.
fn launcher_variables(pid: u32) -> Vec<String> {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(format!("/proc/{pid}/environ")) {
        let _ = file.take(MOST_BYTES).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    let is_of_launcher =
        |set: &&str| set.split_once('=').is_some_and(|(name, _)| OF_LAUNCHERS.contains(&name));
    let mut found: Vec<String> = text.split('\0').filter(is_of_launcher).map(str::to_owned).collect();
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    #[test]
    fn lines_name_file_and_path() {
        let line = "7f00-7f01 r-xp 00000000 fe:00 131                        /opt/a b/libmpi.so.40 (deleted)";
        assert_eq!(file_and_path(line), Some(("fe:00 131", "/opt/a b/libmpi.so.40")));
        assert_eq!(file_and_path("7ffd-7ffe r-xp 00000000 00:00 0    [vdso]"), None);
        assert_eq!(file_and_path("7f00 /x"), None);
    }

    /// A shell that runs a text and then waits. A child of it, which is its dynamic linker's, maps a file of
    /// this name.
    struct Running(Child);

    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn processes_below_are_those_of_the_rank() {
        let script = "sleep 60 & wait";
        let child = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap();
        let shell = Running(child);
        // The shell starts its child a little later.
        let found = (0..10_000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            children(shell.0.id()).first().copied()
        });
        let below = found.expect("the shell has a child");
        assert_eq!(KnownLibraries::default().foreign_process(shell.0.id()), None);
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_raw(below as i32).unwrap(),
            rustix::process::Signal::KILL,
        );
    }
}
