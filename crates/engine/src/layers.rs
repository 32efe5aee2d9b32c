//! What layers above build their own waits from: a look for a message from anybody, a wait for whatever they ask
//! of the protocols, a link opened in advance.

use std::sync::Arc;
use std::time::Instant;

use canele_proto::backlog::{LEVELS, Lane};
use canele_proto::strategy::Strategy;
use canele_proto::{Proto, Received, Room};
use canele_rail::Rail;
use canele_sys::ids::{FlowId, Rank, Tag};
use canele_sys::relax;
use canele_sys::tunables::Tunables;

use crate::core::Core;
use crate::engine::Engine;
use crate::tagged::{LOOKS, LOOKS_PER_PASS};
use crate::wait::Unmet;
use crate::{Error, Status};

impl Engine {
    /// The settings of this process.
    pub fn tunables(&self) -> &Tunables {
        &self.tunables
    }

    /// The largest message in bytes that goes without a handshake.
    ///
    /// # Errors
    /// `Forked`.
    pub fn eager_bytes(&self) -> Result<usize, Error> {
        Ok(self.enter()?.proto.eager_bytes())
    }

    /// Asks the protocols something, without waiting and without progress.
    ///
    /// # Errors
    /// `Forked`.
    pub fn ask<T>(&self, question: impl FnOnce(&Proto) -> T) -> Result<T, Error> {
        Ok(question(&self.enter()?.proto))
    }

    /// Makes progress until `ready` gives something. It is called after every pass, before every sleep, and whenever a
    /// message came; it must not call the library.
    ///
    /// # Errors
    /// What `ready` gives; the deadline passed while waiting for `what`; the job is over.
    pub fn wait_until<T>(
        &self,
        deadline: Option<Instant>,
        what: impl FnOnce() -> String,
        mut ready: impl FnMut(&mut Proto) -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        let core = self.enter_to_submit()?;
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => ready(&mut core.proto),
            Err(error) => Some(Err(error)),
        };
        match self.wait_for(core, deadline, ready) {
            Ok((_core, result)) => result,
            Err((_core, Unmet::Deadline)) => Err(Error::Deadline(what())),
            Err((_core, Unmet::Error(error))) => Err(error),
        }
    }

    /// Looks a while for an unannounced message from anybody with a certain tag where it will come, without posting a receive; calls
    /// `taken` before any other thread can come in. Gives nothing if none came or it needs the general path.
    ///
    /// # Errors
    /// `Forked`.
    #[inline(always)]
    pub fn look_any(
        &self,
        flow: FlowId,
        tag: Tag,
        into: &mut impl Room,
        taken: impl FnOnce(&Status),
    ) -> Result<Option<Status>, Error> {
        let mut guard = self.enter()?;
        if !guard.proto.is_quiet(flow) || guard.finished {
            return Ok(None);
        }
        let looks = if guard.habits.crowded { 1 } else { LOOKS };
        for n in 1..=looks {
            let core = &mut *guard;
            let links = core.rails.incoming().len();
            // Whoever was served last comes last, so that no peer can starve another.
            let mut at = core.turn;
            for _ in 0..links {
                at = if at < links { at } else { 0 };
                let link = core.rails.incoming()[at];
                at += 1;
                match core.proto.try_recv(&mut core.rails, link, flow, tag, into) {
                    Received::Done(bytes) => {
                        core.turn = at;
                        let status = Status { source: core.rails.peer(link), tag, bytes };
                        taken(&status);
                        return Ok(Some(status));
                    }
                    Received::Nothing => {}
                    Received::NotHere => return Ok(None),
                }
            }
            if n.is_multiple_of(LOOKS_PER_PASS) {
                guard.pass();
                if guard.contended() || !guard.proto.is_quiet(flow) {
                    return Ok(None);
                }
            }
            relax::between_looks();
        }
        Ok(None)
    }

    /// Puts what waits for peers into packets by this policy from now on. What waits already keeps its order: choose at a
    /// moment when nothing does.
    ///
    /// # Errors
    /// `Forked`.
    pub fn set_strategy(&self, strategy: Box<dyn Strategy>) -> Result<(), Error> {
        self.enter()?.proto.set_strategy(strategy);
        Ok(())
    }

    /// Says who sends on a flow: the death of anybody else is no matter for those who receive from anybody there.
    ///
    /// # Errors
    /// `Forked`.
    pub fn set_senders(&self, flow: FlowId, senders: Arc<[Rank]>) -> Result<(), Error> {
        self.enter()?.proto.set_senders(flow, senders);
        Ok(())
    }

    /// Changes how urgent a flow's messages are, below [`LEVELS`], and which rails take them: `change` is given both.
    ///
    /// # Errors
    /// `Lengths` for a level or a rail that does not exist; `Forked`.
    pub fn set_flow(&self, flow: FlowId, change: impl FnOnce(&mut u8, &mut Lane)) -> Result<(), Error> {
        let core = &mut *self.enter()?;
        let (rails, proto) = (core.rails.tcp.len(), &mut core.proto);
        let (mut level, mut lane) = proto.flow_settings(flow);
        change(&mut level, &mut lane);
        if usize::from(level) >= LEVELS {
            let (given, needed) = (level.into(), LEVELS - 1);
            return Err(Error::Lengths {
                what: "the priority of a flow is at most the highest",
                given,
                needed,
            });
        }
        // On one host there are none, and the same program runs there.
        if let (Lane::Prefer(rail) | Lane::Require(rail), 1..) = (lane, rails)
            && !(1..=rails).contains(&usize::from(rail))
        {
            let what = "the number of a rail to other hosts is at most how many there are";
            return Err(Error::Lengths { what, given: rail.into(), needed: rails });
        }
        proto.set_flow(flow, level, lane);
        Ok(())
    }

    /// Counts a message that was posted in a region: `telling` bytes told `to` of it.
    ///
    /// # Errors
    /// `Forked`.
    pub fn count_posted(&self, to: Rank, bytes: usize, telling: usize) -> Result<(), Error> {
        // One to oneself is counted when it is retrieved, like any.
        if to != self.rank() {
            self.enter()?.proto.traffic.posted(bytes, telling);
        }
        Ok(())
    }

    /// Counts a message that was retrieved in a region of `from`.
    ///
    /// # Errors
    /// `Forked`.
    pub fn count_retrieved(&self, from: Rank, bytes: usize, telling: usize) -> Result<(), Error> {
        let traffic = &mut self.enter()?.proto.traffic;
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
        self.wait_until(deadline, what, |proto| {
            if let Some(failure) = proto.why_gone(peer) {
                return Some(Err(failure.into()));
            }
            proto.want_link(peer);
            proto.link_from(peer).map(|_| Ok(()))
        })
    }
}
