//! What one rank publishes for others, piece by piece: readers have one while the next one is written.

use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};

use super::turns::{BYTES, HALF, most, part, turns};

/// In so many pieces at least is data cut that is read while it is written; a shorter piece than this costs more than it saves.
const PIECES: usize = 4;
const LEAST_PIECE: usize = 32 << 10;

/// The pieces in which one rank publishes data, by turns; a shared buffer holds several.
#[derive(Clone, Copy)]
pub(super) struct Pieces {
    pub(super) most: usize,
    turns: usize,
}

impl Pieces {
    pub(super) fn new(seat: Seat, bytes: usize, element: usize) -> Self {
        let most = piece(seat, bytes, element);
        Self { most, turns: turns(bytes, most).len() }
    }

    fn held(self) -> usize {
        BYTES / self.most
    }

    /// Where a turn's piece is published.
    pub(super) fn place(self, turn: usize) -> usize {
        turn % self.held() * self.most
    }

    /// The pieces of a span, with their turns.
    pub(super) fn of(self, span: Span) -> impl Iterator<Item = (usize, Span)> {
        (0..self.turns).map(move |turn| (turn, part(span, turn, self.most)))
    }

    /// Tells a reader that this turn's piece is in the shared buffer, and hears that it has the one over which the next piece is written.
    pub(super) fn announce(self, s: &mut ScheduleDraft<'_>, reader: usize, turn: usize, name: Span) {
        s.send(reader, name);
        let next = turn + 1;
        if next < self.turns && next >= self.held() {
            s.receive(reader, Span::NOTHING);
        }
    }

    /// The same as a reader.
    pub(super) fn hear(self, s: &mut ScheduleDraft<'_>, shower: usize, turn: usize, name: Span) {
        s.receive(shower, name);
        if turn > 0 && turn - 1 + self.held() < self.turns {
            s.send(shower, Span::NOTHING);
        }
    }
}

/// Bytes that one rank publishes for others in a turn. Where those have processors, they fetch a piece while the next one is written.
pub(super) fn piece(seat: Seat, bytes: usize, element: usize) -> usize {
    match seat.oversubscribed {
        true => most(bytes, 1, element),
        false => (bytes / PIECES).clamp(LEAST_PIECE.max(element), HALF) / element * element,
    }
}
