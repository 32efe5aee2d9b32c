//! Waiting for a free shared buffer: a call takes one that all members have read, and gives it back with the
//! number of its readers.

use std::time::{Duration, Instant};

use canele_collective::{HEADER, SharedBuffer};

use super::drive::CallResult;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::awaited::Awaited;

/// The time after which a further buffer is made: members that failed never read theirs.
const MOST_WAIT: Duration = Duration::from_secs(1);
/// The interval at which a call looks for a free shared buffer: no thread is woken when one has been read.
const LOOK: Duration = Duration::from_micros(200);

impl Engine {
    /// Takes a shared buffer that no other call uses and all members have read.
    #[cold]
    pub(super) fn take_shared_buffer<'a>(
        &'a self,
        mut core: Locked<'a>,
        bytes: usize,
    ) -> CallResult<'a, SharedBuffer> {
        let since = Instant::now();
        loop {
            if let Some(held) = core.collectives.shared_buffers.take(bytes) {
                return (core, Ok(held));
            }
            if !core.collectives.shared_buffers.are_many() || since.elapsed() > MOST_WAIT {
                let (core, made) = self.make_region(core, HEADER + bytes);
                return (core, made.map(SharedBuffer::new));
            }
            let soon = Some(Instant::now() + LOOK);
            let free = |core: &mut Core| core.collectives.shared_buffers.take(bytes);
            let held;
            (core, held) =
                self.wait_before(core, soon, Awaited::Other("a shared buffer of a collective", None), free);
            if let Some(held) = held {
                return (core, Ok(held));
            }
        }
    }
}

impl Core {
    /// Gives the shared buffer of a call back; without `readers` if the call failed, for then its readers are
    /// unknown.
    pub(super) fn give_back_shared_buffer(&mut self, held: SharedBuffer, readers: Option<usize>) {
        match readers {
            Some(readers) => self.collectives.shared_buffers.give_back(held, readers),
            // If the launcher is gone there is no rank to inform.
            None => drop(self.drop_region(held.id())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canele_collective::{SharedBufferPool, count_reader};
    use canele_sys::ids::RegionId;
    use canele_sys::tunables::Tunables;

    const MOST: usize = SharedBufferPool::MOST;

    fn take(engine: &Engine) -> SharedBuffer {
        let core = engine.lock().unwrap();
        engine.take_shared_buffer(core, 1000).1.unwrap()
    }

    fn read_by_one(engine: &Engine, name: [u8; 8]) {
        let core = engine.lock().unwrap();
        let region =
            core.lane.rails.regions().own(RegionId::from_word(u64::from_ne_bytes(name))).unwrap().clone();
        assert!(count_reader(region.window(0, HEADER).unwrap()));
    }

    #[test]
    fn a_shared_buffer_is_used_again_when_all_have_read_it() {
        let engine = Engine::join(&Tunables::default(), None).unwrap();
        let all: Vec<SharedBuffer> = (0..MOST).map(|_| take(&engine)).collect();
        let names: Vec<[u8; 8]> = all.iter().map(SharedBuffer::name).collect();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        all.into_iter().for_each(|held| engine.lock().unwrap().give_back_shared_buffer(held, Some(2)));
        std::thread::scope(|scope| {
            // One reader of the one shared buffer, two of the other: only that may be taken.
            let waits = scope.spawn(|| take(&engine).name());
            read_by_one(&engine, names[0]);
            for _ in 0..2 {
                read_by_one(&engine, names[1]);
            }
            assert_eq!(waits.join().unwrap(), names[1]);
        });
    }

    #[test]
    fn shared_buffers_that_no_member_will_read_keep_no_call_waiting_for_ever() {
        let engine = Engine::join(&Tunables::default(), None).unwrap();
        let all: Vec<SharedBuffer> = (0..MOST).map(|_| take(&engine)).collect();
        let names: Vec<[u8; 8]> = all.iter().map(SharedBuffer::name).collect();
        all.into_iter().for_each(|held| engine.lock().unwrap().give_back_shared_buffer(held, Some(1)));
        let another = take(&engine);
        assert!(!names.contains(&another.name()));
        let name = another.name();
        engine.lock().unwrap().give_back_shared_buffer(another, Some(0));
        assert_eq!(take(&engine).name(), name, "from now on that one is used");
    }

    #[test]
    fn the_shared_buffer_of_a_failed_call_is_not_used_again() {
        let engine = Engine::join(&Tunables::default(), None).unwrap();
        let held = take(&engine);
        let name = held.name();
        engine.lock().unwrap().give_back_shared_buffer(held, None);
        assert_ne!(take(&engine).name(), name);
        let core = engine.lock().unwrap();
        assert!(
            core.lane.rails.regions().own(RegionId::from_word(u64::from_ne_bytes(name))).is_none(),
            "its memory is given back"
        );
    }
}
