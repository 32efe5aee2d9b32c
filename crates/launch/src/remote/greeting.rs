//! What an agent says first, and how launcher and agent come to a channel after that.
//!
//! ```text
//!   agent                                                  launcher
//!     ── preamble: magic 16, version u32, release 12; flight ──▶
//!                                              ◀── flight ──
//!     ══ sealed chunks ══
//! ```
//! Owns the bytes of the preamble and what the channel is bound to.

use std::net::SocketAddr;

use canele_control::VERSION;

/// How a preamble begins.
pub const MAGIC: [u8; 16] = *b"\0canele-agent:\r\n";
const RELEASE: usize = 12;
/// Bytes of a preamble.
pub const PREAMBLE: usize = MAGIC.len() + 4 + RELEASE;

/// A version of the messages and the release it is of, as a preamble says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Of the messages.
    pub version: u32,
    /// Of the command.
    pub release: String,
}

impl Version {
    /// That of this command.
    pub fn own() -> Version {
        Version { version: VERSION, release: env!("CARGO_PKG_VERSION").into() }
    }

    /// What an agent of this version sends first.
    pub fn preamble(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend(self.release.bytes().chain(std::iter::repeat(0)).take(RELEASE));
        bytes
    }

    /// What this preamble says, which begins with [`MAGIC`].
    pub fn parse(preamble: &[u8; PREAMBLE]) -> Version {
        let (version, release) = preamble[MAGIC.len()..].split_at(4);
        let version = u32::from_le_bytes(version.try_into().expect("four bytes"));
        // Any process may have sent it, and it is shown.
        let release = release.iter().map(|byte| char::from(*byte)).filter(char::is_ascii_graphic).collect();
        Version { version, release }
    }
}

/// What leads from an agent to its launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// The remote shell that started it.
    Shell,
    /// A connection to this address, at which the launcher listens. That of the agent is left out: it may be translated on the way.
    Address(SocketAddr),
}

impl Connection {
    /// What both ends say alone of the channel: a proof for one connection is none for another.
    pub fn prologue(self) -> Vec<u8> {
        let mut bytes = Version::own().preamble();
        match self {
            Connection::Shell => bytes.extend_from_slice(b"agent behind a remote shell"),
            Connection::Address(address) => bytes.extend(format!("agent that joins at {address}").bytes()),
        }
        bytes
    }
}
