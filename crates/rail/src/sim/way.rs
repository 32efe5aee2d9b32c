//! One direction of a simulated link: what is under way, and the room both ends believe in.
//!
//! The memory of slots, packets and payload is allocated once and lives as long as the way, so that windows on it stay
//! good while an end holds the way. Nobody else has a reference to it.

use std::cell::{RefCell, UnsafeCell};
use std::collections::VecDeque;
use std::ptr::NonNull;

use super::Model;
use crate::{Busy, Class, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Packet, Slot, TALLIES, Tally, Window};

/// Bytes that are reached through windows only.
struct Memory(Box<[UnsafeCell<u8>]>);

impl Memory {
    fn new(bytes: usize) -> Self {
        Self((0..bytes).map(|_| UnsafeCell::new(0)).collect())
    }

    fn window(&self, start: usize, len: usize) -> Window<'_> {
        assert!(start + len <= self.0.len(), "a place outside of the memory of a link");
        // SAFETY: the range was checked; the box lives as long as the borrow; no reference to its bytes is ever made.
        unsafe { Window::new(NonNull::from(&self.0[..]).cast::<u8>().add(start), len) }
    }
}

/// One direction.
pub struct Way {
    pub tallies: [Tally; TALLIES],
    model: Model,
    payload: Memory,
    /// The slot the sender fills, and the packet the receiver reads.
    slot: Memory,
    front: Memory,
    traffic: RefCell<Traffic>,
}

#[derive(Default)]
struct Traffic {
    /// Oldest first; released packets are gone.
    under_way: VecDeque<Flying>,
    claimed: Option<Claimed>,
    /// Packets committed; payload positions after them.
    sent: Position,
    /// What the receiver gave back, and what of that the sender knows.
    given_back: VecDeque<(u64, Position)>,
    released: Position,
    known: Position,
    free_at_ns: u64,
    last_arrival_ns: u64,
    starved: Option<u64>,
}

#[derive(Clone, Copy, Default)]
struct Position {
    packets: u64,
    bytes: u64,
}

#[derive(Clone, Copy)]
struct Claimed {
    bulk: usize,
    start: u64,
    end: u64,
}

struct Flying {
    arrives_ns: u64,
    header: Header,
    inline: [u8; MAX_INLINE],
    bulk: Claimed,
}

impl Traffic {
    fn learn(&mut self, now_ns: u64) {
        while let Some((at, position)) = self.given_back.front().copied().filter(|(at, _)| *at <= now_ns) {
            debug_assert!(at <= now_ns);
            self.known = position;
            self.given_back.pop_front();
        }
    }
}

impl Way {
    pub fn new(model: Model) -> Self {
        Self {
            tallies: Default::default(),
            model,
            payload: Memory::new(model.payload),
            slot: Memory::new(MAX_INLINE),
            front: Memory::new(MAX_INLINE),
            traffic: RefCell::default(),
        }
    }

    pub fn claim(&self, now_ns: u64, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        assert!(bulk <= self.model.payload / 4, "a bulk of {bulk} bytes is above the rail's max_bulk");
        let mut traffic = self.traffic.borrow_mut();
        traffic.learn(now_ns);
        let cells = self.model.cells as u64;
        let reserve = if class == Class::Control { 0 } else { cells / 8 };
        let size = self.model.payload as u64;
        let limit = if class == Class::Stream { size / 2 } else { size };
        let head = traffic.sent.bytes;
        let (offset, lines) = (head % size, (bulk as u64).next_multiple_of(64));
        let skipped = if offset + lines > size { size - offset } else { 0 };
        let (start, end) = (head + skipped, head + skipped + lines);
        let cells_fit = traffic.sent.packets + reserve < traffic.known.packets + cells;
        let bytes_fit = bulk == 0 || end - traffic.known.bytes <= (limit + skipped).min(size);
        if !(cells_fit && bytes_fit) {
            let known = traffic.known.packets;
            traffic.starved.get_or_insert(known);
            return Err(Busy);
        }
        let end = if bulk == 0 { head } else { end };
        traffic.claimed = Some(Claimed { bulk, start, end });
        let inline = if bulk == 0 { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
        let bulk = if bulk == 0 { Window::empty() } else { self.bulk(start, bulk) };
        Ok(Slot { inline: self.slot.window(0, inline), bulk })
    }

    fn bulk(&self, start: u64, len: usize) -> Window<'_> {
        self.payload.window((start % self.model.payload as u64) as usize, len)
    }

