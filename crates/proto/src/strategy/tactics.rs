//! Reusable steps of strategies.

use canele_rail::Speed;

use super::{PacketDraft, RailView};
use crate::backlog::{Backlog, By};

/// The length of the shortest piece that is worth a packet of its own.
pub const LEAST_PIECE: usize = 4 << 10;

const PAGE: usize = 4 << 10;

/// The least cost of a packet that is worth sharing: combining costs about as much for each message.
const SHARED_NS: u32 = 200;

/// Adds all waiting answers that fit: whole transfers wait for them. If packets cost little, it adds one.
pub fn control_first(rail: &RailView<'_>, packet: &mut PacketDraft) {
    while packet.add_control() && rail.caps.overhead_ns >= SHARED_NS {}
}

/// Adds as many messages as fit into the rail's best packet, of any flow and tag. If packets cost little, it
/// adds one.
pub fn aggregate(backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft, by: By) {
    if rail.caps.overhead_ns < SHARED_NS {
        return one(backlog, rail, packet, by);
    }
    while packet.add_message(backlog, rail, by, rail.caps.best_packet) {}
}

/// Adds one message.
pub fn one(backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft, by: By) {
    if packet.is_empty() {
        packet.add_message(backlog, rail, by, 0);
    }
}

/// Adds a piece of at most `most` bytes of a large message.
pub fn piece(backlog: &mut Backlog, packet: &mut PacketDraft, most: usize) {
    packet.add_piece(backlog, most);
}

/// Adds a piece as long as the rail takes, unless the other rails together would deliver the rest before it.
pub fn timely_piece(backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft) {
    let left = backlog.streaming_bytes();
    let whole = rail.piece.min(left);
    if share_of(rail, left) >= whole || delivers_first(rail, whole) {
        piece(backlog, packet, usize::MAX);
    }
}

/// Adds a piece cut so that this rail ends together with the others.
pub fn fair_piece(backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft) {
    let left = backlog.streaming_bytes();
    let least = LEAST_PIECE.min(left);
    match share_of(rail, left) {
        share if share >= least => piece(backlog, packet, share),
        _ if delivers_first(rail, least) => piece(backlog, packet, least),
        _ => {}
    }
}

/// Returns the share of large messages with `left` bytes that lets all links end together. This link can
/// carry it until then, beside the bytes under way on it. The shares of all links add up to `left` or more.
pub fn share_of(rail: &RailView<'_>, left: usize) -> usize {
    if rail.links.len() < 2 {
        return left;
    }
    let rate = |speed: &Speed| u64::from(speed.bytes_per_us);
    let all: u64 = rail.links.iter().map(rate).sum();
    let total = rail.links.iter().map(|speed| speed.under_way).sum::<usize>() + left;
    let until_the_end = (total as u128 * u128::from(rate(&rail.speed)) / u128::from(all.max(1))) as usize;
    match until_the_end.saturating_sub(rail.speed.under_way).min(left) {
        share if share == left => left,
        // A share is whole pages, so that the pieces of an aligned message begin at pages.
        share => share / PAGE * PAGE,
    }
}

/// Returns true if no other link to the peer would deliver `bytes` sooner, behind the bytes under way. Such a
/// link may always take them, so that one link always progresses.
pub fn delivers_first(rail: &RailView<'_>, bytes: usize) -> bool {
    // So many microseconds, times the rate of the other link.
    let time = |speed: &Speed, other: &Speed| {
        (speed.under_way + bytes) as u128 * u128::from(other.bytes_per_us.max(1))
    };
    rail.links.iter().all(|other| time(&rail.speed, other) <= time(other, &rail.speed))
}
