//! Scans: operands keep their places.
//!
//! ```text
//!   doubling:  rank ─▶ rank + 1, + 2, + 4 …: the whole vector in each of ⌈log₂ N⌉ rounds
//!   pieces:    rank ─▶ rank + 1, piece after piece: each byte crosses each port once, for any rank count
//! ```

use super::doubling;
use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};

/// Hillis and Steele: in round `k` each rank gets the sum of the 2ᵏ ranks up to the one 2ᵏ before it.
pub(crate) fn inclusive(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, result: Span) {
    s.round().copy(input, result);
    for distance in doubling(seat.ranks) {
        s.round();
        if seat.me + distance < seat.ranks {
            s.send(seat.me + distance, result);
        }
        if seat.me >= distance {
            let part = s.scratch(input.len);
            s.receive(seat.me - distance, part).reduce(part, result, true);
        }
    }
}

/// Scan without the own input: a received sum is reduced into the sum to be handed on, and into the result,
/// which does not have the own input.
pub(crate) fn exclusive(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, result: Span) {
    let have = s.scratch(input.len);
    s.round().copy(input, have);
    for distance in doubling(seat.ranks) {
        s.round();
        if seat.me + distance < seat.ranks {
            s.send(seat.me + distance, have);
        }
        if seat.me >= distance {
            let part = s.scratch(input.len);
            s.receive(seat.me - distance, part);
            if distance == 1 {
                s.copy(part, result);
            } else {
                s.reduce(part, result, true);
            }
            s.reduce(part, have, true);
        }
    }
}

/// The least length of a piece.
const LEAST_PIECE: f64 = 512.0;

/// Returns the number of pieces of a vector of so many bytes. A further piece would cost as much in messages
/// as the last rank saves by a shorter wait.
pub(crate) fn pieces(seat: Seat, bytes: usize) -> usize {
    let hops = seat.ranks.saturating_sub(2) as f64;
    let (message_ns, byte_ns) = seat.costs.hop_ns();
    let best = (hops * bytes as f64 * byte_ns / message_ns).sqrt();
    let most = (bytes as f64 / LEAST_PIECE).floor();
    if seat.oversubscribed { 1 } else { best.min(most).max(1.0) as usize }
}

/// Chain: each rank adds its own input behind the sum of the rank before it, and sends that on, piece after
/// piece.
pub(crate) fn by_pieces(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    input: Span,
    (result, element): (Span, usize),
    exclusive: bool,
) {
    let Seat { me, ranks, .. } = seat;
    let (is_first, is_last) = (me == 0, me + 1 == ranks);
    let most = input.len.div_ceil(pieces(seat, input.len)).next_multiple_of(element);
    // The sum for the next rank; received data must not lie in the own input.
    let sum = match exclusive {
        _ if is_first => input,
        true if is_last => Span::NOTHING,
        true => s.scratch(input.len),
        false => result,
    };
    let coming = if input.overlaps(result) && !is_first { s.scratch(input.len) } else { result };
    let mut ready = Span::NOTHING;
    for at in (0..input.len).step_by(most.max(1)) {
        let piece = |of: Span| if of.len == 0 { of } else { of.part(at, most.min(input.len - at)) };
        s.round();
        if ready.len > 0 {
            s.send(me + 1, ready);
        }
        if !is_first {
            s.receive(me - 1, piece(coming));
            own_behind(s, (piece(input), piece(coming)), (piece(sum), piece(result)), exclusive);
        }
        ready = if is_last { Span::NOTHING } else { piece(sum) };
    }
    s.round();
    if ready.len > 0 {
        s.send(me + 1, ready);
    }
    if is_first && !exclusive {
        s.copy(input, result);
    }
}

/// Handles a piece that has come: makes its result, and, if there is a next rank, the sum for it.
fn own_behind(
    s: &mut ScheduleDraft<'_>,
    (own, come): (Span, Span),
    (sum, result): (Span, Span),
    exclusive: bool,
) {
    match exclusive {
        true => {
            // The result may lie in the own input.
            s.copy(own, sum);
            if sum.len > 0 {
                s.reduce(come, sum, true);
            }
            s.copy(come, result);
        }
        false if come == result => {
            s.reduce(own, result, false);
        }
        false => {
            s.reduce(come, result, true);
        }
    }
}
