//! Large messages that are under way in pieces, in turn by level, and messages that may pass them.

use canele_sys::ids::RequestId;

use super::{Backlog, GUARD, LEVELS, RailPolicy};

impl Backlog {
    /// Adds a message that begins to go in pieces, behind those of its level.
    pub fn stream(&mut self, request: RequestId, level: u8, bytes: usize) {
        self.streaming += bytes;
        self.streams[level as usize].push_back(request);
    }

    /// Removes and returns the message whose piece is next, with its level.
    pub fn next_stream(&mut self) -> Option<(RequestId, u8)> {
        let level = self.stream_level()?;
        Some((self.streams[level as usize].pop_front()?, level))
    }

    /// Puts a message back that is `sent` bytes shorter: behind the others, or before them if no piece could
    /// leave.
    pub fn go_on(&mut self, request: RequestId, level: u8, sent: usize) {
        self.streamed(sent);
        match sent {
            0 => self.streams[level as usize].push_front(request),
            _ => self.streams[level as usize].push_back(request),
        }
    }

    /// Subtracts bytes of large messages that have left, or never will.
    pub fn streamed(&mut self, bytes: usize) {
        self.streaming = self.streaming.saturating_sub(bytes);
    }

    /// Returns the bytes of large messages that have not left.
    pub fn streaming_bytes(&self) -> usize {
        self.streaming
    }

    /// Notes whether the last packet carried a piece.
    pub fn carried(&mut self, piece: bool) {
        self.piece_was_last = piece;
        self.short_pieces -= u32::from(piece && self.short_pieces > 0);
        self.pieces_passed = if piece || !self.has_streams() { 0 } else { self.pieces_passed + 1 };
    }

    /// Returns true if the last packet carried a piece of a large message, so that other messages are next.
    pub fn piece_was_last(&self) -> bool {
        self.piece_was_last
    }

    /// Returns true if a message goes on in pieces.
    pub fn has_streams(&self) -> bool {
        self.stream_level().is_some()
    }

    /// Returns the level of the most urgent message that goes on in pieces.
    pub(super) fn stream_level(&self) -> Option<u8> {
        (0..LEVELS).rev().find(|level| !self.streams[*level].is_empty()).map(|level| level as u8)
    }

    /// Returns true if a message that any rail may take is more urgent than those that go on in pieces. It is
    /// false once one of these has waited too long.
    pub fn is_pressing(&self) -> bool {
        let free = self.queues.iter().filter(|queue| !matches!(queue.policy, RailPolicy::Require(_)));
        let waiting = free.filter_map(|queue| queue.filled.checked_ilog2()).max();
        let most_urgent = waiting.is_some_and(|level| self.stream_level() < Some(level as u8));
        most_urgent && self.pieces_passed < GUARD
    }

    /// Returns true if a message that left lately was more urgent than those that go on in pieces.
    pub fn expects_urgent(&self) -> bool {
        self.short_pieces > 0
    }

    /// Drops all messages, because the peer is gone.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
