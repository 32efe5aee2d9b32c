//! One run of a program: accesses of each rank, which are drawn during the run, and their outcomes.

mod accesses;
mod check;
mod ends;

use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer, Owned, RegionAddress};
use canele_mem::exposed::Exposed;
use canele_mem::layout::Layout;
use canele_proto::rma::{
    ElementAccess, ExposureKey, NewCall, RmaLockKind, RmaMemory, RmaOperations, RmaOrigin, RmaRequest,
    RmaTarget, Tell,
};
use canele_proto::slab::Key;
use canele_rail::FetchOp;
use canele_sys::atomic::AtomicU64;
use canele_sys::ids::{Rank, RegionId};

use super::operations::{ADD, Words};
use super::reference::{Done, area_at};
use crate::campaign::net::Net;
use crate::campaign::program::Program;
use crate::campaign::watch::Watched;
use crate::world::Random;

/// The number of accesses of each rank.
const ACCESSES: usize = 60;
/// The number of steps before a run counts as hanging.
const MOST_STEPS: usize = 3_000_000;

type CheckedAccesses = Result<(), String>;

/// The expected outcome of a call.
enum ExpectedOutcome {
    /// The call ends, with any result.
    End,
    Bytes(Vec<u8>),
    Fetched,
    /// The word is replaced if its value was this one.
    Replaced(u64),
    Refused,
    Granted(RmaLockKind),
    /// The call reads the word that the lock protects.
    Protected,
    Unlocked(RmaLockKind),
    /// The rank got the lock, used it and returned it without waiting in between.
    SectionDone,
}

struct Run {
    to: usize,
    key: Key,
    rma_request: RmaRequest,
    data: Owned<u8>,
    into: Owned<u8>,
    expected: ExpectedOutcome,
}

/// The state of one rank.
#[derive(Default)]
struct Party {
    target: RmaTarget,
    origin: RmaOrigin,
    words: Words,
    runs: Vec<Run>,
    left: usize,
    /// True if the rank has a lock, or waits for one.
    in_section: bool,
    is_told: bool,
}

pub struct RmaPlay<'p> {
    program: &'p Program,
    net: Net,
    random: Random,
    parties: Vec<Party>,
    memory: Vec<Exposed>,
    keys: Vec<ExposureKey>,
    /// For each memory, the offset by which origins address its first byte.
    starts: Vec<u64>,
    /// The accesses that each origin has done: [origin][owner].
    done: Vec<Vec<Done>>,
    /// The ranks that hold the lock of each owner.
    holders: Vec<Vec<(usize, RmaLockKind)>>,
    dead: Option<usize>,
}

/// The environment of a target that has exposed memory only, and no regions.
struct Here<'a> {
    rail: &'a mut Watched,
    words: &'a Words,
}

impl RmaMemory for Here<'_> {
    type Rails = Watched;
    fn rails(&mut self) -> &mut Watched {
        self.rail
    }
    fn len_of(&mut self, _: RegionId) -> Option<usize> {
        None
    }
    fn room(&mut self, _: RegionAddress, _: usize) -> Option<InBuffer> {
        None
    }
    fn part(&mut self, _: RegionAddress, _: usize) -> Option<OutBuffer> {
        None
    }
    fn word(&mut self, _: RegionAddress) -> Option<&AtomicU64> {
        None
    }
    fn ask(&mut self, _: Rank, _: [u64; 3], _: &mut Vec<Tell>) -> u64 {
        0
    }
    fn deposit(&mut self, _: Rank, _: [u64; 2], _: Option<Vec<u8>>) {}
    fn operations(&self) -> Option<&dyn RmaOperations> {
        Some(self.words)
    }
}

/// Exposes memory in two parts that are attached.
fn attach_in_parts(target: &mut RmaTarget, rail: &mut Watched, memory: &Exposed) -> ExposureKey {
    let (key, half) = (target.expose_dynamic(), memory.len() / 2);
    for (at, len) in [(half, memory.len() - half), (0, half)] {
        let part = memory.part(at, len).expect("inside of the memory");
        target.attach(rail, key, part).expect("no other part overlaps");
    }
    key
}

