//! The strategies that come with the library.

use super::{PacketDraft, RailView, Strategy, tactics};
use crate::backlog::{Backlog, By};

/// No optimisation: one message a packet, in the order of submission. The reference for the others.
pub struct Fifo;

impl Strategy for Fifo {
    fn name(&self) -> &'static str {
        "fifo"
    }

    fn by_priority(&self) -> bool {
        false
    }

    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft) {
        if !packet.add_control() {
            let messages = |backlog: &mut Backlog, packet: &mut PacketDraft| {
                tactics::one(backlog, rail, packet, By::Arrival)
            };
            in_turn(backlog, packet, By::Arrival, messages, |backlog, packet| {
                tactics::piece(backlog, packet, usize::MAX)
            });
        }
    }
}

/// Puts all waiting short messages into one packet, in the order of submission.
pub struct Aggregate;

impl Strategy for Aggregate {
    fn name(&self) -> &'static str {
        "aggregate"
    }

    fn by_priority(&self) -> bool {
        false
    }

    fn coalesces(&self) -> bool {
        true
    }

    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft) {
        together(backlog, rail, packet, By::Arrival, tactics::timely_piece);
    }
}

/// Works like [`Aggregate`], with the most urgent messages first.
pub struct Priority;

impl Strategy for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft) {
        together(backlog, rail, packet, By::Priority, tactics::timely_piece);
    }
}

/// Works like [`Priority`], and cuts large messages so that all rails end together.
pub struct Split;

impl Strategy for Split {
    fn name(&self) -> &'static str {
        "split"
    }

    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft) {
        together(backlog, rail, packet, By::Priority, tactics::fair_piece);
    }
}

/// Plans one packet: answers and all messages that fit, or a piece that `pieces` adds.
fn together(
    backlog: &mut Backlog,
    rail: &RailView<'_>,
    packet: &mut PacketDraft,
    by: By,
    pieces: impl Fn(&mut Backlog, &RailView<'_>, &mut PacketDraft),
) {
    tactics::control_first(rail, packet);
    let messages =
        |backlog: &mut Backlog, packet: &mut PacketDraft| tactics::aggregate(backlog, rail, packet, by);
    in_turn(backlog, packet, by, messages, |backlog, packet| pieces(backlog, rail, packet));
}

/// Alternates messages and pieces of large ones while there are both; more urgent messages go first.
fn in_turn(
    backlog: &mut Backlog,
    packet: &mut PacketDraft,
    by: By,
    messages: impl Fn(&mut Backlog, &mut PacketDraft),
    pieces: impl Fn(&mut Backlog, &mut PacketDraft),
) {
    let pressing = by == By::Priority && backlog.is_pressing();
    if packet.is_empty() && backlog.has_streams() && !backlog.piece_was_last() && !pressing {
        pieces(backlog, packet);
    }
    if packet.is_empty() || !packet.is_piece() {
        messages(backlog, packet);
    }
    if packet.is_empty() {
        pieces(backlog, packet);
    }
}
