//! Verbs of simulated ranks: their state under way, and their effect at the owner of the memory.
//!
//! Owns the registered memory and the completions that were not taken. A verb takes the time of a packet with
//! its bytes in an idle network. The verbs of one link leave one after the other. Verbs overtake each other
//! if packets are late by chance. They do not delay packets.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use canele_mem::buffer::MemoryAddress;
use canele_mem::exposed::Exposed;
use canele_mem::window::Window;
use canele_rail::{FetchOp, Verb, VerbCompletion, VerbError};
use canele_sys::atomic::Ordering::AcqRel;
use canele_sys::ids::{LinkId, Rank};

use super::State;
use super::agenda::Event;
use super::connection::Connection;

/// A verb that a rank has posted.
pub struct PostedVerb {
    pub token: u64,
    pub link: LinkId,
    pub from: Rank,
    pub connection: Rc<Connection>,
    /// The verb; `None` once it has completed.
    verb: RefCell<Option<Verb>>,
    /// The result at the owner. The next field holds the bytes that a get has read there.
    outcome: Cell<Result<u64, VerbError>>,
    read: RefCell<Vec<u8>>,
}

impl PostedVerb {
    pub fn new(token: u64, link: LinkId, from: Rank, connection: Rc<Connection>, verb: Verb) -> Rc<Self> {
        Rc::new(Self {
            token,
            link,
            from,
            connection,
            verb: RefCell::new(Some(verb)),
            outcome: Cell::new(Err(VerbError::LinkLost)),
            read: RefCell::new(Vec::new()),
        })
    }

    pub fn is_under_way(&self) -> bool {
        self.verb.borrow().is_some()
    }

    /// Carries the verb out at the owner; `find` finds registered memory of the owner.
    fn arrive<'a>(&self, find: impl FnOnce(MemoryAddress, usize) -> Option<Window<'a>>) {
        let verb = self.verb.borrow();
        let Some(verb) = verb.as_ref() else { return };
        let (place, len) = verb.target();
        let found = find(place, len).and_then(|window| carry_out(verb, window, &mut self.read.borrow_mut()));
        self.outcome.set(found.ok_or(VerbError::Refused));
    }

    /// Ends the verb at its origin. A get writes the bytes that were read, and the verb gives its memory
    /// back.
    pub fn end(&self, outcome: Result<u64, VerbError>) -> Option<VerbCompletion> {
        let verb = self.verb.borrow_mut().take()?;
        if let (Verb::Get { into, .. }, Ok(_)) = (&verb, outcome) {
            into.copy_from(Window::on(&mut self.read.borrow_mut()));
        }
        Some(VerbCompletion { token: self.token, link: self.link, result: outcome })
    }
}

/// Carries out a verb; returns `None` for a word that is not aligned.
fn carry_out(verb: &Verb, window: Window<'_>, read: &mut Vec<u8>) -> Option<u64> {
    match verb {
        Verb::Put { data, .. } => data.copy_to(window),
        Verb::Get { .. } => {
            read.resize(window.len(), 0);
            window.read(0, read);
        }
        Verb::FetchOp { op, operand, .. } => {
            let word = window.word(0)?;
            return Some(match op {
                FetchOp::Add => word.fetch_add(*operand, AcqRel),
                FetchOp::And => word.fetch_and(*operand, AcqRel),
                FetchOp::Or => word.fetch_or(*operand, AcqRel),
                FetchOp::Xor => word.fetch_xor(*operand, AcqRel),
                FetchOp::Replace => word.swap(*operand, AcqRel),
            });
        }
        Verb::CompareSwap { expected, desired, .. } => {
            let word = window.word(0)?;
            let swapped =
                word.compare_exchange(*expected, *desired, AcqRel, std::sync::atomic::Ordering::Acquire);
            return Some(swapped.unwrap_or_else(|before| before));
        }
    }
    Some(0)
}

/// The verbs of the ranks of a world.
#[derive(Default)]
pub struct WorldVerbs {
    /// The registered memory, by its owner and the place of its first byte.
    registered: BTreeMap<(Rank, MemoryAddress), Exposed>,
    completed: BTreeMap<Rank, VecDeque<VerbCompletion>>,
    /// The time until which each link of a rank is occupied by the rank's verbs.
    busy_until_ns: BTreeMap<(Rank, LinkId), u64>,
}

impl WorldVerbs {
    pub fn register(&mut self, owner: Rank, place: MemoryAddress, memory: &Exposed) {
        self.registered.insert((owner, place), memory.clone());
    }

    pub fn deregister(&mut self, owner: Rank, place: MemoryAddress) {
        self.registered.remove(&(owner, place));
    }

    /// Finds `len` registered bytes of an owner.
    fn find(&self, owner: Rank, place: MemoryAddress, len: usize) -> Option<Window<'_>> {
        let first = MemoryAddress { offset: 0, ..place };
        let ((_, start), memory) = self.registered.range((owner, first)..=(owner, place)).next_back()?;
        memory.window(usize::try_from(place.offset - start.offset).ok()?, len)
    }

    pub fn kill(&mut self, rank: Rank) {
        self.registered.retain(|(owner, _), _| *owner != rank);
        self.completed.remove(&rank);
    }

    pub fn complete(&mut self, rank: Rank, completion: Option<VerbCompletion>) {
        self.completed.entry(rank).or_default().extend(completion);
    }

    pub fn take(&mut self, rank: Rank) -> Option<VerbCompletion> {
        self.completed.get_mut(&rank)?.pop_front()
    }

    pub fn has_completed(&self, rank: Rank) -> bool {
        self.completed.get(&rank).is_some_and(|completed| !completed.is_empty())
    }
}

impl State {
    /// Sends a verb.
    pub fn post_verb(&mut self, posted: &Rc<PostedVerb>) {
        let bytes = match &*posted.verb.borrow() {
            Some(Verb::Put { data, .. }) => data.len(),
            Some(_) => size_of::<[u64; 3]>(),
            None => return,
        };
        let model = self.networks[posted.connection.network as usize].model;
        let busy = self.verbs.busy_until_ns.entry((posted.from, posted.link)).or_default();
        let begin_ns = self.now_ns.max(*busy);
        let way_ns = model.idle_ns(bytes as u64);
        *busy = begin_ns + way_ns - model.latency_ns;
        let late_ns = self.random.up_to(model.jitter_ns);
        self.agenda.put(begin_ns + way_ns + late_ns, Event::VerbAtOwner(posted.clone()));
    }

    /// Carries out a verb that arrives at its owner, unless its sender or its owner is dead or the link is
    /// lost.
    pub fn verb_at_owner(&mut self, posted: Rc<PostedVerb>) {
        let owner = posted.link.peer();
        if self.is_dead(posted.from) {
            return;
        }
        if !self.is_dead(owner) && !posted.connection.is_lost() {
            posted.arrive(|place, len| self.verbs.find(owner, place, len));
        }
        let model = self.networks[posted.connection.network as usize].model;
        let back_ns = model.idle_ns(posted.read.borrow().len() as u64);
        self.agenda.put(self.now_ns + back_ns, Event::VerbEnded(posted));
    }

    /// Reports the end of a verb to its origin; returns the rank of the origin.
    pub fn verb_ended(&mut self, posted: &PostedVerb) -> Rank {
        if !self.is_dead(posted.from) {
            let completion = posted.end(posted.outcome.get());
            self.verbs.complete(posted.from, completion);
        }
        posted.from
    }
}
