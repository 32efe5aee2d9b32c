//! The target side of RMA: serves the RMA requests of other ranks in this rank's memory.
//!
//! RMA requests of one origin are begun in the order in which they were sent, unless data that still comes goes where they look: then
//! they wait for it, or they are sent behind a request for a lock that another rank has: then those for its exposure wait. Puts end one after the other, so that notices, answers and fences tell of them in that order, while the
//! data of several may come at the same time. Nothing here blocks: what cannot go on is looked at again in the next pass. What is kept of
//! one origin is bounded, in requests and in bytes, and origins take turns.

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

/// So many RMA requests of one origin and answers to it may be under way; what comes beyond waits where it is, against its sender's
/// credit, and no other rank waits for it.
const MOST: usize = 4096;
/// So many bytes of answers to one origin may wait to leave before more of its RMA requests are begun.
pub(super) const MOST_ANSWER_BYTES: usize = 1 << 20;
/// RMA requests of one origin that are begun before another origin has its turn.
pub(super) const TURN: usize = 256;

/// The memory that RMA requests of other ranks may touch, the handler of their questions, and the rails that answers go over.
pub trait RmaMemory {
    /// Its rails.
    type Rails: FullRail;
    /// The rails.
    fn rails(&mut self) -> &mut Self::Rails;
    /// The length of a region, if there is one.
    fn len_of(&mut self, region: RegionId) -> Option<usize>;
    /// Part of a region, to be written; it stays there until the buffer is dropped.
    fn room(&mut self, place: RegionAddress, len: usize) -> Option<InBuffer>;
    /// Part of a region, to be read.
    fn part(&mut self, place: RegionAddress, len: usize) -> Option<OutBuffer>;
    /// An aligned word of a region.
    fn word(&mut self, place: RegionAddress) -> Option<&AtomicU64>;
    /// Answers a question; the ranks that learn of what it changed join `tell`.
    fn ask(&mut self, from: Rank, question: [u64; 3], tell: &mut Vec<Tell>) -> u64;
    /// Takes data; nothing if it did not come as announced.
    fn deposit(&mut self, from: Rank, of: [u64; 2], data: Option<Vec<u8>>);
    /// What carries out operations on elements, if the layer above has any.
    fn operations(&self) -> Option<&dyn RmaOperations>;
}

/// A rank that is to get an empty message: on which flow, with which tag.
pub type Tell = (Rank, FlowId, Tag);

/// The RMA requests that a rank serves, and what it has exposed to them.
#[derive(Default)]
pub struct RmaTarget {
    /// What is exposed.
    pub exposures: Exposures,
    pending: PendingSends,
    queues: BTreeMap<Rank, OriginQueue>,
    refusals: Refusals,
    /// Origins that died amid an RMA request: notices behind it would come too early for ever.
    torn: HashSet<Rank>,
    /// Of the deaths so far: after how many nothing is left here.
    tidied: usize,
}

impl RmaTarget {
    /// Goes on with everything that can go on; says whether anything did. After each pass.
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
            // What came of a dead origin after its locks were given on may have asked for one.
            if is_over && matches!(proto.gone(*from), Some(how) if how != PeerEnd::Finished) {
                self.exposures.release_of(*from);
            }
            !is_over
        });
        any | self.tidy(proto)
    }

    /// Drops data of the dead whose RMA requests never came, and gives on the locks that they held.
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
        // These came after those.
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

    /// RMA requests and answers under way, for tests and for people who look for memory.
    pub fn under_way(&self) -> usize {
        self.pending.len() + self.queues.values().map(OriginQueue::len).sum::<usize>()
    }
}
