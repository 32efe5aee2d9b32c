//! Frames after the handshake. Owns the counter of each direction, which is the nonce: a frame opens only at
//! its position.

use std::fmt;
use std::sync::Arc;

use snow::StatelessTransportState;

use crate::Refused;
use crate::beats::{BEAT, BeatKey, check_beat};

/// The number of bytes that sealing adds.
pub const TAG: usize = 16;
/// The longest frame in bytes before it is sealed.
pub const MAX_PLAIN: usize = 65535 - TAG;

/// A sealer of frames, one after the other.
pub struct Sealer {
    state: Arc<StatelessTransportState>,
    counter: u64,
    beats: BeatKey,
}

/// An opener of frames, one after the other.
pub struct Opener {
    state: Arc<StatelessTransportState>,
    counter: u64,
    beats: BeatKey,
    last_beat: u64,
    /// True after a refusal: no later frame can be trusted.
    refused: bool,
}

impl Sealer {
    pub(crate) fn new(state: Arc<StatelessTransportState>, beats: BeatKey) -> Sealer {
        Sealer { state, counter: 0, beats }
    }

    /// Appends the sealed frame, [`TAG`] bytes longer than `plain`, to `sealed`.
    ///
    /// # Errors
    /// Fails with [`Refused::Keys`] if it is longer than [`MAX_PLAIN`], or 2⁶⁴ − 1 frames were sealed.
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

    /// Returns the key for the one process that sends beats in place of this one: it can seal beats and
    /// nothing else.
    pub fn beat_key(&self) -> BeatKey {
        self.beats.clone()
    }
}

impl Opener {
    pub(crate) fn new(state: Arc<StatelessTransportState>, beats: BeatKey) -> Opener {
        Opener { state, counter: 0, beats, last_beat: 0, refused: false }
    }

    /// Appends the content of the sealed frame to `plain`.
    ///
    /// # Errors
    /// Fails with [`Refused::Frame`], and from then on for every frame, if it is not the frame that the other
    /// end sent next.
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

    /// Takes a beat of the process that replaces the other end.
    ///
    /// # Errors
    /// Fails with [`Refused::Beat`], and from then on for all beats, if it is forged or repeated.
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
