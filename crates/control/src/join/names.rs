//! Names of the sockets at which the ranks of a host find each other.
//!
//! Owns their form and the search for names with a nonce. All names are abstract ones. Exactly the processes
//! of a network namespace can reach them.
//!
//! ```text
//!   canele-join-WORD                    the agent, or the rank that starts it
//!   canele-join-WORD~NONCE              the agent, or that rank, if another user holds the first name
//!   canele-join-WORD?0NONCE, …?1NONCE   a candidate to be that rank; 0: it holds the first name
//! ```

use std::collections::BTreeSet;
use std::io::Read;

use rustix::io::Errno;
use rustix::net::SocketAddrUnix;

use crate::draw_job_id;

/// The number of digits of a nonce.
const NONCE: usize = 16;
/// The most bytes that are read of the system's table of sockets.
const MOST_TABLE: u64 = 64 << 20;
/// The system's words for a socket that listens, and for a socket of packets.
const LISTENS: &[u8] = b"00010000";
const OF_PACKETS: &[u8] = b"0005";

/// The name of a socket on this host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SocketName(String);

/// The kind of names with a nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NonceOf {
    Agent,
    Candidate,
}

impl NonceOf {
    /// Returns the marks between a name and its nonce.
    fn marks(self) -> &'static [&'static str] {
        match self {
            NonceOf::Agent => &["~"],
            NonceOf::Candidate => &["?0", "?1"],
        }
    }
}

impl SocketName {
    /// Returns the name of the job with this number, which only ranks that have the ticket know.
    pub fn of_job(job: u64) -> SocketName {
        SocketName(format!("canele-join-{job:016x}"))
    }

    /// Returns the name of the processes to which a launcher gives this word.
    pub fn of_step(step: &str) -> SocketName {
        SocketName(format!("canele-join-{step}"))
    }

    /// Draws a name for the agent. No process could take it before.
    pub fn draw_agent(&self) -> Result<SocketName, Errno> {
        self.draw("~")
    }

    /// Draws a name for a candidate; names of candidates that hold the first name sort first.
    pub fn draw_candidate(&self, holds_first_name: bool) -> Result<SocketName, Errno> {
        self.draw(if holds_first_name { "?0" } else { "?1" })
    }

    fn draw(&self, mark: &str) -> Result<SocketName, Errno> {
        Ok(SocketName(format!("{}{mark}{:016x}", self.0, draw_job_id()?)))
    }

    /// Returns the names with a nonce at which a process of any user listens. The system gives its table in
    /// pieces, so a name can be missing while others change.
    pub fn with_nonces(&self, of: NonceOf) -> BTreeSet<SocketName> {
        let mut table = Vec::new();
        let file = std::fs::File::open("/proc/net/unix").map(|file| file.take(MOST_TABLE));
        if file.and_then(|mut file| file.read_to_end(&mut table)).is_err() {
            return BTreeSet::new();
        }
        let names = table.split(|byte| *byte == b'\n').filter_map(name_of_listener);
        names.filter(|name| self.has_nonce(name, of)).map(|name| SocketName(name.to_owned())).collect()
    }

    /// Returns true if `other` is this name followed by a nonce.
    pub fn is_first_name_of(&self, other: &SocketName, of: NonceOf) -> bool {
        self.has_nonce(&other.0, of)
    }

    fn has_nonce(&self, other: &str, of: NonceOf) -> bool {
        let Some(end) = other.strip_prefix(self.0.as_str()) else { return false };
        of.marks().iter().any(|mark| end.strip_prefix(mark).is_some_and(|nonce| nonce.len() == NONCE))
    }

    pub fn address(&self) -> Result<SocketAddrUnix, Errno> {
        SocketAddrUnix::new_abstract_name(self.0.as_bytes())
    }
}

/// Returns the abstract name in a line of the system's table, if the line is about a packet socket that
/// listens.
fn name_of_listener(line: &[u8]) -> Option<&str> {
    // `ffff: 00000002 00000000 00010000 0005 01 4711 @canele-join-…`: flags and type are the fourth and the
    // fifth word.
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    if words.nth(3) != Some(LISTENS) || words.next() != Some(OF_PACKETS) {
        return None;
    }
    // The system shows the zero before an abstract name as `@`.
    std::str::from_utf8(words.nth(2)?).ok()?.strip_prefix('@')
}

#[cfg(test)]
impl SocketName {
    /// Returns the name with exactly this text.
    pub fn exactly(name: &str) -> SocketName {
        SocketName(name.to_owned())
    }

    pub fn text(&self) -> &str {
        &self.0
    }
}
