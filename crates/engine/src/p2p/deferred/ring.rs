//! The ring of a lane that holds its deferred receives.

use std::iter::Zip;
use std::slice;

use canele_mem::buffer::RawBlock;
use canele_mem::window::Window;
use canele_proto::Receives;
use canele_sys::ids::{FlowId, Rank, Tag};

use super::{
    DEFERRED_BITS, DEFERRED_LAPS, DEFERRED_SLOTS as SLOTS, DeferredEnd, DeferredHandles, DeferredRecv,
    DeferredSource, DeferredState, FIRST_DEFERRED,
};

/// The deferred receives of a lane.
pub struct DeferredRecvs {
    /// Empty before the first receive.
    slots: Vec<DeferredRecv>,
    first: usize,
    next: usize,
    /// The name of the first slot in this lap.
    first_name: u32,
}

impl DeferredRecvs {
    /// Makes the ring of the lane of this number.
    pub fn of_lane(number: u8) -> Self {
        let first_name = FIRST_DEFERRED + u32::from(number) * SLOTS as u32;
        Self { slots: Vec::new(), first: 0, next: 0, first_name }
    }

    /// Returns true if there are deferred receives.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.first != self.next
    }

    /// Adds a receive; returns its name if the next slot is free.
    #[inline(always)]
    pub fn add(&mut self, source: &DeferredSource, tag: Tag, into: RawBlock) -> Option<u32> {
        let slot = self.slots.get_mut(self.next).filter(|slot| slot.is_free())?;
        let name = self.first_name + self.next as u32;
        *slot = DeferredRecv { source: *source, name, tag, state: DeferredState::Deferred(into) };
        self.next += 1;
        Some(name)
    }

    /// Adds a receive as [`Self::add`] does, and makes the slots before the first one.
    pub fn add_otherwise(&mut self, source: &DeferredSource, tag: Tag, into: RawBlock) -> Option<u32> {
        self.slots.resize_with(SLOTS, || DeferredRecv::FREE);
        self.add(source, tag, into)
    }

    /// Returns true if there is room for a receive.
    pub fn is_next_free(&self) -> bool {
        self.slots.get(self.next).is_some_and(DeferredRecv::is_free)
    }

    /// Moves to a free slot behind all deferred receives, if the next one is in use; returns true if there is
    /// one.
    #[cold]
    pub fn go_to_free(&mut self) -> bool {
        let free = (self.next..self.slots.len()).find(|at| self.slots[*at].is_free());
        let Some(at) = free.filter(|at| *at != self.next) else { return false };
        if !self.any() {
            self.first = at;
        }
        self.next = at;
        true
    }

    /// Returns the first receive, if its caller waits for that.
    #[inline(always)]
    pub fn wanted<H: DeferredHandles>(&self, handles: &[H::Handle]) -> Option<&DeferredRecv> {
        let first = self.slots.get(self.first).filter(|_| self.any())?;
        H::is_of(handles.first()?, first.name).then_some(first)
    }

    /// Lets `receive` take messages of one source and flow for the receives from the first on. It stops at
    /// a receive that the caller does not wait for in this order. Returns the number of ended ones.
    #[inline(always)]
    pub fn end_run<const SHORT: bool, H: DeferredHandles>(
        &mut self,
        handles: &mut [H::Handle],
        told: Option<DeferredEnd<'_, '_>>,
        receive: impl FnOnce((Rank, FlowId), &mut Run<'_, '_, H, SHORT>),
    ) -> usize {
        let Some(slots) = self.slots.get_mut(self.first..self.next) else { return 0 };
        let Some(first) = slots.first() else { return 0 };
        let (from, source) = (first.source.from, (first.source.source(), first.source.flow()));
        let mut run = Run { pairs: slots.iter_mut().zip(handles), told, from, taken: 0 };
        receive(source, &mut run);
        let taken = run.taken;
        self.remove(taken);
        taken
    }

    /// Removes receives at the front that are not deferred any more.
    #[inline(always)]
    pub fn remove(&mut self, count: usize) {
        self.first += count;
        if self.first == self.next || self.slots.get(self.first).is_none_or(|slot| !slot.is_deferred()) {
            self.skip();
        }
    }

    /// Moves to the next deferred receive; an empty ring begins again at its start, whose slots are in the
    /// cache.
    #[inline(never)]
    fn skip(&mut self) {
        match (self.first..self.next).find(|at| self.slots[*at].is_deferred()) {
            Some(at) => self.first = at,
            None => {
                let lap = ((self.first_name >> DEFERRED_BITS) + 1) % DEFERRED_LAPS;
                let place = self.first_name & ((1 << DEFERRED_BITS) - 1);
                (self.first, self.next, self.first_name) = (0, 0, lap << DEFERRED_BITS | place);
            }
        }
    }

    /// Returns the first receive, which is deferred.
    pub fn first_mut(&mut self) -> Option<&mut DeferredRecv> {
        if self.any() { self.slots.get_mut(self.first) } else { None }
    }

    /// Returns the slot of a name, unless that was given back.
    pub fn slot(&mut self, name: u32) -> Option<&mut DeferredRecv> {
        self.slots.get_mut(name as usize % SLOTS).filter(|slot| slot.name == name && !slot.is_free())
    }

    /// Returns the names of receives that were submitted and whose caller does not know it.
    pub fn submitted(&self) -> Vec<u32> {
        let is_new =
            |slot: &&DeferredRecv| matches!(slot.state, DeferredState::Submitted(_) | DeferredState::Refused);
        self.slots.iter().filter(is_new).map(|slot| slot.name).collect()
    }

    /// Takes a name back: its slot is free, unless its receive is deferred.
    pub fn give_back(&mut self, name: u32) {
        if let Some(slot) = self.slot(name).filter(|slot| !slot.is_deferred()) {
            slot.state = DeferredState::Free;
        }
    }
}

