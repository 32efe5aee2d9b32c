//! What is left of a round when it takes requests: long data, a peer not yet connected, a wait long enough for sleep.

use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Mode, Outcome};
use canele_sys::buffer::{self, Scope};
use canele_sys::ids::RequestId;

use super::memory::Memory;
use super::run::{Run, check_length};
use super::schedule::Transfer;
use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::wait::Unmet;
use crate::{Error, Failure};

impl Engine {
    /// Does all transfers that are left of the round, with the user's memory lent to the protocols.
    #[cold]
    #[inline(never)]
    pub(super) fn finish_transfers<'a>(
        &'a self,
        mut core: Inside<'a>,
        run: &Run<'_>,
        memory: &mut Memory<'_>,
    ) -> (Inside<'a>, Result<(), Error>) {
        self.rouse(&core);
        let (sends, receives) = run.left();
        let (from, into) = memory.cut(sends, &receives);
        buffer::scope(|scope| {
            // Receives first: what is here already is taken before more is asked for.
            let mut requests = Vec::with_capacity(sends.len() + receives.len());
            for (receive, bytes) in receives.iter().zip(into) {
                let want = Want { source: Some(receive.peer), tag: Some(run.tag) };
                requests.push(core.proto.submit_recv(run.flow, want, scope.lend_mut(bytes)));
            }
            let inner = &mut *core;
            for (send, bytes) in sends.iter().zip(from) {
                let buffer = scope.lend(bytes);
                let rail = &mut inner.rails;
                let mode = Mode::Standard;
                requests.push(inner.proto.submit_send(rail, send.peer, run.flow, run.tag, mode, buffer));
            }
            let (mut core, died) = self.wait_all(core, &requests);
            let result = take_all(&mut core, scope, &requests, &receives);
            (core, died.and(result))
        })
    }

    /// Waits for all requests, or the first death of any rank.
    fn wait_all<'a>(&'a self, core: Inside<'a>, requests: &[RequestId]) -> (Inside<'a>, Result<(), Error>) {
        let ready = |core: &mut Core| match core.check_alive() {
            Err(error) => Some(Err(error)),
            Ok(()) => requests.iter().all(|id| core.proto.is_done(*id)).then_some(Ok(())),
        };
        match self.wait_for(core, None, ready) {
            Ok((core, result)) => (core, result),
            Err((core, Unmet::Error(error))) => (core, Err(error)),
            Err((_, Unmet::Deadline)) => unreachable!("a wait without a deadline"),
        }
    }
}

impl Core {
    /// Whether all ranks live or have finished in good order, and none has cut off another.
    #[inline]
    pub(super) fn check_alive(&self) -> Result<(), Error> {
        match (self.proto.first_death(), &self.split) {
            (None, None) => Ok(()),
            (Some(rank), _) => Err(self.proto.why_gone(rank).unwrap_or(Failure::PeerFailed(rank)).into()),
            (None, Some(split)) => Err(split.clone().into()),
        }
    }
}

/// Ends all requests, the unfinished ones by force, and gives their memory back; gives the first failure.
fn take_all(
    core: &mut Core,
    scope: &Scope<'_, '_>,
    requests: &[RequestId],
    receives: &[Transfer],
) -> Result<(), Error> {
    let mut first = Ok(());
    for (n, id) in requests.iter().enumerate() {
        if !core.proto.is_done(*id) {
            core.proto.abandon(*id);
        }
        let Some(Outcome { result, buffer }) = core.proto.take(*id) else {
            unreachable!("a request on ordinary memory can be abandoned at any time")
        };
        match buffer {
            Buffer::Out(buffer) => scope.take_back(buffer),
            Buffer::In(buffer) => scope.take_back_mut(buffer),
            Buffer::None => {}
        }
        let result = result.map_err(Error::from).and_then(|status| match receives.get(n) {
            Some(receive) => check_length(status.bytes, receive),
            None => Ok(()),
        });
        first = first.and(result);
    }
    first
}
