//! The sending end of a link: packets until their release is known, and the times to retransmit them.

use canele_mem::window::Window;
use std::collections::VecDeque;

use super::frame::{Acknowledgement, INLINE_AT, body, head};
use canele_rail::{Bulk, Busy, Class, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Slot, UnackedPacket};

/// The first packet number, shortly before numbers wrap.
pub const FIRST: u32 = u32::MAX - 9;
/// The most times that the timeout of a packet doubles.
const DOUBLINGS: u32 = 6;

/// The sending end.
pub struct Outgoing {
    cells: usize,
    max_bulk: usize,
    inline: [u8; MAX_INLINE],
    bulk: Vec<u8>,
    claimed: bool,
    /// The packets, from the first whose release is not known.
    packets: VecDeque<Sent>,
    first: u32,
    /// The number of `packets` that are known to have come.
    come: usize,
    /// The start of the time without news: the last answer with news, or the commit of the first packet that
    /// waits for an answer.
    heard_ns: u64,
    starved: bool,
    room_came: bool,
}

struct Sent {
    body: Box<[u8]>,
    bulk: usize,
    /// The time at which the packet is sent next. The next field counts how often it was sent.
    due_ns: u64,
    times: u32,
}

impl Outgoing {
    pub fn new(cells: usize, max_bulk: usize) -> Self {
        Self {
            cells,
            max_bulk,
            inline: [0; MAX_INLINE],
            bulk: Vec::new(),
            claimed: false,
            packets: VecDeque::new(),
            first: FIRST,
            come: 0,
            heard_ns: 0,
            starved: false,
            room_came: false,
        }
    }

    pub fn claim(&mut self, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        assert!(bulk <= self.max_bulk, "a bulk of {bulk} bytes is above the rail's max_bulk");
        let reserve = if class == Class::Control { 0 } else { self.cells / 8 };
        let limit = if class == Class::Stream { 2 } else { 4 } * self.max_bulk;
        let held: usize = self.packets.iter().map(|sent| sent.bulk).sum();
        self.claimed = self.packets.len() + reserve < self.cells && (bulk == 0 || held + bulk <= limit);
        if !self.claimed {
            self.starved = true;
            return Err(Busy);
        }
        self.bulk.clear();
        self.bulk.resize(bulk, 0);
        let inline = if bulk == 0 { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
        Ok(Slot { inline: Window::on(&mut self.inline[..inline]), bulk: Window::on(&mut self.bulk) })
    }

    pub fn commit(&mut self, now_ns: u64, header: Header) {
        assert!(std::mem::take(&mut self.claimed), "commit without claim");
        let most = if self.bulk.is_empty() { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
        assert!(header.inline_len as usize <= most, "{} bytes beside a header", header.inline_len);
        if self.come == self.packets.len() {
            self.heard_ns = now_ns;
        }
        let body = body(header, &self.inline[..header.inline_len as usize], &self.bulk);
        self.packets.push_back(Sent { body, bulk: self.bulk.len(), due_ns: 0, times: 0 });
    }

    /// Sends the packets that are due, in order, while `send` has room; returns their number. Of the packets
    /// that have come and were not released, only the oldest is sent again, to ask.
    pub fn send(&mut self, now_ns: u64, again_ns: u64, mut send: impl FnMut(u32, &[u8]) -> bool) -> usize {
        let (first, come) = (self.first, self.come);
        let mut went = 0;
        for (place, sent) in self.packets.iter_mut().enumerate() {
            if place > 0 && place < come || sent.due_ns > now_ns {
                continue;
            }
            if !send(first.wrapping_add(place as u32), &sent.body) {
                break;
            }
            sent.due_ns = now_ns + (again_ns << sent.times.min(DOUBLINGS));
            sent.times += 1;
            went += 1;
        }
        went
    }

    /// Handles the progress that the other end reports.
    pub fn answered(&mut self, answer: Acknowledgement, now_ns: u64) {
        let within = |number: u32| number.wrapping_sub(self.first) as usize;
        let (come, released) = (within(answer.come), within(answer.released));
        if come > self.packets.len() || released > come {
            return; // An older answer, overtaken by a newer one.
        }
        if come > self.come || released > 0 {
            self.heard_ns = now_ns;
        }
        self.come = self.come.max(come) - released;
        self.packets.drain(..released);
        self.first = answer.released;
        self.room_came |= released > 0 && std::mem::take(&mut self.starved);
    }

    pub fn next_ns(&self) -> Option<u64> {
        let due = |(place, sent): (usize, &Sent)| (place == 0 || place >= self.come).then_some(sent.due_ns);
        self.packets.iter().enumerate().filter_map(due).min()
    }

    /// Returns how long the other end has not taken any of the packets that wait for it.
    pub fn silent_ns(&self, now_ns: u64) -> u64 {
        if self.come < self.packets.len() { now_ns.saturating_sub(self.heard_ns) } else { 0 }
    }

    pub fn unreleased(&self) -> usize {
        self.packets.len()
    }

    /// Returns true once after room came since a claim failed.
    pub fn take_room(&mut self) -> bool {
        std::mem::take(&mut self.room_came)
    }

    pub fn kept(&self) -> VecDeque<UnackedPacket> {
        let kept = |(number, sent): (u32, &Sent)| {
            let (header, bulk) = head(&sent.body)?;
            Some(UnackedPacket {
                number: self.first.wrapping_add(number),
                header,
                beside: sent.body[INLINE_AT..bulk].into(),
                bulk: Bulk::Copied(sent.body[bulk..].into()),
            })
        };
        (0..).zip(&self.packets).filter_map(kept).collect()
    }
}
