//! One run of a program: what each rank asks for, drawn as it goes, and what becomes of it.

use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer, Owned, RegionAddress};
use canele_mem::exposed::Exposed;
use canele_mem::layout::Layout;
use canele_proto::Holding;
use canele_proto::rma::{
    ElementAccess, ElementAction, ExposureKey, Form, NewCall, Refusal, RmaFailure, RmaLockKind, RmaMemory,
    RmaOperations, RmaOrigin, RmaOutcome, RmaRequest, RmaTarget, Tell, WindowAction,
};
use canele_proto::slab::Key;
use canele_sys::atomic::AtomicU64;
use canele_sys::ids::{Rank, RegionId};

use super::operations::{ADD, FOLD, Words};
use super::reference::{AREA, Done, FETCHED, LOCKED, ORDERED, REPLACED, SUMS, area_at, check_sum, sums_at};
use crate::campaign::net::Net;
use crate::campaign::program::Program;
use crate::campaign::watch::Watched;
use crate::world::Random;

/// Accesses of each rank.
const ACCESSES: usize = 60;
/// Steps before a run counts as hanging.
const MOST_STEPS: usize = 3_000_000;

type Checked = Result<(), String>;

/// What is to come of a call.
enum Expected {
    /// Nothing but its end.
    End,
    Bytes(Vec<u8>),
    Fetched,
    /// Replaced, if this was there.
    Replaced(u64),
    Refused,
    Granted(RmaLockKind),
    /// The word that the lock protects.
    Protected,
    Unlocked(RmaLockKind),
}

struct Run {
    to: usize,
    key: Key,
    rma_request: RmaRequest,
    data: Owned<u8>,
    into: Owned<u8>,
    expected: Expected,
}

/// The state of one rank.
#[derive(Default)]
struct Party {
    target: RmaTarget,
    origin: RmaOrigin,
    words: Words,
    runs: Vec<Run>,
    left: usize,
    /// It has a lock, or waits for one.
    in_section: bool,
    is_told: bool,
}

pub struct Play<'p> {
    program: &'p Program,
    net: Net,
    random: Random,
    parties: Vec<Party>,
    memory: Vec<Exposed>,
    keys: Vec<ExposureKey>,
    /// What each origin has done: [origin][owner].
    done: Vec<Vec<Done>>,
    /// Who has the lock of each owner.
    holders: Vec<Vec<(usize, RmaLockKind)>>,
    dead: Option<usize>,
}

/// Exposed memory alone.
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

