//! The system's data of a rank's process: its state, and the files that its calls lie in.
//!
//! Reads `/proc` of processes of this user, which needs no right to trace them. Every file may be missing.

use canele_sys::bounded_read::read_kernel;
use canele_sys::code_map::{self, MappedCode};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The most threads of a process that are read.
const MOST_THREADS: usize = 64;
/// The most bytes of a name in a report.
const MOST_NAME: usize = 40;

/// The state of a rank's process, as the system sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessState {
    /// The letter of proc(5): `R` if any of its threads runs, else that of its first thread.
    pub letter: String,
    /// The function of the kernel in which its first thread sleeps, if the system tells.
    pub sleeps_in: String,
    /// The number of its threads.
    #[serde(default)]
    pub threads: u32,
    /// The number of its threads that sleep until another thread wakes them, if the system tells.
    #[serde(default)]
    pub idle_threads: u32,
}

/// A place in the code of a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodePlace {
    /// The file that the code was loaded from.
    pub module: String,
    /// Its length in bytes, by which another host checks if it has the same file.
    pub module_bytes: u64,
    /// The address in the file's numbering.
    pub address: u64,
}

/// Returns the present state of a process; none if it does not exist.
pub fn process_state(pid: u32) -> Option<ProcessState> {
    let first = letter(Path::new(&format!("/proc/{pid}")))?;
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let runs = threads.take(MOST_THREADS).any(|thread| is_running(&thread.path()));
    let sleeps_in = read_kernel(format!("/proc/{pid}/wchan")).unwrap_or_default();
    let sleeps_in: String = sleeps_in.chars().filter(|c| c.is_ascii_graphic()).take(MOST_NAME).collect();
    let (threads, idle_threads) = count_threads(pid);
    Some(ProcessState {
        threads,
        idle_threads,
        letter: if runs { 'R' } else { first }.to_string(),
        sleeps_in: if sleeps_in == "0" { String::new() } else { sleeps_in },
    })
}

/// Returns the number of threads of a process, and how many of them sleep until another thread wakes them. Only the first
/// [`MOST_THREADS`] are looked at.
fn count_threads(pid: u32) -> (u32, u32) {
    let folder = fs::read_dir(format!("/proc/{pid}/task"));
    let threads: Vec<_> = folder.into_iter().flatten().flatten().map(|thread| thread.path()).collect();
    let is_idle = |thread: &&PathBuf| {
        let sleeps_in = read_kernel(thread.join("wchan")).unwrap_or_default();
        sleeps_in.starts_with("futex") && letter(thread) == Some('S')
    };
    (threads.len() as u32, threads.iter().take(MOST_THREADS).filter(is_idle).count() as u32)
}

/// Returns true if the thread with this folder in `/proc` runs, or waits only for a processor.
pub fn is_running(thread: &Path) -> bool {
    letter(thread) == Some('R')
}

fn letter(folder: &Path) -> Option<char> {
    let stat = read_kernel(folder.join("stat")).ok()?;
    // The preceding name may contain any characters.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Returns the code places of the calls before these return addresses of the process. Addresses outside of
/// any file are left out.
pub fn places_of(pid: u32, returns: &[u64]) -> Vec<CodePlace> {
    code_map::places_of(pid, returns).into_iter().map(CodePlace::from).collect()
}

impl From<MappedCode> for CodePlace {
    fn from(MappedCode { module, module_bytes, address }: MappedCode) -> Self {
        Self { module, module_bytes, address }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_is_told_from_one_that_sleeps() {
        let own = process_state(std::process::id()).expect("this process");
        assert_eq!(own.letter, "R");
        assert_eq!(process_state(0), None);
    }

    #[test]
    fn a_thread_that_another_one_must_wake_is_idle() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let idle = std::thread::spawn(move || ended.recv());
        let own = || process_state(std::process::id()).expect("this process");
        let is_seen = |_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            (1..own().threads).contains(&own().idle_threads)
        };
        assert!((0..10_000).any(is_seen), "{:?}", own());
        drop(end);
        idle.join().unwrap().unwrap_err();
    }
}
