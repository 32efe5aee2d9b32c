//! How an agent and the launcher of a job prove to each other that they have its key, before anything else is said.
//!
//! ```text
//!   agent                                   launcher
//!     ── magic (8), nonce (32) ──▶
//!                         ◀── nonce (32), proof (32) ──
//!     ── proof (32) ──▶
//! ```
//! A proof is a keyed BLAKE3 hash of the prover's role and both nonces. Owns these bytes; waits for them as long as the stream allows.

use std::io::{self, Read, Write};

/// The last byte is the version.
const MAGIC: [u8; 8] = *b"CANJOIN\x01";

type Bytes = [u8; 32];

fn proof(key: &Bytes, role: &str, nonces: [&Bytes; 2]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(role.as_bytes());
    for nonce in nonces {
        hasher.update(nonce);
    }
    hasher.finalize()
}

fn nonce() -> io::Result<Bytes> {
    let mut nonce = [0; 32];
    rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty())?;
    Ok(nonce)
}

fn read(stream: &mut impl Read) -> io::Result<Bytes> {
    let mut bytes = [0; 32];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn check(theirs: Bytes, expected: blake3::Hash) -> io::Result<()> {
    // In constant time.
    match blake3::Hash::from_bytes(theirs) == expected {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::PermissionDenied, "the other end is not of this job")),
    }
}

/// The agent's end.
///
/// # Errors
/// The other end is no launcher of the job; as read(2) and write(2).
pub fn prove_agent(stream: &mut (impl Read + Write), key: &Bytes) -> io::Result<()> {
    let own = nonce()?;
    let mut hello = MAGIC.to_vec();
    hello.extend_from_slice(&own);
    stream.write_all(&hello)?;
    let theirs = read(stream)?;
    check(read(stream)?, proof(key, "launcher", [&own, &theirs]))?;
    stream.write_all(proof(key, "agent", [&own, &theirs]).as_bytes())
}

/// The launcher's end.
///
/// # Errors
/// The other end is no agent of the job; as read(2) and write(2).
pub fn prove_launcher(stream: &mut (impl Read + Write), key: &Bytes) -> io::Result<()> {
    let mut magic = [0; MAGIC.len()];
    stream.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let (theirs, own) = (read(stream)?, nonce()?);
    let mut answer = own.to_vec();
    answer.extend_from_slice(proof(key, "launcher", [&theirs, &own]).as_bytes());
    stream.write_all(&answer)?;
    check(read(stream)?, proof(key, "agent", [&theirs, &own]))
}

/// The key by which the ranks of the job prove to each other that they are of it: never sent.
pub fn key_of_ranks(key: &Bytes) -> Bytes {
    blake3::derive_key("canele: ranks of a job that another launcher has started", key)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn meet(keys: [Bytes; 2]) -> [io::Result<()>; 2] {
        let (mut agent, mut launcher) = UnixStream::pair().unwrap();
        let served = std::thread::spawn(move || prove_launcher(&mut launcher, &keys[1]));
        let proven = prove_agent(&mut agent, &keys[0]);
        drop(agent);
        [proven, served.join().unwrap()]
    }

    #[test]
    fn only_who_has_the_key_is_believed() {
        assert!(meet([[7; 32]; 2]).iter().all(Result::is_ok));
        assert!(meet([[7; 32], [8; 32]]).iter().all(Result::is_err));
        assert_ne!(key_of_ranks(&[7; 32]), [7; 32]);
    }

    #[test]
    fn strangers_are_refused_and_a_proof_is_of_one_connection() {
        let key = [7; 32];
        for said in
            [vec![0; 72], b"GET / HTTP/1.1\r\n\r\n".to_vec(), [&MAGIC[..], &[0; 64]].concat(), Vec::new()]
        {
            let (mut stranger, mut launcher) = UnixStream::pair().unwrap();
            stranger.write_all(&said).unwrap();
            stranger.shutdown(std::net::Shutdown::Write).unwrap();
            assert!(prove_launcher(&mut launcher, &key).is_err());
        }
        let (mut agent, mut stranger) = UnixStream::pair().unwrap();
        stranger.write_all(&[0; 64]).unwrap();
        assert_eq!(prove_agent(&mut agent, &key).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
