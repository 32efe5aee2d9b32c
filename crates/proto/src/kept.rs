//! Short messages that wait for room as copies: their memory is the sender's again at once, and they need no request.
//!
//! Only where packets are put together (links whose messages carry numbers): elsewhere a message that finds no room waits for
//! a receiver, and its sender had better wait with it. Never more than [`MOST`] for a peer, and none without credit, which it takes
//! when it joins: a copy cannot be announced (invariant I51).

use canele_rail::{MAX_INLINE, Rail};
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::Proto;
use crate::backlog::Waiting;
use crate::peer::cost;
use crate::request::{Buffer, Outcome, Status};

/// Copies that may wait for one peer.
const MOST: usize = 4096;

/// A short message of which a copy waits, or has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    to: Rank,
    tag: Tag,
    len: u8,
    /// How many copies have to leave until it is sure that this one has.
    number: u32,
}

impl Proto {
    /// Sends a message of at most [`MAX_INLINE`] bytes as soon as there is room, from a copy; nothing if it must take the
    /// general path.
    #[inline]
    pub fn try_keep<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        bytes: &[u8],
    ) -> Option<Kept> {
        let len = bytes.len();
        let (level, lane) = self.standing(flow);
        let peer = self.peers.known_mut(to)?;
        let may = peer.lines.is_some() && peer.gone.is_none() && peer.credit >= cost(len);
        if !may || len > MAX_INLINE || peer.backlog().copies() >= MOST {
            return None;
        }
        let busy = peer.listed && peer.has_messages();
        peer.credit -= cost(len);
        peer.open = false;
        let waiting = Waiting { request: None, flow, bytes: len, eager: true, level, lane };
        let number = peer.backlog().join_copy(waiting, tag, bytes);
        self.count_waiting(to);
        if !busy {
            self.list(to);
            self.transmit_to(rail, to);
        }
        Some(Kept { to, tag, len: len as u8, number })
    }

    /// How a message ended of which a copy was kept; nothing while it may still wait.
    pub fn take_kept(&mut self, kept: Kept) -> Option<Outcome> {
        let Kept { to, tag, len, number } = kept;
        let left = |count: u32| count.wrapping_sub(number) as i32 >= 0;
        let peer = &self.peers[to.0 as usize];
        let result = match (&peer.backlog, self.forsaken.get(&to)) {
            (_, Some(count)) if !left(*count) => Err(self.why_gone(to)?),
            (Some(backlog), None) if !left(backlog.copies_left()) => return None,
            _ => Ok(Status { source: to, tag, bytes: len.into() }),
        };
        Some(Outcome { result, buffer: Buffer::None })
    }
}
