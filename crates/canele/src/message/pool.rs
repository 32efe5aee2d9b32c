//! Regions for large messages, used again and again: the poster packs into one, the retriever unpacks straight out of
//! it, and says in the region's first word that it is done.
//!
//! ```text
//!   0        8                 64
//!   | in use |                 | the message's bytes | its types |
//! ```

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use canele_engine::{Engine, PeerEnd, Region, RegionMemory};
use canele_sys::atomic::Ordering;

use crate::{Error, Rank};

/// Where the message starts.
pub const HEAD: usize = 64;
/// Regions are so many bytes long or a multiple of it, so that few sizes serve all.
const LEAST: usize = 64 << 10;

/// The regions of this rank's messages. It never gives one back to the system: peers remember what they have mapped.
pub struct Pool {
    engine: Arc<Engine>,
    /// Messages longer than this lie in regions, in bytes.
    limit: usize,
    idle: Mutex<Vec<Arc<Region>>>,
    /// Posted, each to a rank that has not given it back yet.
    away: Mutex<Vec<(Arc<Region>, Rank)>>,
}

/// A region taken from the pool; it goes back when dropped.
pub struct Lease {
    pool: Arc<Pool>,
    region: Option<Arc<Region>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pool of this process: a message is made without an endpoint, and a process is one rank.
fn current() -> &'static Mutex<Weak<Pool>> {
    static CURRENT: OnceLock<Mutex<Weak<Pool>>> = OnceLock::new();
    CURRENT.get_or_init(|| Mutex::new(Weak::new()))
}

/// The pool of the job this process takes part in, if it does.
pub fn pool() -> Option<Arc<Pool>> {
    locked(current()).upgrade()
}

/// Returns true if a rank may still read what is in the region; its first word says so.
fn is_used(region: &Region) -> bool {
    // Acquire pairs with the release store in `give_back`: the retriever has read what it wanted.
    region.far().word(0).is_some_and(|word| word.load(Ordering::Acquire) != 0)
}

impl Pool {
    /// The pool of this process from now on.
    pub fn start(engine: Arc<Engine>) -> Result<Arc<Self>, Error> {
        let pool = Self::new(engine)?;
        *locked(current()) = Arc::downgrade(&pool);
        Ok(pool)
    }

    fn new(engine: Arc<Engine>) -> Result<Arc<Self>, Error> {
        // What fits in a cell always travels in one; what would need a handshake never travels by itself.
        let most = engine.eager_bytes()?.max(super::CELL);
        let limit = engine.tunables().message_region_bytes.clamp(super::CELL, most);
        Ok(Arc::new(Self { engine, limit, idle: Mutex::default(), away: Mutex::default() }))
    }

    /// Messages longer than this lie in regions, in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// A region with room for a message of `bytes`.
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
        // It is in use before a message can name it: a retriever may give it back before the poster is told that the message left.
        // Relaxed: that message comes later, and publishes it.
        region.far().word(0).into_iter().for_each(|word| word.store(1, Ordering::Relaxed));
        Ok(Lease { pool: self.clone(), region: Some(region) })
    }

    /// Takes back what has been unpacked, and what was posted to a rank that died.
    fn collect(&self) {
        let idle = &mut *locked(&self.idle);
        locked(&self.away).retain(|(region, to)| {
            // A rank that has finished may still unpack.
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

    /// How many bytes of message it has room for.
    pub fn room(&self) -> usize {
        self.region().len() - HEAD
    }

    /// It goes to `to`, which gives it back.
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

/// The retriever has unpacked all it wants.
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
