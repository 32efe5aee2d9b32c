//! Runs a program on a world and checks every outcome against the reference.

mod death;
mod ending;
mod outcome;
mod posting;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use crate::world::Random;
use canele_mem::buffer::Scope;
use canele_proto::matching::Want;
use canele_proto::request::{Cancel, Mode, Status};
use canele_proto::wire::Kind;
use canele_proto::{CoalescedSend, Filled, Matched, Received, Sent};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use super::memory::{Home, UNTOUCHED, pieces, stretch};
use super::net::Net;
use super::observed::Observed;
use super::program::{Action, Memory, Program};
use super::reference::{Envelope, Flows, Message, content};

type Checked<T = ()> = Result<T, String>;

/// A message, and what the reference and the rank have learnt of it.
struct Letter {
    from: Rank,
    to: Rank,
    flow: FlowId,
    tag: Tag,
    len: usize,
    mode: Mode,
    /// True if a receive has taken the message.
    matched: bool,
    /// True if the message came as an announcement.
    announced: bool,
    /// True if the sender asked for the message back and got it.
    withdrawn: bool,
}

/// A receive of the program, and the message that it must get.
struct PostedReceive {
    at: Rank,
    flow: FlowId,
    room: usize,
    got: Option<Message>,
    /// True if the receive must fail, because a peer has died.
    fails: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum PlayOperation {
    Send(Message),
    Receive(usize),
}

/// An operation under way.
struct Pending {
    id: RequestId,
    what: PlayOperation,
    home: Home,
    cancelled: bool,
}

/// The expected content of each list: a message with its number of bytes, or nothing. A list without an entry
/// may hold anything.
pub type Lists = BTreeMap<usize, Option<(Message, usize)>>;

/// The borrowed memory of a program, by the numbers of its sends and receives.
pub struct Borrowed<'env> {
    pub out: BTreeMap<usize, &'env [u8]>,
    pub into: BTreeMap<usize, Vec<&'env mut [u8]>>,
}

pub struct Play<'p, 'scope, 'env> {
    program: &'p Program,
    scope: &'scope Scope<'scope, 'env>,
    borrowed: Borrowed<'env>,
    net: Net,
    random: Random,
    /// The number of the next action of each rank.
    next: Vec<usize>,
    letters: BTreeMap<Message, Letter>,
    posted_receives: BTreeMap<usize, PostedReceive>,
    pending: Vec<Vec<Pending>>,
    /// The sends of each rank that were coalesced.
    coalesced: Vec<Vec<(Message, CoalescedSend)>>,
    matched: Vec<Vec<(Matched, Message)>>,
    flows: Vec<Flows>,
    /// Messages on their way, by source, receiver and flow.
    flying: BTreeMap<(Rank, Rank, FlowId), VecDeque<Message>>,
    /// Messages whose senders have asked for them back, by source, receiver and flow.
    asked_back: BTreeMap<(Rank, Rank, FlowId), VecDeque<Message>>,
    region_used: Vec<usize>,
    lists: Lists,
    dead: Option<Rank>,
    /// The ranks that were told of the death. The next field holds the ranks and flows on which a receive
    /// from any source was told.
    told: BTreeSet<Rank>,
    told_flows: BTreeSet<(Rank, FlowId)>,
    extra: usize,
    /// The events that observers saw, if ranks have observers.
    observed: Option<Arc<Mutex<Observed>>>,
}

/// The first number above those of the program, for receives made at its end.
const EXTRA: usize = 1 << 20;

/// Returns the number of the message or receive that a rank's action makes.
pub fn number(rank: usize, action: usize) -> usize {
    rank << 12 | action
}

impl<'p, 'scope, 'env> Play<'p, 'scope, 'env> {
    pub fn new(program: &'p Program, scope: &'scope Scope<'scope, 'env>, borrowed: Borrowed<'env>) -> Self {
        let bytes = |action: &Action| match action {
            Action::Send { len: n, memory: Memory::Region, .. }
            | Action::Receive { room: n, memory: Memory::Region, .. }
            | Action::ReceiveMatched { room: n, memory: Memory::Region } => stretch(*n),
            _ => 0,
        };
        let regions: Vec<usize> =
            program.actions.iter().map(|list| 64 + list.iter().map(bytes).sum::<usize>()).collect();
        let ranks = regions.len();
        let Program { settings, networks, strategy, packets, seed, .. } = program;
        let mut net = Net::new(*settings, networks, strategy, *packets, *seed, &regions);
        let observed = program.observed.then(|| net.observe());
        Self {
            program,
            scope,
            borrowed,
            net,
            random: Random(program.seed ^ 0x5eed),
            next: vec![0; ranks],
            letters: BTreeMap::new(),
            posted_receives: BTreeMap::new(),
            pending: (0..ranks).map(|_| Vec::new()).collect(),
            coalesced: vec![Vec::new(); ranks],
            matched: (0..ranks).map(|_| Vec::new()).collect(),
            flows: (0..ranks).map(|_| Flows::default()).collect(),
            flying: BTreeMap::new(),
            asked_back: BTreeMap::new(),
            region_used: vec![0; ranks],
            lists: Lists::new(),
            dead: None,
            told: BTreeSet::new(),
            told_flows: BTreeSet::new(),
            extra: EXTRA,
            observed,
        }
    }

