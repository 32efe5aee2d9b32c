//! The target side of RMA: serves the RMA requests of other ranks in this rank's memory.
//!
//! RMA requests of one origin are begun in the order in which they were sent, with two exceptions. A request
//! waits for data that is still to come into the memory that it accesses. Requests for an exposure wait
//! behind a request for its lock that another rank holds. The data of several puts may come at the same time,
//! but puts end one after the other. Notices, answers and fences report them in that order. Nothing here
//! blocks: a request that cannot advance is tried again in the next pass. Requests and bytes of one origin
//! are bounded, and origins take turns.

use std::collections::{BTreeMap, HashSet};

use canele_mem::buffer::{InBuffer, OutBuffer, RegionAddress};
use canele_rail::FullRail;
use canele_sys::atomic::AtomicU64;
use canele_sys::ids::{FlowId, Rank, RegionId, Tag};

use super::access::RmaOperations;
use super::exposures::Exposures;
use super::pending::PendingSends;
use super::queue::{OriginQueue, WaitingRequest};
use super::refusals::Refusals;
use super::work::Work;
use super::{ArrivedRequest, DATA, REQUESTS};
use crate::Proto;
use crate::matching::Want;
use crate::peer::PeerEnd;

/// The most RMA requests of one origin and answers to it under way. Further ones wait in the unexpected
/// queue, against their sender's credit, and no other rank waits for them.
const MOST: usize = 4096;
/// The most bytes of answers to one origin that wait to leave before more of its RMA requests are begun.
pub(super) const MOST_ANSWER_BYTES: usize = 1 << 20;
/// RMA requests of one origin that are begun before another origin has its turn.
pub(super) const TURN: usize = 256;

/// The memory that RMA requests of other ranks may touch, the handler of their questions, and the rails for
/// answers.
pub trait RmaMemory {
    /// The type of the rails.
    type Rails: FullRail;
    /// Returns the rails.
    fn rails(&mut self) -> &mut Self::Rails;
    /// Returns the length of a region, if there is one.
    fn len_of(&mut self, region: RegionId) -> Option<usize>;
    /// Returns part of a region, to be written. The region stays until the buffer is dropped.
    fn room(&mut self, place: RegionAddress, len: usize) -> Option<InBuffer>;
    /// Returns part of a region, to be read.
    fn part(&mut self, place: RegionAddress, len: usize) -> Option<OutBuffer>;
    /// Returns an aligned word of a region.
    fn word(&mut self, place: RegionAddress) -> Option<&AtomicU64>;
    /// Answers a question; adds the ranks that learn of the change to `tell`.
    fn ask(&mut self, from: Rank, question: [u64; 3], tell: &mut Vec<Tell>) -> u64;
    /// Takes data; `None` if it differs from its announcement.
    fn deposit(&mut self, from: Rank, of: [u64; 2], data: Option<Vec<u8>>);
    /// Returns the operations on elements, if the layer above has any.
    fn operations(&self) -> Option<&dyn RmaOperations>;
}

/// A rank that gets an empty message, with the flow and the tag of this message.
pub type Tell = (Rank, FlowId, Tag);

/// The RMA requests that a rank serves, and its exposures.
#[derive(Default)]
pub struct RmaTarget {
    /// The exposures.
    pub exposures: Exposures,
    pending: PendingSends,
    queues: BTreeMap<Rank, OriginQueue>,
    refusals: Refusals,
    /// Origins that died during an RMA request. Later notices of theirs are dropped, because data before them
    /// is missing.
    torn: HashSet<Rank>,
    /// The number of deaths after which the state was tidied.
    tidied: usize,
}

impl RmaTarget {
    /// Advances all requests; returns true if anything moved. Call it after each pass.
    pub fn serve<E: RmaMemory>(&mut self, proto: &mut Proto, memory: &mut E) -> bool {
        let mut any = self.take_new(proto);
        self.pending.clear(proto);
        let Self { exposures, pending, queues, refusals, torn, .. } = self;
        for (from, queue) in queues {
            let mut work = Work { proto, memory, pending, exposures, refusals, torn };
            any |= work.go_on(*from, queue);
        }
        self.queues.retain(|from, queue| {
            let is_over = queue.len() == 0;
            // A late request of a dead origin may have asked for a lock after its locks were released.
            if is_over && matches!(proto.gone(*from), Some(how) if how != PeerEnd::Finished) {
                self.exposures.release_of(*from);
            }
            !is_over
        });
        any | self.tidy(proto)
    }

    /// Drops data of dead ranks whose RMA requests never came, and releases their locks.
    fn tidy(&mut self, proto: &mut Proto) -> bool {
        let mut any = false;
        while let Some(dead) = proto.deaths().get(self.tidied).copied()
            && !self.queues.contains_key(&dead)
        {
            any = true;
            proto.forget(DATA, dead, None);
            self.refusals.forget(dead);
            self.exposures.release_of(dead);
            self.tidied += 1;
        }
        any
    }

    /// Begins to receive the RMA requests that have come.
    fn take_new(&mut self, proto: &mut Proto) -> bool {
        while let Some(ArrivedRequest { from, tag, payload }) = proto.arrived_requests.pop_front() {
            self.queues.entry(from).or_default().waiting.push_back(WaitingRequest::Here(tag, payload));
        }
        // Matched messages came after those in `arrived_requests`.
        while let Some(matched) = proto.probe_matched(REQUESTS, Want { source: None, tag: None }) {
            let waiting = &mut self.queues.entry(matched.status.source).or_default().waiting;
            waiting.push_back(WaitingRequest::Matched(matched));
        }
        let mut any = false;
        for (from, queue) in &mut self.queues {
            any |= queue.take_in(proto, *from, MOST.saturating_sub(self.pending.len_to(*from)));
        }
        any
    }

    /// Returns the number of RMA requests and answers under way, for tests and for the search for memory
    /// leaks.
    pub fn under_way(&self) -> usize {
        self.pending.len() + self.queues.values().map(OriginQueue::len).sum::<usize>()
    }
}
