//! The memory that the processes of a host reserve together, so that no two of them count on the same free
//! memory.
//!
//! ```text
//!   one page, shared:   granted │ settled │ limit      in bytes, only compared with each other
//!
//!   reserve:  granted + bytes within limit?  ─yes─▶ granted += bytes ─▶ allocate step ─▶ settled += step ─┐
//!                  │ no                                  ▲                   ▲─────────────────────────────┘
//!                  └─▶ measure; limit = granted + a quarter of the spare memory ──┘
//!                      or wait until more is settled, and measure again; or refuse, naming the spare bytes
//! ```
//! Measuring reads several files, so it is done once for a quarter of the memory that is left. Memory that
//! was granted and is not settled counts as used, because the system may not see it yet. If the system sees a
//! part of it already, that part counts twice. So a request that only this part can refuse waits until the
//! part is settled: a result never depends on the progress of another process. The account never shrinks: the
//! next measurement finds freed memory. A process that is killed while it allocates leaves the rest of its
//! grant counted as used for the rest of the job.
//!
//! All processes of the host write the page. Wrong values in it make reservations fail, or succeed wrongly;
//! nothing else relies on it.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use crate::atomic::{AtomicU64, Ordering};
use crate::segment::{Segment, SegmentError};

/// Offsets of the words in the page.
const GRANTED: usize = 0;
const SETTLED: usize = 8;
const LIMIT: usize = 16;

/// The interval between checks of the account while other processes allocate their grants. After this many
/// checks without any progress they are taken to be stopped or dead.
const LOOK_EVERY: Duration = Duration::from_millis(1);
const IDLE_LOOKS: u32 = 500;
/// The number of measurements for one request, even if other processes make progress.
const MOST_MEASUREMENTS: u32 = 10_000;

/// The account of a host.
#[derive(Debug)]
pub struct Account(Segment);

/// The account that this process shares with its host's, once it has joined.
static OF_HOST: OnceLock<Account> = OnceLock::new();
/// The account of a process that has joined none.
static OWN: OnceLock<Account> = OnceLock::new();

impl Account {
    /// Creates an account on which nothing is granted.
    ///
    /// # Errors
    /// Fails as [`Segment::create`] does.
    pub fn create() -> Result<Self, SegmentError> {
        Segment::create("canele-account", 1).map(Self)
    }

    /// Makes this process reserve on its host's account, whose descriptor came from the launcher. A process
    /// joins once.
    ///
    /// # Errors
    /// Fails as [`Segment::map`] does.
    pub fn join(descriptor: OwnedFd) -> Result<(), SegmentError> {
        let account = Self(Segment::map(descriptor)?);
        let _ = OF_HOST.set(account);
        Ok(())
    }

    /// Returns the account of this process.
    ///
    /// # Errors
    /// Fails as [`Account::create`] does.
    pub fn ours() -> Result<&'static Self, SegmentError> {
        if let Some(account) = OF_HOST.get().or(OWN.get()) {
            return Ok(account);
        }
        let own = Self::create()?;
        Ok(OWN.get_or_init(|| own))
    }

    /// Returns the descriptor by which other processes of the host join.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd()
    }

    /// Permits this process to allocate `bytes`. Waits while unsettled grants of other processes decide the
    /// result.
    ///
    /// # Errors
    /// Fails with the number of bytes that could be granted instead.
    pub fn grant(&self, bytes: u64) -> Result<Grant<'_>, u64> {
        self.grant_of(bytes, super::spare, |settled| self.await_settlement(settled))
    }

    /// Waits until the settled bytes differ from `seen`; returns false if nothing happens for a while.
    fn await_settlement(&self, seen: u64) -> bool {
        // Acquire pairs with the release in `Grant::settle`.
        let moved = |_| {
            let moved = self.0.atomic_u64(SETTLED).load(Ordering::Acquire) != seen;
            if !moved {
                thread::sleep(LOOK_EVERY);
            }
            moved
        };
        (0..IDLE_LOOKS).any(moved)
    }

    fn grant_of(
        &self,
        bytes: u64,
        spare: impl Fn() -> u64,
        mut await_settlement: impl FnMut(u64) -> bool,
    ) -> Result<Grant<'_>, u64> {
        let (granted, limit) = (self.0.atomic_u64(GRANTED), self.0.atomic_u64(LIMIT));
        let mut measurements = 0;
        loop {
            // Settled is loaded first: grants made between the two loads count as not settled. Acquire pairs
            // with the release in `Grant::settle`, so settled memory is seen as used.
            let settled = self.0.atomic_u64(SETTLED).load(Ordering::Acquire);
            let before = granted.load(Ordering::Acquire);
            let after = before.checked_add(bytes);
            if after.is_none_or(|after| after > limit.load(Ordering::Relaxed)) {
                let all = spare();
                let certain = all.saturating_sub(before.saturating_sub(settled));
                measurements += 1;
                if bytes > certain {
                    // The measurement may already have subtracted a part of the unsettled bytes.
                    if bytes > all || measurements > MOST_MEASUREMENTS || !await_settlement(settled) {
                        return Err(certain);
                    }
                    continue;
                }
                limit.store(before.saturating_add(bytes.max(certain / 4)), Ordering::Relaxed);
            }
            let Some(after) = after else { return Err(0) };
            // A faster process made this measurement stale.
            if granted.compare_exchange(before, after, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Ok(Grant { settled: self.0.atomic_u64(SETTLED), bytes });
            }
        }
    }
}