    /// Runs the whole program, to the end of its last operation.
    pub fn run(mut self) -> Checked<Lists> {
        let ranks = self.net.ranks();
        self.net.cut(&self.program.cuts);
        while (0..ranks).any(|r| !self.is_dead(r) && self.next[r] < self.program.actions[r].len())
            || self.death_ahead()
        {
            self.step()?;
        }
        for _ in 0..20 {
            self.settle()?;
            if !self.receive_the_rest()? {
                self.end_the_dead()?;
                self.check_nothing_is_left()?;
                self.check_observed()?;
                return Ok(self.lists);
            }
        }
        Err("messages keep coming".into())
    }

    fn is_dead(&self, rank: usize) -> bool {
        self.dead == Some(Rank(rank as u32))
    }

    fn step(&mut self) -> Checked {
        self.deaths()?;
        let rank = self.random.below(self.net.ranks());
        if self.is_dead(rank) {
            self.net.step += 1;
            return Ok(());
        }
        match self.random.below(100) {
            0..45 => self.pass(rank).map(drop)?,
            45..80 => self.act(rank)?,
            _ => {
                self.net.step += 1;
                self.net.advance();
                self.net.open_links(false);
            }
        }
        self.collect(rank)
    }

    fn pass(&mut self, rank: usize) -> Checked<bool> {
        let delay = self.random.below(40);
        let any = self.net.pass(Rank(rank as u32), delay)?;
        self.arrivals(rank)?;
        Ok(any)
    }

    /// Gives the reference the messages that have arrived at a rank.
    fn arrivals(&mut self, rank: usize) -> Checked {
        while let Some((from, header)) = self.net.rails[rank].arrivals.pop_front() {
            if Kind::of(&header) == Some(Kind::Withdraw) {
                self.give_back(rank, from, header)?;
                continue;
            }
            let envelope = self.arrived(rank, from, header)?;
            if let Some(receive) = self.flows[rank].of(FlowId(header.flow)).arrive(envelope) {
                self.give(receive, envelope.message);
            }
        }
        Ok(())
    }

    /// Returns the message that a header belongs to: the next one from its source on its flow. Fails if there
    /// is none, or if it has another tag because it was overtaken.
    fn arrived(&mut self, rank: usize, from: Rank, header: canele_rail::Header) -> Checked<Envelope> {
        let key = (from, Rank(rank as u32), FlowId(header.flow));
        let message = self.flying.get_mut(&key).and_then(VecDeque::pop_front);
        let message = message.ok_or_else(|| format!("a message from nowhere: {key:?} {header:?}"))?;
        let letter = self.letters.get_mut(&message).expect("a message that was sent");
        if letter.tag != Tag(header.tag) {
            return Err(format!("message {message} was overtaken: {key:?}, found {header:?}"));
        }
        letter.announced = [Kind::Rts, Kind::EagerFirst].map(|kind| kind as u8).contains(&header.kind);
        Ok(Envelope { message, source: from, tag: letter.tag })
    }

    /// Handles a sender's request to get a message back. The sender gets it, unless a receive or a matched
    /// probe was faster.
    fn give_back(&mut self, rank: usize, from: Rank, header: canele_rail::Header) -> Checked {
        let flow = FlowId(header.flow);
        let asked = self.asked_back.get_mut(&(from, Rank(rank as u32), flow)).and_then(VecDeque::pop_front);
        let message = asked.ok_or_else(|| format!("{from} asks for a message of no one: {header:?}"))?;
        if self.flows[rank].of(flow).withdraw(message) {
            self.letters.get_mut(&message).expect("a message that was sent").withdrawn = true;
        }
        Ok(())
    }

