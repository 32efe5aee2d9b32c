//! Synchronisation with owners of exposed memory: flushes, locks and signals.

use std::time::Instant;

use canele_proto::rma::{
    CallEnding, ExposureKey, LateAnswer, NewCall, RmaLockKind, RmaRequest, WindowAction,
};
use canele_sys::ids::{FlowId, Rank};

use crate::core::Core;
use crate::engine::Engine;
use crate::lane::awaited::Awaited;
use crate::p2p::pending::PendingKind;
use crate::{Error, Pending};

impl Engine {
    /// Waits until all accesses of this rank to exposed memory are done there, and the elements that they
    /// read are here.
    ///
    /// # Errors
    /// An owner is gone, or refused an access since the last flush: the first that is found; the deadline
    /// passed.
    pub fn flush(&self, windows: &[(Rank, ExposureKey)], deadline: Option<Instant>) -> Result<(), Error> {
        let mut core = self.lock_to_submit()?;
        windows.iter().try_for_each(|(owner, _)| core.check_rank(*owner))?;
        let flush = |window: &(Rank, ExposureKey)| {
            let rma_request = RmaRequest::Flush { window: window.1 };
            core.submit_rma(NewCall::new(window.0, rma_request))
        };
        let keys: Vec<_> = windows.iter().map(flush).collect();
        let all = |core: &mut Core| keys.iter().all(|key| core.rma.origin.has_ended(*key)).then_some(());
        let (mut core, ended) = self.wait_before(
            core,
            deadline,
            Awaited::Other("accesses to memory of other ranks", only(windows)),
            all,
        );
        let mut result = Ok(());
        for (key, (owner, _)) in keys.into_iter().zip(windows) {
            let Core { lane, rma, .. } = &mut *core;
            match rma.origin.take(key) {
                Some(outcome) => {
                    result = result.and(outcome.result.map(drop).map_err(|why| Error::of_rma(*owner, why)));
                }
                None => rma.origin.leave(&mut lane.proto, &mut lane.rails, key, LateAnswer::Ignore),
            }
        }
        ended.ok_or_else(|| Error::Deadline(format!("{} owners of memory to answer", windows.len())))?;
        result
    }

    /// Waits until the memory of all accesses of this rank to exposed memory may be used again, and the
    /// elements that they read are here.
    ///
    /// # Errors
    /// Those of [`Engine::flush`], as far as they are known.
    pub fn flush_local(
        &self,
        windows: &[(Rank, ExposureKey)],
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        let core = self.lock_to_submit()?;
        let last = core.rma.origin.last_serial();
        let none_open = |core: &mut Core| {
            let is_open =
                |(owner, window): &(Rank, ExposureKey)| core.rma.origin.is_open(*owner, *window, last);
            (!windows.iter().any(is_open)).then_some(())
        };
        let (mut core, ended) = self.wait_before(
            core,
            deadline,
            Awaited::Other("accesses to memory of other ranks", only(windows)),
            none_open,
        );
        ended.ok_or_else(|| Error::Deadline(format!("accesses to memory of {} owners", windows.len())))?;
        let mut result = Ok(());
        for (owner, window) in windows {
            if let Some(failure) = core.rma.origin.take_failure(*owner, *window) {
                result = result.and(Err(Error::of_rma(*owner, failure)));
            }
        }
        result
    }

    /// Begins a flush, which ends when [`Engine::flush`] would.
    ///
    /// # Errors
    /// No such rank; the job is over.
    pub fn iflush(&self, window: (Rank, ExposureKey)) -> Result<Pending, Error> {
        self.call_window(window, RmaRequest::Flush { window: window.1 })
    }

    /// Asks for the lock of exposed memory, and never waits: the request leaves with the next one to its
    /// owner, or in the next pass. The owner grants it in the order of requests; successive requests that
    /// share it are granted together. Later requests of this rank there are done once it is granted, and a
    /// flush ends then. A holder that dies releases it.
    ///
    /// # Errors
    /// No such rank; the owner is gone; the job is over.
    pub fn lock_window(&self, window: (Rank, ExposureKey), kind: RmaLockKind) -> Result<(), Error> {
        let (owner, key) = window;
        self.check_rank(owner)?;
        let mut core = self.lock_to_submit()?;
        if let Some(failure) = core.lane.proto.why_gone(owner) {
            return Err(failure.into());
        }
        let action = WindowAction::Lock(kind);
        core.submit_unanswered(owner, RmaRequest::Window { window: key, action });
        Ok(())
    }

