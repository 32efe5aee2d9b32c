//! A link: its socket, the room of either direction, and received packets that are not released.
//!
//! The sender counts a packet as held until its receiver says that it was released. The receiver counts in
//! the same way. It finds a peer that sends more than there is room for, and never keeps more than that.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

use canele_mem::window::Window;
use canele_rail::{Busy, Class, Corrupt, Header, MAX_INLINE, Packet, Slot};
use canele_sys::poller::Interest;
use rustix::io::Errno;

use super::frame::{Frame, HEAD, Sort};
use super::socket::{receive_packet, send_packet};

/// The capacity of one direction of a link.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Packets.
    pub cells: u32,
    /// Bytes of bulk.
    pub payload: usize,
}

impl Limits {
    /// Returns the largest bulk: four packets of it fill the room, two of a stream and two that pass it.
    pub fn max_bulk(&self) -> usize {
        self.payload / 4
    }

    /// Returns the bytes of the longest frame.
    pub fn max_frame(&self) -> usize {
        HEAD + MAX_INLINE + self.max_bulk()
    }
}

/// The reason why a link receives no more packets.
#[derive(Clone)]
pub enum End {
    /// The peer has sent impossible bytes.
    Corrupt(Corrupt),
    /// The peer has finished, or its process has ended.
    Lost { why: String, finished: bool },
}

pub struct Link {
    pub socket: OwnedFd,
    pub interest: Interest,
    pub generation: u32,
    pub here: Vec<u8>,
    pub there: Vec<u8>,
    pub sent: u64,
    pub received: u64,
    pub end: Option<End>,
    /// True if the owner knows of the loss.
    pub is_reported: bool,
    limits: Limits,

    /// The packet being filled: [`MAX_INLINE`] bytes, then the bulk.
    staging: Vec<u8>,
    claimed: Option<usize>,
    next_number: u32,
    /// The bulk of each packet that the peer has not released.
    unreleased: VecDeque<usize>,
    unreleased_bulk: usize,
    /// Frames that the system has not taken.
    waiting: VecDeque<Vec<u8>>,
    was_refused: bool,
    room_came: bool,
    has_finished: bool,

    arrived: VecDeque<(Frame, Vec<u8>)>,
    arrived_bulk: usize,
    expected: u32,
    /// Counts released packets, and those of them that the peer knows of.
    released: u32,
    told: u32,
    owed_bulk: usize,
}

impl Link {
    pub fn new(socket: OwnedFd, generation: u32, here: Vec<u8>, there: Vec<u8>, limits: Limits) -> Self {
        Self {
            socket,
            interest: Interest::default(),
            generation,
            here,
            there,
            sent: 0,
            received: 0,
            end: None,
            is_reported: false,
            limits,
            staging: vec![0; MAX_INLINE + limits.max_bulk()],
            claimed: None,
            next_number: 0,
            unreleased: VecDeque::new(),
            unreleased_bulk: 0,
            waiting: VecDeque::new(),
            was_refused: false,
            room_came: false,
            has_finished: false,
            arrived: VecDeque::new(),
            arrived_bulk: 0,
            expected: 0,
            released: 0,
            told: 0,
            owed_bulk: 0,
        }
    }

    /// Returns the bytes of bulk that the peer has not released.
    pub fn under_way(&self) -> usize {
        self.unreleased_bulk
    }

    pub fn has_unacknowledged(&self) -> bool {
        self.end.is_none() && !(self.unreleased.is_empty() && self.waiting.is_empty())
    }

    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub fn has_arrived(&self) -> bool {
        !self.arrived.is_empty() || matches!(self.end, Some(End::Corrupt(_)))
    }

    /// Returns the packets sent and the packets received from the peer, for tests.
    pub fn counters(&self) -> (u32, u32) {
        (self.next_number, self.expected)
    }

    /// Returns true once if room has come after a claim was refused.
    pub fn take_room(&mut self) -> bool {
        std::mem::take(&mut self.room_came)
    }