/// Receives from one source on one flow at the front of a ring, with their handles. `SHORT` ones are for
/// messages of a few bytes, whose ends are not reported.
pub struct Run<'a, 'b, H: DeferredHandles, const SHORT: bool> {
    pairs: Zip<slice::IterMut<'a, DeferredRecv>, slice::IterMut<'a, H::Handle>>,
    told: Option<DeferredEnd<'a, 'b>>,
    from: u64,
    /// The number of ended ones.
    taken: usize,
}

impl<H: DeferredHandles, const SHORT: bool> Receives for Run<'_, '_, H, SHORT> {
    const SHORT: bool = SHORT;

    /// Refuses all messages once it has refused one: a rail may offer the same one again.
    #[inline(always)]
    fn accept(&mut self, tag: Tag, bytes: Window<'_>) -> bool {
        let Some((slot, handle)) = self.pairs.next() else { return false };
        let len = bytes.len();
        let is_wanted = slot.source.from == self.from && slot.tag == tag && H::is_of(handle, slot.name);
        if !is_wanted || !slot.end_with(bytes) {
            self.pairs = [].iter_mut().zip(&mut []);
            return false;
        }
        if !SHORT && let Some(told) = &mut self.told {
            told(self.taken, slot, len);
        }
        H::end(handle);
        self.taken += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names, each `None` once its receive has ended.
    struct Names;

    impl DeferredHandles for Names {
        type Handle = Option<u32>;

        fn is_of(handle: &Option<u32>, name: u32) -> bool {
            *handle == Some(name)
        }

        fn end(handle: &mut Option<u32>) {
            *handle = None;
        }
    }

    fn block() -> RawBlock {
        canele_mem::buffer::RawBlock::of(vec![0; 4].leak())
    }

    /// Brings a message of one byte with each tag, as long as a receive takes it; returns the number of ended
    /// receives.
    fn bring(ring: &mut DeferredRecvs, names: &mut [Option<u32>], tags: &[u32]) -> usize {
        ring.end_run::<true, Names>(names, None, |_, run| {
            let mut byte = [7];
            for tag in tags {
                let mut taken = false;
                canele_rail::on_slice(&mut byte, |bytes| taken = run.accept(Tag(*tag), bytes));
                // A rail may ask again.
                if !taken {
                    canele_rail::on_slice(&mut byte, |bytes| assert!(!run.accept(Tag(*tag), bytes)));
                }
            }
        })
    }

    #[test]
    fn receives_end_in_their_order_as_far_as_they_are_waited_for() {
        let mut ring = DeferredRecvs::of_lane(2);
        let source = DeferredSource::new(Rank(1), FlowId(4), 9);
        let names: Vec<u32> =
            (0..4).map(|tag| ring.add_otherwise(&source, Tag(tag), block()).unwrap()).collect();
        assert!(names.iter().all(|name| name & FIRST_DEFERRED == FIRST_DEFERRED));
        assert!(names.iter().all(|name| (name & !FIRST_DEFERRED) as usize / SLOTS == 2));
        let mut wanted = [names[0], names[1], names[2]].map(Some);
        assert_eq!(bring(&mut ring, &mut wanted, &[0, 2]), 1, "the next one has another tag");
        assert_eq!(bring(&mut ring, &mut wanted[1..], &[1, 2, 3]), 2, "the last one is not waited for");
        assert!(ring.any() && wanted == [None; 3]);
        assert_eq!(bring(&mut ring, &mut [Some(names[3])], &[3]), 1);
        assert!(!ring.any());
        let again = ring.add_otherwise(&source, Tag(0), block()).unwrap();
        assert_eq!((again != names[0], again % SLOTS as u32), (true, names[0] % SLOTS as u32), "another lap");
    }

    #[test]
    fn a_ring_goes_round_slots_whose_names_are_in_use() {
        let mut ring = DeferredRecvs::of_lane(0);
        let source = DeferredSource::new(Rank(0), FlowId(0), 0);
        let kept = ring.add_otherwise(&source, Tag(0), block()).unwrap();
        // It stands for a receive that was submitted.
        ring.slots[0].state = DeferredState::Known;
        ring.remove(1);
        assert!(!ring.any() && ring.add_otherwise(&source, Tag(1), block()).is_none() && ring.go_to_free());
        let second = ring.add_otherwise(&source, Tag(2), block()).unwrap();
        assert_eq!(second % SLOTS as u32, 1);
        assert!(ring.slot(kept).is_some());
        ring.give_back(second);
        assert!(ring.any(), "a receive that is deferred keeps its slot");
        ring.give_back(kept);
        assert!(ring.slot(kept).is_none());
        for _ in 2..SLOTS {
            ring.add_otherwise(&source, Tag(3), block()).unwrap();
        }
        assert!(
            ring.add_otherwise(&source, Tag(3), block()).is_none() && !ring.go_to_free(),
            "all slots are used"
        );
    }
}
