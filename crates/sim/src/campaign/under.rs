//! The rail of a rank in a campaign. It is simulated; if packets go wrong, faults are added, and repaired or
//! not.

use canele_mem::chunk_counter::ChunkCounter;
use canele_mem::exposed::Exposed;
use canele_mem::window::Window;
use std::time::Duration;

use crate::fault::{Fault, Rates};
use crate::reliable::{Reliable, ReliableSettings};
use crate::world::SimRail;
use canele_mem::buffer::{InShare, MemoryAddress, OutShare, RegionAddress};
use canele_rail::{
    Armed, Busy, Caps, Class, CopyingEnds, Corrupt, FastPath, Header, Lost, OneSided, Packet, PeerCopy, Rail,
    Reach, Recoverable, Rma, Slot, Speed, Unacked, Verb, VerbCompletion,
};
use canele_sys::ids::{LinkId, Rank};
use canele_sys::segment::SegmentError;

/// The fate of packets on the rail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packets {
    /// All packets arrive unchanged.
    Well,
    /// Packets go wrong at these rates, and the rail repairs the faults.
    Mended(Rates),
    /// Packets go wrong at these rates, and no layer repairs the faults. A campaign must notice them.
    #[cfg(test)]
    Unmended(Rates),
}

/// The time after which a mended rail retransmits.
const AGAIN_NS: u64 = 50_000;

/// One rail of several kinds.
pub enum CampaignRail {
    Well(Box<SimRail>),
    Mended(Box<Reliable<Fault<SimRail>>>),
    #[cfg(test)]
    Unmended(Box<Fault<SimRail>>),
}

/// Calls a method of the rail, whichever kind it is.
macro_rules! each {
    ($self:expr, $rail:ident => $what:expr) => {
        match $self {
            CampaignRail::Well($rail) => $what,
            CampaignRail::Mended($rail) => $what,
            #[cfg(test)]
            CampaignRail::Unmended($rail) => $what,
        }
    };
}

impl CampaignRail {
    pub fn new(sim: SimRail, packets: Packets, seed: u64) -> Self {
        match packets {
            Packets::Well => Self::Well(Box::new(sim)),
            Packets::Mended(rates) => {
                let settings = ReliableSettings { cells: 16, again_ns: AGAIN_NS, give_up_ns: u64::MAX };
                Self::Mended(Box::new(Reliable::new(Fault::new(sim, rates, seed), settings)))
            }
            #[cfg(test)]
            Packets::Unmended(rates) => Self::Unmended(Box::new(Fault::new(sim, rates, seed))),
        }
    }

    pub fn sim(&mut self) -> &mut SimRail {
        match self {
            Self::Well(sim) => sim,
            Self::Mended(rail) => rail.below().below(),
            #[cfg(test)]
            Self::Unmended(rail) => rail.below(),
        }
    }

    /// Accepts the links that peers have opened. If packets go wrong, it also opens the other direction,
    /// which answers need.
    pub fn accept(&mut self) {
        self.sim().accept();
        if !matches!(self, Self::Well(_)) {
            let incoming = self.incoming().to_vec();
            incoming.into_iter().for_each(|link| self.open_link(link));
        }
    }

    pub fn open_link(&mut self, link: LinkId) {
        self.sim().open_link(link.rail(), link.peer());
        match self {
            Self::Well(_) => {}
            Self::Mended(rail) => {
                rail.below().opened(link);
                rail.opened(link);
            }
            #[cfg(test)]
            Self::Unmended(rail) => rail.opened(link),
        }
    }

    pub fn advance_to(&mut self, now_ns: u64) {
        if let Self::Mended(rail) = self {
            rail.advance_to(now_ns);
        }
    }

    /// Returns the time at which the rail has work even if no packet comes.
    pub fn next_ns(&self) -> Option<u64> {
        match self {
            Self::Mended(rail) => rail.next_ns(),
            _ => None,
        }
    }
}

impl Rail for CampaignRail {
    fn caps(&self, link: LinkId) -> &Caps {
        each!(self, rail => rail.caps(link))
    }

    fn speed(&self, link: LinkId) -> Speed {
        each!(self, rail => rail.speed(link))
    }

    fn link(&self, peer: Rank) -> Option<LinkId> {
        each!(self, rail => rail.link(peer))
    }

