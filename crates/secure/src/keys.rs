//! Keys, each for one purpose. Owns the labels: key material may serve several purposes, and each gets a key
//! of its own.

use std::fmt;

use zeroize::Zeroizing;

/// The purpose of a derived key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPurpose {
    /// Proofs of ranks connected by links that they have the job's key.
    Links,
    /// The channel between a launcher and the agents that it starts through remote shells, from the user's
    /// key of hosts.
    ShellAgents,
    /// The channel between the launcher and the agents of a job that another launcher has started, from the
    /// key of its ticket.
    JoiningAgents,
    /// The ranks of a job that another launcher has started, from the key of its ticket.
    JoiningRanks,
    /// Beats of the process that replaces a stopped one, from the key of one direction of a channel.
    Beats,
}

impl KeyPurpose {
    /// All purposes.
    pub const ALL: [KeyPurpose; 5] = [
        KeyPurpose::Links,
        KeyPurpose::ShellAgents,
        KeyPurpose::JoiningAgents,
        KeyPurpose::JoiningRanks,
        KeyPurpose::Beats,
    ];

    /// Returns the context string of BLAKE3's key derivation.
    fn label(self) -> &'static str {
        match self {
            KeyPurpose::Links => "canele: links between ranks",
            KeyPurpose::ShellAgents => "canele: launcher and agents behind remote shells",
            KeyPurpose::JoiningAgents => "canele: agents of a job that another launcher has started",
            KeyPurpose::JoiningRanks => "canele: ranks of a job that another launcher has started",
            KeyPurpose::Beats => "canele: beats in the place of a process that is stopped",
        }
    }
}

/// Derives the key for this purpose from key material, which may serve several purposes. The key reveals
/// nothing of the material, nor of the keys for other purposes.
pub fn derive_key(purpose: KeyPurpose, material: &[u8]) -> Zeroizing<[u8; 32]> {
    Zeroizing::new(blake3::derive_key(purpose.label(), material))
}

/// The secret that both ends of a handshake have in common. Overwritten when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub(crate) Zeroizing<[u8; 32]>);

impl Secret {
    /// Derives the secret for this purpose from key material, which may serve several purposes.
    pub fn derive(purpose: KeyPurpose, material: &[u8]) -> Secret {
        Secret(derive_key(purpose, material))
    }

    /// Returns the empty secret. It proves that frames come from the process at the other end of the
    /// handshake, but that may be any process.
    pub fn none() -> Secret {
        Secret(Zeroizing::new([0; 32]))
    }
}

impl fmt::Debug for Secret {
    /// Formats it without the bytes: this text may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
