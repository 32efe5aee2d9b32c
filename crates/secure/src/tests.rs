//! Tests of two ends without a network, and of strangers between them.

use super::*;

mod channels;
mod proofs;

fn secret(byte: u8) -> Secret {
    Secret::derive(KeyPurpose::Links, &[byte; 32])
}

fn prologue(listener: &str) -> Prologue {
    Prologue::new("a test").bind(listener.as_bytes())
}

fn here() -> Prologue {
    prologue("10.0.0.1:7")
}

/// The two kinds of key exchange, for the initiator and the responder.
const WAYS: [[KeyExchange; 2]; 2] =
    [[KeyExchange::DiffieHellman; 2], [KeyExchange::Nonce([1; NONCE]), KeyExchange::Nonce([2; NONCE])]];

fn pair() -> (SecureChannel, SecureChannel) {
    let (secret, prologue) = (secret(1), here());
    let proof = MutualProof { secret: &secret, prologue: &prologue, exchange: KeyExchange::DiffieHellman };
    let (initiator, first) = proof.initiate(b"").unwrap();
    let (responder, _) = proof.respond(&first).unwrap();
    let (there, answer) = responder.answer(b"").unwrap();
    (initiator.handle_answer(&answer).unwrap().0, there)
}

fn seal(channel: &mut SecureChannel, plain: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    channel.sealer.seal(plain, &mut sealed).unwrap();
    sealed
}

fn open(channel: &mut SecureChannel, sealed: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut plain = Vec::new();
    channel.opener.open(sealed, &mut plain).map(|()| plain)
}

struct Random(u64);

impl Random {
    fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 56) as u8
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.byte()).collect()
    }
}
