//! Contents that identify their message, so that a wrong byte, length or order is detected.

use canele::Rank;

/// Lengths used in turn: short, eager, streamed, and the limits between. None is below the 16 bytes of the
/// header.
const LENGTHS: [usize; 12] = [16, 48, 49, 24, 1000, 16, 16_384, 16_385, 40, 70_001, 48, 300_000];

/// Returns the length of the message `number` from one rank to another, in bytes.
pub fn length(from: Rank, to: Rank, number: u64) -> usize {
    LENGTHS[(number as usize + from.0 as usize + 2 * to.0 as usize) % LENGTHS.len()]
}

fn seed(from: Rank, to: Rank, number: u64) -> u64 {
    (u64::from(from.0) << 48 ^ u64::from(to.0) << 32 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the message: its number and `note`, then bytes that depend on all three.
pub fn message(from: Rank, to: Rank, number: u64, note: u64) -> Vec<u8> {
    let mut bytes = vec![0; length(from, to, number)];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    bytes[8..16].copy_from_slice(&note.to_le_bytes());
    let seed = seed(from, to, number);
    for (i, word) in bytes[16..].chunks_mut(8).enumerate() {
        let value = seed.wrapping_add(i as u64).to_le_bytes();
        word.copy_from_slice(&value[..word.len()]);
    }
    bytes
}

/// Returns the note in a message, after a check of the whole message.
///
/// # Errors
/// Returns a text that names the error.
pub fn check(from: Rank, to: Rank, number: u64, bytes: &[u8]) -> Result<u64, String> {
    let note = bytes.get(8..16).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    let expected = note.map(|note| message(from, to, number, note));
    if expected.as_deref() == Some(bytes) {
        return Ok(note.unwrap_or_default());
    }
    let got = bytes.get(..8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    let wrong = expected.and_then(|e| e.iter().zip(bytes).position(|(a, b)| a != b));
    Err(format!(
        "{to} expected message {number} from {from} and got {} bytes, numbered {got:?}, wrong from byte {wrong:?}",
        bytes.len()
    ))
}