    fn give(&mut self, receive: usize, message: Message) {
        if let Some(posted_receive) = self.posted_receives.get_mut(&receive) {
            posted_receive.got = Some(message);
        }
        if let Some(letter) = self.letters.get_mut(&message) {
            letter.matched = true;
        }
    }

    fn act(&mut self, rank: usize) -> Checked {
        let n = self.next[rank];
        let Some(action) = self.program.actions[rank].get(n).copied() else { return Ok(()) };
        self.next[rank] += 1;
        let number = number(rank, n);
        match action {
            Action::Send { to, flow, tag, mode, len, memory, short } => {
                let from = Rank(rank as u32);
                let (matched, announced, withdrawn) = (false, false, false);
                let letter = Letter { from, to, flow, tag, len, mode, matched, announced, withdrawn };
                self.send(number, letter, memory, short)
            }
            Action::Receive { flow, want, room, memory, short } => {
                let posted_receive =
                    PostedReceive { at: Rank(rank as u32), flow, room, got: None, fails: false };
                self.receive(number, posted_receive, want, memory, short)
            }
            Action::Probe { flow, want } => {
                let expected = self.flows[rank].of(flow).peek(want).map(|e| self.status(e.message));
                let got = self.net.protos[rank].probe(flow, want);
                same("a probe", got, expected)
            }
            Action::MatchedProbe { flow, want } => {
                let expected = self.flows[rank].of(flow).take(want);
                let got = self.net.protos[rank].probe_matched(flow, want);
                let status = expected.map(|e| self.status(e.message));
                same("a matched probe", got.as_ref().map(|m| m.status), status)?;
                self.matched[rank].extend(got.zip(expected.map(|e| e.message)));
                Ok(())
            }
            Action::ReceiveMatched { room, memory } => {
                if let Some((matched, message)) = self.matched[rank].pop() {
                    self.receive_matched(number, rank, matched, message, room, memory);
                }
                Ok(())
            }
            Action::Cancel { which } => self.cancel(rank, which),
        }
    }

    fn status(&self, message: Message) -> Status {
        let letter = &self.letters[&message];
        Status { source: letter.from, tag: letter.tag, bytes: letter.len }
    }

    fn cancel(&mut self, rank: usize, which: usize) -> Checked {
        let n = self.pending[rank].len();
        if n == 0 {
            return Ok(());
        }
        let Pending { id, what, .. } = self.pending[rank][which % n];
        let cancel = self.net.protos[rank].cancel(id);
        let cancelled = cancel == Cancel::Done;
        self.pending[rank][which % n].cancelled |= cancelled;
        match what {
            PlayOperation::Receive(receive) => {
                let flow = self.posted_receives[&receive].flow;
                same("whether a receive was cancelled", cancelled, self.flows[rank].of(flow).cancel(receive))
            }
            PlayOperation::Send(message) => {
                let letter = &self.letters[&message];
                let key = (letter.from, letter.to, letter.flow);
                if letter.from == letter.to {
                    // A message that the library has copied is done, and can no longer be cancelled.
                    let withdrawn = cancelled && self.flows[rank].of(key.2).withdraw(message);
                    return same(
                        "whether a message of a rank to itself was still there",
                        withdrawn,
                        cancelled,
                    );
                }
                if cancel == Cancel::Asked {
                    self.asked_back.entry(key).or_default().push_back(message);
                }
                if cancelled {
                    let flying = self.flying.entry(key).or_default();
                    let before = flying.len();
                    flying.retain(|m| *m != message);
                    same("cancelled sends on their way", flying.len(), before - 1)?;
                }
                Ok(())
            }
        }
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Checked {
    if got == expected { Ok(()) } else { Err(format!("{what}: {got:?}, expected {expected:?}")) }
}

/// Checks that memory begins with the message, and that the bytes behind it are untouched.
pub fn check_bytes(what: &str, expected: Option<(Message, usize)>, bytes: &[u8]) -> Checked {
    let (message, len) = expected.unwrap_or_default();
    let good = content(message, len);
    let wrong = (0..len.min(bytes.len())).find(|i| bytes[*i] != good[*i]);
    if let Some(wrong) = wrong {
        return Err(format!("{what}: byte {wrong} of {len} of message {message} is wrong"));
    }
    match bytes[len.min(bytes.len())..].iter().position(|b| *b != UNTOUCHED) {
        Some(at) => Err(format!("{what}: byte {at} behind the {len} of message {message} was written")),
        None => Ok(()),
    }
}
