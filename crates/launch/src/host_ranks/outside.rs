//! What the system tells of a rank's process: whether it runs, sleeps or is stopped, and which files its calls lie in.
//!
//! Reads `/proc` of processes of the same user, which needs no right to trace them. Everything may be missing.

use canele_sys::bounded_read::read_kernel;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
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
    if returns.is_empty() {
        return Vec::new();
    }
    let maps = read_kernel(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut modules = MappedModules::read(&maps);
    returns.iter().filter_map(|address| modules.place(address.wrapping_sub(1))).collect()
}

/// The files that a process has mapped.
struct MappedModules<'a> {
    /// First and last address behind it, and the file.
    ranges: Vec<(u64, u64, &'a str)>,
    /// Of each file, its length, and what is to be subtracted from addresses; nothing if it cannot be read.
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

/// The length of a file of code, and whether it is loaded where it says.
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