    fn incoming(&self) -> &[LinkId] {
        each!(self, rail => rail.incoming())
    }

    fn disconnect(&mut self, link: LinkId) {
        each!(self, rail => rail.disconnect(link));
    }

    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        each!(self, rail => rail.claim(link, bulk, class))
    }

    fn commit(&mut self, link: LinkId, header: Header) {
        each!(self, rail => rail.commit(link, header));
    }

    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        each!(self, rail => rail.poll(link))
    }

    fn release(&mut self, link: LinkId) {
        each!(self, rail => rail.release(link));
    }

    fn begin_pass(&mut self) {
        each!(self, rail => rail.begin_pass());
    }

    fn flush(&mut self) -> bool {
        each!(self, rail => rail.flush())
    }

    fn arm(&mut self) -> Armed {
        each!(self, rail => rail.arm())
    }

    fn sleep(&mut self, at_most: Option<Duration>) {
        each!(self, rail => rail.sleep(at_most));
    }
}

impl FastPath for CampaignRail {
    fn asks_for_place(&mut self, link: LinkId) -> bool {
        each!(self, rail => rail.asks_for_place(link))
    }

    fn peek_bulk(&mut self, link: LinkId) -> Option<(Packet<'_>, usize)> {
        each!(self, rail => rail.peek_bulk(link))
    }

    fn direct_receive(&mut self, link: LinkId, place: InShare) {
        each!(self, rail => rail.direct_receive(link, place));
    }
}

impl OneSided for CampaignRail {
    fn memory_link(&self, peer: Rank) -> Option<LinkId> {
        each!(self, rail => rail.memory_link(peer))
    }

    fn reach(&mut self, link: LinkId, place: RegionAddress, len: usize) -> Reach<'_> {
        each!(self, rail => rail.reach(link, place, len))
    }

    fn own(&mut self, place: RegionAddress, len: usize) -> Option<Window<'_>> {
        each!(self, rail => rail.own(place, len))
    }

    fn chunk_counter(&mut self, link: LinkId, mine: bool, index: usize) -> Option<&ChunkCounter> {
        each!(self, rail => rail.chunk_counter(link, mine, index))
    }
}

impl Rma for CampaignRail {
    fn has_verbs(&self) -> bool {
        each!(self, rail => rail.has_verbs())
    }

    fn register(&mut self, place: MemoryAddress, memory: &Exposed) -> Result<(), SegmentError> {
        each!(self, rail => rail.register(place, memory))
    }

    fn deregister(&mut self, place: MemoryAddress) {
        each!(self, rail => rail.deregister(place));
    }

    fn post_verb(&mut self, link: LinkId, token: u64, verb: Verb) -> Result<(), Verb> {
        each!(self, rail => rail.post_verb(link, token, verb))
    }

    fn take_completion(&mut self) -> Option<VerbCompletion> {
        each!(self, rail => rail.take_completion())
    }
}

impl PeerCopy for CampaignRail {
    fn prefers_peer_copy(&mut self, link: LinkId, bytes: usize) -> Option<CopyingEnds> {
        each!(self, rail => rail.prefers_peer_copy(link, bytes))
    }

    fn note_offer(&mut self, link: LinkId) {
        each!(self, rail => rail.note_offer(link));
    }

    fn prefers_both_ends(&mut self, link: LinkId, bytes: usize) -> bool {
        each!(self, rail => rail.prefers_both_ends(link, bytes))
    }

    fn copy_from_peer(&mut self, link: LinkId, from: &[(u64, usize)], message: usize, into: InShare) -> bool {
        each!(self, rail => rail.copy_from_peer(link, from, message, into))
    }

    fn can_copy_to_peer(&mut self, link: LinkId) -> bool {
        each!(self, rail => rail.can_copy_to_peer(link))
    }

    fn copy_to_peer(&mut self, link: LinkId, into: &[(u64, usize)], from: OutShare) -> bool {
        each!(self, rail => rail.copy_to_peer(link, into, from))
    }
}

impl Recoverable for CampaignRail {
    fn generation(&self, link: LinkId) -> u32 {
        each!(self, rail => rail.generation(link))
    }

    fn take_lost(&mut self) -> Option<Lost> {
        each!(self, rail => rail.take_lost())
    }

    fn close_link(&mut self, link: LinkId) -> Option<Unacked> {
        each!(self, rail => rail.close_link(link))
    }
}
