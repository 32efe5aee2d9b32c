//! Memory of peers: regions that are mapped, copies of the memory of a peer's process, and verbs.

use canele_mem::buffer::{InShare, MemoryAddress, OutShare, RegionAddress};
use canele_mem::chunk_counter::ChunkCounter;
use canele_mem::exposed::Exposed;
use canele_mem::window::Window;
use canele_rail::{CopyingEnds, OneSided, PeerCopy, Reach, Rma, Verb, VerbCompletion};
use canele_sys::ids::{LinkId, Rank};
use canele_sys::process_memory::Proof;
use canele_sys::segment::SegmentError;

use super::SimRail;
use crate::world::verbs::PostedVerb;

/// Messages shorter than this are not read from memory.
const LEAST_FETCHED: usize = 256;

/// The number of verbs of one link that may be under way.
const MOST_VERBS: usize = 64;

impl OneSided for SimRail {
    fn memory_link(&self, peer: Rank) -> Option<LinkId> {
        let network = self.caps.iter().position(|caps| caps.maps_regions)?;
        Some(LinkId::new(network as u8, peer))
    }

    fn reach(&mut self, link: LinkId, place: RegionAddress, len: usize) -> Reach<'_> {
        if !self.has_regions(link) {
            return Reach::Refused;
        }
        let (peer, id) = (link.peer(), place.region);
        let mut world = self.world.borrow_mut();
        let Some(region) = world.regions.get(&(peer, id)).cloned() else {
            self.regions.forget(peer, Some(id));
            return Reach::Refused;
        };
        let end = usize::try_from(place.offset).ok().and_then(|offset| offset.checked_add(len));
        if end.is_none_or(|end| end > region.len()) {
            return Reach::Refused;
        }
        if matches!(self.regions.reach(peer, place, len), Reach::Wanted) {
            // The world answers instead of a launcher.
            self.regions.take_wanted();
            let most = world.networks[link.rail() as usize].model.region_misses.into();
            let left = self.misses.entry((peer, id)).or_insert_with(|| world.random.up_to(most));
            if *left > 0 {
                *left -= 1;
                return Reach::Wanted;
            }
            self.regions.adopt(peer, id, region.fd().try_clone_to_owned().ok().map(Ok));
        }
        drop(world);
        self.regions.reach(peer, place, len)
    }

    fn own(&mut self, place: RegionAddress, len: usize) -> Option<Window<'_>> {
        self.regions.own(place.region)?.window(usize::try_from(place.offset).ok()?, len)
    }

    fn chunk_counter(&mut self, link: LinkId, mine: bool, index: usize) -> Option<&ChunkCounter> {
        if !self.has_regions(link) {
            return None;
        }
        let way = if mine { self.incoming_way(link) } else { self.outgoing(link) };
        way.map(|way| way.chunk_counter(index))
    }
}

/// A word that proves that memory is of this process. All ranks are of one process.
const WORD: &u64 = &0x5a5a_1234_5678_a5a5;

impl PeerCopy for SimRail {
    fn prefers_peer_copy(&mut self, link: LinkId, bytes: usize) -> Option<CopyingEnds> {
        let percent = self.fetched_percent(link, bytes);
        let mut world = self.world.borrow_mut();
        let ends = if world.random.chance(50) { CopyingEnds::Both } else { CopyingEnds::Receiver };
        (percent > 0 && world.random.chance(percent)).then_some(ends)
    }

    fn prefers_both_ends(&mut self, link: LinkId, bytes: usize) -> bool {
        self.fetched_percent(link, bytes) > 0 && self.world.borrow_mut().random.chance(50)
    }

    /// Copies from a peer's memory; now and then the memory cannot be read.
    fn copy_from_peer(
        &mut self,
        _link: LinkId,
        from: &[(u64, usize)],
        _message: usize,
        into: InShare,
    ) -> bool {
        !self.world.borrow_mut().random.chance(20) && into.fetch(&Proof::own(WORD), from)
    }

    fn can_copy_to_peer(&mut self, link: LinkId) -> bool {
        self.has_regions(link) && !self.world.borrow_mut().random.chance(10)
    }

    /// Copies to a peer's memory; now and then the memory cannot be written.
    fn copy_to_peer(&mut self, _link: LinkId, into: &[(u64, usize)], from: OutShare) -> bool {
        !self.world.borrow_mut().random.chance(20) && from.store(&Proof::own(WORD), into)
    }
}

impl SimRail {
    /// Returns the percentage of messages of this size that are better read from memory.
    fn fetched_percent(&self, link: LinkId, bytes: usize) -> usize {
        match bytes >= LEAST_FETCHED && self.has_regions(link) {
            true => self.world.borrow().networks[link.rail() as usize].model.fetched_percent,
            false => 0,
        }
    }
}

impl Rma for SimRail {
    fn has_verbs(&self) -> bool {
        self.caps.iter().any(|caps| !caps.verbs.is_empty())
    }

    fn register(&mut self, place: MemoryAddress, memory: &Exposed) -> Result<(), SegmentError> {
        self.world.borrow_mut().verbs.register(self.me, place, memory);
        Ok(())
    }

    fn deregister(&mut self, place: MemoryAddress) {
        self.world.borrow_mut().verbs.deregister(self.me, place);
    }

    fn post_verb(&mut self, link: LinkId, token: u64, verb: Verb) -> Result<(), Verb> {
        let has = self.caps[link.rail() as usize].verbs.contains(verb.kind());
        let at = self.links.get_mut(&link).filter(|at| has && !at.lost && at.outgoing.is_some());
        let Some(at) = at else { return Err(verb) };
        at.verbs.retain(|posted| posted.is_under_way());
        if at.verbs.len() == MOST_VERBS {
            return Err(verb);
        }
        let posted = PostedVerb::new(token, link, self.me, at.connection.clone(), verb);
        at.verbs.push(posted.clone());
        self.world.borrow_mut().post_verb(&posted);
        Ok(())
    }

    fn take_completion(&mut self) -> Option<VerbCompletion> {
        self.world.borrow_mut().verbs.take(self.me)
    }
}