    /// Waits until a flush or an unlock behind [`Engine::lock_window`] has ended, or the group of a flow is
    /// revoked. After a revocation the lock is of no use to any member. No access behind the lock may have
    /// memory of the caller.
    ///
    /// # Errors
    /// The owner is gone, or refused it; the group was revoked.
    pub fn await_grant(&self, ended: Pending, group: FlowId) -> Result<(), Error> {
        let core = self.lock_to_submit()?;
        let ready = |core: &mut Core| {
            let granted = ended.take(core).map(|ended| ended.result.map(drop));
            granted.or_else(|| core.lane.proto.why_revoked(group).map(|why| Err(why.into())))
        };
        let (mut core, result) = self.wait_for(core, Awaited::Other("the lock of a window", None), ready);
        if let PendingKind::Rma(key) = ended.kind {
            let Core { lane, rma, .. } = &mut *core;
            rma.origin.leave(&mut lane.proto, &mut lane.rails, key, LateAnswer::Ignore);
        }
        result
    }

    /// Releases the lock once all accesses of this rank there are done; ends as a flush, when both have been
    /// done.
    ///
    /// # Errors
    /// No such rank; the job is over.
    pub fn iunlock(&self, window: (Rank, ExposureKey)) -> Result<Pending, Error> {
        let action = WindowAction::Unlock;
        self.call_window(window, RmaRequest::Window { window: window.1, action })
    }

    fn call_window(
        &self,
        (owner, _): (Rank, ExposureKey),
        rma_request: RmaRequest,
    ) -> Result<Pending, Error> {
        self.check_rank(owner)?;
        let mut core = self.lock_to_submit()?;
        Ok(Pending::rma(core.submit_rma(NewCall::new(owner, rma_request))).on_lane(self.lane_number()))
    }

    /// Makes the owner of exposed memory count a signal once all earlier requests of this rank there are
    /// done. It gets no answer.
    ///
    /// # Errors
    /// No such rank; the job is over.
    pub fn signal(&self, window: (Rank, ExposureKey), which: u8) -> Result<(), Error> {
        let (owner, key) = window;
        self.check_rank(owner)?;
        let action = WindowAction::Signal(which);
        self.lock_to_submit()?.submit_unanswered(owner, RmaRequest::Window { window: key, action });
        Ok(())
    }

    /// Returns the number of signals of a kind that have come from a rank to memory of this one.
    ///
    /// # Errors
    /// `Forked`.
    pub fn signals(&self, window: ExposureKey, from: Rank, which: u8) -> Result<u64, Error> {
        Ok(self.lock()?.rma.target.exposures.signals(window, from, which))
    }

    /// Waits until so many signals of a kind, in total, have come from a rank to memory of this one.
    ///
    /// # Errors
    /// The rank is gone and they have not come; the deadline passed.
    pub fn await_signals(
        &self,
        window: ExposureKey,
        from: Rank,
        which: u8,
        total: u64,
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        self.check_rank(from)?;
        let core = self.lock_to_submit()?;
        let ready = |core: &mut Core| {
            if core.rma.target.exposures.signals(window, from, which) >= total {
                return Some(Ok(()));
            }
            core.lane.proto.why_gone(from).map(|failure| Err(Error::from(failure)))
        };
        let (_core, result) =
            self.wait_before(core, deadline, Awaited::Other("a signal in a window", Some(from)), ready);
        result.unwrap_or_else(|| Err(Error::Deadline(format!("{from} to signal"))))
    }
}

/// Returns the owner, if there is one alone.
fn only(windows: &[(Rank, ExposureKey)]) -> Option<Rank> {
    match windows {
        [(owner, _)] => Some(*owner),
        _ => None,
    }
}

impl Core {
    /// Submits a request that the owner does not answer.
    fn submit_unanswered(&mut self, owner: Rank, rma_request: RmaRequest) {
        self.submit_rma(NewCall { ending: CallEnding::Counted, ..NewCall::new(owner, rma_request) });
    }
}
