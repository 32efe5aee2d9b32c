//! The outcome of an access, checked against the expected one, and the accesses that follow.

use canele_mem::buffer::Owned;
use canele_proto::rma::{PutReport, Refusal, RmaFailure, RmaLockKind, RmaOutcome, RmaRequest, WindowAction};

use super::{CheckedAccesses, ExpectedOutcome, RmaPlay, Run};
use crate::campaign::rma::reference::LOCKED;

impl RmaPlay<'_> {
    pub(super) fn end(&mut self, me: usize, mut run: Run, outcome: RmaOutcome) -> CheckedAccesses {
        let RmaOutcome { result, data, into, .. } = outcome;
        data.into_iter().for_each(|buffer| run.data.take_back_out(buffer));
        into.into_iter().for_each(|buffer| run.into.take_back_in(buffer));
        let to = run.to;
        let word = |bytes: &mut Owned<u8>| bytes.bytes().try_into().map_or(0, u64::from_le_bytes);
        if let Err(RmaFailure::Failed(failure)) = &result {
            if Some(to) != self.dead {
                return Err(format!("rank {me} at {to}, which lives: {failure}"));
            }
            if matches!(
                run.expected,
                ExpectedOutcome::Granted(_)
                    | ExpectedOutcome::Protected
                    | ExpectedOutcome::Unlocked(_)
                    | ExpectedOutcome::SectionDone
            ) {
                self.leave(me, to);
            }
            return Ok(());
        }
        match (run.expected, result) {
            (ExpectedOutcome::End, Ok(_)) => {}
            (ExpectedOutcome::Bytes(expected), Ok(_)) if run.into.bytes() == expected => {}
            (ExpectedOutcome::Refused, Err(RmaFailure::Refused(_, Refusal::Outside(_)))) => {}
            (ExpectedOutcome::Fetched, Ok(_)) => self.done[me][to].fetched.push(word(&mut run.into)),
            (ExpectedOutcome::Replaced(expected), Ok(_)) => {
                self.done[me][to].replaced += u64::from(word(&mut run.into) == expected);
            }
            (ExpectedOutcome::Granted(kind), Ok(_)) => self.enter(me, to, kind)?,
            (ExpectedOutcome::Protected, Ok(_)) => {
                let n = word(&mut run.into) + 1;
                let place = self.place(to, 8 * LOCKED);
                let write = RmaRequest::Put { place, len: 8, report: PutReport::Flush };
                self.submit(me, to, (write, None), n.to_le_bytes().to_vec(), 0, ExpectedOutcome::End);
                self.holders[to].retain(|(rank, _)| *rank != me);
                self.window(me, to, WindowAction::Unlock, ExpectedOutcome::Unlocked(RmaLockKind::Exclusive));
            }
            (ExpectedOutcome::SectionDone, Ok(_)) => {
                self.done[me][to].sections += 1;
                self.leave(me, to);
            }
            (ExpectedOutcome::Unlocked(kind), Ok(_)) => {
                self.done[me][to].sections += u64::from(kind == RmaLockKind::Exclusive);
                self.leave(me, to);
            }
            (_, result) => return Err(format!("rank {me} at {to}: {:?} gave {result:?}", run.rma_request)),
        }
        Ok(())
    }

    /// Notes that a rank has a lock.
    fn enter(&mut self, me: usize, to: usize, kind: RmaLockKind) -> CheckedAccesses {
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
                ExpectedOutcome::Protected,
            );
        } else {
            self.holders[to].retain(|(rank, _)| *rank != me);
            self.window(me, to, WindowAction::Unlock, ExpectedOutcome::Unlocked(kind));
        }
        Ok(())
    }

    fn leave(&mut self, me: usize, to: usize) {
        self.holders[to].retain(|(rank, _)| *rank != me);
        self.parties[me].in_section = false;
    }
}
