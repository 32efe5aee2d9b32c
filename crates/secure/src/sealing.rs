//! Frames after the handshake. Owns the counter of each direction, which is the nonce: a frame opens in its place alone.

use std::fmt;
use std::sync::Arc;

use snow::StatelessTransportState;

use crate::Refused;
use crate::beats::{BEAT, BeatKey, check_beat};

/// Bytes that sealing adds.
pub const TAG: usize = 16;
/// The longest frame in bytes before it is sealed.
pub const MAX_PLAIN: usize = 65535 - TAG;

/// What seals frames, one after the other.
pub struct Sealer {
    state: Arc<StatelessTransportState>,
    counter: u64,
    beats: BeatKey,
}

/// What opens frames, one after the other.
pub struct Opener {
    state: Arc<StatelessTransportState>,
    counter: u64,
    beats: BeatKey,
    last_beat: u64,
    /// Nothing can be believed that follows what was refused.
    refused: bool,
}

impl Sealer {
    pub(crate) fn new(state: Arc<StatelessTransportState>, beats: BeatKey) -> Sealer {
        Sealer { state, counter: 0, beats }
    }

    /// Appends the sealed frame, [`TAG`] bytes longer than `plain`, to `sealed`.
    ///
    /// # Errors
    /// [`Refused::Keys`]: it is longer than [`MAX_PLAIN`], or 2⁶⁴ − 1 frames were sealed.
    pub fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> Result<(), Refused> {
        let before = sealed.len();
        sealed.resize(before + plain.len() + TAG, 0);
        match self.state.write_message(self.counter, plain, &mut sealed[before..]) {
            Ok(_) => {
                self.counter += 1;
                Ok(())
            }
            Err(_) => {
                sealed.truncate(before);
                Err(Refused::Keys)
            }
        }
    }

    /// For the one process that says in the place of this one that it lives: it can seal beats and nothing else.
    pub fn beat_key(&self) -> BeatKey {
        self.beats.clone()
    }
}

impl Opener {
    pub(crate) fn new(state: Arc<StatelessTransportState>, beats: BeatKey) -> Opener {
        Opener { state, counter: 0, beats, last_beat: 0, refused: false }
    }

    /// Appends what was sealed to `plain`.
    ///
    /// # Errors
    /// [`Refused::Frame`], from then on for every frame: it is not the one that the other end sent next.
    pub fn open(&mut self, sealed: &[u8], plain: &mut Vec<u8>) -> Result<(), Refused> {
        let before = plain.len();
        let Some(length) = sealed.len().checked_sub(TAG).filter(|_| !self.refused) else {
            self.refused = true;
            return Err(Refused::Frame);
        };
        plain.resize(before + length, 0);
        match self.state.read_message(self.counter, sealed, &mut plain[before..]) {
            Ok(count) if count == length => {
                self.counter += 1;
                Ok(())
            }
            _ => {
                plain.truncate(before);
                self.refused = true;
                Err(Refused::Frame)
            }
        }
    }

    /// Takes a beat of the process that stands in for the other end.
    ///
    /// # Errors
    /// [`Refused::Beat`], from then on for all: it is made up, or came before.
    pub fn open_beat(&mut self, beat: &[u8; BEAT]) -> Result<(), Refused> {
        match check_beat(&self.beats, beat).filter(|count| !self.refused && *count > self.last_beat) {
            Some(count) => {
                self.last_beat = count;
                Ok(())
            }
            None => {
                self.refused = true;
                Err(Refused::Beat)
            }
        }
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("counter", &self.counter).finish_non_exhaustive()
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("counter", &self.counter).finish_non_exhaustive()
    }
}
