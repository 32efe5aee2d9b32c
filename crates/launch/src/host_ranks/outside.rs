//! What the system tells of a rank's process: whether it runs, sleeps or is stopped, and which files its calls lie in.
//!
//! Reads `/proc` of processes of the same user, which needs no right to trace them. Everything may be missing.

use canele_sys::bounded_read::read_kernel;
use canele_sys::code_map::{self, MappedCode};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Threads of a process that are looked at.
const MOST_THREADS: usize = 64;
/// Bytes of a name that are told.
const MOST_NAME: usize = 40;

/// What the process of a rank does, as the system sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessState {
    /// The letter of proc(5): `R` if any of its threads runs, else that of its first thread.
    pub letter: String,
    /// The function of the kernel in which its first thread sleeps, if the system tells.
    pub sleeps_in: String,
}

/// A place in the code of a process.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CodePlace {
    /// The file that the code was loaded from.
    pub module: String,
    /// Its length in bytes, by which another host knows whether it has the same one.
    pub module_bytes: u64,
    /// The address as the file has it.
    pub address: u64,
}

/// What the process does now; nothing if there is none.
pub fn process_state(pid: u32) -> Option<ProcessState> {
    let first = letter(Path::new(&format!("/proc/{pid}")))?;
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let runs = threads.take(MOST_THREADS).any(|thread| is_running(&thread.path()));
    let sleeps_in = read_kernel(format!("/proc/{pid}/wchan")).unwrap_or_default();
    let sleeps_in: String = sleeps_in.chars().filter(|c| c.is_ascii_graphic()).take(MOST_NAME).collect();
    Some(ProcessState {
        letter: if runs { 'R' } else { first }.to_string(),
        sleeps_in: if sleeps_in == "0" { String::new() } else { sleeps_in },
    })
}

/// Whether the thread with this folder in `/proc` runs, or waits for a processor only.
pub fn is_running(thread: &Path) -> bool {
    letter(thread) == Some('R')
}

fn letter(folder: &Path) -> Option<char> {
    let stat = read_kernel(folder.join("stat")).ok()?;
    // The name before it may have any characters.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Where these return addresses of the process lie: the calls before them. Those outside of any file are left out.
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
}
