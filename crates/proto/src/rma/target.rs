//! The target side of RMA: serves the RMA requests of other ranks in this rank's memory.
//!
//! RMA requests of one origin are begun in the order in which they were sent, unless data that still comes goes where they look: then
//! they wait for it. Puts end one after the other, so that notices, answers and fences tell of them in that order, while the
//! data of several may come at the same time. Nothing here blocks: what cannot go on is looked at again in the next pass. What is kept of
//! one origin is bounded, in requests and in bytes, and origins take turns.

use std::collections::{BTreeMap, HashSet};

use canele_mem::buffer::{InBuffer, OutBuffer, Owned, RegionAddress};
use canele_rail::{Corrupt, FullRail};
use canele_sys::atomic::{AtomicU64, Ordering::SeqCst};
use canele_sys::ids::{FlowId, Rank, RegionId, Tag};

use super::access::{RmaOperations, carry_out};
use super::exposures::Exposures;
use super::locks::Granted;
use super::pending::PendingSends;
use super::queue::{Begun, Data, Queue, Then};
use super::refusals::Refusals;
use super::{
    ANSWER, ANSWERS, Answer, DATA, ElementAccess, Form, LEAST_PIECE, LockKind, REQUESTS, Refusal, RmaRequest,
    SEQUENCE_MASK, WindowAction,
};
use crate::Proto;
use crate::matching::Want;
use crate::request::Buffer;

/// So many RMA requests of one origin and answers to it may be under way; what comes beyond waits where it is, against its sender's
/// credit, and nobody else waits for it.
const MOST: usize = 4096;
/// So many bytes of answers to one origin may wait to leave before more of its RMA requests are begun.
const MOST_ANSWER_BYTES: usize = 1 << 20;
/// RMA requests of one origin that are begun before another origin has its turn.
const TURN: usize = 256;

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
    /// Answers a question; whoever is to be told of what it changed joins `tell`.
    fn ask(&mut self, from: Rank, question: [u64; 3], tell: &mut Vec<Tell>) -> u64;
    /// Takes data; nothing if it did not come as announced.
    fn deposit(&mut self, from: Rank, of: [u64; 2], data: Option<Vec<u8>>);
    /// What carries out operations on elements, if the layer above has any.
    fn operations(&self) -> Option<&dyn RmaOperations>;
}

/// Somebody who is to get an empty message: on which flow, with which tag.
pub type Tell = (Rank, FlowId, Tag);

/// The RMA requests that a rank serves, and what it has exposed to them.
#[derive(Default)]
pub struct RmaTarget {
    /// What is exposed.
    pub exposures: Exposures,
    pending: PendingSends,
    queues: BTreeMap<Rank, Queue>,
    refusals: Refusals,
    /// Origins that died amid an RMA request: notices behind it would come too early for ever.
    torn: HashSet<Rank>,
    /// Of the deaths so far: after how many nothing is left here.
    tidied: usize,
}

/// The target while it serves requests, with what it needs for that.
struct Work<'a, E> {
    proto: &'a mut Proto,
    memory: &'a mut E,
    pending: &'a mut PendingSends,
    exposures: &'a mut Exposures,
    refusals: &'a mut Refusals,
    torn: &'a mut HashSet<Rank>,
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
        self.queues.retain(|_, queue| queue.len() > 0);
        any | self.tidy(proto, memory)
    }

    /// Drops data of the dead whose RMA requests never came, and gives on the locks that they held.
    fn tidy<E: RmaMemory>(&mut self, proto: &mut Proto, memory: &mut E) -> bool {
        let mut any = false;
        while let Some(dead) = proto.deaths().get(self.tidied).copied()
            && !self.queues.contains_key(&dead)
        {
            any = true;
            proto.forget(DATA, dead, None);
            self.refusals.forget(dead);
            let granted = self.exposures.release_of(dead);
            let Self { exposures, pending, refusals, torn, .. } = self;
            Work { proto, memory, pending, exposures, refusals, torn }.grant(granted);
            self.tidied += 1;
        }
        any
    }

    /// Begins to receive the RMA requests that have come.
    fn take_new(&mut self, proto: &mut Proto) -> bool {
        while let Some(matched) = proto.probe_matched(REQUESTS, Want { source: None, tag: None }) {
            self.queues.entry(matched.status.source).or_default().waiting.push_back(matched);
        }
        let mut any = false;
        for (from, queue) in &mut self.queues {
            any |= queue.take_in(proto, MOST.saturating_sub(self.pending.len_to(*from)));
        }
        any
    }

    /// RMA requests and answers under way, for tests and whoever wonders where memory went.
    pub fn under_way(&self) -> usize {
        self.pending.len() + self.queues.values().map(Queue::len).sum::<usize>()
    }
}

