//! The opening of further lanes. Owns the steps: this rank asks its launcher, joins as another engine, and tells it what the
//! first lane knows of the job.

use std::os::fd::AsFd;
use std::sync::{Arc, PoisonError};

use canele_control::{Control, ControlError, Socket, ToLauncher};
use canele_sys::ids::Rank;

use super::{LaneSet, Lanes};
use crate::Error;
use crate::connect::host::has_descriptors_for_lane;
use crate::engine::Engine;

impl Engine {
    /// Returns the lane of this number of this rank, which is opened if it is not; `None` if the rank cannot
    /// have it. A spawned rank has only its first.
    ///
    /// # Errors
    /// The launcher takes over no further lane: it or this process has no descriptor or memory left.
    fn lane(self: &Arc<Self>, number: u8) -> Result<Option<Arc<Self>>, Error> {
        let first = self.first_lane();
        let Some(at) = usize::from(number).checked_sub(1) else { return Ok(Some(first.clone())) };
        let Some(place) = first.lanes.further.get(at) else { return Ok(None) };
        let mut asked_for = first.lanes.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = place.get() {
            return Ok(Some(open.clone()));
        }
        if first.rank().0 >= first.job().size || number >= first.most_lanes() || asked_for.has(number) {
            return Ok(None);
        }
        // A lane that cannot reach its peers later would be worse than none.
        if !has_descriptors_for_lane(first.job().ranks()) {
            return Ok(None);
        }
        let lane = Arc::new(first.join_lane(number, &mut asked_for)?);
        first.lanes.expect_several();
        let lane = place.get_or_init(|| lane).clone();
        // Threads in a sleep without an end do not know the new lane.
        first.waker.wake();
        first.change_watch(|watch| watch.change(number));
        Ok(Some(lane))
    }

    /// Returns true if the lane of this number can be used; opens it for that.
    pub(crate) fn opens_lane(self: &Arc<Self>, number: u8) -> bool {
        self.lane(number).is_ok_and(|lane| lane.is_some())
    }

    /// Returns the open lane of this number, to be kept.
    pub fn open_lane(self: &Arc<Self>, number: u8) -> Arc<Self> {
        self.further_lane(number).unwrap_or_else(|| self.first_lane()).clone()
    }

    fn join_lane(self: &Arc<Self>, number: u8, asked_for: &mut LaneSet) -> Result<Self, Error> {
        let (ours, launchers) = Socket::pair().map_err(ControlError::from)?;
        let opens = ToLauncher::Lane { number };
        asked_for.add(number);
        self.lock_to_submit()?.membership.launcher.send_with(&opens, &[launchers.as_fd()])?;
        drop(launchers);
        let control = Control::new(self.place(), ours.into());
        let lanes = Lanes::numbered(number, Some(self.clone()));
        let lane = Self::join_as(&self.tunables, Some(control), lanes)?;
        // The launcher informs the lane of every end after its welcome; earlier ends come from here.
        let mut core = self.lock()?;
        core.read_launcher();
        let gone = |rank| core.lane.proto.gone(Rank(rank)).map(|how| (Rank(rank), how));
        let gone: Vec<_> = (0..core.lane.proto.ranks() as u32).filter_map(gone).collect();
        let splits = core.membership.splits.clone();
        drop(core);
        let mut core = lane.lock()?;
        self.apply_settings(&mut core);
        gone.into_iter().for_each(|(rank, how)| core.lane.proto.handle_gone(rank, how));
        core.membership.splits = splits;
        drop(core);
        Ok(lane)
    }
}
