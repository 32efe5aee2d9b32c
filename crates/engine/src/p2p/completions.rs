//! Taking the completions of several operations at once, with one entry into the engine.

use canele_sys::fork;

use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lanes::LaneSet;
use crate::p2p::pending::PendingKind;
use crate::{Completion, Error, Failure, Pending, Status};

impl Engine {
    /// Lets `f` take the completions of several operations, without making progress. `f` must not call the
    /// engine.
    ///
    /// # Errors
    /// `Forked`.
    #[inline(always)]
    pub fn completions<R>(&self, f: impl FnOnce(&mut Completions<'_>) -> R) -> Result<R, Error> {
        let mut completions = Completions::of(self)?;
        Ok(f(&mut completions))
    }

    /// Lets `f` take completions. If `f` returns `None`, makes progress once on the lanes of the operations
    /// that `f` asked about. Calls `f` again if anything moved.
    ///
    /// # Errors
    /// `Forked`.
    #[inline]
    pub fn completions_or_poll<R>(
        &self,
        mut f: impl FnMut(&mut Completions<'_>) -> Option<R>,
    ) -> Result<Option<R>, Error> {
        let mut completions = Completions::of(self)?;
        if let Some(found) = f(&mut completions) {
            return Ok(Some(found));
        }
        Ok(if completions.poll()? { f(&mut completions) } else { None })
    }
}

/// The right to take completions, which a rank's first lane gives for all its lanes. It holds the lock of one
/// lane at a time.
pub struct Completions<'a> {
    engine: &'a Engine,
    held: Option<(&'a Engine, Locked<'a>)>,
    /// The lanes that were asked.
    asked: LaneSet,
}

impl<'a> Completions<'a> {
    /// Makes one that holds the lock of the engine's own lane if its rank has no other.
    #[inline(always)]
    fn of(engine: &'a Engine) -> Result<Self, Error> {
        let mut new = Self { engine, held: None, asked: LaneSet::default() };
        if engine.has_one_lane() {
            new.held = Some((engine, engine.lock()?));
            new.asked.add(engine.lane_number());
        } else {
            fork::token()?;
        }
        Ok(new)
    }

    /// Returns the locked lane of an operation.
    #[inline(always)]
    fn core(&mut self, lane: u8) -> &mut Core {
        if self.held.as_ref().is_none_or(|(held, _)| held.lane_number() != lane) {
            self.turn_to(lane);
        }
        &mut self.held.as_mut().expect("it was held or has been turned to").1
    }

    #[cold]
    #[inline(never)]
    fn turn_to(&mut self, lane: u8) {
        self.held = None;
        self.asked.add(lane);
        let engine = self.engine.numbered_lane(lane);
        self.held = Some((engine, engine.lock().expect("this is no forked child")));
    }

    /// Makes progress once on the lanes that were asked; returns true if anything moved.
    #[inline]
    fn poll(&mut self) -> Result<bool, Error> {
        let mut moved = false;
        if let Some((engine, core)) = self.held.take() {
            let (core, has_moved) = engine.poll_once(core);
            (self.held, moved) = (Some((engine, core)), has_moved);
        }
        Ok(moved | (!self.engine.has_one_lane() && self.poll_others()?))
    }

    #[cold]
    fn poll_others(&mut self) -> Result<bool, Error> {
        let held = self.held.take().map(|(engine, _)| engine.lane_number());
        let others = self.asked.iter().filter(|lane| Some(*lane) != held);
        others
            .map(|lane| self.engine.numbered_lane(lane).poll())
            .try_fold(false, |any, moved| Ok(any | moved?))
    }

    /// Returns the lanes that were asked, for a caller that makes progress on them.
    #[inline]
    pub fn asked(&self) -> LaneSet {
        self.asked
    }

    /// Returns true if an operation has ended, its completion taken or not.
    #[inline(always)]
    pub fn has_ended(&mut self, pending: Pending) -> bool {
        pending.has_ended(self.core(pending.lane))
    }

    /// Returns why an operation may never end though it is under way, as [`Engine::why_pending`].
    #[inline]
    pub fn why_pending(&mut self, pending: Pending) -> Option<Failure> {
        let core = self.core(pending.lane);
        if core.lane.proto.deaths().is_empty() {
            return None;
        }
        pending.request().and_then(|id| core.lane.proto.why_pending(id))
    }

    /// Takes the completion of an operation; returns `None` while it is under way.
    pub fn take(&mut self, pending: Pending) -> Option<Completion> {
        pending.take(self.core(pending.lane))
    }

    /// Takes the completion of an operation; one that may never end fails: see [`Engine::why_pending`].
    pub fn take_or_fail(&mut self, pending: Pending) -> Option<Completion> {
        pending.request().map(|id| self.core(pending.lane).lane.proto.fail_pending(id));
        self.take(pending)
    }

    /// Returns true if a rank has died, as far as the lane of an operation knows: a receive from any source
    /// may be in doubt.
    #[inline(always)]
    pub fn any_deaths(&mut self, pending: Pending) -> bool {
        !self.core(pending.lane).lane.proto.deaths().is_empty()
    }

    /// Takes the status of a message that has ended well and whose memory the caller does not want back. One
    /// that has failed stays.
    #[inline]
    pub fn take_status(&mut self, pending: Pending) -> Option<Status> {
        let core = self.core(pending.lane);
        match pending.kind {
            PendingKind::Request(id) => core.lane.proto.take_status(id),
            PendingKind::Coalesced(send) => core.lane.proto.take_coalesced(send)?.result.ok(),
            PendingKind::Collective(_) | PendingKind::Rma(_) => None,
        }
    }
}
