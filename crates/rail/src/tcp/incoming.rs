//! What a link has received: the bytes of many frames, and how far they were looked at.
//!
//! Owns the memory frames are read into until they are released, and the share of the user's memory a bulk goes to. Never
//! reads a socket: it offers free memory and is told how much of it was filled.
//!
//! ```text
//!   memory  │ released │ start▸ whole frames, handed out one by one │ scanned▸ part of a frame │ filled▸ free │
//!                        the oldest may have its bulk elsewhere
//! ```
//! Acknowledgements are taken out as soon as they have come, even if no caller polls, so that neither direction waits for
//! the other. An honest peer never has more under way than [`Sizes::frames`] says; the memory holds twice that, so no more
//! is moved to its start now and then than was received meanwhile.
//!
//! *Direct receive.* While it is not known whether the bulk of a large packet is received directly, no more of it is read; if its
//! owner was shown it several times and said nothing, it is read here. The first time it may be about to post the receive: what it has
//! waited for until then came just before.

use canele_mem::buffer::InShare;
use canele_mem::window::Window;
use canele_sys::ids::Rank;

use super::direct_receive::DirectReceive;
use super::outgoing::Outgoing;
use super::sizes::Sizes;
use super::wire::{self, HEAD, View};
use crate::{Corrupt, MAX_INLINE_WITH_BULK, Packet};

/// What stands before the bulk of a packet that has one.
const BEFORE_BULK: usize = HEAD + MAX_INLINE_WITH_BULK;

/// Bytes read with the end of a bulk that is received directly, and after it: the next large packet up to its bulk, so that this can be
/// received directly too, or a short message.
const BEHIND_DIRECT: usize = 128;

/// A bulk is read here after so many looks of an owner that says nothing. One that is shown the packet counts as several.
const MOST_LOOKS: u8 = 6;
const SHOWN: u8 = 3;

/// From the peer to here.
pub struct Incoming {
    sizes: Sizes,
    sender: Rank,
    memory: Box<[u8]>,
    start: usize,
    scanned: usize,
    filled: usize,
    /// The head at `scanned` was checked and its acknowledgement taken.
    noted: bool,
    /// So many more looks the owner is asked where its bulk goes; 0: it is read here.
    looks_left: u8,
    direct: Option<DirectReceive>,
    /// Bytes of the oldest packet that were received directly: they are not in the memory.
    direct_bytes: usize,
    /// The newest packet was received directly: the next one may be.
    after_direct: bool,
    /// The number of the next packet to come, of the oldest not released, and what the peer was told about that.
    expected: u32,
    released: u32,
    told: u32,
    /// Bytes of bulk released since it was told, and whether the sender of one of these packets waits for that.
    bulk_unreported: usize,
    prompt_unreported: bool,
    /// Nothing more comes.
    ended: bool,
    /// The peer has finished.
    finished: bool,
    /// Why what lies from `scanned` on cannot be believed.
    corrupt: Option<Corrupt>,
}

/// Where the next bytes go.
pub struct Free<'a> {
    /// First to what is left of a bulk that is received directly.
    pub direct: Option<&'a DirectReceive>,
    /// Then here.
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

    /// Whether more may be read.
    pub fn is_open(&self) -> bool {
        self.corrupt.is_none() && !self.ended
    }

    /// Whether the peer has said that it has finished.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether what came last cannot be believed.
    pub fn is_corrupt(&self) -> bool {
        self.corrupt.is_some()
    }

    /// The number of the next packet to come.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// The number of the next packet to be released.
    pub fn released(&self) -> u32 {
        self.released
    }

    /// What the peer was told to send next.
    pub fn told(&self) -> u32 {
        self.told
    }

    /// The packet that is not whole, once its head is here.
    fn partial(&self) -> Option<View<'_>> {
        let bytes = self.noted.then(|| &self.memory[self.scanned..self.filled])?;
        View::new(bytes, self.sizes.max_bulk()).ok().flatten()
    }

    /// The same, if it is the oldest and its bulk may be received directly.
    fn peeked(&self) -> Option<View<'_>> {
        let may = self.noted && self.direct.is_none() && !self.has_packet() && self.is_open();
        let view = may.then(|| self.partial()).flatten()?;
        (view.bulk_len() >= self.sizes.large() && self.filled - self.start >= BEFORE_BULK).then_some(view)
    }

    /// How much is to be read into the memory at once.
    fn wanted(&self) -> usize {
        let step = if self.after_direct { BEHIND_DIRECT } else { self.sizes.step() };
        match self.partial() {
            Some(view) if self.looks_left == 0 || view.bulk_len() < self.sizes.large() => {
                view.frame_len() - (self.filled - self.scanned) + step
            }
            _ => step,
        }
    }

    /// Where to read to, never nothing while [`Incoming::is_open`].
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

    /// So many bytes were read into it.
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

    /// The packet at `scanned` is whole.
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

    /// The peer has finished.
    #[cold]
    fn handle_last(&mut self) -> Result<(), Corrupt> {
        if self.filled - self.scanned > HEAD {
            return Err(Corrupt("something behind its last frame".into()));
        }
        self.filled = self.scanned;
        self.finished = true;
        Ok(())
    }

    /// Whether a packet is there.
    #[inline]
    pub fn has_packet(&self) -> bool {
        self.start != self.scanned
    }

    /// Whether the owner is to say where a bulk goes before more of it is read.
    pub fn asks(&self) -> bool {
        self.looks_left > 0 && self.peeked().is_some()
    }

    /// The owner looks for a packet. Returns whether it is to say first where a bulk goes.
    #[inline]
    pub fn look(&mut self) -> bool {
        let asks = self.noted && self.asks();
        self.looks_left -= u8::from(asks);
        asks
    }

    /// The oldest packet. What came before something corrupt can still be read.
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

    /// The packet whose bulk is still to come, without it, and its length.
    pub fn peek_bulk(&mut self) -> Option<(Packet<'_>, usize)> {
        let view = self.peeked().filter(|_| self.looks_left > 0)?;
        let (header, bulk) = (view.header(), view.bulk_len());
        self.looks_left = self.looks_left.saturating_sub(SHOWN);
        let inline = Window::on(&mut self.memory[self.start + HEAD..self.start + BEFORE_BULK]);
        Some((Packet { header, inline, bulk: Window::empty(), direct_bytes: 0 }, bulk))
    }

    /// Where that bulk goes. What has come of it goes there now.
    pub fn direct_receive(&mut self, place: InShare) {
        let bulk = self.peeked().expect("direct_receive comes after peek_bulk").bulk_len();
        assert_eq!(place.len(), bulk, "a place for all of the bulk");
        let come = self.start + BEFORE_BULK..self.filled;
        self.filled = come.start;
        self.direct = Some(DirectReceive::new(place, &self.memory[come]));
    }

    /// Frees the oldest packet.
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

    /// Nothing more comes: a share that was not filled goes back.
    pub fn end(&mut self) {
        self.ended = true;
        self.direct = None;
    }

    /// Whether the peer is to be told of released packets though there is nothing else to tell: a quarter of the
    /// packets or an eighth of the bulk, as in shared memory (invariant I4), or one whose sender waits for it; with `all`, any.
    #[inline]
    pub fn owes(&self, all: bool) -> bool {
        let packets = self.released.wrapping_sub(self.told);
        packets >= self.sizes.cells / 4
            || self.bulk_unreported >= self.sizes.payload / 8
            || self.prompt_unreported
            || all && packets > 0
    }

    /// The acknowledgement for a frame that is about to leave.
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
