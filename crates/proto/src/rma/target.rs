//! The target side of RMA: serves the RMA requests of other ranks in this rank's memory, and numbers this rank's own.
//!
//! RMA requests of one origin are begun in the order in which they were sent, unless data that still comes goes where they look: then
//! they wait for it. Puts end one after the other, so that notices, answers and fences tell of them in that order, while the
//! data of several may come at the same time. Nothing here blocks: what cannot go on is looked at again in the next pass.

use std::collections::{BTreeMap, HashMap, HashSet};

use canele_mem::buffer::{InBuffer, OutBuffer, Owned, RegionAddress};
use canele_rail::{Corrupt, FastPath, FullRail};
use canele_sys::atomic::{AtomicU64, Ordering::SeqCst};
use canele_sys::ids::{FlowId, Rank, RegionId, Tag};

use super::pending::PendingSends;
use super::queue::{Begun, Data, Queue, Then};
use super::sequence::{LateAnswer, SequenceNumbers};
use super::{ANSWERS, Answer, DATA, Form, REQUESTS, Refusal, RmaRequest, SEQUENCE_MASK};
use crate::Proto;
use crate::matching::Want;
use crate::request::Buffer;

/// So many RMA requests of one origin and answers to it may be under way; what comes beyond waits where it is, against its sender's
/// credit, and nobody else waits for it.
const MOST: usize = 4096;

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
}

/// Somebody who is to get an empty message: on which flow, with which tag.
pub type Tell = (Rank, FlowId, Tag);

/// The RMA state of a rank: the requests that it serves, and the sequence numbers of its own.
#[derive(Default)]
pub struct RmaTarget {
    sequence_numbers: SequenceNumbers,
    pending: PendingSends,
    queues: BTreeMap<Rank, Queue>,
    /// The first put of each origin, since its last fence, that was refused and of which it has not been told.
    refused: HashMap<Rank, (RegionId, Refusal)>,
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
    refused: &'a mut HashMap<Rank, (RegionId, Refusal)>,
    torn: &'a mut HashSet<Rank>,
}

impl RmaTarget {
    /// A number for an RMA request of this rank.
    pub fn take_sequence(&mut self) -> u32 {
        self.sequence_numbers.take()
    }

    /// Nobody waits any more for the answer of `from` to a question or fence.
    pub fn leave(&mut self, proto: &mut Proto, from: Rank, sequence: u32, late: LateAnswer) {
        self.sequence_numbers.leave(proto, from, sequence, late);
    }