    pub fn claim(&mut self, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        assert!(bulk <= self.limits.max_bulk(), "a bulk of {bulk} bytes is more than one packet carries");
        let Limits { cells, payload } = self.limits;
        let (cells, payload) = match class {
            Class::Control => (cells, payload),
            Class::Message => (cells - cells / 8, payload),
            Class::Stream => (cells / 2, payload / 2),
        };
        let has_room = self.unreleased.len() < cells as usize && self.unreleased_bulk + bulk <= payload;
        if !has_room || self.end.is_some() || self.has_finished {
            self.was_refused = true;
            return Err(Busy);
        }
        self.claimed = Some(bulk);
        let (inline, rest) = self.staging.split_at_mut(MAX_INLINE);
        Ok(Slot { inline: Window::on(inline), bulk: Window::on(&mut rest[..bulk]) })
    }

    pub fn commit(&mut self, header: Header) {
        let bulk = self.claimed.take().expect("something is claimed");
        let frame = self.frame(Sort::Packet, header, bulk);
        self.next_number = self.next_number.wrapping_add(1);
        self.unreleased.push_back(bulk);
        self.unreleased_bulk += bulk;
        let staging = std::mem::take(&mut self.staging);
        let inline = &staging[..header.inline_len as usize];
        self.transmit(&[&frame.encode(), inline, &staging[MAX_INLINE..][..bulk]]);
        self.staging = staging;
    }

    /// Makes a frame, which reports all released packets to the peer.
    fn frame(&mut self, sort: Sort, header: Header, bulk: usize) -> Frame {
        (self.told, self.owed_bulk) = (self.released, 0);
        Frame { sort, header, bulk, number: self.next_number, released: self.released }
    }

    fn transmit(&mut self, parts: &[&[u8]]) {
        if !self.send_waiting() || !self.try_send(parts) {
            self.waiting.push_back(parts.concat());
        }
    }

