//! Reusable steps of strategies.

use super::{Draft, RailView};
use crate::backlog::{Backlog, By};

/// Smaller pieces than this are not worth a packet of their own.
pub const LEAST_PIECE: usize = 16 << 10;

/// A packet that costs less is not worth sharing: putting messages together costs about as much for each.
const SHARED_NS: u32 = 200;

/// All answers that wait, as far as they fit: whole transfers wait for them. Where packets cost little, one.
pub fn control_first(rail: &RailView<'_>, packet: &mut Draft) {
    while packet.add_control() && rail.caps.overhead_ns >= SHARED_NS {}
}

/// As many messages as fit into the rail's best packet, of any flow and tag. Where packets cost little, one.
pub fn aggregate(backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut Draft, by: By) {
    if rail.caps.overhead_ns < SHARED_NS {
        return one(backlog, rail, packet, by);
    }
    while packet.add_message(backlog, rail, by, rail.caps.best_packet) {}
}

/// One message.
pub fn one(backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut Draft, by: By) {
    if packet.is_empty() {
        packet.add_message(backlog, rail, by, 0);
    }
}

/// A piece of at most `most` bytes of a large message.
pub fn piece(backlog: &mut Backlog, packet: &mut Draft, most: usize) {
    packet.add_piece(backlog, most);
}

/// As much of a message with `left` bytes as lets all links end together: what this one can carry until then, beside what
/// is under way on it. Nothing, if the others are done before; but something, if nothing is under way that could end.
pub fn share_of(rail: &RailView<'_>, left: usize) -> usize {
    let (mine, all) = (u64::from(rail.speed.bytes_per_us), u64::from(rail.together.bytes_per_us.max(1)));
    if mine >= all {
        return left;
    }
    let total = rail.together.under_way as u64 + left as u64;
    let until_the_end = (total * mine / all) as usize;
    let share = until_the_end.saturating_sub(rail.speed.under_way).min(left);
    match LEAST_PIECE.min(left) {
        least if share >= least => share,
        least if rail.together.under_way == 0 => least,
        _ => 0,
    }
}
