//! Credit: what a message costs, and how a rank shares out among its peers what it may have to keep of them.
//!
//! ```text
//!          ── the peer used its window, or lacked credit for a message ──▶
//!    pool                                                                  window of the peer = credit that it has
//!          ◀── it is gone, or has more than its share when another lacks ──    + under way + charged here + to be returned
//! ```
//! The windows of all ranks together are never more than [`Settings::unexpected_bytes`](crate::Settings), or 1024 bytes for each.
//! Half of that is shared out at the start. Beyond an equal share a window grows only while as much as it has stays free for others: the
//! dynamic thresholds of switches with a shared buffer (Choudhury and Hahne, 1998).

use canele_sys::ids::Rank;

use crate::Proto;
use crate::peer::Peer;
use crate::wire::Rts;

/// What an unexpected message costs its receiver beside its payload, in bytes of credit: its places in the two tables
/// it waits in, a little more than they take. With less, a flood of short messages takes more memory than its cap.
pub const ENTRY_BYTES: u64 = 160;

/// No window is narrower, in bytes: a few short messages.
pub(crate) const LEAST_WINDOW: u64 = 1024;

/// A window grows by use alone up to this, in bytes, or up to the peer's equal share if that is more: so credit is returned seldom.
const WIDE_BY_USE: u64 = 64 << 10;

/// The credit a message of `len` bytes takes.
#[inline(always)]
pub fn credit_cost(len: usize) -> u64 {
    ENTRY_BYTES + len as u64
}

/// The window that each peer has at the start: an equal share of half of `total` bytes.
pub fn base_window(total: u64, ranks: usize) -> u64 {
    (total / 2 / ranks as u64).max(LEAST_WINDOW)
}

/// The credit of a rank that none of its peers has.
pub(crate) struct CreditPool {
    free: u64,
    /// What each rank begins with, and from which rank on that is the least.
    base: u64,
    added: usize,
    /// An equal share for each rank.
    share: u64,
    /// The peer that was refused last although it has less than that.
    refused: Option<Rank>,
}

impl CreditPool {
    /// What is left of `total` bytes when each of the ranks has its base.
    pub fn new(total: u64, ranks: usize) -> Self {
        let base = base_window(total, ranks);
        let free = total.saturating_sub(base * ranks as u64);
        Self { free, base, added: ranks, share: (total / ranks as u64).max(base), refused: None }
    }

    /// What is left of `total` bytes when each of the ranks has the least: of a rank that was added to a running job, and does not
    /// know how its peers shared out theirs.
    pub fn least(total: u64, ranks: usize) -> Self {
        let free = total.saturating_sub(LEAST_WINDOW * ranks as u64);
        Self { free, added: 0, ..Self::new(total, ranks) }
    }

    /// There are so many ranks more, each of which begins with the least.
    pub fn grow(&mut self, ranks: usize) {
        self.free = self.free.saturating_sub(LEAST_WINDOW * ranks as u64);
    }

    /// Doubles the window of a peer that has used it, while it is not wide; returns by how much it grew.
    pub fn widen_by_use(&mut self, rank: Rank, peer: &mut Peer) -> u64 {
        let wide = peer.credit_window >= self.share.max(WIDE_BY_USE);
        let others_first = self.free < self.share && self.refused.is_some_and(|refused| refused != rank);
        if wide || others_first {
            return 0;
        }
        self.add(rank, peer, peer.credit_window, 0)
    }

    /// Widens the window of a peer for a message that it had no credit for; returns by how much. A window that was used up is
    /// doubled, or more for a longer message. A peer that had not yet learnt of its credit gets enough for that message alone.
    pub fn widen(&mut self, rank: Rank, peer: &mut Peer, cost: u64) -> u64 {
        let window = peer.credit_window;
        let wanted = match peer.credit_out() >= cost {
            true => cost.saturating_sub(peer.to_return),
            false => window.max(cost).saturating_mul(2) - window,
        };
        self.add(rank, peer, wanted, cost)
    }

    /// Adds to a window as much as is wanted and free, if then a message of this cost has its place there.
    fn add(&mut self, rank: Rank, peer: &mut Peer, wanted: u64, cost: u64) -> u64 {
        let window = peer.credit_window;
        let to_share = self.share.saturating_sub(window).min(self.free);
        let added = wanted.min(to_share.max(self.free.saturating_sub(window) / 2));
        if wanted > 0 && (added == 0 || window + added < cost) {
            if window < self.share && cost <= self.share {
                self.refused = Some(rank);
            }
            return 0;
        }
        self.free -= added;
        peer.credit_window += added;
        self.refused.take_if(|refused| *refused == rank);
        added
    }

    /// Keeps part of what would be returned to a peer that has more than its share, if another has less; returns how much.
    pub fn narrow(&mut self, rank: Rank, peer: &mut Peer, returned: u64) -> u64 {
        if self.refused.is_none_or(|refused| refused == rank) || peer.credit_window <= self.share {
            return 0;
        }
        let kept = (returned / 2).min(peer.credit_window - self.share);
        self.take_back(peer, kept);
        self.refused = None;
        kept
    }

    /// Takes back what is not charged of the window of a peer that needs no more.
    pub fn reclaim(&mut self, rank: Rank, peer: &mut Peer) {
        self.refused.take_if(|refused| *refused == rank);
        let base = if (rank.0 as usize) < self.added { self.base } else { LEAST_WINDOW };
        self.take_back(peer, peer.credit_window.saturating_sub(peer.charged.max(base)));
    }

    fn take_back(&mut self, peer: &mut Peer, bytes: u64) {
        peer.credit_window -= bytes;
        self.free += bytes;
    }
}

