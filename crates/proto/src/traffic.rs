//! What has moved: messages and bytes per protocol, and the copies made for it.

use crate::choice::Protocol;

/// Messages and their bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Messages.
    pub messages: u64,
    /// Bytes of payload.
    pub bytes: u64,
}

impl Moved {
    #[inline(always)]
    fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

/// Counts since the start.
#[derive(Clone, Default, Debug)]
pub struct Traffic {
    /// Sent, by protocol in the order of [`Protocol`].
    pub sent: [Moved; 4],
    /// Received, likewise.
    pub received: [Moved; 4],
    /// From this rank to itself.
    pub own: Moved,
    /// Puts and gets of this rank.
    pub put: Moved,
    /// Copies of payload made by this rank.
    pub copies: u64,
    /// Messages that came before their receive.
    pub unexpected: u64,
    /// Answers and announcements sent.
    pub control: u64,
}

impl Traffic {
    #[inline(always)]
    pub(crate) fn sent(&mut self, protocol: Protocol, bytes: usize) {
        self.sent[protocol as usize].add(bytes);
    }

    #[inline(always)]
    pub(crate) fn received(&mut self, protocol: Protocol, bytes: usize) {
        self.received[protocol as usize].add(bytes);
    }

    pub(crate) fn own(&mut self, bytes: usize) {
        self.own.add(bytes);
    }

    /// A put or a get of this rank.
    pub fn put(&mut self, bytes: usize) {
        self.put.add(bytes);
    }
}