/// Bytes that this process may allocate. They are settled as they are allocated; the grant is dropped when no
/// more will be.
#[derive(Debug)]
pub struct Grant<'a> {
    settled: &'a AtomicU64,
    bytes: u64,
}

impl Grant<'_> {
    /// Records that `bytes` more are allocated.
    pub fn settle(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        // Release pairs with the acquire in `Account::grant`.
        self.settled.fetch_add(bytes, Ordering::Release);
    }
}

impl Drop for Grant<'_> {
    fn drop(&mut self) {
        self.settle(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Waits for other processes that allocate nothing.
    fn stopped(_: u64) -> bool {
        false
    }

    #[test]
    fn limits_are_read_once_for_a_quarter_of_what_is_spare() {
        let (account, readings) = (Account::create().unwrap(), Cell::new(0));
        let spare = || {
            readings.set(readings.get() + 1);
            4000
        };
        for _ in 0..10 {
            drop(account.grant_of(100, spare, stopped).unwrap());
        }
        assert_eq!(readings.get(), 1);
        drop(account.grant_of(100, spare, stopped).unwrap());
        assert_eq!(readings.get(), 2);
        drop(account.grant_of(4000, spare, stopped).unwrap());
        assert_eq!(account.grant_of(4001, spare, stopped).unwrap_err(), 4000);
    }

    #[test]
    fn what_is_granted_and_not_allocated_yet_counts_as_used() {
        let account = Account::create().unwrap();
        let first = account.grant_of(600, || 1000, stopped).unwrap();
        assert_eq!(account.grant_of(600, || 1000, stopped).unwrap_err(), 400);
        let second = account.grant_of(400, || 1000, stopped).unwrap();
        assert_eq!(account.grant_of(1, || 1000, stopped).unwrap_err(), 0);
        drop((first, second));
        drop(account.grant_of(600, || 1000, stopped).unwrap());
    }

    /// A process has allocated a part of its grant, which the system therefore sees, too.
    #[test]
    fn memory_in_the_act_of_being_allocated_is_not_counted_twice() {
        for (allocated, asked, granted) in
            [(300, 400, true), (600, 400, true), (300, 401, false), (0, 400, true)]
        {
            let (account, used) = (Account::create().unwrap(), Cell::new(0));
            let spare = || 1000 - used.get();
            let mut first = Some(account.grant_of(600, spare, stopped).unwrap());
            used.set(allocated);
            let goes_on = |_| {
                used.set(600);
                first.take().is_some()
            };
            assert_eq!(account.grant_of(asked, spare, goes_on).is_ok(), granted, "{allocated} {asked}");
        }
    }

    #[test]
    fn steps_are_settled_as_they_are_allocated_and_the_rest_when_dropped() {
        let account = Account::create().unwrap();
        let settled = || account.0.atomic_u64(SETTLED).load(Ordering::Relaxed);
        let mut grant = account.grant_of(10, || 1000, stopped).unwrap();
        grant.settle(4);
        assert!(settled() == 4 && account.await_settlement(0));
        grant.settle(7);
        assert_eq!(settled(), 10, "no more than was granted");
        drop(grant);
        assert_eq!(settled(), 10);
    }

    /// Threads stand for processes: spare memory falls by their allocations, some time after these were
    /// granted.
    #[test]
    fn those_who_ask_at_once_are_granted_no_more_than_there_is() {
        const ALL: u64 = 10_000;
        let (account, used) = (Account::create().unwrap(), AtomicU64::new(0));
        let spare = || ALL - used.load(Ordering::SeqCst);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while let Ok(_grant) = account.grant_of(7, spare, stopped) {
                        std::thread::yield_now();
                        assert!(used.fetch_add(7, Ordering::SeqCst) + 7 <= ALL);
                    }
                });
            }
        });
        assert!(ALL - used.load(Ordering::SeqCst) < 7 * 9);
    }

    #[test]
    fn nonsense_in_the_page_refuses_and_does_not_panic() {
        let account = Account::create().unwrap();
        for word in [GRANTED, SETTLED, LIMIT] {
            account.0.atomic_u64(word).store(u64::MAX, Ordering::Relaxed);
            let _ = account.grant_of(1, || 1000, stopped);
            let _ = account.grant_of(u64::MAX, || 1000, stopped);
        }
    }
}