    /// Sends what was claimed; says when it arrives.
    pub fn commit(&self, now_ns: u64, jitter_ns: u64, header: Header) -> u64 {
        let mut traffic = self.traffic.borrow_mut();
        let bulk = traffic.claimed.take().expect("commit without claim");
        let most = if bulk.bulk == 0 { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
        assert!(header.inline_len as usize <= most, "{} bytes beside a header", header.inline_len);
        let mut inline = [0; MAX_INLINE];
        self.slot.window(0, MAX_INLINE).read(0, &mut inline);
        let bytes = 16 + header.inline_len as u64 + bulk.bulk as u64;
        let leaving = self.model.overhead_ns + (bytes * 1000).div_ceil(self.model.bytes_per_us);
        traffic.free_at_ns = traffic.free_at_ns.max(now_ns) + leaving;
        let arrives_ns = traffic.free_at_ns + self.model.latency_ns + jitter_ns;
        traffic.last_arrival_ns = traffic.last_arrival_ns.max(arrives_ns);
        let arrives_ns = traffic.last_arrival_ns;
        traffic.sent = Position { packets: traffic.sent.packets + 1, bytes: bulk.end };
        traffic.under_way.push_back(Flying { arrives_ns, header, inline, bulk });
        arrives_ns
    }

    /// Takes the claim back and sends nothing.
    pub fn swallow(&self) {
        self.traffic.borrow_mut().claimed.take().expect("commit without claim");
    }

    pub fn has_arrived(&self, now_ns: u64) -> bool {
        self.traffic.borrow().under_way.front().is_some_and(|f| f.arrives_ns <= now_ns)
    }

    pub fn poll(&self, now_ns: u64) -> Option<Packet<'_>> {
        let traffic = self.traffic.borrow();
        let flying = traffic.under_way.front().filter(|f| f.arrives_ns <= now_ns)?;
        self.front.window(0, MAX_INLINE).write(0, &flying.inline);
        let bulk = match flying.bulk {
            Claimed { bulk: 0, .. } => Window::empty(),
            Claimed { bulk, start, .. } => self.bulk(start, bulk),
        };
        let inline = self.front.window(0, flying.header.inline_len as usize);
        Some(Packet { header: flying.header, inline, bulk, landed: 0 })
    }

    /// Gives the oldest packet's room back; says when the sender knows.
    pub fn release(&self, now_ns: u64) -> u64 {
        let mut traffic = self.traffic.borrow_mut();
        let flying = traffic.under_way.pop_front().filter(|f| f.arrives_ns <= now_ns);
        let flying = flying.expect("release comes after poll");
        let released = Position { packets: traffic.released.packets + 1, bytes: flying.bulk.end };
        traffic.released = released;
        let at = now_ns + self.model.latency_ns;
        traffic.given_back.push_back((at, released));
        at
    }

    /// Whether room came back since a claim failed. Reported once.
    pub fn room_came(&self, now_ns: u64) -> bool {
        let mut traffic = self.traffic.borrow_mut();
        traffic.learn(now_ns);
        let known = traffic.known.packets;
        traffic.starved.take_if(|starved| known > *starved).is_some()
    }

    /// Loses what has not arrived.
    pub fn cut(&self, now_ns: u64) {
        self.traffic.borrow_mut().under_way.retain(|f| f.arrives_ns <= now_ns);
    }
}
