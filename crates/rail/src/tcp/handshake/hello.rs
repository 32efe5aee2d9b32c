//! The hello, by which each end of a link describes itself. Owns its layout.

use canele_sys::ids::Rank;

use super::HandshakeError;

/// Bytes of a hello.
pub const HELLO: usize = 32;

/// The description that one end sends of itself.
///
/// ```text
///   0      4    8     16      20        24     28     29
///   │ from │ to │ job │ cells │ payload │ dial │ rail │ zero │
///   │ u32  │ u32│ u64 │ u32   │ u32     │ u32  │ u8   │ 3    │
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    /// The rank of the sender.
    pub from: Rank,
    /// The rank that it wants to reach.
    pub to: Rank,
    /// The job of the sender.
    pub job: u64,
    /// Number of packets that its links hold.
    pub cells: u32,
    /// Bytes of bulk that its links hold.
    pub payload: u32,
    /// The number of an initiator's attempt.
    pub dial: u32,
    /// The number of the sender's rail.
    pub rail: u8,
}

impl Hello {
    /// Encodes the hello.
    pub fn encode(&self) -> [u8; HELLO] {
        let mut bytes = [0; HELLO];
        bytes[..4].copy_from_slice(&self.from.0.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.to.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.job.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.cells.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.payload.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.dial.to_le_bytes());
        bytes[28] = self.rail;
        bytes
    }

    /// Decodes a hello that a process with the key has sealed.
    pub fn decode(bytes: &[u8]) -> Result<Hello, HandshakeError> {
        let bytes: &[u8; HELLO] = bytes.try_into().map_err(|_| HandshakeError::Proof)?;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        Ok(Hello {
            from: Rank(word(0)),
            to: Rank(word(4)),
            job: u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes")),
            cells: word(16),
            payload: word(20),
            dial: word(24),
            rail: bytes[28],
        })
    }
}
