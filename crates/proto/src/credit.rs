//! Flow control by credit: the costs of messages, and the shares of a rank's memory for them that its peers
//! get.
//!
//! ```text
//!          ── the peer used its window, or lacked credit for a message ──▶   window of the peer =
//!    pool                                                                    credit that it has + under way
//!          ◀── it is gone, or has more than its share when another lacks ──  + charged here + to be returned
//! ```
//! The windows of all ranks together are never more than [`Settings::unexpected_bytes`](crate::Settings), or
//! 1024 bytes for each. Half of that is shared out at the start. Beyond an equal share, a window grows only
//! while as many bytes as it has stay free for other peers. Switches with a shared buffer have such dynamic
//! thresholds (Choudhury and Hahne, 1998).

mod pool;

use canele_rail::{Corrupt, MAX_INLINE};
use canele_sys::ids::Rank;

use crate::Proto;
use crate::wire::Rts;
pub(crate) use pool::CreditPool;

/// The cost of an unexpected message beside its payload, in bytes of credit: slightly more than its entries
/// in two tables take. With less, a flood of short messages takes more memory than its cap.
pub const ENTRY_BYTES: u64 = 160;

/// The narrowest window, in bytes: a few short messages.
pub(crate) const LEAST_WINDOW: u64 = 1024;

/// Returns the credit that a message of `len` bytes takes.
#[inline(always)]
pub fn credit_cost(len: usize) -> u64 {
    ENTRY_BYTES + len as u64
}

/// Returns the window of each peer at the start: an equal share of half of `total` bytes.
pub fn base_window(total: u64, ranks: usize) -> u64 {
    (total / 2 / ranks as u64).max(LEAST_WINDOW)
}

/// Bytes that may be sent to a peer unannounced.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SendCredit(u64);

impl SendCredit {
    /// Returns true if a message of `len` bytes may be sent unannounced.
    #[inline(always)]
    pub fn can_pay(self, len: usize) -> bool {
        self.0 >= credit_cost(len)
    }

    /// Takes the cost of a message that is sent unannounced. The credit must suffice.
    #[inline(always)]
    pub fn pay(&mut self, len: usize) {
        self.0 -= credit_cost(len);
    }
}

/// The credit between this rank and one peer, in both directions.
#[derive(Clone, Copy, Default)]
pub struct Credit {
    send: SendCredit,
    /// Bytes that the peer has been given.
    window: u64,
    /// Bytes of the window to be given back.
    to_return: u64,
    /// Bytes of the window that kept unexpected messages of the peer are charged.
    charged: u64,
}

impl Credit {
    /// Returns the credit that both ranks begin with.
    pub fn new(bytes: u64) -> Self {
        Self { send: SendCredit(bytes), window: bytes, to_return: 0, charged: 0 }
    }

    /// Returns true if a message of `len` bytes may be sent unannounced.
    #[inline(always)]
    pub fn can_pay(&self, len: usize) -> bool {
        self.send.can_pay(len)
    }

    /// Pays for a message that is sent unannounced.
    #[inline(always)]
    pub fn pay(&mut self, len: usize) {
        self.send.pay(len);
    }

    /// Adds credit that the peer gives. This rank never has more than `widest`.
    pub fn granted(&mut self, bytes: u64, widest: u64) {
        self.send.0 = self.send.0.saturating_add(bytes).min(widest);
    }

    /// Returns the credit for messages to the peer, of which a packet that is planned may pay.
    pub fn for_sending(&self) -> SendCredit {
        self.send
    }

    /// Returns the bytes that may be sent unannounced.
    pub fn sendable(&self) -> u64 {
        self.send.0
    }

    /// Returns the bytes that the peer has been given: those that it has, under way, charged here or to be
    /// given back.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Returns the bytes to be given back.
    pub fn to_return(&self) -> u64 {
        self.to_return
    }

    /// Notes that a message of `len` bytes was consumed. Returns true if it is time to give credit back.
    #[inline(always)]
    pub fn consumed(&mut self, len: usize) -> bool {
        self.to_return += credit_cost(len);
        self.is_return_due()
    }

    /// Notes that messages of `bytes` bytes together were consumed. Returns true if it is time to give credit
    /// back.
    #[inline(always)]
    pub fn consumed_run(&mut self, messages: u64, bytes: u64) -> bool {
        self.to_return += messages * credit_cost(0) + bytes;
        messages > 0 && self.is_return_due()
    }

    /// Returns true if it may be time to give credit back after the next message without a bulk.
    #[inline(always)]
    pub fn is_return_near(&self) -> bool {
        2 * (self.to_return + credit_cost(MAX_INLINE)) >= self.window
    }

    /// Returns true if it is time to give credit back: it goes in steps of half the window.
    #[inline(always)]
    pub fn is_return_due(&self) -> bool {
        self.to_return >= self.window / 2
    }

    /// Adds bytes by which the window has grown to those that go to the peer.
    pub fn grown(&mut self, bytes: u64) {
        self.to_return += bytes;
    }

    /// Takes all bytes that are to be given back.
    pub fn take_return(&mut self) -> u64 {
        std::mem::take(&mut self.to_return)
    }

    /// Drops the bytes to be given back, because the peer is gone.
    pub fn peer_went(&mut self) {
        self.to_return = 0;
    }

    /// Returns the bytes that the peer has, that are on their way to it, or that pay for messages under way.
    pub fn outstanding(&self) -> u64 {
        self.window.saturating_sub(self.charged + self.to_return)
    }

