//! The ephemeral keys of a handshake. Owns the exchange of plain nonces, which is no Diffie-Hellman exchange.

use snow::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};

/// The length of an ephemeral key, and of a nonce, in bytes.
pub const NONCE: usize = 32;

/// The keys that the ends of a handshake exchange beside their proofs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyExchange {
    /// Diffie-Hellman on Curve25519. A process that only listens never learns a key of the channel, even if
    /// it has the secret.
    DiffieHellman,
    /// A nonce of the caller, which is used once. It makes proofs fresh and costs only hashes. It is for
    /// channels whose frames are not secret.
    Nonce([u8; NONCE]),
}

impl KeyExchange {
    /// Returns Noise's name of the protocol. The name for nonces is not one of Noise's.
    pub(crate) fn protocol(self) -> &'static str {
        match self {
            KeyExchange::DiffieHellman => "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s",
            KeyExchange::Nonce(_) => "Noise_NNpsk0_nonces_ChaChaPoly_BLAKE2s",
        }
    }
}

impl CryptoResolver for KeyExchange {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        DefaultResolver.resolve_rng()
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        match self {
            KeyExchange::DiffieHellman => DefaultResolver.resolve_dh(choice),
            KeyExchange::Nonce(nonce) => Some(Box::new(NonceExchange(*nonce))),
        }
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

/// Replaces Noise's Diffie-Hellman function: the public key is the nonce, and the result that both ends
/// compute is no secret. The pattern mixes each public key into hash and keys, so all proofs depend on both
/// nonces and on the common secret.
struct NonceExchange([u8; NONCE]);

impl Dh for NonceExchange {
    fn name(&self) -> &'static str {
        "nonces"
    }

    fn pub_len(&self) -> usize {
        NONCE
    }

    fn priv_len(&self) -> usize {
        NONCE
    }

    fn set(&mut self, _: &[u8]) {}

    fn generate(&mut self, _: &mut dyn Random) -> Result<(), Error> {
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.0
    }

    fn privkey(&self) -> &[u8] {
        &self.0
    }

    fn dh(&self, _: &[u8], out: &mut [u8]) -> Result<(), Error> {
        out[..NONCE].fill(0);
        Ok(())
    }
}
