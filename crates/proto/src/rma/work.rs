//! The RMA requests of an origin from their message to their end, in their order.

use std::collections::HashSet;

use canele_mem::buffer::Owned;
use canele_rail::Corrupt;
use canele_sys::atomic::{AtomicU64, Ordering::SeqCst};
use canele_sys::ids::{Rank, Tag};

use super::exposures::Exposures;
use super::pending::PendingSends;
use super::queue::{Begun, Coming, Data, OriginQueue, Then, WaitingRequest};
use super::refusals::Refusals;
use super::target::{MOST_ANSWER_BYTES, RmaMemory, TURN};
use super::{
    DATA, ExposureKey, Form, MemoryKey, PutReport, Refusal, RmaAnswer, RmaRequest, SEQUENCE_MASK,
    WindowAction,
};
use crate::Proto;
use crate::matching::Want;
use crate::request::Buffer;
use crate::unexpected::KeptPayload;

/// The state of the target while it serves requests.
pub(super) struct Work<'a, E> {
    pub proto: &'a mut Proto,
    pub memory: &'a mut E,
    pub pending: &'a mut PendingSends,
    pub exposures: &'a mut Exposures,
    pub refusals: &'a mut Refusals,
    pub torn: &'a mut HashSet<Rank>,
}

/// The result of beginning an RMA request.
pub(super) enum Began {
    /// The request is done, and answered.
    Done,
    /// The request ends after all requests before it.
    Queued(Box<Begun>),
    /// The request is to be begun again later.
    Busy,
}

