//! Regions of an owner and of a peer that asks for them.

use super::*;

const OWNER: Rank = Rank(1);

/// The regions of an owner and of a peer; the test answers the peer like a launcher.
struct Pair {
    owner: Regions,
    peer: Regions,
}

impl Pair {
    fn new() -> Self {
        Self { owner: Regions::default(), peer: Regions::default() }
    }

    /// Answers the peer's questions; returns the regions whose end it wants to learn.
    fn answer(&mut self) -> Vec<RegionId> {
        let mut kept = Vec::new();
        while let Some(wanted) = self.peer.take_wanted() {
            let memory = self.owner.own(wanted.id).map(|own| own.fd().try_clone_to_owned().unwrap());
            kept.extend(Some(wanted.id).filter(|_| wanted.is_kept && memory.is_some()));
            self.peer.adopt(OWNER, wanted.id, memory.map(Ok));
        }
        kept
    }

    fn map(&mut self, id: RegionId) -> Option<Arc<RegionMemory>> {
        let first = self.peer.map(OWNER, id);
        self.answer();
        first.or_else(|| self.peer.map(OWNER, id)).expect("answered").expect("it can be mapped")
    }
}

/// Returns the number of mapped regions in this process.
fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().matches("canele-region").count()
}

fn at(region: RegionId) -> RegionAddress {
    RegionAddress { region, offset: 0 }
}

#[test]
fn what_the_last_holder_drops_is_given_back_and_its_entry_too() {
    let mut pair = Pair::new();
    let region = pair.owner.create(5000).unwrap();
    region.window(0, 1).unwrap().write(0, &[7]);
    let held = pair.map(region.id()).unwrap();
    let again = pair.map(region.id()).unwrap();
    assert!(Arc::ptr_eq(&held, &again), "one mapping for all holders");
    let weak = Arc::downgrade(&held);
    drop(held);
    assert_eq!(again.window(0, 1).map(|window| window.len()), Some(1));
    drop(again);
    assert!(weak.upgrade().is_none(), "nothing else holds it");
    assert_eq!(pair.peer.known_len(), 0);
    assert!(pair.map(region.id()).is_some(), "it can be reached again");
    for _ in 0..1000 {
        let region = pair.owner.create(1).unwrap();
        assert!(pair.map(region.id()).is_some());
        pair.owner.drop_own(region.id());
    }
    assert!(pair.peer.handles.len() <= FEWEST_SWEPT, "{}", pair.peer.handles.len());
    let stale = region.id();
    pair.owner.drop_own(stale);
    assert!(pair.map(stale).is_none() && pair.peer.known_len() == 0);
}

#[test]
fn transfers_keep_a_region_until_its_owner_drops_it() {
    let mut pair = Pair::new();
    let before = mappings();
    for _ in 0..100 {
        let id = pair.owner.create(1 << 20).unwrap().id();
        assert!(matches!(pair.peer.reach(OWNER, at(id), 9), Reach::Wanted));
        assert_eq!(pair.answer(), [id], "the launcher tells of its end");
        assert!(matches!(pair.peer.reach(OWNER, at(id), 9), Reach::Here(_)));
        assert!(!pair.peer.wants_any());
        pair.owner.drop_own(id);
        pair.peer.forget(OWNER, Some(id));
        assert_eq!(pair.peer.known_len(), 0);
        assert!(matches!(pair.peer.reach(OWNER, at(id), 9), Reach::Wanted));
        assert_eq!(pair.answer(), []);
        assert!(matches!(pair.peer.reach(OWNER, at(id), 9), Reach::Refused));
        assert_eq!(pair.peer.known_len(), 0, "nothing is remembered of what is missing");
    }
    // Other tests of this process may map some.
    assert!(mappings() < before + 50);
}

#[test]
fn answers_find_the_caller_that_asked_in_any_order() {
    let mut pair = Pair::new();
    let region = pair.owner.create(100).unwrap();
    let fd = || Some(Ok(region.fd().try_clone_to_owned().unwrap()));
    let id = region.id();
    // A holder and a transfer ask; the owner drops the region between the two answers.
    assert!(pair.peer.map(OWNER, id).is_none());
    assert!(pair.peer.map_kept(OWNER, id).is_none());
    pair.peer.adopt(OWNER, id, fd());
    assert!(pair.peer.map_kept(OWNER, id).unwrap().unwrap().is_some());
    pair.peer.adopt(OWNER, id, None);
    assert!(pair.peer.kept.is_empty(), "the launcher would not tell of its end");
    let held = pair.peer.map(OWNER, id).expect("answered before").unwrap();
    drop(held);
    // A holder that has given up leaves nothing, whether the answer comes earlier or later.
    for answer_first in [false, true] {
        assert!(pair.peer.map(OWNER, id).is_none());
        if answer_first {
            pair.peer.adopt(OWNER, id, fd());
        }
        pair.peer.give_up(OWNER, id);
        pair.peer.adopt(OWNER, id, fd());
        assert_eq!(pair.peer.known_len(), 0);
    }
    // A report of a region's end is outdated while the peer asks for the region again.
    assert!(matches!(pair.peer.reach(OWNER, at(id), 1), Reach::Wanted));
    pair.peer.forget(OWNER, Some(id));
    pair.peer.adopt(OWNER, id, fd());
    assert!(matches!(pair.peer.reach(OWNER, at(id), 1), Reach::Here(_)));
    pair.peer.forget(OWNER, None);
    assert_eq!(pair.peer.known_len(), 0);
    // The owner is gone before the answer.
    assert!(pair.peer.map_kept(OWNER, id).is_none());
    pair.peer.forget(OWNER, None);
    pair.peer.adopt(OWNER, id, fd());
    assert_eq!(pair.peer.known_len(), 0);
    // The waiting caller holds the region that the owner has dropped.
    assert!(pair.map(id).is_some());
    assert_eq!(pair.peer.known_len(), 0);
}

#[test]
fn callers_that_ask_for_what_cannot_be_mapped_are_told_why() {
    let mut pair = Pair::new();
    let id = pair.owner.create(100).unwrap().id();
    let error = || SegmentError::Kernel { doing: "map", error: rustix::io::Errno::MFILE };
    assert!(pair.peer.map(OWNER, id).is_none() && pair.peer.map_kept(OWNER, id).is_none());
    pair.peer.adopt(OWNER, id, Some(Err(error())));
    assert_eq!(pair.peer.map_kept(OWNER, id).map(Result::err), Some(Some(error())));
    assert_eq!(pair.peer.map(OWNER, id).map(Result::err), Some(Some(error())));
    assert_eq!(pair.peer.known_len(), 0);
}
