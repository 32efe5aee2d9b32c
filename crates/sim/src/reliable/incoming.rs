//! The receiving end of a link: the packets that have come in order, and those that came early.

use canele_mem::window::Window;
use std::collections::{BTreeMap, VecDeque};

use super::frame::{Acknowledgement, INLINE_AT, head};
use super::outgoing::FIRST;
use canele_rail::Packet;

/// The receiving end.
pub struct Incoming {
    cells: usize,
    /// The most bytes of all bodies together.
    most: usize,
    /// The bodies in order, from the first that was not released.
    ready: VecDeque<Vec<u8>>,
    released: u32,
    /// The bodies that came early, by number.
    early: BTreeMap<u32, Vec<u8>>,
    owes: bool,
}

impl Incoming {
    pub fn new(cells: usize, max_bulk: usize) -> Self {
        Self {
            cells,
            most: cells * 64 + 4 * max_bulk,
            ready: VecDeque::new(),
            released: FIRST,
            early: BTreeMap::new(),
            owes: false,
        }
    }

    fn due(&self) -> u32 {
        self.released.wrapping_add(self.ready.len() as u32)
    }

    /// Handles a packet that has come, perhaps again. It drops packets that an honest sender cannot have
    /// sent.
    pub fn came(&mut self, number: u32, body: Vec<u8>) {
        self.owes = true;
        let place = number.wrapping_sub(self.released) as usize;
        let held: usize = self.ready.iter().chain(self.early.values()).map(Vec::len).sum();
        if place < self.ready.len() || place >= self.cells || held + body.len() > self.most {
            return;
        }
        self.early.entry(number).or_insert(body);
        while let Some(next) = self.early.remove(&self.due()) {
            self.ready.push_back(next);
        }
    }

    pub fn poll(&mut self) -> Option<Packet<'_>> {
        let body = self.ready.front_mut()?;
        let (header, bulk_at) = head(body)?;
        let (inline, bulk) = body[INLINE_AT..].split_at_mut(bulk_at - INLINE_AT);
        let bulk = if bulk.is_empty() { Window::empty() } else { Window::on(bulk) };
        Some(Packet { header, inline: Window::on(inline), bulk, direct_bytes: 0 })
    }

    pub fn release(&mut self) {
        self.ready.pop_front().expect("release comes after poll");
        self.released = self.released.wrapping_add(1);
        self.owes = true;
    }

    pub fn answer(&self) -> Acknowledgement {
        Acknowledgement { come: self.due(), released: self.released }
    }

    pub fn owes(&self) -> bool {
        self.owes
    }

    pub fn answered(&mut self) {
        self.owes = false;
    }

    pub fn waiting(&self) -> usize {
        self.ready.len()
    }

    pub fn expected(&self) -> u32 {
        self.released
    }
}
