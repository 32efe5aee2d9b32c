//! Reusable regions for large messages. The sender packs into a region, and the receiver unpacks directly
//! from it. Then the receiver clears the region's first word.
//!
//! ```text
//!   0        8                 64
//!   | in use |                 | the message's bytes | its types |
//! ```

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use canele_engine::{Engine, PeerEnd, Region, RegionMemory};
use canele_sys::atomic::Ordering;

use crate::{Error, Rank};

/// Offset of the message.
pub const HEAD: usize = 64;
/// The unit of the regions' lengths in bytes: with few different lengths, regions are reused more often.
const LEAST: usize = 64 << 10;

/// The regions of this rank's messages. It never gives one back to the system, because peers remember their
/// mappings.
pub struct Pool {
    engine: Arc<Engine>,
    /// Length in bytes above which messages lie in regions.
    limit: usize,
    idle: Mutex<Vec<Arc<Region>>>,
    /// Posted regions, each with the rank that must give it back.
    away: Mutex<Vec<(Arc<Region>, Rank)>>,
}

/// A region taken from the pool; dropping it returns it to the pool.
pub struct Lease {
    pool: Arc<Pool>,
    region: Option<Arc<Region>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the pool of this process. A message is made without an endpoint, and a process is one rank.
fn current() -> &'static Mutex<Weak<Pool>> {
    static CURRENT: OnceLock<Mutex<Weak<Pool>>> = OnceLock::new();
    CURRENT.get_or_init(|| Mutex::new(Weak::new()))
}

/// Returns the pool of this process's job, if there is one.
pub fn pool() -> Option<Arc<Pool>> {
    locked(current()).upgrade()
}

/// Returns true if a rank may still read the region, by the region's first word.
fn is_used(region: &Region) -> bool {
    // Acquire pairs with the release store in `give_back`: the receiver has read the message.
    region.far().word(0).is_some_and(|word| word.load(Ordering::Acquire) != 0)
}

impl Pool {
    /// Makes the pool of this process.
    pub fn start(engine: Arc<Engine>) -> Result<Arc<Self>, Error> {
        let pool = Self::new(engine)?;
        *locked(current()) = Arc::downgrade(&pool);
        Ok(pool)
    }

    fn new(engine: Arc<Engine>) -> Result<Arc<Self>, Error> {
        // A message that fits in a cell always travels in one. A message that would need a handshake always
        // lies in a region.
        let most = engine.eager_bytes()?.max(super::CELL);
        let limit = engine.tunables().message_region_bytes.clamp(super::CELL, most);
        Ok(Arc::new(Self { engine, limit, idle: Mutex::default(), away: Mutex::default() }))
    }

    /// Returns the length in bytes above which messages lie in regions.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Takes a region with room for a message of `bytes`.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Result<Lease, Error> {
        self.collect();
        let idle = &mut *locked(&self.idle);
        let fits = |region: &Arc<Region>| region.len() - HEAD >= bytes;
        let best = (0..idle.len()).filter(|n| fits(&idle[*n])).min_by_key(|n| idle[*n].len());
        let region = match best {
            Some(n) => idle.swap_remove(n),
            None => {
                let most = bytes + 2 * HEAD; // Types find room behind most messages.
                self.engine.create_region(most.next_multiple_of(LEAST.max(most.next_power_of_two() / 8)))?
            }
        };
        // The region is marked before a message can name it. A receiver may give it back before the sender
        // knows that the message was sent. Relaxed: the message is sent later, and publishes the mark.
        region.far().word(0).into_iter().for_each(|word| word.store(1, Ordering::Relaxed));
        Ok(Lease { pool: self.clone(), region: Some(region) })
    }

    /// Takes back regions that were unpacked, and those that were posted to a dead rank.
    fn collect(&self) {
        let idle = &mut *locked(&self.idle);
        locked(&self.away).retain(|(region, to)| {
            // A rank that has finished may still unpack the message.
            let died = || self.engine.ask(|view| view.gone(*to) == Some(PeerEnd::Failed)).unwrap_or(false);
            let back = !is_used(region) || died();
            if back {
                idle.push(region.clone());
            }
            !back
        });
    }
}

impl Lease {
    pub fn region(&self) -> &Arc<Region> {
        self.region.as_ref().expect("there until it is posted or dropped")
    }

    /// Returns the number of message bytes that the region has room for.
    pub fn room(&self) -> usize {
        self.region().len() - HEAD
    }

    /// Marks the region as posted to `to`, which must give it back.
    pub fn post(mut self, to: Rank) {
        if let Some(region) = self.region.take() {
            locked(&self.pool.away).push((region, to));
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(region) = self.region.take() {
            locked(&self.pool.idle).push(region);
        }
    }
}

/// Marks the region as unpacked, as the receiver.
pub fn give_back(far: &RegionMemory) {
    if let Some(word) = far.word(0) {
        // Release pairs with the acquire load in `is_used`.
        word.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_used_again_once_they_were_given_back() {
        let pool = Pool::new(Arc::new(Engine::start().unwrap())).unwrap();
        let post = || {
            let lease = pool.take(1 << 20).unwrap();
            assert!(lease.room() >= 1 << 20);
            let (id, far) = (lease.region().id(), lease.region().far());
            lease.post(Rank(0));
            (id, far)
        };
        let (first, second) = (post(), post());
        assert_ne!(first.0, second.0, "both are still to be read");
        give_back(&first.1);
        assert_eq!(post().0, first.0);
        give_back(&second.1);
        assert_ne!(pool.take(2 << 20).unwrap().region().id(), second.0, "too short");
        assert_eq!(pool.take(1).unwrap().region().id(), second.0, "any that is long enough");
    }

    #[test]
    fn a_region_that_comes_back_before_its_poster_goes_on_is_used_again() {
        let pool = Pool::new(Arc::new(Engine::start().unwrap())).unwrap();
        let lease = pool.take(1 << 20).unwrap();
        let (id, far) = (lease.region().id(), lease.region().far());
        give_back(&far);
        lease.post(Rank(0));
        assert_eq!(pool.take(1 << 20).unwrap().region().id(), id);
    }
}
