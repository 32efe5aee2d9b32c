//! One direction of a simulated connection: the packets under way, and the room as each end knows it.
//!
//! Owns the packets. A packet is kept until its sender knows of its release. Each end fills or reads a copy
//! of the packet. Callers pass the time.

use canele_mem::chunk_counter::ChunkCounter;
use canele_mem::window::Window;
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;

use super::Model;
use super::model::HEADER_BYTES;
use canele_rail::{
    Bulk, Busy, CHUNK_COUNTERS, Class, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Packet, Slot, UnackedPacket,
};

/// The number of the first packet, shortly before numbers wrap.
const FIRST: u32 = u32::MAX - 5;
/// The arrival time of a packet that has no planned arrival, because it is on its way in a fabric or lost.
const NOT_YET: u64 = u64::MAX;

/// One direction of a connection.
pub struct Direction {
    /// The chunk counters, which are made at their first use: most directions between many ranks never use
    /// them.
    chunk_counters: OnceCell<Box<[ChunkCounter; CHUNK_COUNTERS]>>,
    cells: u64,
    size: u64,
    traffic: RefCell<Traffic>,
}

#[derive(Default)]
struct Traffic {
    /// The packets, from the first whose release the sender does not know of.
    packets: VecDeque<Flying>,
    /// The sender's position: the number of packets committed, and the payload bytes up to their end.
    sent: Position,
    /// The positions up to which the receiver gave room back, each with the time at which the sender knows.
    /// The next fields are the last position given back, and the last one that the sender knows.
    given_back: VecDeque<(u64, Position)>,
    released: Position,
    known: Position,
    free_at_ns: u64,
    last_arrival_ns: u64,
    starved: Option<u64>,
    cut: bool,
}

#[derive(Clone, Copy, Default)]
struct Position {
    packets: u64,
    bytes: u64,
}

/// A packet that its sender fills.
pub struct Claimed {
    inline: [u8; MAX_INLINE],
    bulk: Box<[u8]>,
    /// The position in the payload ring at which the bulk ends.
    end: u64,
}

impl Claimed {
    pub fn slot(&mut self) -> Slot<'_> {
        let inline = if self.bulk.is_empty() { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
        Slot { inline: Window::on(&mut self.inline[..inline]), bulk: Window::on(&mut self.bulk) }
    }
}

/// A copy of a packet for its receiver. It does not keep the packet from being released.
#[derive(Default)]
pub struct Front {
    header: Header,
    inline: Vec<u8>,
    pub bulk: Vec<u8>,
    /// The number of bytes of the bulk that were written to the place that the receiver gave.
    pub direct_bytes: usize,
}

impl Front {
    pub fn packet(&mut self) -> Packet<'_> {
        Packet {
            header: self.header,
            inline: Window::on(&mut self.inline),
            bulk: Window::on(&mut self.bulk),
            direct_bytes: self.direct_bytes,
        }
    }
}

struct Flying {
    arrives_ns: u64,
    header: Header,
    inline: [u8; MAX_INLINE],
    bulk: Box<[u8]>,
    end: u64,
}

/// A packet that was committed.
pub struct Committed {
    /// The number of the packet among those of the direction.
    pub number: u64,
    /// The length of the packet in bytes, header included.
    pub bytes: u64,
}

impl Traffic {
    fn learn(&mut self, now_ns: u64) {
        while let Some((_, position)) = self.given_back.front().copied().filter(|(at, _)| *at <= now_ns) {
            self.packets.drain(..(position.packets - self.known.packets) as usize);
            self.known = position;
            self.given_back.pop_front();
        }
        if self.packets.is_empty() && self.given_back.is_empty() {
            // Most directions of many ranks carry nothing at a time.
            (self.packets, self.given_back) = Default::default();
        }
    }

    /// Returns the oldest packet that was not released, if it has arrived.
    fn front(&self, now_ns: u64) -> Option<&Flying> {
        let released = (self.released.packets - self.known.packets) as usize;
        self.packets.get(released).filter(|packet| packet.arrives_ns <= now_ns)
    }
}

