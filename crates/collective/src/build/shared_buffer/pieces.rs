//! Publication by one rank for others, piece by piece: readers have one piece while the next one is written.

use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};

use super::turns::{BYTES, HALF, most, part, turns};

/// The least number of pieces of data that is read while it is written, and the least length that is worth a
/// piece.
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

    /// Returns the place of a turn's piece.
    pub(super) fn place(self, turn: usize) -> usize {
        turn % self.held() * self.most
    }

    /// Returns the pieces of a span, with their turns.
    pub(super) fn of(self, span: Span) -> impl Iterator<Item = (usize, Span)> {
        (0..self.turns).map(move |turn| (turn, part(span, turn, self.most)))
    }

    /// Tells a reader that this turn's piece is in the shared buffer, and waits until it has the piece that
    /// the next one overwrites.
    pub(super) fn announce(self, s: &mut ScheduleDraft<'_>, reader: usize, turn: usize, name: Span) {
        s.send(reader, name);
        let next = turn + 1;
        if next < self.turns && next >= self.held() {
            s.receive(reader, Span::NOTHING);
        }
    }

    /// Waits as a reader for this turn's piece, and confirms one that was read.
    pub(super) fn hear(self, s: &mut ScheduleDraft<'_>, shower: usize, turn: usize, name: Span) {
        s.receive(shower, name);
        if turn > 0 && turn - 1 + self.held() < self.turns {
            s.send(shower, Span::NOTHING);
        }
    }
}

/// Returns the bytes that one rank publishes for others in a turn. Readers with processors fetch a piece
/// while the next one is written.
pub(super) fn piece(seat: Seat, bytes: usize, element: usize) -> usize {
    match seat.oversubscribed {
        true => most(bytes, 1, element),
        false => (bytes / PIECES).clamp(LEAST_PIECE.max(element), HALF) / element * element,
    }
}
