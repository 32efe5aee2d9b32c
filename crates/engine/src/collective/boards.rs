//! Boards: memory in which a call shows data to the other members, each of which copies what it wants.
//!
//! ```text
//!   word: how many have read ──┐  64 bytes  │ what is shown
//! ```
//! Owns this process's boards. A call takes one that everybody has read, and gives it back with the number of members that
//! will read it; each of those counts itself in the word when it has (invariant I58). So a call returns before others have
//! read what it showed, and no message says that they have.
//!
//! What this module never does: read what a board holds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_rail::Window;
use canele_rail::shm::Region;
use canele_sys::atomic::Ordering;

use super::drive::Came;
use super::schedule::Board;
use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::wait::Unmet;

/// Bytes before what is shown.
pub(super) const HEADER: usize = 64;
/// So many boards may wait for their readers; a call that needs another one waits too.
const MOST: usize = 2;
/// After so long there is another one all the same: some who failed will never read theirs.
const PATIENCE: Duration = Duration::from_secs(1);
/// Nobody is woken when a board has been read: so often is looked.
const LOOK: Duration = Duration::from_micros(200);

/// A board, and how many will have read it in its life.
pub(super) struct Held {
    region: Arc<Region>,
    readers: u64,
}

impl Held {
    /// Its name for others.
    pub fn name(&self) -> [u8; 8] {
        self.region.id().to_word().to_ne_bytes()
    }

    /// Where data is shown.
    pub fn window(&self) -> Option<Window<'_>> {
        self.region.window(HEADER, self.region.len() - HEADER)
    }

    fn is_read(&self) -> bool {
        // Acquire pairs with the release in `count`: what is shown next comes after they have read.
        self.region.word(0).is_some_and(|word| word.load(Ordering::Acquire) == self.readers)
    }
}

/// A reader of a board, whose word this is, has read it.
pub(super) fn count(word: Window<'_>) -> bool {
    // Release: what was read was read before this.
    word.word(0).map(|word| word.fetch_add(1, Ordering::Release)).is_some()
}

impl Engine {
    /// A board that nobody else uses or will read.
    #[cold]
    pub(super) fn take_board<'a>(&'a self, mut core: Inside<'a>, needed: Board) -> Came<'a, Held> {
        let since = Instant::now();
        loop {
            if let Some(held) = core.free_board(needed.bytes) {
                return (core, Ok(held));
            }
            if core.collectives.boards.len() < MOST || since.elapsed() > PATIENCE {
                let (core, made) = self.make_region(core, HEADER + needed.bytes);
                return (core, made.map(|region| Held { region, readers: 0 }));
            }
            let soon = Some(Instant::now() + LOOK);
            core = match self.wait_for(core, soon, |core: &mut Core| core.free_board(needed.bytes)) {
                Ok((core, held)) => return (core, Ok(held)),
                Err((core, Unmet::Deadline)) => core,
                Err((core, Unmet::Error(error))) => return (core, Err(error)),
            };
        }
    }
}

impl Core {
    /// The first one is taken where there are several: the caches know it best.
    fn free_board(&mut self, bytes: usize) -> Option<Held> {
        let fits = |held: &Held| held.region.len() >= HEADER + bytes && held.is_read();
        let at = self.collectives.boards.iter().position(fits)?;
        Some(self.collectives.boards.remove(at))
    }

    /// A call has shown what it had to; nothing if it failed, for then nobody knows who will still read it.
    pub(super) fn give_board_back(&mut self, mut held: Held, readers: Option<usize>) {
        match readers {
            Some(readers) => {
                held.readers += readers as u64;
                self.collectives.boards.insert(0, held);
            }
            // If the launcher is gone nobody is left to be told.
            None => drop(self.drop_region(held.region.id())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canele_sys::ids::RegionId;
    use canele_sys::tunables::Tunables;

    const NEEDED: Board = Board { bytes: 1000, name: super::super::schedule::Span::NOTHING, readers: 2 };

    fn take(engine: &Engine) -> Held {
        let core = engine.enter().unwrap();
        engine.take_board(core, NEEDED).1.unwrap()
    }

    fn read_by_one(engine: &Engine, name: [u8; 8]) {
        let core = engine.enter().unwrap();
        let region =
            core.rails.shm.regions.own(RegionId::from_word(u64::from_ne_bytes(name))).unwrap().clone();
        assert!(count(region.window(0, HEADER).unwrap()));
    }

    #[test]
    fn a_board_is_used_again_when_all_have_read_it() {
        let engine = Engine::join(&Tunables::default(), None).unwrap();
        let all: Vec<Held> = (0..MOST).map(|_| take(&engine)).collect();
        let names: Vec<[u8; 8]> = all.iter().map(Held::name).collect();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        all.into_iter().for_each(|held| engine.enter().unwrap().give_board_back(held, Some(2)));
        std::thread::scope(|scope| {
            // One reader of the one board, two of the other: only that may be taken.
            let waits = scope.spawn(|| take(&engine).name());
            read_by_one(&engine, names[0]);
            for _ in 0..2 {
                read_by_one(&engine, names[1]);
            }
            assert_eq!(waits.join().unwrap(), names[1]);
        });
    }

    #[test]
    fn boards_that_nobody_will_read_keep_no_call_waiting_for_ever() {
        let engine = Engine::join(&Tunables::default(), None).unwrap();
        let all: Vec<Held> = (0..MOST).map(|_| take(&engine)).collect();
        let names: Vec<[u8; 8]> = all.iter().map(Held::name).collect();
        all.into_iter().for_each(|held| engine.enter().unwrap().give_board_back(held, Some(1)));
        let another = take(&engine);
        assert!(!names.contains(&another.name()));
        let name = another.name();
        engine.enter().unwrap().give_board_back(another, Some(0));
        assert_eq!(take(&engine).name(), name, "from now on that one is used");
    }

    #[test]
    fn the_board_of_a_failed_call_is_not_used_again() {
        let engine = Engine::join(&Tunables::default(), None).unwrap();
        let held = take(&engine);
        let name = held.name();
        engine.enter().unwrap().give_board_back(held, None);
        assert_ne!(take(&engine).name(), name);
        let core = engine.enter().unwrap();
        assert!(
            core.rails.shm.regions.own(RegionId::from_word(u64::from_ne_bytes(name))).is_none(),
            "its memory is given back"
        );
    }

    #[test]
    fn a_board_has_room_for_what_is_shown_behind_its_word() {
        let engine = Engine::join(&Tunables::default(), None).unwrap();
        let held = take(&engine);
        assert_eq!(held.window().unwrap().len(), NEEDED.bytes);
        held.window().unwrap().write(0, &[0xff; 1000]);
        assert!(held.is_read(), "nobody has to read what nobody was told of");
    }
}
