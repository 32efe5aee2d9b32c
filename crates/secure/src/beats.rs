//! Beats: signs of life that one process sends in place of another, which is stopped. Owns their key and
//! their counter, which are not those of frames. So the two processes can write one stream without knowing
//! each other's state.
//!
//! ```text
//!   count u64 │ first 16 bytes of a keyed BLAKE3 hash of it
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::keys::{KeyPurpose, derive_key};

/// The length of a beat in bytes.
pub const BEAT: usize = COUNT + MAC;
const COUNT: usize = 8;
const MAC: usize = 16;

/// A key that makes beats of one direction of a channel, and nothing else. Overwritten when dropped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatKey(Zeroizing<[u8; 32]>);

impl BeatKey {
    pub(crate) fn derive(key: &[u8; 32]) -> BeatKey {
        BeatKey(derive_key(KeyPurpose::Beats, key))
    }

    fn mac(&self, count: &[u8; COUNT]) -> blake3::Hash {
        blake3::keyed_hash(&self.0, count)
    }
}

impl fmt::Debug for BeatKey {
    /// Formats it without the bytes: this text may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeatKey(…)")
    }
}

/// The maker of beats, in the process that has the key; a key has one.
#[derive(Debug)]
pub struct BeatSealer {
    key: BeatKey,
    count: u64,
}

impl BeatSealer {
    /// Returns the maker of beats of this key.
    pub fn new(key: BeatKey) -> BeatSealer {
        BeatSealer { key, count: 0 }
    }

    /// Returns the next beat.
    pub fn seal_beat(&mut self) -> [u8; BEAT] {
        self.count += 1;
        let count = self.count.to_le_bytes();
        let mut beat = [0; BEAT];
        beat[..COUNT].copy_from_slice(&count);
        beat[COUNT..].copy_from_slice(&self.key.mac(&count).as_bytes()[..MAC]);
        beat
    }
}

/// Returns the count of a beat, if it was made with this key.
pub(crate) fn check_beat(key: &BeatKey, beat: &[u8; BEAT]) -> Option<u64> {
    let count = *beat.first_chunk::<COUNT>()?;
    let due = key.mac(&count);
    // All bytes are compared, so the time does not depend on the first difference.
    let differs = due.as_bytes()[..MAC].iter().zip(&beat[COUNT..]).fold(0, |all, (a, b)| all | (a ^ b));
    (differs == 0).then(|| u64::from_le_bytes(count))
}
