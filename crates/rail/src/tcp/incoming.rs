//! The received bytes of a link: many frames, and the positions up to which they were processed.
//!
//! Owns the memory into which frames are read until their release, and the user's memory for a directly
//! received bulk. Never reads a socket: it offers free memory and is told how much of it was filled.
//!
//! ```text
//!   memory  │ released │ start▸ whole frames, handed out one by one │ scanned▸ part of a frame │ filled▸ free │
//!                        the oldest may have its bulk elsewhere
//! ```
//! Acknowledgements are processed on arrival, even if no caller polls, so neither direction waits for the
//! other. An honest peer never has more under way than [`Sizes::frames`] allows. The memory holds twice that.
//! So the bytes that are moved to its start never exceed those received meanwhile.
//!
//! *Direct receive.* While the owner has not decided on a large packet's bulk, no more of it is read. If the
//! owner gave no answer in several looks, the bulk is read into this memory. The packet is shown several
//! times, because the owner may be about to post the receive. The message that it waited for may have arrived
//! just before.

use canele_mem::buffer::InShare;
use canele_mem::window::Window;
use canele_sys::ids::Rank;

use super::direct_receive::DirectReceive;
use super::outgoing::Outgoing;
use super::sizes::Sizes;
use super::wire::{self, HEAD, View};
use crate::{Corrupt, MAX_INLINE_WITH_BULK, Packet};

/// Bytes before the bulk of a packet that has one.
const BEFORE_BULK: usize = HEAD + MAX_INLINE_WITH_BULK;

/// Bytes read with the end of a directly received bulk, and after it. They suffice for a short message, or
/// for the next large packet up to its bulk, so that this can be received directly too.
const BEHIND_DIRECT: usize = 128;

/// Number of looks without an answer after which a bulk is read into this memory. A look that shows the
/// packet counts as several.
const MOST_LOOKS: u8 = 6;
const SHOWN: u8 = 3;

/// The receiving end of a link.
pub struct Incoming {
    sizes: Sizes,
    sender: Rank,
    memory: Box<[u8]>,
    start: usize,
    scanned: usize,
    filled: usize,
    /// True if the head at `scanned` was checked and its acknowledgement processed.
    noted: bool,
    /// Number of further looks at which the owner is asked for a place. At 0, the bulk is read into this
    /// memory.
    looks_left: u8,
    direct: Option<DirectReceive>,
    /// Bytes of the oldest packet that were received directly and so are not in this memory.
    direct_bytes: usize,
    /// True if the newest packet was received directly, so the next one may be.
    after_direct: bool,
    /// Numbers of the next packet to arrive, of the oldest unreleased packet, and of the one last
    /// acknowledged to the peer.
    expected: u32,
    released: u32,
    told: u32,
    /// Bytes of bulk released since the last acknowledgement, and true if the sender of one of these packets
    /// waits for it.
    bulk_unreported: usize,
    prompt_unreported: bool,
    /// True after the end of the stream.
    ended: bool,
    /// True if the peer has finished.
    finished: bool,
    /// The error of invalid data that starts at `scanned`.
    corrupt: Option<Corrupt>,
}

/// The memory for the next bytes.
pub struct Free<'a> {
    /// The unfilled rest of a directly received bulk, filled first.
    pub direct: Option<&'a DirectReceive>,
    /// The memory filled next.
    pub memory: &'a mut [u8],
}

impl Incoming {
    pub fn new(sizes: Sizes, sender: Rank) -> Self {
        Self {
            sizes,
            sender,
            memory: vec![0; 2 * (sizes.frames() + sizes.max_frame()) + sizes.step()].into(),
            start: 0,
            scanned: 0,
            filled: 0,
            noted: false,
            looks_left: MOST_LOOKS,
            direct: None,
            direct_bytes: 0,
            after_direct: false,
            expected: wire::FIRST,
            released: wire::FIRST,
            told: wire::FIRST,
            bulk_unreported: 0,
            prompt_unreported: false,
            ended: false,
            finished: false,
            corrupt: None,
        }
    }

    /// Returns true if more may be read.
    pub fn is_open(&self) -> bool {
        self.corrupt.is_none() && !self.ended
    }

    /// Returns true if the peer has reported that it has finished.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns true if the last bytes are invalid.
    pub fn is_corrupt(&self) -> bool {
        self.corrupt.is_some()
    }

