//! The abstract names at which launchers take requests about their jobs: `canele-PID-NONCE`.
//!
//! Owns the form of a name and the search for names. Any process of the network namespace can take an
//! abstract name, and process numbers are those of a pid namespace. The nonce lets launchers with one number
//! coexist, and no process can take a name before its launcher. The asker checks if a listener is a launcher
//! at all.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::{fs, io};

use rustix::net::SocketAddrUnix;

use super::abstract_names::{Kind, parse_nonce, visit_listeners};

/// The start of a launcher's name.
const PREFIX: &str = "canele-";
/// The most names that are taken from a list, of each kind.
const MOST_NAMES: usize = 1 << 16;

/// The name of a launcher's socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryName {
    /// The launcher's process, in its pid namespace.
    pub pid: u32,
    nonce: u64,
}

impl QueryName {
    /// Draws a new name for this process.
    ///
    /// # Errors
    /// Fails as getrandom(2) does.
    pub fn draw() -> rustix::io::Result<QueryName> {
        Ok(QueryName { pid: std::process::id(), nonce: canele_control::draw_job_id()? })
    }

    /// Returns the address of the socket.
    ///
    /// # Errors
    /// Never fails for such a name; the type of the address requires a result.
    pub fn address(self) -> rustix::io::Result<SocketAddrUnix> {
        SocketAddrUnix::new_abstract_name(format!("{PREFIX}{}-{:016x}", self.pid, self.nonce).as_bytes())
    }

    /// Parses the text that follows the prefix.
    fn parse(text: &str) -> Option<QueryName> {
        let (pid, nonce) = text.split_once('-')?;
        let is_plain = !pid.starts_with('0') && pid.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| Some(QueryName { pid: pid.parse().ok()?, nonce: parse_nonce(nonce)? }))?
    }
}

/// The names that listeners of this network namespace have.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct QueryNames {
    /// The names, each once; those with the number of a process of this user first.
    pub all: Vec<QueryName>,
    /// True if there are more names than are read.
    pub is_cut: bool,
}

impl QueryNames {
    /// Lists the names.
    ///
    /// # Errors
    /// Fails if `/proc/net/unix` cannot be read.
    pub fn list() -> io::Result<QueryNames> {
        let user = rustix::process::getuid().as_raw();
        let is_own = |pid| fs::metadata(format!("/proc/{pid}")).is_ok_and(|process| process.uid() == user);
        let mut names = FoundNames::default();
        visit_listeners(Kind::Stream, PREFIX, |name| names.add(name, is_own))?;
        Ok(names.sorted())
    }
}

/// Names in the order of the kernel's list.
#[derive(Default)]
struct FoundNames {
    own: HashSet<QueryName>,
    others: HashSet<QueryName>,
    is_cut: bool,
}

impl FoundNames {
    fn add(&mut self, name: &str, is_own: impl Fn(u32) -> bool) {
        let Some(name) = QueryName::parse(name) else { return };
        let names = if is_own(name.pid) { &mut self.own } else { &mut self.others };
        match names.len() < MOST_NAMES {
            true => drop(names.insert(name)),
            false => self.is_cut |= !names.contains(&name),
        }
    }

    fn sorted(self) -> QueryNames {
        let sorted = |names: HashSet<QueryName>| {
            let mut names: Vec<_> = names.into_iter().collect();
            names.sort_unstable();
            names
        };
        QueryNames { all: [sorted(self.own), sorted(self.others)].concat(), is_cut: self.is_cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::abstract_names::visit_in;

    fn names(sockets: &[u8], own: u32) -> QueryNames {
        let mut names = FoundNames::default();
        visit_in(sockets, Kind::Stream, PREFIX, |name| names.add(name, |pid| pid == own)).unwrap();
        names.sorted()
    }

    fn read(sockets: &[u8], own: u32) -> Vec<(u32, u64)> {
        let names = names(sockets, own);
        assert!(!names.is_cut);
        names.all.iter().map(|name| (name.pid, name.nonce)).collect()
    }

    #[test]
    fn listeners_are_found_amid_names_of_any_bytes() {
        let sockets = b"Num RefCount Protocol Flags Type St Inode Path\n\
            0: 02 0 00010000 0001 01 40 @evil-\xff\xfe\n\
            0: 02 0 00010000 0001 01 41 @canele-4711-00000000000000ff\n\
            0: 03 0 00000000 0001 03 42 @canele-4711-00000000000000ff\n\
            0: 02 0 00010000 0001 01 43 @canele-12-0123456789abcdef\n\
            0: 02 0 00010000 0001 01 43 @canele-4711-0123456789abcdef\n\
            0: 02 0 00010000 0005 01 44 @canele-9-0123456789abcdef\n\
            0: 02 0 00000000 0001 01 44 @canele-10-0123456789abcdef\n\
            0: 02 0 00010000 0001 01 45 @canele-job-0123456789abcdef\n\
            0: 02 0 00010000 0001 01 45 @canele-11-123456789abcdef\n\
            0: 02 0 00010000 0001 01 45 @canele-011-0123456789abcdef\n\
            0: 02 0 00010000 0001 01 45 @canele-11-0123456789abcde\xff\n\
            0: 02 0 00010000 0001 01 46 /run/canele-1-0123456789abcdef\n\
            0: 02 0 00010000 0001 01\n";
        let (whole, end) = (0x0123_4567_89ab_cdef, 0xff);
        assert_eq!(read(sockets, 0), [(12, whole), (4711, end), (4711, whole)]);
        assert_eq!(read(sockets, 4711), [(4711, end), (4711, whole), (12, whole)], "own processes first");
    }

    #[test]
    fn names_beyond_the_bound_hide_no_process_of_the_user() {
        let line = |number: u64, pid: u32| {
            format!("0: 02 0 00010000 0001 01 4 @canele-{pid}-{number:016x}\n").into_bytes()
        };
        let mut sockets: Vec<u8> = (0..=MOST_NAMES as u64).flat_map(|number| line(number, 7)).collect();
        sockets.extend(line(1, 8));
        let names = names(&sockets, 8);
        assert!(names.is_cut);
        assert_eq!((names.all.len(), names.all[0].pid), (MOST_NAMES + 1, 8));
    }

    #[test]
    fn a_drawn_name_is_read_back() {
        let name = QueryName::draw().unwrap();
        let address = name.address().unwrap();
        let text = std::str::from_utf8(address.abstract_name().unwrap()).unwrap();
        assert_eq!(QueryName::parse(text.strip_prefix(PREFIX).unwrap()), Some(name));
    }
}
