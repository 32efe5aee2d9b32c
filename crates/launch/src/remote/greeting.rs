//! The greeting of an agent, and the handshake that gives launcher and agent a channel.
//!
//! ```text
//!   agent                                                  launcher
//!     ── greeting: preamble (magic 16, version u32, release 12), flight ──▶
//!                                              ◀── flight ──
//!     ══ sealed chunks ══
//! ```
//! Owns the bytes of the preamble and the data that the channel is bound to. The flights are those of a
//! mutual proof, with empty hellos.

use std::net::SocketAddr;

use canele_control::VERSION;
use canele_secure::{
    Initiator, KeyExchange, MutualProof, Prologue, Refused, Secret, SecureChannel, flight_length,
};

/// The start of a preamble.
pub const MAGIC: [u8; 16] = *b"\0canele-agent:\r\n";
const RELEASE: usize = 12;
/// The length of a preamble in bytes.
pub const PREAMBLE: usize = MAGIC.len() + 4 + RELEASE;
/// The length of a flight in bytes.
pub const FLIGHT: usize = flight_length(0);
/// The length of an agent's greeting in bytes.
pub const GREETING: usize = PREAMBLE + FLIGHT;

/// A version of the messages and its release, as a preamble gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The version of the messages.
    pub version: u32,
    /// The release of the command.
    pub release: String,
}

impl Version {
    /// Returns the version of this command.
    pub fn own() -> Version {
        Version { version: VERSION, release: env!("CARGO_PKG_VERSION").into() }
    }

    /// Returns the preamble that an agent of this version sends first.
    pub fn preamble(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend(self.release.bytes().chain(std::iter::repeat(0)).take(RELEASE));
        bytes
    }

    /// Parses this preamble, which begins with [`MAGIC`].
    pub fn parse(preamble: &[u8; PREAMBLE]) -> Version {
        let (version, release) = preamble[MAGIC.len()..].split_at(4);
        let version = u32::from_le_bytes(version.try_into().expect("four bytes"));
        // Any process may have sent it, and it is shown to the user.
        let release = release.iter().map(|byte| char::from(*byte)).filter(char::is_ascii_graphic).collect();
        Version { version, release }
    }
}

/// The connection of an agent with its launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// The remote shell that started it.
    Shell,
    /// A connection to this address, at which the launcher listens. The agent's address is left out, because
    /// it may be translated on the way.
    Address(SocketAddr),
}

impl Connection {
    /// Begins the agent's side: returns the greeting, and the state that takes the launcher's flight.
    ///
    /// # Errors
    /// Fails with [`Refused::Keys`].
    pub fn greet(self, secret: &Secret) -> Result<(Initiator, Vec<u8>), Refused> {
        let (initiator, flight) = self.prove(secret, |proof| proof.initiate(&[]))?;
        Ok((initiator, [Version::own().preamble(), flight].concat()))
    }

    /// Answers as the launcher: returns the channel that an agent's flight leads to, and the answering
    /// flight.
    ///
    /// # Errors
    /// Fails with [`Refused::Handshake`] if the other end does not have the secret, or names another
    /// connection.
    pub fn answer(self, secret: &Secret, flight: &[u8]) -> Result<(SecureChannel, Vec<u8>), Refused> {
        let (responder, _) = self.prove(secret, |proof| proof.respond(flight))?;
        responder.answer(&[])
    }

    /// Makes the proof of one end. Both ends name the channel without sending the name: a proof for one
    /// connection is invalid for another. The exchange is Diffie-Hellman, because the job's key travels in
    /// the channel, which may have no secret.
    fn prove<T>(self, secret: &Secret, make: impl FnOnce(MutualProof<'_>) -> T) -> T {
        let (purpose, address) = match self {
            Connection::Shell => ("canele agent behind a remote shell", String::new()),
            Connection::Address(address) => ("canele agent that joins", address.to_string()),
        };
        let prologue = Prologue::new(purpose).bind(&Version::own().preamble()).bind(address.as_bytes());
        make(MutualProof { secret, prologue: &prologue, exchange: KeyExchange::DiffieHellman })
    }
}
