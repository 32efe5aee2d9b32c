//! What a socket is, in the word that the poller gives back for it.
//!
//! A token names a place, so the socket is found without a search. A place may have another socket by the time its event is
//! looked at: that one is then tried without need.

use canele_sys::ids::Rank;

/// A socket of the rail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// A listener, by its place.
    Listener(usize),
    /// An unauthenticated connection, by its place.
    Accepted(usize),
    /// An authenticated connection of a peer that waits to be accepted.
    Waiting(Rank),
    /// A connection to a peer that is being made.
    Connecting(Rank),
    /// The link to a peer.
    Link(Rank),
    /// The set of all that are no links.
    Handshakes,
}

/// The kind stands above the place.
const SHIFT: u32 = 32;

impl Token {
    /// The word for the poller.
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

    /// The token of a word that came from the poller.
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