    /// Returns the number of the next packet to arrive.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// Returns the number of the next packet to release.
    pub fn released(&self) -> u32 {
        self.released
    }

    /// Returns the packet number last acknowledged to the peer.
    pub fn told(&self) -> u32 {
        self.told
    }

    /// Returns the incomplete packet, once its head has arrived.
    fn partial(&self) -> Option<View<'_>> {
        let bytes = self.noted.then(|| &self.memory[self.scanned..self.filled])?;
        View::new(bytes, self.sizes.max_bulk()).ok().flatten()
    }

    /// Returns the incomplete packet if it is the oldest and its bulk may be received directly.
    fn peeked(&self) -> Option<View<'_>> {
        let may = self.noted && self.direct.is_none() && !self.has_packet() && self.is_open();
        let view = may.then(|| self.partial()).flatten()?;
        (view.bulk_len() >= self.sizes.large() && self.filled - self.start >= BEFORE_BULK).then_some(view)
    }

    /// Returns the number of bytes to read into the memory at once.
    fn wanted(&self) -> usize {
        let step = if self.after_direct { BEHIND_DIRECT } else { self.sizes.step() };
        match self.partial() {
            Some(view) if self.looks_left == 0 || view.bulk_len() < self.sizes.large() => {
                view.frame_len() - (self.filled - self.scanned) + step
            }
            _ => step,
        }
    }

    /// Returns the memory to read into, never empty while [`Incoming::is_open`].
    #[inline]
    pub fn free(&mut self) -> Free<'_> {
        let wanted = if self.direct.is_some() { BEHIND_DIRECT } else { self.wanted() };
        if self.memory.len() - self.filled < wanted {
            self.memory.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        let memory = &mut self.memory[self.filled..];
        let len = wanted.min(memory.len());
        Free { direct: self.direct.as_ref(), memory: &mut memory[..len] }
    }

    /// Notes that `bytes` bytes were read.
    #[inline]
    pub fn handle_read(&mut self, mut bytes: usize, outgoing: &mut Outgoing) {
        if let Some(direct) = &mut self.direct {
            bytes -= direct.handle_read(bytes);
            if !direct.is_over() {
                return;
            }
            self.handle_direct();
        }
        self.filled += bytes;
        if let Err(what) = self.scan(outgoing) {
            self.corrupt =
                Some(Corrupt(format!("{} sent {}: its program is corrupted", self.sender, what.0)));
        }
    }

    fn handle_direct(&mut self) {
        self.direct_bytes = self.direct.take().map_or(0, |direct| direct.len());
        self.pass_frame(BEFORE_BULK);
        self.after_direct = true;
    }

    /// Notes that the packet at `scanned` is complete.
    #[inline]
    fn pass_frame(&mut self, len: usize) {
        (self.noted, self.looks_left, self.after_direct) = (false, MOST_LOOKS, false);
        self.expected = self.expected.wrapping_add(1);
        self.scanned += len;
    }

    #[inline]
    fn scan(&mut self, outgoing: &mut Outgoing) -> Result<(), Corrupt> {
        while let Some(view) = View::new(&self.memory[self.scanned..self.filled], self.sizes.max_bulk())? {
            if !self.noted {
                let (ack, number) = (view.ack(), view.number());
                outgoing
                    .handle_ack(ack)
                    .map_err(|_| wrong_number("an acknowledgement", ack, outgoing.next()))?;
                if view.is_ack() {
                    if view.is_last() {
                        return self.handle_last();
                    }
                    self.memory.copy_within(self.scanned + HEAD..self.filled, self.scanned);
                    self.filled -= HEAD;
                    continue;
                }
                if number != self.expected {
                    return Err(wrong_number("a packet", number, self.expected));
                }
                self.noted = true;
            }
            let len = view.frame_len();
            if len > self.filled - self.scanned {
                break;
            }
            self.pass_frame(len);
        }
        if self.filled - self.start > self.sizes.frames() + self.sizes.max_frame() {
            return Err(Corrupt("more than it was given room for".into()));
        }
        Ok(())
    }

    /// Notes that the peer has finished.
    #[cold]
    fn handle_last(&mut self) -> Result<(), Corrupt> {
        if self.filled - self.scanned > HEAD {
            return Err(Corrupt("something behind its last frame".into()));
        }
        self.filled = self.scanned;
        self.finished = true;
        Ok(())
    }

    /// Returns true if a packet is there.
    #[inline]
    pub fn has_packet(&self) -> bool {
        self.start != self.scanned
    }

    /// Returns true if the owner must supply memory for a bulk, or decline, before more of it is read.
    pub fn asks(&self) -> bool {
        self.looks_left > 0 && self.peeked().is_some()
    }

    /// Notes that the owner polls. Returns true if the owner must first decide on the place of a bulk.
    #[inline]
    pub fn look(&mut self) -> bool {
        let asks = self.noted && self.asks();
        self.looks_left -= u8::from(asks);
        asks
    }

    /// Returns the oldest packet. Packets that arrived before invalid data can still be read.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<Packet<'_>>, Corrupt> {
        let (bytes, max_bulk) = (&self.memory[self.start..self.scanned], self.sizes.max_bulk());
        let Some(view) = View::new(bytes, max_bulk)? else {
            return self.corrupt.clone().map_or(Ok(None), Err);
        };
        let (header, bulk, inline) = (view.header(), view.bulk_len(), view.before_bulk() - HEAD);
        let in_memory = if self.direct_bytes == 0 { bulk } else { 0 };
        let frame = &mut self.memory[self.start + HEAD..self.start + HEAD + inline + in_memory];
        let (inline, bulk) = frame.split_at_mut(inline);
        Ok(Some(Packet {
            header,
            inline: Window::on(inline),
            bulk: Window::on(bulk),
            direct_bytes: self.direct_bytes,
        }))
    }

    /// Returns the packet whose bulk is incomplete, without the bulk, and the bulk's length.
    pub fn peek_bulk(&mut self) -> Option<(Packet<'_>, usize)> {
        let view = self.peeked().filter(|_| self.looks_left > 0)?;
        let (header, bulk) = (view.header(), view.bulk_len());
        self.looks_left = self.looks_left.saturating_sub(SHOWN);
        let inline = Window::on(&mut self.memory[self.start + HEAD..self.start + BEFORE_BULK]);
        Some((Packet { header, inline, bulk: Window::empty(), direct_bytes: 0 }, bulk))
    }

    /// Sets the memory for the bulk of [`Incoming::peek_bulk`], and moves the arrived part there.
    pub fn direct_receive(&mut self, place: InShare) {
        let bulk = self.peeked().expect("direct_receive comes after peek_bulk").bulk_len();
        assert_eq!(place.len(), bulk, "a place for all of the bulk");
        let come = self.start + BEFORE_BULK..self.filled;
        self.filled = come.start;
        self.direct = Some(DirectReceive::new(place, &self.memory[come]));
    }

    /// Releases the oldest packet.
    #[inline]
    pub fn release(&mut self) {
        let bytes = &self.memory[self.start..self.scanned];
        let view = View::new(bytes, self.sizes.max_bulk()).ok().flatten().expect("release comes after poll");
        let (bulk, len, prompt) = (view.bulk_len(), view.frame_len(), view.is_prompt());
        self.start += len - std::mem::take(&mut self.direct_bytes);
        self.bulk_unreported += bulk;
        self.prompt_unreported |= prompt;
        self.released = self.released.wrapping_add(1);
        if self.start == self.filled {
            (self.start, self.scanned, self.filled) = (0, 0, 0);
        }
    }

    /// Notes the end of the stream, and returns an incompletely filled share to its owner.
    pub fn end(&mut self) {
        self.ended = true;
        self.direct = None;
    }

    /// Returns true if an acknowledgement is due without other output. It is due after a quarter of the
    /// packets or an eighth of the bulk, as in shared memory (invariant I4). It is also due after a packet
    /// whose sender waits for it; with `all`, after any packet.
    #[inline]
    pub fn owes(&self, all: bool) -> bool {
        let packets = self.released.wrapping_sub(self.told);
        packets >= self.sizes.cells / 4
            || self.bulk_unreported >= self.sizes.payload / 8
            || self.prompt_unreported
            || all && packets > 0
    }

    /// Returns the acknowledgement for a frame that is about to leave.
    #[inline]
    pub fn tell(&mut self) -> u32 {
        self.bulk_unreported = 0;
        self.prompt_unreported = false;
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
