//! The plan of the next packet.

use canele_sys::ids::RequestId;

use super::RailView;
use crate::backlog::{Backlog, By, Waiting};
use crate::batch;
use crate::choice::{self, Begin, Path};
use crate::credit::SendCredit;
use crate::slab::Key;
use crate::wire::Rts;

/// A message chosen for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pick {
    pub(crate) key: Key,
    pub(crate) request: RequestId,
    /// True if it goes as a whole; otherwise it is announced.
    pub(crate) whole: bool,
    /// True if it is announced only for want of credit.
    pub(crate) lacks_credit: bool,
    /// True if it is streamed without waiting for an answer.
    pub(crate) eager_multi: bool,
    /// Bytes of it in the packet, with its head.
    pub(crate) room: usize,
}

/// The plan of a packet: answers and messages, or a piece of a large message.
#[derive(Default)]
pub struct PacketDraft {
    /// The number of waiting answers in it.
    pub(crate) control: usize,
    pub(crate) messages: Vec<Pick>,
    /// A large message, its level, and the most bytes of it.
    pub(crate) piece: Option<(RequestId, u8, usize)>,
    /// Bytes so far.
    bytes: usize,
    /// The number of waiting answers, the credit for unannounced messages, and the path of messages over the
    /// link.
    waiting: usize,
    credit: SendCredit,
    path: Path,
}

impl PacketDraft {
    pub(crate) fn begin(&mut self, waiting: usize, credit: SendCredit, path: Path) {
        self.messages.clear();
        (self.control, self.piece, self.bytes) = (0, None, 0);
        (self.waiting, self.credit, self.path) = (waiting, credit, path);
    }

    /// Returns true if nothing has been chosen.
    pub fn is_empty(&self) -> bool {
        self.control == 0 && self.messages.is_empty() && self.piece.is_none()
    }

    /// Returns true if it is a piece of a large message.
    pub fn is_piece(&self) -> bool {
        self.piece.is_some()
    }

    /// Returns the bytes chosen so far.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of parts chosen so far.
    pub fn parts(&self) -> usize {
        self.control + self.messages.len() + usize::from(self.piece.is_some())
    }

    /// Adds the next waiting answer, if there is one and it fits. Answers go in their order.
    pub fn add_control(&mut self) -> bool {
        let fits = self.control < self.waiting && self.fits(batch::CONTROL_ROOM, usize::MAX);
        if fits {
            self.control += 1;
            self.bytes += batch::CONTROL_ROOM;
        }
        fits
    }

    /// Adds the next message, if there is one and the packet stays within `most` bytes; the first message of
    /// a packet may be longer.
    pub fn add_message(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, by: By, most: usize) -> bool {
        let Some((key, waiting)) = backlog.next(rail.number, rail.takes, by) else { return false };
        let pick = self.pick(key, waiting);
        if self.piece.is_some() || !self.fits(pick.room, most) {
            return false;
        }
        backlog.draw(key);
        if pick.whole || pick.eager_multi {
            self.credit.pay(waiting.bytes);
        }
        self.bytes += pick.room;
        self.messages.push(pick);
        true
    }

    fn pick(&self, key: Key, waiting: Waiting) -> Pick {
        let begin = choice::begin(&self.path, waiting.bytes, waiting.mode, waiting.region);
        let paid = self.credit.can_pay(waiting.bytes);
        let (whole, eager_multi) = (paid && begin == Begin::Whole, paid && begin == Begin::EagerMulti);
        let room = batch::room(if whole { waiting.bytes } else { Rts::BYTES });
        Pick {
            key,
            request: waiting.request,
            whole,
            lacks_credit: !paid && begin != Begin::Announced,
            eager_multi,
            room,
        }
    }

    fn fits(&self, room: usize, most: usize) -> bool {
        self.is_empty() || self.bytes + room <= most.min(self.path.max_bulk).min(batch::MOST)
    }

    /// Adds up to `most` bytes of the next large message, if there is one. A piece is a packet of its own.
    pub fn add_piece(&mut self, backlog: &mut Backlog, most: usize) -> bool {
        if !self.is_empty() || most == 0 {
            return false;
        }
        let Some((request, level)) = backlog.next_stream() else { return false };
        self.piece = Some((request, level, most));
        true
    }
}
