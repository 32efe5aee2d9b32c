//! What a link has received: the bytes of many frames, and how far they were looked at.
//!
//! Owns the memory frames are read into until they are released. Never reads a socket: it offers free memory and is told
//! how much of it was filled.
//!
//! ```text
//!   memory  │ released │ start▸ whole frames, handed out one by one │ scanned▸ part of a frame │ filled▸ free │
//! ```
//! Acknowledgements are taken out as soon as they have come, even if nobody polls, so that neither direction waits for
//! the other. An honest peer never has more under way than [`Sizes::frames`] says; the memory holds twice that, so no more
//! is moved to its start now and then than was received meanwhile.

use canele_sys::ids::Rank;

use super::outgoing::{Outgoing, Sizes};
use super::wire::{self, HEAD, View};
use crate::{Corrupt, Packet, Window};

/// From the peer to here.
pub struct Incoming {
    sizes: Sizes,
    sender: Rank,
    memory: Box<[u8]>,
    start: usize,
    scanned: usize,
    filled: usize,
    /// The number of the next packet to come, of the oldest not released, and what the peer was told about that.
    expected: u32,
    released: u32,
    told: u32,
    /// Bytes of bulk released since it was told.
    bulk_untold: usize,
    /// Why what lies from `scanned` on cannot be believed.
    corrupt: Option<Corrupt>,
}

impl Incoming {
    pub fn new(sizes: Sizes, sender: Rank) -> Self {
        Self {
            sizes,
            sender,
            memory: vec![0; 2 * (sizes.frames() + sizes.max_frame())].into(),
            start: 0,
            scanned: 0,
            filled: 0,
            expected: wire::FIRST,
            released: wire::FIRST,
            told: wire::FIRST,
            bulk_untold: 0,
            corrupt: None,
        }
    }

    /// Whether more may be read.
    pub fn is_open(&self) -> bool {
        self.corrupt.is_none()
    }

    /// The number of the next packet to come.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// What the peer was told to send next.
    pub fn told(&self) -> u32 {
        self.told
    }

    /// Memory to read into, never empty while [`Incoming::is_open`].
    #[inline]
    pub fn free(&mut self) -> &mut [u8] {
        if self.memory.len() - self.filled < self.sizes.max_frame() {
            self.memory.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        &mut self.memory[self.filled..]
    }

    /// So many bytes were read into it.
    #[inline]
    pub fn handle_read(&mut self, bytes: usize, outgoing: &mut Outgoing) {
        self.filled += bytes;
        if let Err(what) = self.scan(outgoing) {
            self.corrupt =
                Some(Corrupt(format!("{} sent {}: its program is corrupted", self.sender, what.0)));
        }
    }

    #[inline]
    fn scan(&mut self, outgoing: &mut Outgoing) -> Result<(), Corrupt> {
        while let Some(view) = View::new(&self.memory[self.scanned..self.filled], self.sizes.max_bulk())? {
            let (ack, number) = (view.ack(), view.number());
            outgoing.handle_ack(ack).map_err(|_| wrong_number("an acknowledgement", ack, outgoing.next()))?;
            if view.is_ack() {
                self.memory.copy_within(self.scanned + HEAD..self.filled, self.scanned);
                self.filled -= HEAD;
                continue;
            }
            if number != self.expected {
                return Err(wrong_number("a packet", number, self.expected));
            }
            self.expected = self.expected.wrapping_add(1);
            self.scanned += view.frame_len();
        }
        if self.filled - self.start > self.sizes.frames() + self.sizes.max_frame() {
            return Err(Corrupt("more than it was given room for".into()));
        }
        Ok(())
    }

    /// Whether a packet is there.
    #[inline]
    pub fn has_packet(&self) -> bool {
        self.start != self.scanned
    }

    /// The oldest packet. What came before something corrupt can still be read.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<Packet<'_>>, Corrupt> {
        let (bytes, max_bulk) = (&self.memory[self.start..self.scanned], self.sizes.max_bulk());
        let Some(view) = View::new(bytes, max_bulk)? else {
            return self.corrupt.clone().map_or(Ok(None), Err);
        };
        let (header, bulk, end) = (view.header(), view.bulk_len(), self.start + view.frame_len());
        let (bulk, inline) = self.memory[self.start + HEAD..end].split_at_mut(bulk);
        Ok(Some(Packet { header, inline: Window::on(inline), bulk: Window::on(bulk), landed: 0 }))
    }

    /// Frees the oldest packet.
    #[inline]
    pub fn release(&mut self) {
        let bytes = &self.memory[self.start..self.scanned];
        let view = View::new(bytes, self.sizes.max_bulk()).ok().flatten().expect("release comes after poll");
        self.start += view.frame_len();
        self.bulk_untold += view.bulk_len();
        self.released = self.released.wrapping_add(1);
        if self.start == self.filled {
            (self.start, self.scanned, self.filled) = (0, 0, 0);
        }
    }

    /// Whether the peer is to be told of released packets though there is nothing else to tell: a quarter of the
    /// packets or an eighth of the bulk, as in shared memory (invariant I6); with `all`, any.
    #[inline]
    pub fn owes(&self, all: bool) -> bool {
        let packets = self.released.wrapping_sub(self.told);
        packets >= self.sizes.cells / 4 || self.bulk_untold >= self.sizes.payload / 8 || all && packets > 0
    }

    /// The acknowledgement for a frame that is about to leave.
    #[inline]
    pub fn tell(&mut self) -> u32 {
        self.bulk_untold = 0;
        self.told = self.released;
        self.released
    }
}

#[cold]
fn wrong_number(what: &str, said: u32, due: u32) -> Corrupt {
    Corrupt(format!("{what} with number {said:#x} where {due:#x} is due"))
}

#[cfg(test)]
mod tests;
