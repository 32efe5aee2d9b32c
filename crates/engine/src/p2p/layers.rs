//! Building blocks for layers above: a look for a message from any source, a wait for a condition of the
//! protocols, and the opening of a link in advance.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_proto::backlog::{LEVELS, RailPolicy};
use canele_proto::matching::Want;
use canele_proto::{Received, Room};
use canele_sys::ids::{FlowId, Rank, Tag};
use canele_sys::tunables::Tunables;

use super::view::EngineView;
use crate::core::Core;
use crate::engine::Engine;
use crate::lane::Lane;
use crate::lane::awaited::Awaited;
use crate::lane::spin::spin;
use crate::{Error, Status};

/// The longest wait for a notice that the launcher has sent to another lane.
const LONGEST_WORD: Duration = Duration::from_secs(1);

impl Engine {
    /// Returns the settings of this process.
    pub fn tunables(&self) -> &Tunables {
        &self.tunables
    }

    /// Returns the length of the largest message that goes without a handshake, in bytes.
    ///
    /// # Errors
    /// `Forked`.
    pub fn eager_bytes(&self) -> Result<usize, Error> {
        Ok(self.lock()?.lane.proto.eager_bytes())
    }

    /// Waits until this lane knows all deaths that another lane of its rank knows: the launcher informs each
    /// of them.
    ///
    /// # Errors
    /// `Forked`.
    pub fn learn_deaths(&self) -> Result<(), Error> {
        let mut told = Vec::new();
        for lane in self.all_lanes().iter().filter(|lane| *lane != self.lane_number()) {
            told.extend_from_slice(&self.numbered_lane(lane).lock()?.membership.told_deaths);
        }
        let are_known = |core: &Core| {
            let proto = &core.lane.proto;
            told.iter().all(|dead| (dead.0 as usize) < proto.ranks() && proto.gone(*dead).is_some())
        };
        let learned = |core: &mut Core| {
            if !are_known(core) {
                core.read_launcher();
            }
            are_known(core).then_some(())
        };
        let deadline = Some(Instant::now() + LONGEST_WORD);
        self.wait_before(self.lock()?, deadline, Awaited::Other("word of a death", None), learned);
        Ok(())
    }

    /// Answers a question about messages and peers, without waiting and without progress.
    ///
    /// # Errors
    /// `Forked`.
    pub fn ask<T>(&self, question: impl FnOnce(&EngineView) -> T) -> Result<T, Error> {
        Ok(question(&EngineView { proto: &mut self.lock()?.lane.proto }))
    }

    /// Makes progress until `ready` returns a value. It is called after every pass, before every sleep, and
    /// whenever a message came; it must not call the library.
    ///
    /// # Errors
    /// The error of `ready`; the deadline passed while waiting for `what`; the job is over.
    pub fn wait_until<T>(
        &self,
        deadline: Option<Instant>,
        what: impl Fn() -> String,
        mut ready: impl FnMut(&mut EngineView) -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        let core = self.lock_to_submit()?;
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => ready(&mut EngineView { proto: &mut core.lane.proto }),
            Err(error) => Some(Err(error)),
        };
        let (_core, result) = self.wait_before(core, deadline, Awaited::Words(&what), ready);
        result.unwrap_or_else(|| Err(Error::Deadline(what())))
    }

    /// Looks a while for an unannounced message from any source with this tag on its link, without posting a
    /// receive. Calls `taken` before another thread can take the lock. Returns `None` if none came or it
    /// needs the general path.
    ///
    /// # Errors
    /// `Forked`.
    #[inline(always)]
    pub fn try_recv_any(
        &self,
        flow: FlowId,
        tag: Tag,
        into: &mut impl Room,
        taken: impl FnOnce(&Status),
    ) -> Result<Option<Status>, Error> {
        let mut guard = self.lock()?;
        let want = Want { source: None, tag: Some(tag) };
        let mut look = |core: &mut Core| core.lane.try_recv(flow, want, into);
        let seen = match look(&mut guard) {
            Received::Nothing => spin(&mut guard, None, look),
            seen => seen,
        };
        let Received::Done(status) = seen else { return Ok(None) };
        taken(&status);
        Ok(Some(status))
    }

    /// Sets the ranks that send on a flow: the death of another rank is not reported to receives from any
    /// source there.
    ///
    /// # Errors
    /// `Forked`.
    pub fn set_senders(&self, flow: FlowId, senders: Arc<[Rank]>) -> Result<(), Error> {
        self.lock()?.lane.proto.set_senders(flow, senders);
        Ok(())
    }

    /// Changes the level of a flow's messages, below [`LEVELS`], and the rails that take them: `change` gets
    /// both.
    ///
    /// # Errors
    /// `Lengths` for a level or a rail that does not exist; `Forked`.
    pub fn set_flow(&self, flow: FlowId, change: impl FnOnce(&mut u8, &mut RailPolicy)) -> Result<(), Error> {
        let Lane { rails, proto, .. } = &mut self.lock()?.lane;
        let rails = rails.networks();
        let (mut level, mut policy) = proto.flow_settings(flow);
        change(&mut level, &mut policy);
        if usize::from(level) >= LEVELS {
            let (given, needed) = (level.into(), LEVELS - 1);
            return Err(Error::Lengths {
                what: "the priority of a flow is at most the highest",
                given,
                needed,
            });
        }
        // On one host there are no such rails, and the same program runs there.
        if let (RailPolicy::Prefer(rail) | RailPolicy::Require(rail), 1..) = (policy, rails)
            && !(1..=rails).contains(&usize::from(rail))
        {
            let what = "the number of a rail to other hosts is at most how many there are";
            return Err(Error::Lengths { what, given: rail.into(), needed: rails });
        }
        proto.set_flow(flow, level, policy);
        Ok(())
    }

    /// Counts a message that was posted in a region: a message of `telling` bytes announced it to `to`.
    ///
    /// # Errors
    /// `Forked`.
    pub fn count_posted(&self, to: Rank, bytes: usize, telling: usize) -> Result<(), Error> {
        // A message to oneself is counted when it is retrieved, like any.
        if to != self.rank() {
            self.lock()?.lane.proto.traffic.posted(bytes, telling);
        }
        Ok(())
    }

    /// Counts a message that was retrieved in a region of `from`.
    ///
    /// # Errors
    /// `Forked`.
    pub fn count_retrieved(&self, from: Rank, bytes: usize, telling: usize) -> Result<(), Error> {
        let traffic = &mut self.lock()?.lane.proto.traffic;
        if from == self.rank() {
            traffic.retrieved_own(bytes, telling);
        } else {
            traffic.retrieved(bytes, telling);
        }
        Ok(())
    }

    /// Opens the link to a peer, so that the first message need not wait for it.
    ///
    /// # Errors
    /// The peer does not exist or is gone; the deadline passed.
    pub fn connect(&self, peer: Rank, deadline: Option<Instant>) -> Result<(), Error> {
        self.check_rank(peer)?;
        if peer == self.rank() {
            return Ok(());
        }
        let what = || format!("the link to {peer}");
        self.wait_until(deadline, what, |EngineView { proto }| {
            if let Some(failure) = proto.why_gone(peer) {
                return Some(Err(failure.into()));
            }
            proto.want_link(peer);
            proto.link_from(peer).map(|_| Ok(()))
        })
    }
}
