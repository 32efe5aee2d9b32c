//! The memory route: whether this rank maps the memory of a peer, accesses it by verbs, or asks the owner.

use canele_rail::{LinkTraits, OneSided, Rma, Verbs};
use canele_sys::ids::{LinkId, Rank};

/// The way in which memory of a peer is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryRoute {
    /// The memory is mapped here: loads and stores, without help of the owner.
    Map,
    /// The network accesses it through this link, without help of the owner's process.
    Verb(LinkId),
    /// The owner's library serves a request.
    Request,
}

/// Verbs on words, which must not be done twice.
const ON_WORDS: Verbs = Verbs::FETCH_OP.union(Verbs::COMPARE_SWAP);

/// Chooses the access to memory of a peer, a region or an exposure, for an operation of this kind. Two rules
/// keep a word whole:
///
/// 1. If a link may be lost while its peer lives, no verb changes a word: its result would be unknown.
/// 2. Verbs, requests and processors of the owner's host may change one word at the same time. So a rail has
///    verbs on words only if they are atomic with the instructions of those processors
///    ([`canele_rail::Verb::FetchOp`]), by which owners serve requests. A layer above uses these instructions
///    for such words, and no plain loops behind a lock: no verb takes the lock.
pub fn route<R: OneSided + Rma>(rail: &R, owner: Rank, verb: Verbs) -> MemoryRoute {
    if rail.memory_link(owner).is_some() {
        return MemoryRoute::Map;
    }
    let has_verb = |link: &LinkId| {
        let caps = rail.caps(*link);
        let may_repeat = caps.link_traits.contains(LinkTraits::RECOVERABLE) && ON_WORDS.contains(verb);
        !verb.is_empty() && caps.verbs.contains(verb) && !may_repeat
    };
    rail.link(owner).filter(has_verb).map_or(MemoryRoute::Request, MemoryRoute::Verb)
}
