//! The handshake. Owns the transcript until both ends have proven the secret.

use std::fmt;
use std::sync::Arc;

use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use crate::Refused;
use crate::beats::BeatKey;
use crate::sealing::{Opener, Sealer, TAG};

/// Bytes of a flight: an ephemeral key, and the tag of an empty payload.
pub const FLIGHT: usize = 32 + TAG;

/// What one end sends before it has keys.
pub type Flight = [u8; FLIGHT];

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// What both ends have in common. Overwritten when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<[u8; 32]>);

impl Secret {
    /// One for this purpose alone, from key material that has others.
    pub fn derive(purpose: &str, material: &[u8]) -> Secret {
        Secret(Zeroizing::new(blake3::derive_key(purpose, material)))
    }

    /// None: frames come from the process at the other end of the handshake, which may be any.
    pub fn none() -> Secret {
        Secret(Zeroizing::new([0; 32]))
    }
}

impl fmt::Debug for Secret {
    /// Without the bytes: this text may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Both directions of a connection whose handshake is over.
#[derive(Debug)]
pub struct SecureChannel {
    /// What this end sends.
    pub sealer: Sealer,
    /// What it receives.
    pub opener: Opener,
}

/// The end that speaks first, while it waits for the answer.
pub struct Initiator(Box<HandshakeState>);

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Initiator(…)")
    }
}

fn builder<'a>(secret: &'a Secret, prologue: &'a [u8]) -> Result<Builder<'a>, Refused> {
    let pattern = PATTERN.parse().map_err(|_| Refused::Keys)?;
    let builder = Builder::new(pattern).psk(0, &secret.0).and_then(|builder| builder.prologue(prologue));
    builder.map_err(|_| Refused::Keys)
}

fn write(state: &mut HandshakeState) -> Result<Flight, Refused> {
    let mut flight = [0; FLIGHT];
    match state.write_message(&[], &mut flight) {
        Ok(FLIGHT) => Ok(flight),
        _ => Err(Refused::Keys),
    }
}

impl Initiator {
    /// Begins a handshake; both ends name the same `prologue`: what the connection is for, and what both know of it. The flight is to be sent.
    ///
    /// # Errors
    /// [`Refused::Keys`].
    pub fn begin(secret: &Secret, prologue: &[u8]) -> Result<(Initiator, Flight), Refused> {
        let state = builder(secret, prologue)?.build_initiator().map_err(|_| Refused::Keys)?;
        let mut state = Box::new(state);
        let flight = write(&mut state)?;
        Ok((Initiator(state), flight))
    }

    /// Takes the answer.
    ///
    /// # Errors
    /// [`Refused::Handshake`]: the other end does not have the secret, or answers another connection.
    pub fn handle_answer(mut self, flight: &Flight) -> Result<SecureChannel, Refused> {
        self.0.read_message(flight, &mut []).map_err(|_| Refused::Handshake)?;
        channel(*self.0)
    }
}

/// The end that answers a first flight. The channel, and the flight to send.
///
/// # Errors
/// [`Refused::Handshake`]: the other end does not have the secret, or speaks of another connection.
pub fn respond_to(
    flight: &Flight,
    secret: &Secret,
    prologue: &[u8],
) -> Result<(SecureChannel, Flight), Refused> {
    let mut state = builder(secret, prologue)?.build_responder().map_err(|_| Refused::Keys)?;
    state.read_message(flight, &mut []).map_err(|_| Refused::Handshake)?;
    let answer = write(&mut state)?;
    Ok((channel(state)?, answer))
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
