//! Active target synchronisation: fences, and epochs of groups (MPI 5.0, §12.5.1, §12.5.2).
//!
//! ```text
//!   origin  start ◀──POST── post  target        start waits for a message of each target
//!           put, get …
//!           complete ──COMPLETE──▶ wait         wait and test need a message of each origin
//! ```

use canele_engine::{Envelope, Mode, Started, Tag, Want};
use canele_mem::buffer::Divided;
use canele_sys::atomic::Ordering::Relaxed;

use super::epoch::{FENCE, FENCED, GROUP, STARTED};
use super::{Win, tag};
use crate::group::Group;
use crate::{Result, fail};

impl Win {
    /// Completes the accesses since the last fence on all members. With `goes_on`, accesses are permitted
    /// until the next fence.
    ///
    /// # Errors
    /// Fails if another kind of epoch is open. Fails after the epoch has ended if a member died, an access
    /// failed, or the window is revoked; then no epoch begins.
    pub fn fence(&self, goes_on: bool) -> Result<()> {
        {
            let epochs = self.epochs();
            self.check_no_access(&epochs)?;
            self.check_no_exposure(&epochs)?;
        }
        let flushed = self.flush_all_targets();
        self.sync();
        self.epoch.fetch_and(!(FENCE | FENCED), Relaxed);
        self.check_revoked()?;
        self.comm.barrier("MPI_Win_fence")?;
        self.sync();
        if goes_on {
            self.epoch.fetch_or(FENCED, Relaxed);
        }
        flushed
    }

    /// Returns the members of a group as ranks in the window.
    fn ranks_of(&self, group: &Group) -> Result<Vec<usize>> {
        let place = |member: &canele_engine::Rank| match self.group().rank_of(*member) {
            Some(place) => Ok(place),
            None => fail!(Group, "the group has {member} of the job, which is not a member of the window"),
        };
        group.members().iter().map(place).collect()
    }

    /// Sends a message without bytes, and does not wait until the member asks for it: both members of a pair
    /// may do this before they ask.
    fn tell(&self, member: usize, tag: Tag) -> Result<()> {
        let (engine, to) = (&self.comm.engine, self.targets[member].rank);
        let posted = engine.post(Envelope::new(to, self.flow(), tag), &[]).map_err(|error| *error)?;
        if let Started::Busy = posted {
            let empty = Divided::default().lend(0..0);
            let sent =
                engine.isend(to, self.flow(), tag, Mode::Standard, empty).map_err(|refused| refused.0)?;
            if let Some(ended) = engine.test(sent)? {
                ended.result?;
                return Ok(());
            }
            let untaken = &mut self.epochs().untaken;
            untaken.retain(|pending| matches!(engine.test(*pending), Ok(None)));
            untaken.push(sent);
        }
        Ok(())
    }

    /// Waits until the members have asked for all messages of epochs, or died.
    pub(super) fn await_untaken(&self) {
        let untaken = std::mem::take(&mut self.epochs().untaken);
        for pending in untaken {
            // A member that died has no use for it.
            let _ = self.comm.engine.wait(pending, None);
        }
    }

    fn want(&self, member: usize, tag: Tag) -> Want {
        Want { source: Some(self.targets[member].rank), tag: Some(tag) }
    }

    fn await_tell(&self, member: usize, tag: Tag) -> Result<()> {
        self.comm.engine.recv(self.flow(), self.want(member, tag), &mut [], None)?;
        Ok(())
    }

    /// Permits accesses to the members of a group after each has exposed its part. With `unchecked` the
    /// program promises that they have.
    ///
    /// # Errors
    /// Fails if a rank is no member, another access epoch is open, a target died, or the window is revoked.
    pub fn start(&self, group: &Group, unchecked: bool) -> Result<()> {
        let targets = self.ranks_of(group)?;
        self.check_no_access(&self.epochs())?;
        self.leave_fence()?;
        self.check_revoked()?;
        if !unchecked {
            targets.iter().try_for_each(|target| self.await_tell(*target, tag::POST))?;
        }
        self.sync();
        for target in &targets {
            self.targets[*target].epoch.fetch_or(STARTED, Relaxed);
        }
        self.epoch.fetch_or(GROUP, Relaxed);
        self.epochs().started = Some(targets);
        Ok(())
    }

    /// Ends a started access epoch: accesses are complete here, and each target is notified after they are
    /// complete there.
    ///
    /// # Errors
    /// Fails if no epoch was started. Fails after the epoch has ended if a target died, an access failed, or
    /// the window is revoked.
    pub fn complete(&self) -> Result<()> {
        let Some(targets) = self.epochs().started.take() else {
            fail!(RmaSync, "no access epoch was started: call MPI_Win_start first");
        };
        self.epoch.fetch_and(!GROUP, Relaxed);
        let mut result = Ok(());
        for target in &targets {
            self.targets[*target].epoch.fetch_and(!STARTED, Relaxed);
            result = result.and(self.flush_target(*target));
        }
        self.sync();
        // A store to a dead target reports no error; the poll reads deaths that the launcher has reported.
        self.comm.engine.poll()?;
        for target in &targets {
            result = result.and(self.tell(*target, tag::COMPLETE));
        }
        result.and_then(|()| self.check_revoked())
    }

    /// Exposes the part of this process to the members of a group. With `unchecked` they are not notified.
    ///
    /// # Errors
    /// Fails if a rank is no member, the part is exposed already, an origin died, or the window is revoked.
    pub fn post(&self, group: &Group, unchecked: bool) -> Result<()> {
        let origins = self.ranks_of(group)?;
        self.check_no_exposure(&self.epochs())?;
        self.leave_fence()?;
        self.check_revoked()?;
        self.sync();
        if !unchecked {
            origins.iter().try_for_each(|origin| self.tell(*origin, tag::POST))?;
        }
        self.epochs().exposed = Some(origins.into_iter().map(|origin| (origin, false)).collect());
        Ok(())
    }

    /// Waits until all origins of an exposure have completed their accesses.
    ///
    /// # Errors
    /// Fails if the part is not exposed. Fails after the exposure has ended if an origin died or the window
    /// is revoked.
    pub fn wait(&self) -> Result<()> {
        let Some(origins) = self.epochs().exposed.take() else { return Err(self.not_exposed()) };
        let mut result = Ok(());
        for (origin, _) in origins.iter().filter(|(_, complete)| !complete) {
            result = result.and(self.await_tell(*origin, tag::COMPLETE));
        }
        self.sync();
        result.and_then(|()| self.check_revoked())
    }

    /// Returns true if all origins of an exposure have completed; does not wait.
    ///
    /// # Errors
    /// Fails like [`Win::wait`].
    pub fn test(&self) -> Result<bool> {
        let Some(mut origins) = self.epochs().exposed.take() else { return Err(self.not_exposed()) };
        for (origin, complete) in origins.iter_mut().filter(|(_, complete)| !complete) {
            let has_come = self.comm.engine.iprobe(self.flow(), self.want(*origin, tag::COMPLETE))?.is_some();
            // The receive reports an error for a message that cannot arrive.
            if has_come || self.check_target(&self.targets[*origin]).is_err() {
                self.await_tell(*origin, tag::COMPLETE)?;
                *complete = true;
            }
        }
        let all = origins.iter().all(|(_, complete)| *complete);
        if !all {
            self.epochs().exposed = Some(origins);
        }
        self.sync();
        Ok(all)
    }

    #[cold]
    fn not_exposed(&self) -> Box<crate::Error> {
        crate::Error::new(crate::Class::RmaSync, "the window is not exposed: call MPI_Win_post first")
    }
}