impl<'p> Play<'p> {
    pub fn new(program: &'p Program) -> Self {
        let Program { settings, networks, strategy, packets, seed, cuts, .. } = program;
        let ranks = program.actions.len();
        let net = Net::new(*settings, networks, strategy, *packets, *seed, &vec![8; ranks]);
        net.cut(cuts);
        let party = || Party { left: ACCESSES, ..Party::default() };
        let mut parties: Vec<_> = (0..ranks).map(|_| party()).collect();
        let memory: Vec<_> = (0..ranks).map(|_| Exposed::of(vec![0; area_at(ranks, ranks)])).collect();
        let keys = parties.iter_mut().zip(&memory);
        let keys = keys.map(|(party, memory)| party.target.exposures.expose(memory.clone())).collect();
        Self {
            program,
            net,
            random: Random(seed ^ 0xacce55),
            parties,
            memory,
            keys,
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

    pub fn run(mut self) -> Checked {
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

    /// One pass of every rank, so that a death has its turn though nobody asks for anything any more.
    fn goes_on(&mut self) -> Result<bool, String> {
        for rank in self.living() {
            self.pass(rank)?;
        }
        self.net.advance();
        Ok(true)
    }

    /// Kills, and tells, when it is time.
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
        expected: Expected,
    ) {
        let (rma_request, elements) = call;
        let (mut data, mut into) = (Owned::new(data), Owned::new(vec![0; into]));
        let new = NewCall {
            elements,
            element_bytes: 8,
            data: Some(data.lend_out()),
            into: Some(into.lend_in()),
            ..NewCall::new(Rank(to as u32), rma_request)
        };
        let (proto, rail) = self.net.both(Rank(me as u32));
        let key = self.parties[me].origin.submit(proto, rail, new);
        self.parties[me].runs.push(Run { to, key, rma_request, data, into, expected });
    }

    fn place(&self, to: usize, offset: usize) -> RegionAddress {
        RegionAddress { region: self.keys[to].into(), offset: offset as u64 }
    }

    fn access(
        &self,
        to: usize,
        action: ElementAction,
        operation: u16,
        offset: usize,
        len: usize,
    ) -> RmaRequest {
        let place = self.place(to, offset);
        let (operation, len) = ((operation, 8), len as u64);
        RmaRequest::Access(ElementAccess { action, place, operation, len, elements: None })
    }

    /// Elements of `block` bytes, with their distance, that fit into `room`.
    fn elements(&mut self, block: usize, room: usize) -> (Arc<Layout>, usize, usize) {
        let stride = block * (1 + self.random.below(4));
        let count = 1 + self.random.below((room / stride).min(900));
        let layout = match self.random.chance(50) {
            true => Layout::block(block).repeated(count, stride as isize),
            // Too irregular to be sent as a whole.
            false => Layout::sequence((0..count).filter_map(|n| {
                let gap = if n % 3 == 0 { 0 } else { stride - block };
                Layout::block(block).shifted((n * stride + gap) as isize)
            })),
        };
        (Arc::new(layout.expect("it fits")), count, stride)
    }

    /// A random access of a rank.
    fn act(&mut self, me: usize) {
        self.parties[me].left -= 1;
        let (ranks, to) = (self.ranks(), self.random.below(self.ranks()));
        match self.random.below(20) {
            0..5 => self.put(me, to),
            5..8 => self.get(me, to),
            8..11 => self.add(me, to),
            11 | 12 => {
                let n = self.random.next_u64();
                self.done[me][to].fold(n);
                let access = self.access(to, ElementAction::Accumulate, FOLD, 8 * (ORDERED + me), 8);
                self.submit(me, to, (access, None), n.to_le_bytes().to_vec(), 0, Expected::End);
            }
            13 | 14 => {
                self.done[me][to].fetches += 1;
                let access = self.access(to, ElementAction::GetAccumulate, ADD, 8 * FETCHED, 8);
                self.submit(me, to, (access, None), 1u64.to_le_bytes().to_vec(), 8, Expected::Fetched);
            }
            15 => {
                let there = self.random.up_to(6);
                self.done[me][to].replaces += 1;
                let access = self.access(to, ElementAction::CompareAndSwap, 0, 8 * REPLACED, 8);
                let operands = [there, there + 1].map(u64::to_le_bytes).concat();
                self.submit(me, to, (access, None), operands, 8, Expected::Replaced(there));
            }
            16 | 17 if !self.parties[me].in_section => {
                self.parties[me].in_section = true;
                let kind =
                    self.random.pick(&[RmaLockKind::Exclusive, RmaLockKind::Exclusive, RmaLockKind::Shared]);
                self.window(me, to, WindowAction::Lock(kind), Expected::Granted(kind));
            }
            18 => {
                let window = self.keys[to].into();
                self.submit(me, to, (RmaRequest::Flush { window }, None), Vec::new(), 0, Expected::End);
                // What leaves the memory, and is told by the next flush.
                let place = self.place(to, area_at(ranks, ranks) - 3);
                self.submit(
                    me,
                    to,
                    (RmaRequest::Write { place, len: 8 }, None),
                    vec![1; 8],
                    0,
                    Expected::End,
                );
                self.submit(me, to, (RmaRequest::Flush { window }, None), Vec::new(), 0, Expected::Refused);
            }
            _ => {
                let window = self.keys[to].into();
                self.submit(me, to, (RmaRequest::Flush { window }, None), Vec::new(), 0, Expected::End);
            }
        }
    }

    fn window(&mut self, me: usize, to: usize, action: WindowAction, expected: Expected) {
        let request = RmaRequest::Window { window: self.keys[to].into(), action };
        self.submit(me, to, (request, None), Vec::new(), 0, expected);
    }

    fn put(&mut self, me: usize, to: usize) {
        let begin = area_at(self.ranks(), me);
        // Large data that is being read may be read before or after this.
        for run in &mut self.parties[me].runs {
            let apart = self.net.protos[me].form(&run.rma_request) == Form::Apart;
            if run.to == to && apart && matches!(run.expected, Expected::Bytes(_)) {
                run.expected = Expected::End;
            }
        }
        if self.random.chance(40) {
            let block = self.random.pick(&[1, 4, 8, 24, 100]);
            let from = self.random.below(AREA / 2);
            let (layout, count, _) = self.elements(block, AREA / 2);
            let data: Vec<u8> = (0..block * count).map(|_| self.random.next_u64() as u8).collect();
            let area = &mut self.done[me][to].area;
            layout.each_stretch(1, 0, data.len(), |at, done, len| {
                let at = from + at.unsigned_abs();
                area[at..at + len].copy_from_slice(&data[done..done + len]);
            });
            let access = self.access(to, ElementAction::Put, 0, begin + from, data.len());
            return self.submit(me, to, (access, Some((layout, 1))), data, 0, Expected::End);
        }
        let len = self.random.pick(&[0, 1, 8, 24, 25, 48, 900, 4096, 20_000]);
        let from = self.random.below(AREA - len);
        let data: Vec<u8> = (0..len).map(|_| self.random.next_u64() as u8).collect();
        self.done[me][to].area[from..from + len].copy_from_slice(&data);
        let place = self.place(to, begin + from);
        self.submit(me, to, (RmaRequest::Write { place, len: len as u64 }, None), data, 0, Expected::End);
    }

    fn get(&mut self, me: usize, to: usize) {
        let begin = area_at(self.ranks(), me);
        if self.random.chance(40) {
            let block = self.random.pick(&[1, 4, 8, 24, 100]);
            let from = self.random.below(AREA / 2);
            let (layout, count, _) = self.elements(block, AREA / 2);
            let mut bytes = vec![0; block * count];
            let area = &self.done[me][to].area;
            layout.each_stretch(1, 0, block * count, |at, done, len| {
                let at = from + at.unsigned_abs();
                bytes[done..done + len].copy_from_slice(&area[at..at + len]);
            });
            let access = self.access(to, ElementAction::Get, 0, begin + from, bytes.len());
            let len = bytes.len();
            return self.submit(me, to, (access, Some((layout, 1))), Vec::new(), len, Expected::Bytes(bytes));
        }
        let len = self.random.pick(&[0, 1, 8, 24, 900, 4096, 20_000]);
        let from = self.random.below(AREA - len);
        let expected = Expected::Bytes(self.done[me][to].area[from..from + len].to_vec());
        let place = self.place(to, begin + from);
        self.submit(me, to, (RmaRequest::Get { place, len: len as u64 }, None), Vec::new(), len, expected);
    }

    fn add(&mut self, me: usize, to: usize) {
        let from = self.random.below(SUMS / 2);
        let (layout, count, _) = self.elements(8, 8 * SUMS / 2);
        let n = 1 + self.random.up_to(1 << 20);
        let sums = &mut self.done[me][to].sums;
        layout.each_stretch(1, 0, 8 * count, |at, _, len| {
            let first = from + at.unsigned_abs() / 8;
            sums[first..first + len / 8].iter_mut().for_each(|sum| *sum += n);
        });
        let begin = sums_at(self.ranks()) + 8 * from;
        let access = self.access(to, ElementAction::Accumulate, ADD, begin, 8 * count);
        let data = n.to_le_bytes().repeat(count);
        self.submit(me, to, (access, Some((layout, 1))), data, 0, Expected::End);
    }

    fn end(&mut self, me: usize, mut run: Run, outcome: RmaOutcome) -> Checked {
        let RmaOutcome { result, data, into, .. } = outcome;
        data.into_iter().for_each(|buffer| run.data.take_back_out(buffer));
        into.into_iter().for_each(|buffer| run.into.take_back_in(buffer));
        let to = run.to;
        let word = |bytes: &mut Owned<u8>| bytes.bytes().try_into().map_or(0, u64::from_le_bytes);
        if let Err(RmaFailure::Owner(failure)) = &result {
            if Some(to) != self.dead {
                return Err(format!("rank {me} at {to}, which lives: {failure}"));
            }
            if matches!(run.expected, Expected::Granted(_) | Expected::Protected | Expected::Unlocked(_)) {
                self.leave(me, to);
            }
            return Ok(());
        }
        match (run.expected, result) {
            (Expected::End, Ok(_)) => {}
            (Expected::Bytes(expected), Ok(_)) if run.into.bytes() == expected => {}
            (Expected::Refused, Err(RmaFailure::Refused(_, Refusal::Outside(_)))) => {}
            (Expected::Fetched, Ok(_)) => self.done[me][to].fetched.push(word(&mut run.into)),
            (Expected::Replaced(expected), Ok(_)) => {
                self.done[me][to].replaced += u64::from(word(&mut run.into) == expected);
            }
            (Expected::Granted(kind), Ok(_)) => self.enter(me, to, kind)?,
            (Expected::Protected, Ok(_)) => {
                let n = word(&mut run.into) + 1;
                let place = self.place(to, 8 * LOCKED);
                let write = RmaRequest::Write { place, len: 8 };
                self.submit(me, to, (write, None), n.to_le_bytes().to_vec(), 0, Expected::End);
                self.holders[to].retain(|(rank, _)| *rank != me);
                self.window(me, to, WindowAction::Unlock, Expected::Unlocked(RmaLockKind::Exclusive));
            }
            (Expected::Unlocked(kind), Ok(_)) => {
                self.done[me][to].sections += u64::from(kind == RmaLockKind::Exclusive);
                self.leave(me, to);
            }
            (_, result) => return Err(format!("rank {me} at {to}: {:?} gave {result:?}", run.rma_request)),
        }
        Ok(())
    }

    /// A rank has got a lock.
    fn enter(&mut self, me: usize, to: usize, kind: RmaLockKind) -> Checked {
        let dead = self.dead;
        let others = self.holders[to].iter().filter(|(rank, _)| Some(*rank) != dead);
        let alone = |other: &RmaLockKind| kind == RmaLockKind::Exclusive || *other == RmaLockKind::Exclusive;
        if let Some((other, other_kind)) = others.into_iter().find(|(_, other)| alone(other)) {
            return Err(format!("{kind:?} lock of {to}: rank {me} has it beside {other}, {other_kind:?}"));
        }
        self.holders[to].push((me, kind));
        if kind == RmaLockKind::Exclusive {
            self.done[me][to].sections_begun += 1;
            let place = self.place(to, 8 * LOCKED);
            self.submit(
                me,
                to,
                (RmaRequest::Get { place, len: 8 }, None),
                Vec::new(),
                8,
                Expected::Protected,
            );
        } else {
            self.holders[to].retain(|(rank, _)| *rank != me);
            self.window(me, to, WindowAction::Unlock, Expected::Unlocked(kind));
        }
        Ok(())
    }

    fn leave(&mut self, me: usize, to: usize) {
        self.holders[to].retain(|(rank, _)| *rank != me);
        self.parties[me].in_section = false;
    }

    /// Until nothing happens any more; then everything has ended, and the memory is as it must be.
    fn check_the_end(&mut self) -> Checked {
        for n in 0.. {
            let mut any = self.net.open_links(true);
            for rank in self.living() {
                any |= self.pass(rank)?;
            }
            if !any && self.net.advance().is_none() {
                break;
            }
            if n > MOST_STEPS {
                return Err("it never comes to rest".into());
            }
        }
        for rank in self.living() {
            let party = &self.parties[rank];
            let open: Vec<_> = party.runs.iter().map(|run| (run.to, run.rma_request)).collect();
            let under_way = (party.target.under_way(), party.origin.under_way());
            if !open.is_empty() || under_way != (0, 0) || !party.target.exposures.is_unlocked() {
                return Err(format!("rank {rank} has {under_way:?} under way, waits for {open:?}"));
            }
            let holding = self.net.protos[rank].holding();
            if holding != Holding::default() {
                return Err(format!("rank {rank} holds {holding:?}"));
            }
            self.check_memory(rank).map_err(|what| format!("memory of rank {rank}: {what}"))?;
        }
        Ok(())
    }

    fn check_memory(&self, owner: usize) -> Checked {
        let ranks = self.ranks();
        let mut bytes = vec![0; area_at(ranks, ranks)];
        self.memory[owner].load(0, &mut bytes);
        let word = |at: usize| bytes[8 * at..8 * at + 8].try_into().map_or(0, u64::from_le_bytes);
        let of_all =
            |what: &dyn Fn(&Done) -> u64| (0..ranks).map(|origin| what(&self.done[origin][owner])).sum();
        let of_living =
            |what: &dyn Fn(&Done) -> u64| self.living().map(|origin| what(&self.done[origin][owner])).sum();
        for origin in 0..ranks {
            let area = &bytes[area_at(ranks, origin)..area_at(ranks, origin + 1)];
            let own =
                self.done[origin][owner].check_own(word(ORDERED + origin), area, Some(origin) == self.dead);
            own.map_err(|what| format!("of rank {origin}, {what}"))?;
        }
        for at in 0..SUMS {
            let sum = |done: &Done| done.sums[at];
            check_sum("a sum", word(ORDERED + ranks + at), of_living(&sum), of_all(&sum))?;
        }
        let fetches = word(FETCHED);
        check_sum("words fetched", fetches, of_living(&|done| done.fetches), of_all(&|done| done.fetches))?;
        let mut fetched: Vec<u64> =
            (0..ranks).flat_map(|origin| self.done[origin][owner].fetched.clone()).collect();
        fetched.sort_unstable();
        fetched.dedup();
        let all: u64 = of_all(&|done| done.fetched.len() as u64);
        if fetched.len() as u64 != all || fetched.last().is_some_and(|last| *last >= fetches) {
            return Err(format!("{all} values fetched are {fetched:?}"));
        }
        let most = if self.dead.is_some() { u64::MAX } else { of_all(&|done| done.replaced) };
        check_sum("words replaced", word(REPLACED), of_living(&|done| done.replaced), most)?;
        let begun = of_all(&|done| done.sections_begun);
        check_sum("times locked", word(LOCKED), of_living(&|done| done.sections), begun)
    }
}
