//! The files of code in which addresses of a process lie.
//!
//! Reads `/proc/PID/maps` and the heads of the files that are named there. Every file may be missing.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;

use crate::bounded_read::read_kernel;

/// A place in the code of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedCode {
    /// The file that the code was loaded from.
    pub module: String,
    /// Its length in bytes.
    pub module_bytes: u64,
    /// The address in the numbering of the file.
    pub address: u64,
}

/// Returns the places of the calls before these return addresses of a process. Addresses outside of any file are
/// left out.
pub fn places_of(pid: u32, returns: &[u64]) -> Vec<MappedCode> {
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

    fn place(&mut self, address: u64) -> Option<MappedCode> {
        let holds = |(first, behind, _): &&(u64, u64, &str)| (*first..*behind).contains(&address);
        let (_, _, module) = *self.ranges.iter().find(holds)?;
        let ranges = &self.ranges;
        let file = self.files.entry(module).or_insert_with(|| {
            let start = ranges.iter().find(|(_, _, path)| *path == module)?.0;
            let (bytes, is_fixed) = look_at(module)?;
            Some((bytes, if is_fixed { 0 } else { start }))
        });
        let (module_bytes, base) = (*file)?;
        Some(MappedCode { module: module.to_owned(), module_bytes, address: address.checked_sub(base)? })
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

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn an_address_lies_in_the_file_it_was_loaded_from() {
        let own = places_of(std::process::id(), &[look_at as *const () as u64 + 1, 0]);
        let [place] = &own[..] else { panic!("{own:?}") };
        let program = std::env::current_exe().unwrap();
        assert_eq!(place.module, program.to_str().unwrap());
        assert_eq!(place.module_bytes, program.metadata().unwrap().len());
    }
}