impl Direction {
    pub fn new(model: &Model) -> Self {
        Self {
            chunk_counters: OnceCell::new(),
            cells: model.cells as u64,
            size: model.payload as u64,
            traffic: RefCell::default(),
        }
    }

    pub fn claim(&self, now_ns: u64, bulk: usize, class: Class) -> Result<Claimed, Busy> {
        let size = self.size;
        assert!(bulk as u64 <= size / 4, "a bulk of {bulk} bytes is above the rail's max_bulk");
        let mut traffic = self.traffic.borrow_mut();
        traffic.learn(now_ns);
        let reserve = if class == Class::Control { 0 } else { self.cells / 8 };
        let limit = if class == Class::Stream { size / 2 } else { size };
        let head = traffic.sent.bytes;
        let (offset, lines) = (head % size, (bulk as u64).next_multiple_of(64));
        let skipped = if offset + lines > size { size - offset } else { 0 };
        let end = head + skipped + lines;
        let cells_fit = traffic.sent.packets + reserve < traffic.known.packets + self.cells;
        let bytes_fit = bulk == 0 || end - traffic.known.bytes <= (limit + skipped).min(size);
        if !(cells_fit && bytes_fit) {
            let known = traffic.known.packets;
            traffic.starved.get_or_insert(known);
            return Err(Busy);
        }
        let end = if bulk == 0 { head } else { end };
        Ok(Claimed { inline: [0; MAX_INLINE], bulk: vec![0; bulk].into(), end })
    }

    /// Returns the chunk counter with this index, which both ends share.
    pub fn chunk_counter(&self, index: usize) -> &ChunkCounter {
        &self.chunk_counters.get_or_init(Box::default)[index]
    }

    /// Returns true if `packets` bulks of `bulk` bytes can be claimed in succession. It allows for one of
    /// them to skip to the start of the ring.
    pub fn has_room(&self, now_ns: u64, packets: usize, bulk: usize) -> bool {
        let mut traffic = self.traffic.borrow_mut();
        traffic.learn(now_ns);
        let lines = (bulk as u64).next_multiple_of(64);
        let end = traffic.sent.bytes + lines * (packets as u64 + 1);
        traffic.sent.packets + packets as u64 + self.cells / 8 < traffic.known.packets + self.cells
            && end - traffic.known.bytes <= self.size
    }

