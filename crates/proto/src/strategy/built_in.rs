//! The strategies that come with the library.

use super::{Draft, RailView, Strategy, tactics};
use crate::backlog::{Backlog, By};

/// No optimisation: one message a packet, in the order of submission. What the others are compared with.
pub struct Fifo;

impl Strategy for Fifo {
    fn name(&self) -> &'static str {
        "fifo"
    }

    fn by_priority(&self) -> bool {
        false
    }

    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut Draft) {
        if !packet.add_control() {
            in_turn(
                backlog,
                packet,
                |backlog, packet| tactics::one(backlog, rail, packet, By::Arrival),
                whole,
            );
        }
    }
}

/// Everything small that waits goes into one packet, in the order of submission.
pub struct Aggregate;

impl Strategy for Aggregate {
    fn name(&self) -> &'static str {
        "aggregate"
    }

    fn by_priority(&self) -> bool {
        false
    }

    fn gathers(&self) -> bool {
        true
    }

    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut Draft) {
        tactics::control_first(rail, packet);
        in_turn(
            backlog,
            packet,
            |backlog, packet| tactics::aggregate(backlog, rail, packet, By::Arrival),
            whole,
        );
    }
}

/// As `aggregate`, the most urgent first.
pub struct Priority;

impl Strategy for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut Draft) {
        tactics::control_first(rail, packet);
        in_turn(
            backlog,
            packet,
            |backlog, packet| tactics::aggregate(backlog, rail, packet, By::Priority),
            whole,
        );
    }
}

/// As `priority`; large messages are cut so that all rails end together.
pub struct Split;

impl Strategy for Split {
    fn name(&self) -> &'static str {
        "split"
    }

    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut Draft) {
        tactics::control_first(rail, packet);
        let share = tactics::share_of(rail, backlog.streaming_bytes());
        in_turn(
            backlog,
            packet,
            |backlog, packet| tactics::aggregate(backlog, rail, packet, By::Priority),
            |backlog, packet| tactics::piece(backlog, packet, share),
        );
    }
}

fn whole(backlog: &mut Backlog, packet: &mut Draft) {
    tactics::piece(backlog, packet, usize::MAX);
}

/// Messages and pieces of large ones alternate while there are both.
fn in_turn(
    backlog: &mut Backlog,
    packet: &mut Draft,
    messages: impl Fn(&mut Backlog, &mut Draft),
    pieces: impl Fn(&mut Backlog, &mut Draft),
) {
    if packet.is_empty() && backlog.has_streams() && !backlog.piece_was_last() {
        pieces(backlog, packet);
    }
    if packet.is_empty() || !packet.is_piece() {
        messages(backlog, packet);
    }
    if packet.is_empty() {
        pieces(backlog, packet);
    }
}