impl<'p> RmaPlay<'p> {
    pub fn new(program: &'p Program) -> Self {
        let Program { settings, networks, strategy, packets, seed, cuts, .. } = program;
        let ranks = program.actions.len();
        let mut net = Net::new(*settings, networks, strategy, *packets, *seed, &vec![8; ranks]);
        net.cut(cuts);
        let party = || Party { left: ACCESSES, ..Party::default() };
        let mut parties: Vec<_> = (0..ranks).map(|_| party()).collect();
        let memory: Vec<_> = (0..ranks).map(|_| Exposed::of(vec![0; area_at(ranks, ranks)])).collect();
        let mut random = Random(seed ^ 0xacce55);
        let exposed = parties.iter_mut().zip(&memory).zip(&mut net.rails);
        let exposed = exposed.map(|((party, memory), rail)| match random.chance(50) {
            true => (party.target.expose(rail, memory.clone()), 0),
            false => (attach_in_parts(&mut party.target, rail, memory), memory.address() as u64),
        });
        let (keys, starts) = exposed.unzip();
        Self {
            program,
            net,
            random,
            parties,
            memory,
            keys,
            starts,
            done: vec![vec![Done::default(); ranks]; ranks],
            holders: vec![Vec::new(); ranks],
            dead: None,
        }
    }

    fn ranks(&self) -> usize {
        self.parties.len()
    }

    fn living(&self) -> impl Iterator<Item = usize> + use<> {
        let dead = self.dead;
        (0..self.ranks()).filter(move |rank| Some(*rank) != dead)
    }

    pub fn run(mut self) -> CheckedAccesses {
        for _ in 0..MOST_STEPS {
            self.deaths();
            let rank = self.random.below(self.ranks());
            if Some(rank) != self.dead {
                match self.random.below(10) {
                    0..6 => drop(self.pass(rank)?),
                    6..8 if self.parties[rank].left > 0 => self.act(rank),
                    _ => drop(self.net.advance()),
                }
            }
            let all_asked = self.living().all(|rank| self.parties[rank].left == 0);
            let is_over = self.program.death.is_none_or(|(_, when, _)| self.net.step > when);
            if all_asked && (is_over && self.all_told() || !self.goes_on()?) {
                return self.check_the_end();
            }
        }
        Err("it never comes to rest".into())
    }

    fn all_told(&self) -> bool {
        self.program.death.is_none() || self.living().all(|rank| self.parties[rank].is_told)
    }

    /// Makes one pass of every rank, so that a death is handled although no rank submits an operation any
    /// more.
    fn goes_on(&mut self) -> Result<bool, String> {
        for rank in self.living() {
            self.pass(rank)?;
        }
        self.net.advance();
        Ok(true)
    }

    /// Kills the rank that dies and reports its death, each at its time.
    fn deaths(&mut self) {
        let Some((dead, when, delay)) = self.program.death else { return };
        if self.net.step < when {
            return;
        }
        if self.dead.is_none() {
            self.net.world.kill(dead);
            self.dead = Some(dead.0 as usize);
            self.parties[dead.0 as usize].runs.clear();
        }
        for rank in self.living() {
            let late = delay * (1 + (rank + dead.0 as usize) % 3);
            if self.net.step >= when + late && !self.parties[rank].is_told {
                self.parties[rank].is_told = true;
                self.net.tell(Rank(rank as u32), dead);
            }
        }
    }

    fn pass(&mut self, rank: usize) -> Result<bool, String> {
        let mut any = self.net.pass(Rank(rank as u32), 3)?;
        let party = &mut self.parties[rank];
        let (proto, rail) = (&mut self.net.protos[rank], &mut self.net.rails[rank]);
        any |= party.target.serve(proto, &mut Here { rail, words: &party.words });
        any |= party.origin.go_on(proto, &mut self.net.rails[rank]);
        for at in (0..self.parties[rank].runs.len()).rev() {
            let party = &mut self.parties[rank];
            if let Some(outcome) = party.origin.take(party.runs[at].key) {
                let run = party.runs.swap_remove(at);
                self.end(rank, run, outcome)?;
                any = true;
            }
        }
        Ok(any)
    }

    fn submit(
        &mut self,
        me: usize,
        to: usize,
        call: (RmaRequest, Option<(Arc<Layout>, usize)>),
        data: Vec<u8>,
        into: usize,
        expected: ExpectedOutcome,
    ) {
        let (rma_request, elements) = call;
        let (mut data, mut into) = (Owned::new(data), Owned::new(vec![0; into]));
        let is_sum = matches!(rma_request, RmaRequest::Access(ElementAccess { operation: (ADD, _), .. }));
        let new = NewCall {
            elements,
            element_bytes: 8,
            fetch_op: is_sum.then_some(FetchOp::Add),
            data: Some(data.lend_out()),
            into: Some(into.lend_in()),
            ..NewCall::new(Rank(to as u32), rma_request)
        };
        let (proto, rail) = self.net.both(Rank(me as u32));
        let key = self.parties[me].origin.submit(proto, rail, new);
        self.parties[me].runs.push(Run { to, key, rma_request, data, into, expected });
    }
}
