//! Requests for announced messages, and the heads of these messages.

use canele_mem::window::Window;
use canele_rail::{Header, MAX_INLINE, Packet};
use canele_sys::ids::RequestId;

use super::{Kind, request, request_word, words};
use crate::slab::Key;

/// The most messages that one packet asks for.
const MOST_PULLED: usize = MAX_INLINE / 16;

/// Announced messages that their receiver has room for: the sender's requests, and the receiver's keys.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pull {
    messages: [(RequestId, Key); MOST_PULLED],
    len: usize,
}

impl Default for Pull {
    fn default() -> Self {
        let none = (RequestId { index: 0, generation: 0 }, Key { index: 0, generation: 0 });
        Self { messages: [none; MOST_PULLED], len: 0 }
    }
}

impl Pull {
    /// Returns true if it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a message. If the packet is full then, returns it to be sent and begins a new one.
    pub fn add(&mut self, request: RequestId, key: Key) -> Option<Self> {
        self.messages[self.len] = (request, key);
        self.len += 1;
        (self.len == MOST_PULLED).then(|| std::mem::take(self))
    }

    /// Returns the messages that it asks for.
    pub fn iter(&self) -> impl Iterator<Item = (RequestId, Key)> {
        self.messages.into_iter().take(self.len)
    }

    /// Returns its length beside a header, in bytes.
    pub fn bytes(&self) -> usize {
        16 * self.len
    }

    /// Writes it beside a header.
    pub fn write(&self, inline: Window<'_>) {
        for (at, (request, key)) in self.iter().enumerate() {
            let words = [request_word(request), request_word(key.into())];
            words.iter().enumerate().for_each(|(n, word)| inline.write(16 * at + 8 * n, &word.to_le_bytes()));
        }
    }

    /// Reads it from a packet.
    pub fn read(packet: &Packet<'_>) -> Option<Self> {
        let len = packet.header.inline_len as usize;
        if len == 0 || !len.is_multiple_of(16) || len > 16 * MOST_PULLED {
            return None;
        }
        let mut pull = Self { len: len / 16, ..Self::default() };
        for (at, (id, key)) in pull.messages.iter_mut().take(len / 16).enumerate() {
            let [first, second] = packet.inline.read_words(16 * at);
            (*id, *key) = (request(first), request(second).into());
        }
        Some(pull)
    }
}

/// Bytes beside the header of a message that was pulled.
pub const PULLED_INLINE: usize = 16;

/// The head of a message that was pulled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PulledPart {
    /// The receiver's key.
    pub key: Key,
    /// True if its sender still has it.
    pub is_there: bool,
}

impl PulledPart {
    /// Returns its header.
    pub fn header(&self) -> Header {
        Kind::Pulled.header(PULLED_INLINE / 8)
    }

    /// Returns its words.
    pub fn to_words(self) -> [u64; 2] {
        [request_word(self.key.into()), u64::from(self.is_there)]
    }

    /// Reads it from a packet.
    pub fn read(packet: &Packet<'_>) -> Option<Self> {
        let [key, is_there] = words(packet)?;
        Some(Self { key: request(key).into(), is_there: is_there == 1 })
    }
}