/// What became of an RMA request that was begun.
enum Began {
    /// It is done, and answered.
    Done,
    /// It ends after all before it.
    Queued(Box<Begun>),
    /// It is to be begun again later.
    Busy,
}

impl<E: RmaMemory> Work<'_, E> {
    fn go_on(&mut self, from: Rank, queue: &mut Queue) -> bool {
        let mut any = false;
        for _ in 0..TURN {
            if self.pending.bytes_to(from) >= MOST_ANSWER_BYTES {
                break;
            }
            let Some((tag, bytes)) = queue.next.take().or_else(|| self.receive(from, queue)) else { break };
            if queue.corrupt {
                continue;
            }
            let Some((rma_request, form, sequence, data)) = RmaRequest::read(tag, &bytes) else {
                any = true;
                self.shun(from, queue, tag, bytes.len());
                continue;
            };
            if queue.is_ahead_of(&rma_request) {
                queue.next = Some((tag, bytes));
                break;
            }
            match self.begin(from, rma_request, form, sequence, data) {
                Began::Done => {}
                Began::Queued(begun) => queue.begin(*begun),
                Began::Busy => {
                    queue.next = Some((tag, bytes));
                    break;
                }
            }
            any = true;
        }
        while let Some(begun) = queue.oldest() {
            if !self.has_data(from, begun) {
                break;
            }
            any = true;
            let Some(begun) = queue.take_oldest() else { break };
            if begun.result.is_err() && self.proto.gone(from).is_some() {
                self.torn.insert(from);
            }
            if !(matches!(begun.then, Then::Notice(_)) && self.torn.contains(&from)) {
                self.end(from, begun);
            }
        }
        any
    }

    /// An origin sent what is no RMA request: nothing is done any more of what it sent behind it, here or still to be received.
    fn shun(&mut self, from: Rank, queue: &mut Queue, tag: Tag, len: usize) {
        let what = format!("{from} sent an RMA request that cannot be: {tag:?}, {len} bytes");
        self.proto.on_corrupt(self.memory.rails(), from, Corrupt(what));
        queue.corrupt = true;
        queue.waiting.drain(..).for_each(|matched| self.proto.discard(matched));
        self.proto.forget(REQUESTS, from, None);
    }

    /// The next message of an origin, once it is here.
    fn receive(&mut self, from: Rank, queue: &mut Queue) -> Option<(Tag, Vec<u8>)> {
        while let Some((request, ..)) = queue.coming.front() {
            let outcome = self.proto.take(*request)?;
            let (_, tag, mut bytes) = queue.coming.pop_front()?;
            if let Buffer::In(buffer) = outcome.buffer {
                bytes.take_back_in(buffer);
            }
            let mut bytes = bytes.into_items();
            queue.coming_bytes -= bytes.len();
            match outcome.result {
                Ok(status) => bytes.truncate(status.bytes),
                Err(_) if self.proto.gone(from).is_some() => {
                    self.torn.insert(from);
                    self.proto.forget(DATA, from, Some(tag.0 & SEQUENCE_MASK));
                    continue;
                }
                // Too long for an RMA request: none can be read from what is left.
                Err(_) => bytes.clear(),
            }
            return Some((tag, bytes));
        }
        None
    }

    /// Begins an RMA request; does those that need not wait for their turn.
    fn begin(
        &mut self,
        from: Rank,
        rma_request: RmaRequest,
        form: Form,
        sequence: u32,
        data: &[u8],
    ) -> Began {
        let begun =
            |data, region, result, then| Began::Queued(Box::new(Begun { data, region, result, then }));
        let none = RegionId { index: u32::MAX, generation: 0 };
        match rma_request {
            RmaRequest::Put { place, len, notice } => {
                let then = notice.map_or(Then::Answer(sequence), Then::Notice);
                let (data, result) = self.put(from, place, len, form, sequence, data);
                begun(data, place.region, result, then)
            }
            RmaRequest::Write { place, len } => {
                let (data, result) = self.put(from, place, len, form, sequence, data);
                begun(data, place.region, result, Then::Silence)
            }
            RmaRequest::Access(access) => self.access(from, access, sequence, data),
            RmaRequest::Flush { window } => begun(Data::Here, window, Ok(()), Then::ReportOf(sequence)),
            RmaRequest::Window { window, action } => match action {
                WindowAction::Lock(kind) => {
                    self.lock(from, window, kind, sequence);
                    Began::Done
                }
                WindowAction::Unlock => begun(Data::Here, window, Ok(()), Then::Unlock(sequence)),
                WindowAction::Signal(which) => begun(Data::Here, window, Ok(()), Then::Signal(which)),
            },
            RmaRequest::Fence => begun(Data::Here, none, Ok(()), Then::Report(sequence)),
            RmaRequest::Deposit { of, len } => {
                let has_room = |len: &usize| Vec::<u8>::new().try_reserve_exact(*len).is_ok();
                let Some(len) = usize::try_from(len).ok().filter(has_room) else {
                    return begun(Data::Unwanted(sequence), none, Err(Refusal::Broken), Then::Deposit(of));
                };
                // Pages that the system gives when they are first written: only what comes takes memory.
                let mut memory = Owned::new(vec![0; len]);
                let want = Want { source: Some(from), tag: Some(Tag(sequence)) };
                let request = self.proto.submit_recv(DATA, want, memory.lend_in());
                begun(Data::Filling(request, memory), none, Ok(()), Then::Deposit(of))
            }
            RmaRequest::Get { place, len } => {
                self.get(from, place, len, form, sequence);
                Began::Done
            }
            RmaRequest::Add { place, n } => {
                // SeqCst: one order of all atomic operations of all ranks, as where memory is shared.
                let old = self.memory.word(place).map(|word| word.fetch_add(n, SeqCst));
                let result = old.ok_or_else(|| self.no_word(place));
                self.answer(from, sequence, Answer { result });
                Began::Done
            }
            RmaRequest::Swap { place, expected, new } => {
                let swap = |word: &AtomicU64| word.compare_exchange(expected, new, SeqCst, SeqCst);
                let old = self.memory.word(place).map(swap).map(|seen| seen.unwrap_or_else(|other| other));
                let result = old.ok_or_else(|| self.no_word(place));
                self.answer(from, sequence, Answer { result });
                Began::Done
            }
            RmaRequest::Ask(question) => {
                let mut tell = Vec::new();
                let value = self.memory.ask(from, question, &mut tell);
                tell.into_iter().for_each(|way| self.pending.send(self.proto, self.memory.rails(), way, &[]));
                self.answer(from, sequence, Answer { result: Ok(value) });
                Began::Done
            }
        }
    }

    /// Writes data into memory, or begins to receive it there.
    fn put(
        &mut self,
        from: Rank,
        place: RegionAddress,
        len: u64,
        form: Form,
        sequence: u32,
        data: &[u8],
    ) -> (Data, Result<(), Refusal>) {
        let unwanted = if form == Form::Whole { Data::Here } else { Data::Unwanted(sequence) };
        if let Err(refusal) = self.check(place, len) {
            return (unwanted, Err(refusal));
        }
        let Some(mut room) = self.room(place, len as usize) else {
            return (unwanted, Err(Refusal::NoRegion));
        };
        if form == Form::Whole {
            room.copy_from_slice(0, data);
            self.proto.traffic.copies += 1;
            return (Data::Here, Ok(()));
        }
        let want = Want { source: Some(from), tag: Some(Tag(sequence)) };
        let request = self.proto.submit_recv(DATA, want, room);
        (Data::Receiving(request, place, len), Ok(()))
    }

    fn room(&mut self, place: RegionAddress, len: usize) -> Option<InBuffer> {
        if Exposures::is_key(place.region) {
            let (memory, at) = self.exposures.find(place.region, place.offset, len as u64).ok()?;
            return memory.in_buffer(at, len);
        }
        self.memory.room(place, len)
    }

    fn part(&mut self, place: RegionAddress, len: usize) -> Option<OutBuffer> {
        if Exposures::is_key(place.region) {
            let (memory, at) = self.exposures.find(place.region, place.offset, len as u64).ok()?;
            return memory.out_buffer(at, len);
        }
        self.memory.part(place, len)
    }

    /// Carries out an access to elements.
    fn access(&mut self, from: Rank, access: ElementAccess, sequence: u32, data: &[u8]) -> Began {
        let region = access.place.region;
        let reads = access.action.reads();
        // Of the settings, which all ranks have: what links carry an origin may not know yet.
        let longest = self.proto.settings.eager_bytes.max(LEAST_PIECE);
        let layout_len = access.elements.map_or(0, |elements| usize::from(elements.layout_len));
        // What is longer than any piece is none of an honest rank.
        let fits = usize::try_from(access.len).is_ok_and(|len| len <= longest) && layout_len <= data.len();
        let mut answer = vec![0; if reads && fits { ANSWER + access.len as usize } else { 0 }];
        let proto = &*self.proto;
        let is_gone = |rank: Rank| (rank.0 as usize) < proto.ranks() && proto.gone(rank).is_some();
        let carried = match fits {
            true => carry_out(
                self.exposures,
                self.memory.operations(),
                (from, &is_gone),
                &access,
                data.split_at(layout_len),
                answer.get_mut(ANSWER..).unwrap_or_default(),
            ),
            false => Err(Refusal::Broken),
        };
        match carried {
            Ok(false) => return Began::Busy,
            Ok(true) if reads => {
                answer[..ANSWER].copy_from_slice(&Answer { result: Ok(access.len) }.to_bytes());
                self.pending.send(self.proto, self.memory.rails(), (from, ANSWERS, Tag(sequence)), &answer);
            }
            Err(refusal) if reads => {
                self.answer(from, sequence, Answer { result: Err((region, refusal)) });
            }
            result => {
                let begun = Begun { data: Data::Here, region, result: result.map(drop), then: Then::Silence };
                return Began::Queued(Box::new(begun));
            }
        }
        Began::Done
    }

    /// A rank asks for the lock of an exposure.
    fn lock(&mut self, from: Rank, window: RegionId, kind: LockKind, sequence: u32) {
        let asked = match self.exposures.get_mut(window) {
            Some(exposure) => exposure.locks.ask(from, sequence, kind).ok_or(Refusal::Broken),
            None => Err(Refusal::NoRegion),
        };
        match asked {
            Ok(granted) => self.grant(granted),
            Err(refusal) => self.answer(from, sequence, Answer { result: Err((window, refusal)) }),
        }
    }

    /// Tells ranks that they have got their locks.
    fn grant(&mut self, granted: Vec<Granted>) {
        for (rank, sequence) in granted {
            self.answer(rank, sequence, Answer { result: Ok(0) });
        }
    }

    /// Gives a lock back for a rank; whether it held it.
    fn unlock(&mut self, from: Rank, window: RegionId) -> Result<(), Refusal> {
        let exposure = self.exposures.get_mut(window).ok_or(Refusal::NoRegion)?;
        let granted = exposure.locks.release(from).ok_or(Refusal::NotLocked)?;
        self.grant(granted);
        Ok(())
    }

    /// Answers with part of a region.
    fn get(&mut self, to: Rank, place: RegionAddress, len: u64, form: Form, sequence: u32) {
        if let Err(refusal) = self.check(place, len) {
            return self.answer(to, sequence, Answer { result: Err((place.region, refusal)) });
        }
        let Some(part) = self.part(place, len as usize) else { return };
        let head = Answer { result: Ok(len) }.to_bytes();
        let way = (to, ANSWERS, Tag(sequence));
        if form == Form::Apart || len as usize > self.proto.settings.eager_bytes {
            self.pending.send(self.proto, self.memory.rails(), way, &head);
            return self.pending.send_region(self.proto, self.memory.rails(), way, part);
        }
        let mut bytes = vec![0; head.len() + len as usize];
        bytes[..head.len()].copy_from_slice(&head);
        part.copy_to_slice(0, &mut bytes[head.len()..]);
        self.proto.traffic.copies += 1;
        self.pending.send(self.proto, self.memory.rails(), way, &bytes);
    }

    fn answer(&mut self, to: Rank, sequence: u32, answer: Answer) {
        self.pending.send(self.proto, self.memory.rails(), (to, ANSWERS, Tag(sequence)), &answer.to_bytes());
    }

    fn no_word(&mut self, place: RegionAddress) -> (RegionId, Refusal) {
        let refusal =
            self.memory.len_of(place.region).map_or(Refusal::NoRegion, |len| Refusal::Outside(len as u64));
        (place.region, refusal)
    }

    /// Whether a region has a range.
    fn check(&mut self, place: RegionAddress, len: u64) -> Result<(), Refusal> {
        if Exposures::is_key(place.region) {
            return self.exposures.find(place.region, place.offset, len).map(drop);
        }
        let region = self.memory.len_of(place.region).ok_or(Refusal::NoRegion)? as u64;
        let inside = place.offset.checked_add(len).is_some_and(|end| end <= region);
        if inside { Ok(()) } else { Err(Refusal::Outside(region)) }
    }

    /// Whether the data of an RMA request is there, or never will be.
    fn has_data(&mut self, from: Rank, begun: &mut Begun) -> bool {
        match &mut begun.data {
            Data::Here | Data::Filled(_) => true,
            Data::Unwanted(sequence) => {
                let want = Want { source: Some(from), tag: Some(Tag(*sequence)) };
                let came = self.proto.probe_matched(DATA, want);
                let known = came.is_some() || self.proto.gone(from).is_some();
                came.into_iter().for_each(|matched| self.proto.discard(matched));
                known
            }
            Data::Receiving(request, _, len) => {
                let Some(outcome) = self.proto.take(*request) else { return false };
                if !outcome.result.is_ok_and(|status| status.bytes as u64 == *len) {
                    begun.result = Err(Refusal::Broken);
                }
                true
            }
            Data::Filling(request, _) => {
                let Some(outcome) = self.proto.take(*request) else { return false };
                let data = std::mem::replace(&mut begun.data, Data::Here);
                if let (Data::Filling(_, mut memory), Buffer::In(buffer)) = (data, outcome.buffer) {
                    memory.take_back_in(buffer);
                    let items = memory.into_items();
                    if outcome.result.is_ok_and(|status| status.bytes == items.len()) {
                        begun.data = Data::Filled(items);
                    }
                }
                true
            }
        }
    }

    /// An RMA request is done, and so are all before it.
    fn end(&mut self, from: Rank, Begun { data, region, result, then }: Begun) {
        match (then, result) {
            (Then::Answer(sequence), result) => {
                let result = result.map(|()| 0).map_err(|refusal| (region, refusal));
                self.answer(from, sequence, Answer { result });
            }
            (Then::Notice(id), Ok(())) => {
                if let Err(corrupt) = self.proto.show_notice(from, id) {
                    self.proto.on_corrupt(self.memory.rails(), from, corrupt);
                }
            }
            (Then::Notice(_) | Then::Silence, Err(refusal)) => self.refusals.add(from, region, refusal),
            (Then::Silence, Ok(())) => {}
            (Then::Report(sequence), _) => {
                let result = self.refusals.take(from, None).map_or(Ok(0), Err);
                self.answer(from, sequence, Answer { result });
            }
            (Then::ReportOf(sequence), _) => {
                let result = self.refusals.take(from, Some(region)).map_or(Ok(0), Err);
                self.answer(from, sequence, Answer { result });
            }
            (Then::Unlock(sequence), _) => {
                let unlocked = self.unlock(from, region).map_err(|refusal| (region, refusal));
                let result = unlocked.and(self.refusals.take(from, Some(region)).map_or(Ok(0), Err));
                self.answer(from, sequence, Answer { result });
            }
            (Then::Signal(which), _) => match self.exposures.get_mut(region) {
                Some(exposure) => {
                    exposure.count_signal(from, which);
                    self.proto.ended += 1;
                }
                None => self.refusals.add(from, region, Refusal::NoRegion),
            },
            (Then::Deposit(of), _) => {
                let data = if let Data::Filled(data) = data { Some(data) } else { None };
                self.memory.deposit(from, of, data);
            }
        }
    }
}
