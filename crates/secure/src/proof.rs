//! The mutual proof. Owns the transcript until both ends have proven that they have the secret.

use std::fmt;
use std::sync::Arc;

use snow::params::NoiseParams;
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use crate::Refused;
use crate::beats::BeatKey;
use crate::exchange::{KeyExchange, NONCE};
use crate::keys::Secret;
use crate::sealing::{Opener, Sealer, TAG};

/// Returns the length of a flight with a hello of `hello` bytes: an ephemeral key or nonce, the sealed hello,
/// its tag.
pub const fn flight_length(hello: usize) -> usize {
    NONCE + hello + TAG
}

/// The purpose of a connection, and the data about it that both ends know. Each end builds the prologue
/// itself and never sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prologue(Vec<u8>);

impl Prologue {
    /// Returns the prologue of a connection for this purpose.
    pub fn new(purpose: &str) -> Prologue {
        Prologue(Vec::new()).bind(purpose.as_bytes())
    }

    /// Binds the proofs to `part` as well. Different sequences of parts give different prologues.
    #[must_use]
    pub fn bind(mut self, part: &[u8]) -> Prologue {
        self.0.extend_from_slice(&(part.len() as u64).to_le_bytes());
        self.0.extend_from_slice(part);
        self
    }
}

/// The data that both ends of a connection must have in common, and the ephemeral key of this end.
#[derive(Debug, Clone, Copy)]
pub struct MutualProof<'a> {
    /// The secret that the ends prove to each other.
    pub secret: &'a Secret,
    /// The data that the proofs are bound to.
    pub prologue: &'a Prologue,
    /// The exchange that makes the proofs fresh.
    pub exchange: KeyExchange,
}

/// Both directions of a connection whose handshake is over.
#[derive(Debug)]
pub struct SecureChannel {
    /// The sealer of frames that this end sends.
    pub sealer: Sealer,
    /// The opener of frames that this end receives.
    pub opener: Opener,
}

/// The end that speaks first, while it waits for the answer.
pub struct Initiator(Box<HandshakeState>);

/// The end that has opened a first flight, and has not answered it.
pub struct Responder(Box<HandshakeState>);

impl MutualProof<'_> {
    /// Begins a handshake. The caller sends the returned flight, which seals `hello`.
    ///
    /// # Errors
    /// Fails with [`Refused::Keys`].
    pub fn initiate(&self, hello: &[u8]) -> Result<(Initiator, Vec<u8>), Refused> {
        let state = self.builder()?.build_initiator().map_err(|_| Refused::Keys)?;
        let mut state = Box::new(state);
        let flight = write(&mut state, hello)?;
        Ok((Initiator(state), flight))
    }

    /// Opens a first flight and returns its hello. A process with the secret made it, for a connection with
    /// this prologue. The flight may be a repeated one; only the first frame proves the initiator.
    ///
    /// # Errors
    /// Fails with [`Refused::Handshake`] if the other end does not have the secret, or names another
    /// connection.
    pub fn respond(&self, flight: &[u8]) -> Result<(Responder, Vec<u8>), Refused> {
        let state = self.builder()?.build_responder().map_err(|_| Refused::Keys)?;
        let mut state = Box::new(state);
        let hello = read(&mut state, flight)?;
        Ok((Responder(state), hello))
    }

    fn builder(&self) -> Result<Builder<'_>, Refused> {
        let mut pattern: NoiseParams =
            KeyExchange::DiffieHellman.protocol().parse().map_err(|_| Refused::Keys)?;
        self.exchange.protocol().clone_into(&mut pattern.name);
        let builder = Builder::with_resolver(pattern, Box::new(self.exchange));
        let builder = builder.psk(0, &self.secret.0).and_then(|builder| builder.prologue(&self.prologue.0));
        builder.map_err(|_| Refused::Keys)
    }
}

impl Initiator {
    /// Opens the answer and returns its hello. The answer proves that the other end has the secret and
    /// answers this connection.
    ///
    /// # Errors
    /// Fails with [`Refused::Handshake`] if the other end does not have the secret, or answers another
    /// connection.
    pub fn handle_answer(mut self, flight: &[u8]) -> Result<(SecureChannel, Vec<u8>), Refused> {
        let hello = read(&mut self.0, flight)?;
        Ok((channel(*self.0)?, hello))
    }
}

impl Responder {
    /// Answers the handshake. The caller sends the returned flight, which seals `hello`.
    ///
    /// # Errors
    /// Fails with [`Refused::Keys`].
    pub fn answer(mut self, hello: &[u8]) -> Result<(SecureChannel, Vec<u8>), Refused> {
        let flight = write(&mut self.0, hello)?;
        Ok((channel(*self.0)?, flight))
    }
}

fn write(state: &mut HandshakeState, hello: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut flight = vec![0; flight_length(hello.len())];
    match state.write_message(hello, &mut flight) {
        Ok(length) if length == flight.len() => Ok(flight),
        _ => Err(Refused::Keys),
    }
}

fn read(state: &mut HandshakeState, flight: &[u8]) -> Result<Vec<u8>, Refused> {
    let length = flight.len().checked_sub(flight_length(0)).ok_or(Refused::Handshake)?;
    let mut hello = vec![0; length];
    state.read_message(flight, &mut hello).map_err(|_| Refused::Handshake)?;
    Ok(hello)
}

fn channel(mut state: HandshakeState) -> Result<SecureChannel, Refused> {
    let (of_initiator, of_responder) = state.dangerously_get_raw_split();
    let keys = [of_initiator, of_responder].map(Zeroizing::new).map(|key| BeatKey::derive(&key));
    let [of_initiator, of_responder] = keys;
    let (mine, theirs) = match state.is_initiator() {
        true => (of_initiator, of_responder),
        false => (of_responder, of_initiator),
    };
    let state = Arc::new(state.into_stateless_transport_mode().map_err(|_| Refused::Keys)?);
    Ok(SecureChannel { sealer: Sealer::new(state.clone(), mine), opener: Opener::new(state, theirs) })
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Initiator(…)")
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Responder(…)")
    }
}
