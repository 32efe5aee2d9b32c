//! The identity of a socket in the poller's event word.
//!
//! A token names a slot, so the socket is found without a search. The slot may hold another socket when the
//! event is processed: that one is then tried needlessly.

use canele_sys::ids::Rank;

/// A socket of the rail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// A listener, by its index.
    Listener(usize),
    /// An unauthenticated connection, by its slot.
    Accepted(usize),
    /// An authenticated connection of a peer that waits to be accepted.
    Waiting(Rank),
    /// An attempt to connect to a peer.
    Connecting(Rank),
    /// The link to a peer.
    Link(Rank),
    /// The poller of all sockets that are not links.
    Handshakes,
}

/// Bits of the slot; the kind lies above them.
const SHIFT: u32 = 32;

impl Token {
    /// Returns the word for the poller.
    pub fn to_word(self) -> u64 {
        let (kind, place) = match self {
            Self::Listener(place) => (0, place as u64),
            Self::Accepted(place) => (1, place as u64),
            Self::Waiting(Rank(peer)) => (2, u64::from(peer)),
            Self::Connecting(Rank(peer)) => (3, u64::from(peer)),
            Self::Link(Rank(peer)) => (4, u64::from(peer)),
            Self::Handshakes => (5, 0),
        };
        kind << SHIFT | place
    }

    /// Returns the token of a word from the poller.
    pub fn from_word(word: u64) -> Self {
        let place = word as u32;
        match word >> SHIFT {
            0 => Self::Listener(place as usize),
            1 => Self::Accepted(place as usize),
            2 => Self::Waiting(Rank(place)),
            3 => Self::Connecting(Rank(place)),
            4 => Self::Link(Rank(place)),
            _ => Self::Handshakes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_gives_its_token_back() {
        let last = Rank(u32::MAX);
        for token in [
            Token::Listener(0),
            Token::Listener(3),
            Token::Accepted(0),
            Token::Accepted(64),
            Token::Waiting(last),
            Token::Connecting(Rank(0)),
            Token::Connecting(last),
            Token::Link(last),
            Token::Handshakes,
        ] {
            assert_eq!(Token::from_word(token.to_word()), token);
        }
    }
}