    /// Returns true if the peer may send `bytes` bytes, at least one, in several packets without asking.
    pub fn covers(&self, bytes: u64) -> bool {
        (1..=self.window).contains(&bytes)
    }

    /// Charges the peer for a message that is kept. Returns false if it sent more than it had credit for.
    pub fn charge(&mut self, len: usize) -> bool {
        self.charged += credit_cost(len);
        self.charged <= self.window
    }

    /// Returns true if the window has room for one more message that is kept.
    fn can_charge(&self, len: usize) -> bool {
        self.charged + credit_cost(len) <= self.window
    }

    /// Takes back the charge of a message that is no longer kept.
    pub fn discharge(&mut self, len: usize) {
        self.charged -= credit_cost(len);
    }

    /// Returns true if the window is wide enough for such a message at all.
    pub fn is_wide_enough(&self, len: usize) -> bool {
        credit_cost(len) <= self.window
    }

    /// Returns true if the credit to be given back pays for a message.
    pub fn has_in_hand(&self, len: usize) -> bool {
        credit_cost(len) <= self.to_return
    }

    /// Charges the peer for a message that is pulled, with credit that would be given back. That must be
    /// enough.
    pub fn charge_in_hand(&mut self, len: usize) {
        self.to_return -= credit_cost(len);
        self.charged += credit_cost(len);
    }
}

impl Proto {
    /// Notes that a peer had no credit for a message, if `rts` says so: its window may grow.
    pub(crate) fn note_lack(&mut self, from: Rank, rts: &Rts) {
        if rts.lacks_credit {
            let pulls = self.peers[from.0 as usize].pulls.get_or_insert_default();
            pulls.lacked = pulls.lacked.max(rts.len.saturating_add(ENTRY_BYTES));
            self.list(from);
        }
    }

    /// Charges a peer for a message that is kept.
    pub(crate) fn charge(&mut self, from: Rank, len: usize) -> Result<(), Corrupt> {
        self.traffic.hold_credit(credit_cost(len));
        let credit = &mut self.peers[from.0 as usize].credit;
        if credit.charge(len) {
            return Ok(());
        }
        let Credit { charged, window, .. } = *credit;
        Err(Corrupt(format!("{from} sent {charged} unexpected bytes, with credit for {window}")))
    }

    /// Notes that a message of a peer was consumed: its credit goes back.
    #[inline(always)]
    pub(crate) fn return_credit(&mut self, from: Rank, len: usize) {
        if self.peers[from.0 as usize].credit.consumed(len) {
            self.list(from);
        }
    }

    /// Takes back the charge of a peer's message that is no longer kept.
    pub(crate) fn discharge(&mut self, from: Rank, len: usize) {
        self.traffic.release_credit(credit_cost(len));
        let peer = &mut self.peers[from.0 as usize];
        peer.credit.discharge(len);
        if peer.silent || from == self.me {
            self.credit_pool.reclaim(from, &mut peer.credit);
        }
    }

    /// Takes back the credit of a peer that is gone, if no more packets come from it.
    pub(crate) fn reclaim_credit(&mut self, peer: Rank) {
        let state = &mut self.peers[peer.0 as usize];
        if state.silent {
            self.credit_pool.reclaim(peer, &mut state.credit);
        }
    }

    /// Returns true if a message to this rank itself may be kept, and counts it.
    pub(crate) fn charge_own(&mut self, len: usize) -> bool {
        let own = &mut self.peers[self.me.0 as usize].credit;
        if !own.can_charge(len) {
            self.credit_pool.widen(self.me, own, credit_cost(len));
        }
        let fits = own.can_charge(len);
        if fits {
            own.charge(len);
            self.traffic.hold_credit(credit_cost(len));
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: u64 = 4096;

    #[test]
    fn each_message_sent_is_paid_and_credit_granted_is_bounded() {
        let mut credit = Credit::new(WINDOW);
        let most = (WINDOW - ENTRY_BYTES) as usize;
        assert!(credit.can_pay(most) && !credit.can_pay(most + 1));
        credit.pay(most);
        assert_eq!((credit.sendable(), credit.can_pay(0)), (0, false));
        credit.granted(u64::MAX, 2 * WINDOW);
        assert_eq!(credit.sendable(), 2 * WINDOW);
    }

    #[test]
    fn credit_goes_back_when_half_the_window_was_used() {
        let mut credit = Credit::new(WINDOW);
        let messages = WINDOW / 2 / credit_cost(0);
        assert!((0..messages).all(|_| !credit.consumed(0)));
        assert!(credit.is_return_near() && credit.consumed(0));
        assert_eq!(credit.take_return(), (messages + 1) * credit_cost(0));
        assert!(!credit.consumed_run(0, 0), "nothing was consumed");
        assert!(credit.consumed_run(messages + 1, 0));
    }

    #[test]
    fn a_peer_that_sends_more_than_it_was_given_is_found() {
        let mut credit = Credit::new(WINDOW);
        assert!(credit.charge((WINDOW - ENTRY_BYTES) as usize) && !credit.charge(0));
        credit.discharge(0);
        assert_eq!((credit.can_charge(0), credit.outstanding()), (false, 0));
    }

    #[test]
    fn a_message_is_pulled_with_credit_that_would_go_back() {
        let mut credit = Credit::new(WINDOW);
        credit.consumed(1000);
        let before = credit.outstanding();
        assert!(credit.has_in_hand(1000) && !credit.has_in_hand(1001));
        credit.charge_in_hand(1000);
        assert_eq!((credit.to_return, credit.charged), (0, credit_cost(1000)));
        assert_eq!(credit.outstanding(), before, "the peer has as much as before");
    }
}