impl<E: RmaMemory> Work<'_, E> {
    pub(super) fn go_on(&mut self, from: Rank, queue: &mut OriginQueue) -> bool {
        let mut any = self.begin_held(from, queue);
        for _ in 0..TURN {
            if self.pending.bytes_to(from) >= MOST_ANSWER_BYTES {
                break;
            }
            let Some((tag, bytes)) = queue.next.take().or_else(|| self.receive(from, queue)) else { break };
            if queue.corrupt {
                continue;
            }
            let Some((rma_request, form, sequence, data)) = RmaRequest::read(tag, bytes.bytes()) else {
                any = true;
                self.shun(from, queue, tag, bytes.len());
                continue;
            };
            if let Some(window) = self.awaited_lock(from, queue, &rma_request) {
                any = true;
                queue.hold(window, tag, bytes);
                continue;
            }
            if !self.try_begin(from, queue, (rma_request, form, sequence), data) {
                queue.next = Some((tag, bytes));
                break;
            }
            self.proto.recycle(bytes);
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

    /// Begins an RMA request unless it must be begun again later.
    fn try_begin(
        &mut self,
        from: Rank,
        queue: &mut OriginQueue,
        (rma_request, form, sequence): (RmaRequest, Form, u32),
        data: &[u8],
    ) -> bool {
        if queue.is_ahead_of(&rma_request) {
            return false;
        }
        match self.begin(from, rma_request, form, sequence, data) {
            Began::Done => {}
            Began::Queued(begun) => queue.begin(*begun),
            Began::Busy => return false,
        }
        true
    }

    /// Returns the exposure whose lock the origin requested before this request, if it is not granted.
    /// Signals wait for no lock, because they belong to other epochs.
    fn awaited_lock(&self, from: Rank, queue: &OriginQueue, rma_request: &RmaRequest) -> Option<ExposureKey> {
        if matches!(rma_request, RmaRequest::Window { action: WindowAction::Signal(_), .. }) {
            return None;
        }
        let Some(MemoryKey::Exposure(window)) = rma_request.key() else { return None };
        (queue.holds(window) || self.exposures.is_lock_awaited(window, from)).then_some(window)
    }

    /// Begins the requests that waited for locks that the origin has now; returns true if there was one.
    /// Those of a dead origin are dropped.
    fn begin_held(&mut self, from: Rank, queue: &mut OriginQueue) -> bool {
        if !queue.holds_any() {
            return false;
        }
        if self.proto.gone(from).is_some() {
            queue.drop_held();
            return true;
        }
        let mut any = false;
        for window in queue.held_windows() {
            while !self.exposures.is_lock_awaited(window, from)
                && let Some((tag, bytes)) = queue.take_held(window)
            {
                let read = RmaRequest::read(tag, bytes.bytes());
                let Some((rma_request, form, sequence, data)) = read else { continue };
                if !self.try_begin(from, queue, (rma_request, form, sequence), data) {
                    queue.hold_again(window, tag, bytes);
                    break;
                }
                self.proto.recycle(bytes);
                any = true;
            }
        }
        any
    }

    /// Cuts off an origin whose message is no RMA request, and drops all its later requests, received or not.
    pub(super) fn shun(&mut self, from: Rank, queue: &mut OriginQueue, tag: Tag, len: usize) {
        let what = format!("{from} sent an RMA request that cannot be: {tag:?}, {len} bytes");
        self.proto.on_corrupt(self.memory.rails(), from, Corrupt(what));
        queue.corrupt = true;
        for waiting in queue.waiting.drain(..) {
            match waiting {
                WaitingRequest::Here(_, payload) => self.proto.release_request(from, &payload),
                WaitingRequest::Matched(matched) => self.proto.discard(matched),
            }
        }
        self.proto.forget_requests(from);
    }

    /// Returns the next message of an origin, once it is here.
    pub(super) fn receive(&mut self, from: Rank, queue: &mut OriginQueue) -> Option<(Tag, KeptPayload)> {
        while let Some((tag, coming)) = queue.coming.front() {
            let tag = *tag;
            let outcome = match coming {
                Coming::Here(_) => None,
                Coming::Receiving(request, _) => Some(self.proto.take(*request)?),
            };
            let (outcome, mut bytes) = match (queue.coming.pop_front()?.1, outcome) {
                (Coming::Receiving(_, bytes), Some(outcome)) => (outcome, bytes),
                (Coming::Here(payload), _) => {
                    queue.coming_bytes -= payload.len();
                    return Some((tag, payload));
                }
                (Coming::Receiving(..), None) => return None,
            };
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
                // The message is too long for an RMA request, and empty bytes decode to none.
                Err(_) => bytes.clear(),
            }
            return Some((tag, KeptPayload::Long(bytes)));
        }
        None
    }

    /// Begins an RMA request, and completes it at once if it need not wait for its turn.
    pub(super) fn begin(
        &mut self,
        from: Rank,
        rma_request: RmaRequest,
        form: Form,
        sequence: u32,
        data: &[u8],
    ) -> Began {
        let begun = |data, key, result, then| Began::Queued(Box::new(Begun { data, key, result, then }));
        match rma_request {
            RmaRequest::Put { place, len, report } => {
                let then = match report {
                    PutReport::Answer => Then::Answer(sequence),
                    PutReport::Notice(id) => Then::Notice(id),
                    PutReport::Flush => Then::Silence,
                };
                let (data, result) = self.put(from, place, len, form, sequence, data);
                begun(data, Some(place.key), result, then)
            }
            RmaRequest::Access(access) => self.access(from, access, sequence, data),
            RmaRequest::Flush { window } => begun(Data::Here, None, Ok(()), Then::ReportOf(sequence, window)),
            RmaRequest::Window { window, action } => match action {
                // The lock is requested before earlier requests end, because these may wait for data while
                // other ranks wait for the lock.
                WindowAction::Lock(kind) => {
                    if let Err(refusal) = self.lock(from, window, kind) {
                        self.refusals.add(from, window.into(), refusal);
                    }
                    Began::Done
                }
                WindowAction::Unlock => begun(Data::Here, None, Ok(()), Then::Unlock(sequence, window)),
                WindowAction::Signal(which) => begun(Data::Here, None, Ok(()), Then::Signal(which, window)),
            },
            RmaRequest::Fence => begun(Data::Here, None, Ok(()), Then::Report(sequence)),
            RmaRequest::Deposit { of, len } => {
                let has_room = |len: &usize| Vec::<u8>::new().try_reserve_exact(*len).is_ok();
                let Some(len) = usize::try_from(len).ok().filter(has_room) else {
                    return begun(Data::Unwanted(sequence), None, Err(Refusal::Broken), Then::Deposit(of));
                };
                // The system provides pages when they are first written, so only data that has come takes
                // memory.
                let mut memory = Owned::new(vec![0; len]);
                let want = Want { source: Some(from), tag: Some(Tag(sequence)) };
                let request = self.proto.submit_recv(DATA, want, memory.lend_in());
                begun(Data::Filling(request, memory), None, Ok(()), Then::Deposit(of))
            }
            RmaRequest::Get { place, len } => {
                self.get(from, place, len, form, sequence);
                Began::Done
            }
            RmaRequest::Add { place, n } => {
                // SeqCst: one order of all atomic operations of all ranks, as in shared memory.
                let result = self.word(place).map(|word| word.fetch_add(n, SeqCst));
                self.answer(from, sequence, RmaAnswer { result });
                Began::Done
            }
            RmaRequest::Swap { place, expected, new } => {
                let swap = |word: &AtomicU64| word.compare_exchange(expected, new, SeqCst, SeqCst);
                let result = self.word(place).map(swap).map(|seen| seen.unwrap_or_else(|other| other));
                self.answer(from, sequence, RmaAnswer { result });
                Began::Done
            }
            RmaRequest::Ask(question) => {
                let mut tell = Vec::new();
                let value = self.memory.ask(from, question, &mut tell);
                tell.into_iter().for_each(|way| self.pending.send(self.proto, self.memory.rails(), way, &[]));
                self.answer(from, sequence, RmaAnswer { result: Ok(value) });
                Began::Done
            }
        }
    }

    /// Returns true if the data of an RMA request is there, or never comes.
    pub(super) fn has_data(&mut self, from: Rank, begun: &mut Begun) -> bool {
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

    /// Ends an RMA request after all before it, by the step that follows it.
    pub(super) fn end(&mut self, from: Rank, Begun { data, key, result, then }: Begun) {
        let refused = result.err().and_then(|refusal| Some((key?, refusal)));
        match then {
            Then::Answer(sequence) => {
                self.answer(from, sequence, RmaAnswer { result: refused.map_or(Ok(0), Err) });
            }
            Then::Notice(_) | Then::Silence if refused.is_some() => {
                refused.into_iter().for_each(|(key, refusal)| self.refusals.add(from, key, refusal));
            }
            Then::Notice(id) => {
                if let Err(corrupt) = self.proto.show_notice(from, id) {
                    self.proto.on_corrupt(self.memory.rails(), from, corrupt);
                }
            }
            Then::Silence => {}
            Then::Report(sequence) => {
                let result = self.refusals.take(from, None).map_or(Ok(0), Err);
                self.answer(from, sequence, RmaAnswer { result });
            }
            Then::ReportOf(sequence, window) => {
                let result = self.refusals.take(from, Some(window)).map_or(Ok(0), Err);
                self.answer(from, sequence, RmaAnswer { result });
            }
            Then::Unlock(sequence, window) => {
                let unlocked = self.unlock(from, window).map_err(|refusal| (window.into(), refusal));
                let result = unlocked.and(self.refusals.take(from, Some(window)).map_or(Ok(0), Err));
                self.answer(from, sequence, RmaAnswer { result });
            }
            Then::Signal(which, window) => match self.exposures.get_mut(window) {
                Some(exposure) => {
                    exposure.count_signal(from, which);
                    self.proto.requests.count_completion();
                }
                None => self.refusals.add(from, window.into(), Refusal::NoRegion),
            },
            Then::Deposit(of) => {
                let data = if let Data::Filled(data) = data { Some(data) } else { None };
                self.memory.deposit(from, of, data);
            }
        }
    }
}