    /// Sends the claimed packet.
    pub fn commit(&self, header: Header, claimed: Claimed) -> Committed {
        let mut traffic = self.traffic.borrow_mut();
        let Claimed { inline, bulk, end } = claimed;
        let len = bulk.len();
        let most = if len == 0 { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
        assert!(header.inline_len as usize <= most, "{} bytes beside a header", header.inline_len);
        let number = traffic.sent.packets;
        traffic.sent = Position { packets: number + 1, bytes: end };
        traffic.packets.push_back(Flying { arrives_ns: NOT_YET, header, inline, bulk, end });
        Committed { number, bytes: HEADER_BYTES + header.inline_len as u64 + len as u64 }
    }

    /// Occupies the line of a direction that has its own; returns the time at which the packet has left.
    pub fn leave(&self, now_ns: u64, leaving_ns: u64) -> u64 {
        let mut traffic = self.traffic.borrow_mut();
        traffic.free_at_ns = traffic.free_at_ns.max(now_ns) + leaving_ns;
        traffic.free_at_ns
    }

    /// Plans the arrival of a packet, not before those committed before it; returns its time. Nothing arrives
    /// on a direction that was cut.
    pub fn arrive(&self, number: u64, at_ns: u64) -> Option<u64> {
        let mut traffic = self.traffic.borrow_mut();
        if traffic.cut {
            return None;
        }
        traffic.last_arrival_ns = traffic.last_arrival_ns.max(at_ns);
        let (at_ns, place) = (traffic.last_arrival_ns, number - traffic.known.packets);
        traffic.packets[place as usize].arrives_ns = at_ns;
        Some(at_ns)
    }

    pub fn has_arrived(&self, now_ns: u64) -> bool {
        self.traffic.borrow().front(now_ns).is_some()
    }

    /// Copies the oldest packet; returns true if there is one.
    pub fn poll(&self, now_ns: u64, front: &mut Front) -> bool {
        let traffic = self.traffic.borrow();
        let Some(flying) = traffic.front(now_ns) else { return false };
        front.header = flying.header;
        front.inline.clear();
        front.inline.extend_from_slice(&flying.inline[..flying.header.inline_len as usize]);
        front.bulk.clear();
        front.bulk.extend_from_slice(&flying.bulk);
        front.direct_bytes = 0;
        true
    }

    /// Gives the oldest packet's room back, which its sender knows at `then_ns`; returns false if the
    /// direction was cut.
    pub fn release(&self, now_ns: u64, then_ns: u64) -> bool {
        let mut traffic = self.traffic.borrow_mut();
        let end = traffic.front(now_ns).expect("release comes after poll").end;
        traffic.released = Position { packets: traffic.released.packets + 1, bytes: end };
        let released = traffic.released;
        if !traffic.cut {
            traffic.given_back.push_back((then_ns, released));
        }
        !traffic.cut
    }

    /// Makes the sender learn of the room that was given back until now.
    pub fn learn(&self, now_ns: u64) {
        self.traffic.borrow_mut().learn(now_ns);
    }

    /// Returns true once after room came back since a claim failed.
    pub fn room_came(&self, now_ns: u64) -> bool {
        let mut traffic = self.traffic.borrow_mut();
        traffic.learn(now_ns);
        let known = traffic.known.packets;
        traffic.starved.take_if(|starved| known > *starved).is_some()
    }

    /// Cuts the direction: it loses packets that have not arrived and room that was given back, and carries
    /// nothing any more.
    pub fn cut(&self, now_ns: u64) {
        let mut traffic = self.traffic.borrow_mut();
        traffic.learn(now_ns);
        traffic.given_back.clear();
        traffic.packets.iter_mut().filter(|p| p.arrives_ns > now_ns).for_each(|p| p.arrives_ns = NOT_YET);
        traffic.cut = true;
    }

    /// Returns the bytes of bulk whose release the sender does not know of.
    pub fn under_way(&self, now_ns: u64) -> usize {
        let mut traffic = self.traffic.borrow_mut();
        traffic.learn(now_ns);
        (traffic.sent.bytes - traffic.known.bytes) as usize
    }

    /// Returns true if there are packets whose release the sender does not know of.
    pub fn has_unacknowledged(&self, now_ns: u64) -> bool {
        let mut traffic = self.traffic.borrow_mut();
        traffic.learn(now_ns);
        traffic.sent.packets != traffic.known.packets
    }

    /// Returns the number of the packet that its receiver expects next.
    pub fn expected(&self) -> u32 {
        FIRST.wrapping_add(self.traffic.borrow().released.packets as u32)
    }

    /// Returns the packets whose release the sender does not know of.
    pub fn kept(&self, now_ns: u64) -> VecDeque<UnackedPacket> {
        let mut traffic = self.traffic.borrow_mut();
        traffic.learn(now_ns);
        let first = FIRST.wrapping_add(traffic.known.packets as u32);
        let kept = |(n, flying): (u32, &Flying)| UnackedPacket {
            number: first.wrapping_add(n),
            header: flying.header,
            beside: flying.inline[..flying.header.inline_len as usize].into(),
            bulk: Bulk::Copied(flying.bulk.clone()),
        };
        (0..).zip(&traffic.packets).map(kept).collect()
    }
}

/// The number that an end expects on a direction that was never opened.
pub const NOTHING_EXPECTED: u32 = FIRST;