    /// Returns false if the system takes nothing now. Reading finds the end of a connection, after all
    /// packets before it.
    fn try_send(&mut self, parts: &[&[u8]]) -> bool {
        match send_packet(&self.socket, parts) {
            Ok(()) => self.sent += parts.iter().map(|part| part.len() as u64).sum::<u64>(),
            Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::NOMEM) => return false,
            Err(Errno::MSGSIZE) => {
                let why = "a frame is longer than what the system lets a socket send".into();
                self.end = Some(End::Lost { why, finished: false });
            }
            Err(_) => {}
        }
        true
    }

    /// Sends waiting frames in order. Returns true if none is left.
    pub fn send_waiting(&mut self) -> bool {
        while let Some(frame) = self.waiting.pop_front() {
            if !self.try_send(&[&frame]) {
                self.waiting.push_front(frame);
                return false;
            }
        }
        true
    }

    /// Reports released packets to the peer, if they are a quarter of the room or `all` is set. Returns true
    /// if it sent a report.
    pub fn send_credit(&mut self, all: bool) -> bool {
        let owed = self.released.wrapping_sub(self.told);
        let much = owed >= self.limits.cells / 4 || self.owed_bulk >= self.limits.payload / 4;
        // A report that the system has not taken is not repeated: a peer that reads nothing gets no more
        // room.
        let is_told_in_vain = self.has_waiting();
        if self.end.is_some() || self.has_finished || is_told_in_vain || owed == 0 || !(all || much) {
            return false;
        }
        let frame = self.frame(Sort::Credit, Header::default(), 0);
        self.transmit(&[&frame.encode()]);
        true
    }

    /// Tells the peer that no packet follows.
    pub fn finish(&mut self) {
        if self.end.is_none() && !self.has_finished {
            let frame = self.frame(Sort::End, Header::default(), 0);
            self.transmit(&[&frame.encode()]);
            self.has_finished = true;
        }
    }

    /// Reads packets from the socket, at most as many as an honest peer can have sent. Returns true if any
    /// came.
    pub fn read(&mut self, buffer: &mut [u8]) -> bool {
        let before = self.received;
        // Each released packet is reported at most once, so there are no more frames of credit than packets.
        for _ in 0..2 * self.limits.cells + 1 {
            if self.end.is_some() {
                break;
            }
            let lost = match receive_packet(&self.socket, buffer) {
                Err(Errno::AGAIN | Errno::INTR) => break,
                // Reported once, before the packets, if the peer has left bytes unread; the end follows.
                Err(Errno::CONNRESET) => continue,
                Err(why) => format!("the connection broke: {why}"),
                Ok(0) => "its process has closed the connection".into(),
                Ok(len) => {
                    self.received += len as u64;
                    if let Err(corrupt) = self.take(buffer.get(..len), len) {
                        self.end = Some(End::Corrupt(corrupt));
                    }
                    continue;
                }
            };
            self.end = Some(End::Lost { why: lost, finished: false });
        }
        self.received > before || self.end.is_some()
    }

    fn take(&mut self, frame: Option<&[u8]>, len: usize) -> Result<(), Corrupt> {
        let bytes = frame.ok_or_else(|| Corrupt(format!("a frame of {len} bytes, more than any has")))?;
        let frame = Frame::decode(bytes)?;
        self.take_credit(frame.released)?;
        match frame.sort {
            Sort::Credit => Ok(()),
            Sort::End => {
                self.end = Some(End::Lost { why: "it has finished".into(), finished: true });
                Ok(())
            }
            Sort::Packet => self.take_packet(frame, bytes),
        }
    }

    fn take_credit(&mut self, released: u32) -> Result<(), Corrupt> {
        let first = self.next_number.wrapping_sub(self.unreleased.len() as u32);
        let count = released.wrapping_sub(first) as usize;
        if count > self.unreleased.len() {
            return Err(Corrupt(format!("{released} packets released, of {first} to {}", self.next_number)));
        }
        self.unreleased_bulk -= self.unreleased.drain(..count).sum::<usize>();
        self.room_came |= count > 0 && std::mem::take(&mut self.was_refused);
        Ok(())
    }

    fn take_packet(&mut self, frame: Frame, bytes: &[u8]) -> Result<(), Corrupt> {
        let held = self.expected.wrapping_sub(self.told);
        let held_bulk = self.arrived_bulk + self.owed_bulk + frame.bulk;
        if frame.number != self.expected {
            return Err(Corrupt(format!("packet {} instead of {}", frame.number, self.expected)));
        }
        if held >= self.limits.cells || held_bulk > self.limits.payload || frame.bulk > self.limits.max_bulk()
        {
            return Err(Corrupt(format!("a packet of {} bytes for which there is no room", frame.bulk)));
        }
        self.expected = self.expected.wrapping_add(1);
        self.arrived_bulk += frame.bulk;
        self.arrived.push_back((frame, bytes[HEAD..].to_vec()));
        Ok(())
    }

    pub fn poll(&mut self) -> Result<Option<Packet<'_>>, Corrupt> {
        match (self.arrived.front_mut(), &self.end) {
            (Some((frame, rest)), _) => {
                let (inline, bulk) = rest.split_at_mut(frame.header.inline_len as usize);
                let (inline, bulk) = (Window::on(inline), Window::on(bulk));
                Ok(Some(Packet { header: frame.header, inline, bulk, direct_bytes: 0 }))
            }
            (None, Some(End::Corrupt(corrupt))) => Err(corrupt.clone()),
            _ => Ok(None),
        }
    }

    pub fn release(&mut self) {
        let (frame, _) = self.arrived.pop_front().expect("a packet was polled");
        self.arrived_bulk -= frame.bulk;
        self.owed_bulk += frame.bulk;
        self.released = self.released.wrapping_add(1);
    }
}
