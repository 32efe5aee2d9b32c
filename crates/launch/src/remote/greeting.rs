//! What an agent says first, and how launcher and agent come to a channel after that.
//!
//! ```text
//!   agent                                                  launcher
//!     ── greeting: preamble (magic 16, version u32, release 12), flight ──▶
//!                                              ◀── flight ──
//!     ══ sealed chunks ══
//! ```
//! Owns the bytes of the preamble and what the channel is bound to. The flights are those of a mutual proof, with empty hellos.

use std::net::SocketAddr;

use canele_control::VERSION;
use canele_secure::{
    Initiator, KeyExchange, MutualProof, Prologue, Refused, Secret, SecureChannel, flight_length,
};

/// How a preamble begins.
pub const MAGIC: [u8; 16] = *b"\0canele-agent:\r\n";
const RELEASE: usize = 12;
/// Bytes of a preamble.
pub const PREAMBLE: usize = MAGIC.len() + 4 + RELEASE;
/// Bytes of a flight.
pub const FLIGHT: usize = flight_length(0);
/// Bytes of what an agent says first.
pub const GREETING: usize = PREAMBLE + FLIGHT;

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
    /// The agent's side: what it says first, and what takes the launcher's flight.
    ///
    /// # Errors
    /// [`Refused::Keys`].
    pub fn greet(self, secret: &Secret) -> Result<(Initiator, Vec<u8>), Refused> {
        let (initiator, flight) = self.prove(secret, |proof| proof.initiate(&[]))?;
        Ok((initiator, [Version::own().preamble(), flight].concat()))
    }

    /// The launcher's side: the channel that an agent's flight leads to, and the flight that answers it.
    ///
    /// # Errors
    /// [`Refused::Handshake`]: the other end does not have the secret, or speaks of another connection.
    pub fn answer(self, secret: &Secret, flight: &[u8]) -> Result<(SecureChannel, Vec<u8>), Refused> {
        let (responder, _) = self.prove(secret, |proof| proof.respond(flight))?;
        responder.answer(&[])
    }

    /// Both ends say alone what the channel is: a proof for one connection is none for another. The exchange is that of Diffie and Hellman, because
    /// the job's key travels in the channel, which may have no secret.
    fn prove<T>(self, secret: &Secret, make: impl FnOnce(MutualProof<'_>) -> T) -> T {
        let (purpose, address) = match self {
            Connection::Shell => ("canele agent behind a remote shell", String::new()),
            Connection::Address(address) => ("canele agent that joins", address.to_string()),
        };
        let prologue = Prologue::new(purpose).bind(&Version::own().preamble()).bind(address.as_bytes());
        make(MutualProof { secret, prologue: &prologue, exchange: KeyExchange::DiffieHellman })
    }
}
