//! The system's data of a rank's process: its state, and the files that its calls lie in.
//!
//! Reads `/proc` of processes of this user, which needs no right to trace them. Every file may be missing.

use canele_sys::bounded_read::read_kernel;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
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
    if returns.is_empty() {
        return Vec::new();
    }
    let maps = read_kernel(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut modules = MappedModules::read(&maps);
    returns.iter().filter_map(|address| modules.place(address.wrapping_sub(1))).collect()
}

/// The files that a process has mapped.
struct MappedModules<'a> {
    /// The first address, the address behind the last, and the file of each mapping.
    ranges: Vec<(u64, u64, &'a str)>,
    /// The length of each file, and the number to subtract from addresses; none if it cannot be read.
    files: HashMap<&'a str, Option<(u64, u64)>>,
}

impl<'a> MappedModules<'a> {
    fn read(maps: &'a str) -> Self {
        let range = |line: &'a str| {
            let path = line.find('/').map(|at| &line[at..])?;
            let (first, rest) = line.split_once('-')?;
            let (behind, _) = rest.split_once(' ')?;
            let number = |text| u64::from_str_radix(text, 16).ok();
            Some((number(first)?, number(behind)?, path))
        };
        Self { ranges: maps.lines().filter_map(range).collect(), files: HashMap::new() }
    }

    fn place(&mut self, address: u64) -> Option<CodePlace> {
        let holds = |(first, behind, _): &&(u64, u64, &str)| (*first..*behind).contains(&address);
        let (_, _, module) = *self.ranges.iter().find(holds)?;
        let ranges = &self.ranges;
        let file = self.files.entry(module).or_insert_with(|| {
            let start = ranges.iter().find(|(_, _, path)| *path == module)?.0;
            let (bytes, is_fixed) = look_at(module)?;
            Some((bytes, if is_fixed { 0 } else { start }))
        });
        let (module_bytes, base) = (*file)?;
        Some(CodePlace { module: module.to_owned(), module_bytes, address: address.checked_sub(base)? })
    }
}

/// Returns the length of a file of code, and true if it is loaded at its own addresses.
fn look_at(module: &str) -> Option<(u64, bool)> {
    const EXECUTABLE: u16 = 2;
    let mut file = File::open(module).ok()?;
    let mut head = [0; 18];
    file.read_exact(&mut head).ok()?;
    let kind = u16::from_le_bytes([head[16], head[17]]);
    (head.starts_with(b"\x7fELF")).then_some((file.metadata().ok()?.len(), kind == EXECUTABLE))
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
    fn an_address_lies_in_the_file_it_was_loaded_from() {
        let own = places_of(std::process::id(), &[look_at as *const () as u64 + 1, 0]);
        let [place] = &own[..] else { panic!("{own:?}") };
        let program = std::env::current_exe().unwrap();
        assert_eq!(place.module, program.to_str().unwrap());
        assert_eq!(place.module_bytes, program.metadata().unwrap().len());
    }
}
