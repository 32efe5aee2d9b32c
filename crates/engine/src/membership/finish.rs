//! The orderly end of a rank.

use canele_control::{MOST_SERIES, OnFailure, ToLauncher, series_of};
use canele_sys::atomic::Ordering::Relaxed;
use canele_sys::ids::Rank;

use super::launcher::end_without_launcher;
use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::awaited::Awaited;

impl Engine {
    /// Informs the launcher, before [`Self::finish`], of operations of this rank that are still under way: it
    /// reports them once for all ranks. Returns true if there is a launcher.
    ///
    /// # Errors
    /// `Forked`; the launcher is gone.
    pub fn tell_given_up(&self, operations: u32, what: &str) -> Result<bool, Error> {
        let mut core = self.lock()?;
        let launcher = &mut core.membership.launcher;
        launcher.send(&ToLauncher::GivenUp { operations, what: what.to_owned() })?;
        Ok(launcher.is_present())
    }

    /// Tells the launcher that this rank waits until all others finalise, and sends them nothing more.
    /// [`Self::finish`] reports a launcher that is gone.
    pub fn tell_finalizing(&self) {
        if let Ok(mut core) = self.first().lock() {
            let _ = core.membership.launcher.send(&ToLauncher::Finalizing);
        }
    }

    /// Makes the launcher end these ranks, or all for `None`, in a job whose ranks go on after a failure.
    /// This rank is about to end with `status`. In other jobs, and within a call of the library, its own end
    /// has to suffice.
    pub fn abort(&self, ranks: Option<&[Rank]>, status: u8) {
        if self.is_inside() {
            return;
        }
        // Only the first lane sends the launcher messages about ranks.
        let Ok(mut core) = self.first().lock() else { return };
        let job = &core.membership.job;
        if job.on_failure != OnFailure::Continue {
            return;
        }
        let mut ranks: Vec<u32> = match ranks {
            Some(ranks) => ranks.iter().map(|rank| rank.0).collect(),
            None => (0..job.ranks()).collect(),
        };
        ranks.sort_unstable();
        if ranks == [self.rank().0] {
            return;
        }
        for series in series_of(&ranks).chunks(MOST_SERIES) {
            // Without a launcher there is no rank to end.
            let _ = core.membership.launcher.send(&ToLauncher::Abort { ranks: series.to_vec(), status });
        }
    }

    /// Sends all waiting packets. The last user of the engine that calls it informs the launcher that this
    /// rank is done. Later calls are errors, and so are waiting calls of other threads. A rank of another
    /// launcher waits until all ranks have finished.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn finish(&self) -> Result<(), Error> {
        if self.users.is_shared() {
            // The other user of the engine, which goes on, need not make progress for this one.
            for lane in self.all_lanes().iter().map(|lane| self.numbered_lane(lane)) {
                lane.send_last(lane.lock_to_submit()?);
            }
        } else {
            self.lock_to_submit()?;
        }
        if self.users.leave() {
            return Ok(());
        }
        self.further_lanes().try_for_each(|lane| lane.finish())?;
        let mut core = self.lock()?;
        // Peers that finish now wait for acknowledgements.
        core.lane.rails.send_pending();
        core = self.send_last(core);
        core.lane.rails.send_pending();
        if !core.membership.launcher.is_lost {
            core.lane.rails.finish();
        }
        core.drop_memory_of_program();
        core.publish_counters();
        let sent = core.membership.launcher.send(&ToLauncher::Finished);
        core.lane.is_closed = true;
        self.is_finished.store(true, Relaxed);
        core.lane.proto.close();
        self.wake_progress_owner(&core);
        core.lane.waiters.wake_all();
        // Spawned ranks are children of the agents, which wait for them.
        let job = &core.membership.job;
        let is_first = self.lane_number() == 0;
        if is_first
            && job.joined
            && self.rank().0 < job.size
            && sent.is_ok()
            && !core.membership.launcher.await_over()
        {
            end_without_launcher(core.lane.proto.me());
        }
        sent
    }

    /// Waits until all waiting packets are sent.
    fn send_last<'a>(&'a self, core: Locked<'a>) -> Locked<'a> {
        let flushed = |core: &mut Core| {
            let flushed = core.lane.proto.is_flushed() && core.lane.rails.is_settled();
            (flushed || core.membership.launcher.is_lost).then_some(())
        };
        self.wait_for(core, Awaited::Other("its last messages to leave", None), flushed).0
    }

    /// Makes progress until the job is finished, as a thread of the library for a program that computes. It
    /// sleeps when nothing moves, and lets a waiting thread of the program own the progress.
    pub fn serve(&self) {
        let is_over = |core: &mut Core| core.check().is_err().then_some(());
        if let Ok(core) = self.lock() {
            self.wait_for(core, Awaited::End, is_over);
        }
    }
}
