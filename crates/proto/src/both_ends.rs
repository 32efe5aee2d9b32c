//! Pieces of a transfer that both ends copy.
//!
//! If both buffers lie in regions, or each end can access the memory of the other's process, both ends copy.
//! They take pieces from a chunk counter in shared memory: the receiver from the front, the sender from the
//! back. Either end can finish alone. Only the receiver ends such a transfer, when neither end copies any
//! more (invariant I13).
//!
//! ```text
//!   regions: reach ─▶ window ─▶ copy       processes: receiver: copy_from_peer   sender: copy_to_peer
//!   a sender that cannot write fails its piece  ─▶ the receiver reads all of it alone
//!   a receiver that cannot read takes the rest  ─▶ once the sender stops, it asks for the message in pieces
//! ```

use canele_mem::chunk_counter::{self, ChunkCounter, CopyProgress};
use canele_rail::{FullRail, Reach};
use canele_sys::ids::LinkId;

use crate::direct::{ALONE, Step, reach};
use crate::request::{Fallback, Receive, Send, Share};
use crate::wire::BufferPlace;

/// Returns the length of the pieces of a transfer copied by both ends. A piece between processes costs system
/// calls, so a short message has two.
pub(crate) fn piece_of(far: BufferPlace, len: usize) -> usize {
    let least = match far {
        BufferPlace::Region(_) => 16 << 10,
        BufferPlace::Process(_) => len.div_ceil(2).next_multiple_of(4096).min(32 << 10),
    };
    let most_pieces = chunk_counter::MOST_PIECES as usize;
    (len / 8).next_multiple_of(4096).clamp(least, ALONE).max(len.div_ceil(most_pieces))
}

/// Copies the lowest piece that is left, as the receiver. If none is left, it checks whether the sender still
/// copies.
pub(crate) fn copy_front<R: FullRail>(
    rail: &mut R,
    receive: &mut Receive,
    share: &mut Share,
    copies: &mut u64,
) -> Step {
    let (from, len, pieces) = (receive.from, receive.len, share.pieces(receive.len));
    let Some(link) = rail.link(from) else { return Step::Waits };
    let copied = match reach_far(rail, link, share, len) {
        Step::Copied => {
            let counter = counter_of(rail, link, true, share);
            match counter.and_then(|counter| counter.take_front(share.generation, pieces)) {
                Some(piece) => copy_piece_here(rail, link, receive, share.far, share.piece_at(piece, len)),
                None => Step::Over,
            }
        }
        other => other,
    };
    match copied {
        Step::Copied => {
            *copies += 1;
            return Step::Copied;
        }
        Step::Lost => share.fallback = Some(Fallback::Pieces),
        Step::Waits if share.fallback.is_none() => return Step::Waits,
        Step::Over | Step::Waits | Step::Verb(..) => {}
    }
    let Some(counter) = counter_of(rail, link, true, share) else { return Step::Waits };
    if share.fallback.is_some() {
        // Neither end copies the rest. The sender writes into the memory of this rank until it has copied the
        // pieces that it took.
        counter.take_rest(share.generation, pieces);
    }
    match counter.progress(share.generation, pieces) {
        CopyProgress::Copying => Step::Waits,
        CopyProgress::Done => Step::Over,
        CopyProgress::Failed => {
            share.fallback.get_or_insert(Fallback::ReadAlone);
            Step::Over
        }
    }
}

/// Copies the `n` bytes at `at` of a message from its place into the receiver's buffer.
pub(crate) fn copy_piece_here<R: FullRail>(
    rail: &mut R,
    link: LinkId,
    receive: &mut Receive,
    far: BufferPlace,
    (at, n): (usize, usize),
) -> Step {
    let Receive { from, buffer, len, .. } = receive;
    match far {
        BufferPlace::Region(far) => reach(rail, *from, far, at, n, |window| buffer.copy_from(at, window)),
        BufferPlace::Process(memory) => {
            let copied = memory
                .stretches(at, n)
                .is_some_and(|stretches| rail.copy_from_peer(link, &stretches, *len, buffer.share(at, n)));
            if copied { Step::Copied } else { Step::Lost }
        }
    }
}

/// Copies the highest piece that is left, as the sender. A piece that was taken is copied, or reported as
/// failed.
pub(crate) fn copy_back<R: FullRail>(rail: &mut R, send: &mut Send, share: &Share, copies: &mut u64) -> Step {
    let (to, len) = (send.to, send.buffer.len());
    let Some(link) = rail.link(to) else { return Step::Waits };
    match reach_far(rail, link, share, len) {
        Step::Copied => {}
        other => return other,
    }
    if matches!(share.far, BufferPlace::Process(_)) && !rail.can_copy_to_peer(link) {
        return Step::Lost;
    }
    let counter = counter_of(rail, link, false, share);
    let Some(piece) = counter.and_then(|counter| counter.take_back(share.generation, share.pieces(len)))
    else {
        return Step::Over;
    };
    let (at, n) = share.piece_at(piece, len);
    let is_copied = match share.far {
        BufferPlace::Region(far) => {
            let step = reach(rail, to, far, at, n, |window| send.buffer.copy_to(at, window));
            matches!(step, Step::Copied)
        }
        BufferPlace::Process(memory) => memory
            .stretches(at, n)
            .is_some_and(|stretches| rail.copy_to_peer(link, &stretches, send.buffer.share(at, n))),
    };
    let Some(counter) = counter_of(rail, link, false, share) else { return Step::Over };
    if !is_copied {
        counter.fail_piece();
        return Step::Over;
    }
    counter.finish_piece();
    *copies += 1;
    Step::Copied
}

/// Checks that the other end's memory can be reached before a piece is taken: a piece that was taken must be
/// copied. Memory of a process is tried by the copy itself.
fn reach_far<R: FullRail>(rail: &mut R, link: LinkId, share: &Share, len: usize) -> Step {
    let BufferPlace::Region(far) = share.far else { return Step::Copied };
    match rail.reach(link, far, len) {
        Reach::Here(_) => Step::Copied,
        Reach::Wanted => Step::Waits,
        Reach::Refused => Step::Lost,
    }
}

/// Returns the chunk counter of a transfer, for its receiver (`mine`) or its sender.
fn counter_of<'a, R: FullRail>(
    rail: &'a mut R,
    link: LinkId,
    mine: bool,
    share: &Share,
) -> Option<&'a ChunkCounter> {
    rail.chunk_counter(link, mine, share.chunk_counter as usize)
}
