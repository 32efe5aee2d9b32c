//! Remote memory accesses of the three ranks. Owns no state of its own.

use canele_mem::buffer::Owned;
use canele_proto::rma::{
    ElementAccess, ElementAction, MemoryAddress, NewCall, RmaLockKind, RmaRequest, WindowAction,
};
use canele_proto::wire::Kind;
use canele_rail::{Class, Header, MAX_INLINE, Rail};

use super::{ATTACKED, Attack, BAD, Bytes};

impl Attack {
    /// Sends a message about remote memory of the bad rank.
    pub(super) fn send_rma(&mut self, input: &mut Bytes<'_>) -> Option<()> {
        let (flow, tag, bytes) = self.rma.message(input, |byte| self.word(byte));
        let next = self.numbers.entry(flow).or_default();
        let sequence = std::mem::replace(next, next.wrapping_add(1));
        let (kind, inline_len, bulk) = match bytes.len() {
            0..=MAX_INLINE => (Kind::Short, bytes.len(), 0),
            len => (Kind::Eager, 0, len),
        };
        self.bad.begin_pass();
        let link = self.bad.link(ATTACKED).unwrap_or_else(|| self.bad.open_link(0, ATTACKED));
        let slot = self.bad.claim(link, bulk, Class::Control).ok()?;
        if bulk > 0 {
            slot.bulk.write(0, &bytes)
        } else {
            slot.inline.write(0, &bytes)
        }
        self.bad.commit(link, Header { kind: kind as u8, inline_len: inline_len as u8, flow, tag, sequence });
        Some(())
    }

    /// Makes one call of the attacked rank to the bad one's memory.
    pub(super) fn ask_rma(&mut self, input: &mut Bytes<'_>) {
        let words: Vec<u64> = (0..256).map(|byte| self.word(byte)).collect();
        self.rma.ask(input, |byte| words[byte], (&mut self.proto, &mut self.rail), BAD);
    }

    /// Lets the honest rank take the lock of an exposure that the bad one has used, and put data there.
    pub(super) fn honest_access(&mut self) {
        let window = self.rma.key();
        let put = ElementAccess {
            action: ElementAction::Put,
            place: MemoryAddress { key: window.into(), offset: 0 },
            operation: (0, 0),
            len: 8,
            elements: None,
        };
        let actions = [WindowAction::Lock(RmaLockKind::Exclusive), WindowAction::Unlock];
        let [lock, unlock] = actions.map(|action| RmaRequest::Window { window, action });
        let mut data = Owned::new(vec![0x77_u8; 8]);
        let mut calls = Vec::new();
        for (rma_request, data) in
            [(lock, None), (RmaRequest::Access(put), Some(data.lend_out())), (unlock, None)]
        {
            let call = NewCall { data, ..NewCall::new(ATTACKED, rma_request) };
            calls.push(self.honest_origin.submit(&mut self.honest.0, &mut self.honest.1, call));
        }
        (0..400).for_each(|_| self.round());
        for key in calls {
            let outcome = self.honest_origin.take(key).expect("an honest rank is not held up");
            assert!(outcome.result.is_ok(), "{:?}", outcome.result);
            outcome.data.into_iter().for_each(|token| data.take_back_out(token));
        }
        assert_eq!(self.rma.first_bytes(), [0x77; 8]);
    }
}
