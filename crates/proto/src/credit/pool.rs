//! The credit that a rank has to give, shared out among its peers.

use canele_sys::ids::Rank;

use super::{Credit, LEAST_WINDOW, base_window};

/// The width up to which a window grows by use alone, in bytes; at least the peer's equal share. A wide
/// window returns credit seldom.
const WIDE_BY_USE: u64 = 64 << 10;

/// The credit of a rank that none of its peers has.
pub(crate) struct CreditPool {
    free: u64,
    /// The window of each rank at the start; ranks from `added` on start with the least.
    base: u64,
    added: usize,
    /// An equal share for each rank.
    share: u64,
    /// The last peer that was refused although it has less than an equal share.
    refused: Option<Rank>,
}

impl CreditPool {
    /// Makes a pool of `total` bytes less the base of each rank.
    pub fn new(total: u64, ranks: usize) -> Self {
        let base = base_window(total, ranks);
        let free = total.saturating_sub(base * ranks as u64);
        Self { free, base, added: ranks, share: (total / ranks as u64).max(base), refused: None }
    }

    /// Makes a pool of `total` bytes less the least window of each rank. A rank that was added to a running
    /// job starts so: it does not know how its peers shared out theirs.
    pub fn least(total: u64, ranks: usize) -> Self {
        let free = total.saturating_sub(LEAST_WINDOW * ranks as u64);
        Self { free, added: 0, ..Self::new(total, ranks) }
    }

    /// Adds ranks, each of which begins with the least.
    pub fn grow(&mut self, ranks: usize) {
        self.free = self.free.saturating_sub(LEAST_WINDOW * ranks as u64);
    }

    /// Doubles the window of a peer that has used it, while it is not wide; returns by how much it grew.
    pub fn widen_by_use(&mut self, rank: Rank, credit: &mut Credit) -> u64 {
        let wide = credit.window >= self.share.max(WIDE_BY_USE);
        let others_first = self.free < self.share && self.refused.is_some_and(|refused| refused != rank);
        if wide || others_first {
            return 0;
        }
        self.add(rank, credit, credit.window, 0)
    }

    /// Widens the window of a peer for a message that it had no credit for; returns by how much. A window
    /// that was used up is doubled, or more for a longer message. A peer that did not know of its credit yet
    /// gets enough for that message alone.
    pub fn widen(&mut self, rank: Rank, credit: &mut Credit, cost: u64) -> u64 {
        let window = credit.window;
        let wanted = match credit.outstanding() >= cost {
            true => cost.saturating_sub(credit.to_return),
            false => window.max(cost).saturating_mul(2) - window,
        };
        self.add(rank, credit, wanted, cost)
    }

    /// Adds up to `wanted` bytes to a window, if a message of this cost then fits into it. Beyond an equal
    /// share, at least as many bytes stay free as the window has then.
    fn add(&mut self, rank: Rank, credit: &mut Credit, wanted: u64, cost: u64) -> u64 {
        let window = credit.window;
        let to_share = self.share.saturating_sub(window).min(self.free);
        let added = wanted.min(to_share.max(self.free.saturating_sub(window) / 2));
        if wanted > 0 && (added == 0 || window + added < cost) {
            if window < self.share && cost <= self.share {
                self.refused = Some(rank);
            }
            return 0;
        }
        self.free -= added;
        credit.window += added;
        self.refused.take_if(|refused| *refused == rank);
        added
    }

    /// Keeps part of the credit to be returned to a peer that has more than its share, if another one with
    /// less was refused; returns how much.
    pub fn narrow(&mut self, rank: Rank, credit: &mut Credit, returned: u64) -> u64 {
        if self.refused.is_none_or(|refused| refused == rank) || credit.window <= self.share {
            return 0;
        }
        let kept = (returned / 2).min(credit.window - self.share);
        self.take_back(credit, kept);
        self.refused = None;
        kept
    }

    /// Takes back the uncharged part of the window of a peer that needs no more.
    pub fn reclaim(&mut self, rank: Rank, credit: &mut Credit) {
        self.refused.take_if(|refused| *refused == rank);
        let base = if (rank.0 as usize) < self.added { self.base } else { LEAST_WINDOW };
        self.take_back(credit, credit.window.saturating_sub(credit.charged.max(base)));
    }

    fn take_back(&mut self, credit: &mut Credit, bytes: u64) {
        credit.window -= bytes;
        self.free += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTAL: u64 = 1 << 20;
    const RANKS: usize = 8;
    const SHARE: u64 = TOTAL / RANKS as u64;
    const BASE: u64 = SHARE / 2;

    /// A pool and peers that have used all credit that they were given.
    fn pool() -> (CreditPool, [Credit; RANKS]) {
        (CreditPool::new(TOTAL, RANKS), [(); RANKS].map(|()| used()))
    }

    fn used() -> Credit {
        Credit { charged: BASE, ..Credit::new(BASE) }
    }

    /// Widens the window of a peer whose message finds no credit, and uses all that is added.
    fn lacks(pool: &mut CreditPool, peers: &mut [Credit; RANKS], at: usize, cost: u64) -> u64 {
        let added = pool.widen(Rank(at as u32), &mut peers[at], cost);
        peers[at].charged += added;
        let given: u64 = peers.iter().map(|peer| peer.window).sum();
        assert_eq!(given + pool.free, TOTAL);
        added
    }

    #[test]
    fn a_window_doubles_and_leaves_as_much_to_others() {
        let (mut pool, mut peers) = pool();
        assert_eq!(lacks(&mut pool, &mut peers, 1, 200), BASE);
        assert_eq!(lacks(&mut pool, &mut peers, 1, 140_000), 2 * 140_000 - SHARE);
        while lacks(&mut pool, &mut peers, 1, 200) > 0 {}
        assert!(peers[1].window > 2 * SHARE && peers[1].window <= pool.free + 1);
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
    fn numbers_of_a_peer_overflow_nothing() {
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
        let before = peers[1].window;
        assert_eq!(pool.widen_by_use(Rank(5), &mut peers[5]), 0, "another is served first");
        assert_eq!(pool.narrow(Rank(1), &mut peers[1], before / 2), (before / 4).min(before - SHARE));
        assert_eq!(pool.narrow(Rank(1), &mut peers[1], before / 2), 0, "once for each refusal");
        assert!(pool.widen(Rank(4), &mut peers[4], 5000) > 0);
        assert!(peers[1].window >= SHARE);
    }

    #[test]
    fn a_peer_that_sends_nothing_more_gives_back_what_is_not_charged() {
        let (mut pool, mut peers) = pool();
        let free = pool.free;
        pool.widen(Rank(1), &mut peers[1], 10_000);
        peers[1].charged = 100_000;
        pool.reclaim(Rank(1), &mut peers[1]);
        assert_eq!((peers[1].window, pool.free), (100_000, free + BASE - 100_000));
        peers[1].charged = 0;
        pool.reclaim(Rank(1), &mut peers[1]);
        assert_eq!((peers[1].window, pool.free), (BASE, free));
    }
}