impl Proto {
    /// Notes that a peer had no credit for a message, if it says so: its window may grow.
    pub(crate) fn note_lack(&mut self, from: Rank, rts: &Rts) {
        if rts.lacks_credit {
            let pulls = self.peers[from.0 as usize].pulls.get_or_insert_default();
            pulls.lacked = pulls.lacked.max(rts.len.saturating_add(ENTRY_BYTES));
            self.list(from);
        }
    }

    /// Keeps a message of a peer no more.
    pub(crate) fn discharge(&mut self, from: Rank, len: usize) {
        self.traffic.release_credit(credit_cost(len));
        let peer = &mut self.peers[from.0 as usize];
        peer.charged -= credit_cost(len);
        if peer.silent || from == self.me {
            self.credit_pool.reclaim(from, peer);
        }
    }

    /// Takes back the credit of a peer that is gone, if it sends nothing more.
    pub(crate) fn reclaim_credit(&mut self, peer: Rank) {
        let state = &mut self.peers[peer.0 as usize];
        if state.silent {
            self.credit_pool.reclaim(peer, state);
        }
    }

    /// Returns true if a message to this rank itself may be kept, and counts it.
    pub(crate) fn charge_own(&mut self, len: usize) -> bool {
        let (cost, own) = (credit_cost(len), &mut self.peers[self.me.0 as usize]);
        if own.charged + cost > own.credit_window {
            self.credit_pool.widen(self.me, own, cost);
        }
        let fits = own.charged + cost <= own.credit_window;
        if fits {
            own.charged += cost;
            self.traffic.hold_credit(cost);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: u64 = 1 << 20;
    const RANKS: usize = 8;
    const SHARE: u64 = TOTAL / RANKS as u64;
    const BASE: u64 = SHARE / 2;

    /// A pool and peers that have used all that they were given.
    fn pool() -> (CreditPool, [Peer; RANKS]) {
        (CreditPool::new(TOTAL, RANKS), [(); RANKS].map(|()| used()))
    }

    fn used() -> Peer {
        let mut peer = Peer::untouched(BASE);
        peer.charged = BASE;
        peer
    }

    /// A message of a peer finds no credit, and all that the peer is given then is used.
    fn lacks(pool: &mut CreditPool, peers: &mut [Peer; RANKS], at: usize, cost: u64) -> u64 {
        let added = pool.widen(Rank(at as u32), &mut peers[at], cost);
        peers[at].charged += added;
        let given: u64 = peers.iter().map(|peer| peer.credit_window).sum();
        assert_eq!(given + pool.free, TOTAL);
        added
    }

    #[test]
    fn a_window_doubles_and_leaves_as_much_to_others() {
        let (mut pool, mut peers) = pool();
        assert_eq!(lacks(&mut pool, &mut peers, 1, 200), BASE);
        assert_eq!(lacks(&mut pool, &mut peers, 1, 140_000), 2 * 140_000 - SHARE);
        while lacks(&mut pool, &mut peers, 1, 200) > 0 {}
        assert!(peers[1].credit_window > 2 * SHARE && peers[1].credit_window <= pool.free + 1);
        assert_eq!(pool.refused, None, "it has more than its share");
    }

    #[test]
    fn an_announcement_that_credit_has_overtaken_is_paid_and_no_more() {
        let (mut pool, mut peers) = pool();
        peers[1].charged = 0;
        assert_eq!(pool.widen(Rank(1), &mut peers[1], 1000), 1000);
        peers[1].to_return = 1000;
        assert_eq!(pool.widen(Rank(1), &mut peers[1], 1000), 0, "what is in hand is enough");
    }

    #[test]
    fn nobody_can_make_numbers_overflow() {
        let (mut pool, mut peers) = pool();
        assert_eq!(lacks(&mut pool, &mut peers, 1, u64::MAX), 0);
        assert_eq!(pool.refused, None, "no share would be enough");
    }

    #[test]
    fn who_has_more_than_a_share_makes_room_for_who_has_less() {
        let (mut pool, mut peers) = pool();
        for at in 1..4 {
            while lacks(&mut pool, &mut peers, at, 200) > 0 {}
        }
        pool.free = 0; // As if others had the rest.
        let wanted = SHARE - BASE;
        assert_eq!(pool.widen(Rank(4), &mut peers[4], wanted), 0);
        assert_eq!(pool.narrow(Rank(4), &mut peers[4], 500), 0, "it is the one that lacks credit");
        let before = peers[1].credit_window;
        assert_eq!(pool.widen_by_use(Rank(5), &mut peers[5]), 0, "another is served first");
        assert_eq!(pool.narrow(Rank(1), &mut peers[1], before / 2), (before / 4).min(before - SHARE));
        assert_eq!(pool.narrow(Rank(1), &mut peers[1], before / 2), 0, "once for each refusal");
        assert!(pool.widen(Rank(4), &mut peers[4], 5000) > 0);
        assert!(peers[1].credit_window >= SHARE);
    }

    #[test]
    fn a_peer_that_sends_nothing_more_gives_back_what_is_not_charged() {
        let (mut pool, mut peers) = pool();
        let free = pool.free;
        pool.widen(Rank(1), &mut peers[1], 10_000);
        peers[1].charged = 100_000;
        pool.reclaim(Rank(1), &mut peers[1]);
        assert_eq!((peers[1].credit_window, pool.free), (100_000, free + BASE - 100_000));
        peers[1].charged = 0;
        pool.reclaim(Rank(1), &mut peers[1]);
        assert_eq!((peers[1].credit_window, pool.free), (BASE, free));
    }
}