    /// What `owner` refused first, as the answer to a fence said that nobody waited for any more. It is told once.
    pub fn take_refusal<R: FastPath>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        owner: Rank,
    ) -> Option<(RegionId, Refusal)> {
        self.clear_late(proto, rail);
        self.sequence_numbers.take_refusal(owner)
    }

    /// Looks at the answers that came late; says whether any makes this rank ask something.
    fn clear_late<R: FastPath>(&mut self, proto: &mut Proto, rail: &mut R) -> bool {
        let mut any = false;
        for (to, question) in self.sequence_numbers.clear(proto) {
            any = true;
            let (rma_request, sequence) = (RmaRequest::Ask(question), self.sequence_numbers.take());
            let (head, len) = rma_request.head(Form::Whole);
            self.sequence_numbers.leave(proto, to, sequence, LateAnswer::Ignore);
            let way = (to, REQUESTS, rma_request.tag(Form::Whole, sequence));
            self.pending.send(proto, rail, way, &head[..len]);
        }
        any
    }

    /// Goes on with everything that can go on; says whether anything did. After each pass.
    pub fn serve<E: RmaMemory>(&mut self, proto: &mut Proto, memory: &mut E) -> bool {
        let mut any = self.take_new(proto);
        self.pending.clear(proto);
        any |= self.clear_late(proto, memory.rails());
        for (from, queue) in &mut self.queues {
            let (pending, refused, torn) = (&mut self.pending, &mut self.refused, &mut self.torn);
            any |= Work { proto, memory, pending, refused, torn }.go_on(*from, queue);
        }
        self.queues.retain(|_, queue| queue.len() > 0);
        self.tidy(proto);
        any
    }

    /// Drops data of the dead whose RMA requests never came.
    fn tidy(&mut self, proto: &mut Proto) {
        while let Some(dead) = proto.deaths().get(self.tidied).copied()
            && !self.queues.contains_key(&dead)
        {
            proto.forget(DATA, dead, None);
            self.refused.remove(&dead);
            self.tidied += 1;
        }
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

impl<E: RmaMemory> Work<'_, E> {
    fn go_on(&mut self, from: Rank, queue: &mut Queue) -> bool {
        let mut any = false;
        while let Some((tag, bytes)) = queue.next.take().or_else(|| self.receive(from, queue)) {
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
            any = true;
            if let Some(begun) = self.begin(from, rma_request, form, sequence, data) {
                queue.begin(begun);
            }
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
    ) -> Option<Begun> {
        let begun = |data, region, result, then| Some(Begun { data, region, result, then });
        let none = RegionId { index: u32::MAX, generation: 0 };
        match rma_request {
            RmaRequest::Put { place, len, notice } => {
                let then = notice.map_or(Then::Answer(sequence), Then::Notice);
                match self.check(place, len) {
                    Ok(()) if form == Form::Whole => {
                        // A region is there that was looked at just now.
                        self.memory
                            .room(place, data.len())
                            .into_iter()
                            .for_each(|mut room| room.copy_from_slice(0, data));
                        self.proto.traffic.copies += 1;
                        begun(Data::Here, place.region, Ok(()), then)
                    }
                    Ok(()) => {
                        let room = self.memory.room(place, len as usize)?;
                        let want = Want { source: Some(from), tag: Some(Tag(sequence)) };
                        let request = self.proto.submit_recv(DATA, want, room);
                        begun(Data::Receiving(request, place, len), place.region, Ok(()), then)
                    }
                    Err(refusal) => {
                        let data = if form == Form::Whole { Data::Here } else { Data::Unwanted(sequence) };
                        begun(data, place.region, Err(refusal), then)
                    }
                }
            }
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
                None
            }
            RmaRequest::Add { place, n } => {
                // SeqCst: one order of all atomic operations of all ranks, as where memory is shared.
                let old = self.memory.word(place).map(|word| word.fetch_add(n, SeqCst));
                let result = old.ok_or_else(|| self.no_word(place));
                self.answer(from, sequence, Answer { result });
                None
            }
            RmaRequest::Swap { place, expected, new } => {
                let swap = |word: &AtomicU64| word.compare_exchange(expected, new, SeqCst, SeqCst);
                let old = self.memory.word(place).map(swap).map(|seen| seen.unwrap_or_else(|other| other));
                let result = old.ok_or_else(|| self.no_word(place));
                self.answer(from, sequence, Answer { result });
                None
            }
            RmaRequest::Ask(question) => {
                let mut tell = Vec::new();
                let value = self.memory.ask(from, question, &mut tell);
                tell.into_iter().for_each(|way| self.pending.send(self.proto, self.memory.rails(), way, &[]));
                self.answer(from, sequence, Answer { result: Ok(value) });
                None
            }
        }
    }

    /// Answers with part of a region.
    fn get(&mut self, to: Rank, place: RegionAddress, len: u64, form: Form, sequence: u32) {
        if let Err(refusal) = self.check(place, len) {
            return self.answer(to, sequence, Answer { result: Err((place.region, refusal)) });
        }
        let Some(part) = self.memory.part(place, len as usize) else { return };
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
            (Then::Notice(_), Err(refusal)) => drop(self.refused.entry(from).or_insert((region, refusal))),
            (Then::Report(sequence), _) => {
                let result = self.refused.remove(&from).map_or(Ok(0), Err);
                self.answer(from, sequence, Answer { result });
            }
            (Then::Deposit(of), _) => {
                let data = if let Data::Filled(data) = data { Some(data) } else { None };
                self.memory.deposit(from, of, data);
            }
        }
    }
}
