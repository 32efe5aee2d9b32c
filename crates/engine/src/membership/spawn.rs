//! Ranks that are added to the running job: requested here, added by the launcher.

use std::collections::HashMap;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use canele_control::join;
use canele_control::{Control, ControlError, RankPlace, Socket, SpawnProgram, SpawnedWorld, ToLauncher};
use canele_sys::ids::Rank;

use super::Launcher;
use crate::Error;
use crate::connect::other_jobs::{add_others, own_addresses};
use crate::core::{Core, shared_settings};
use crate::engine::Engine;
use crate::lane::awaited::Awaited;

/// The first of the new ranks; or a reason for each, empty for those that were started and ended because of
/// the others.
type SpawnAnswer = Result<u32, Vec<String>>;

/// The worlds that this rank asked for.
#[derive(Default)]
pub(crate) struct Spawns {
    /// Requests, with the answer once it has come.
    asked: HashMap<u64, Option<SpawnAnswer>>,
    last: u64,
}

impl Spawns {
    fn begin(&mut self) -> u64 {
        self.last += 1;
        self.asked.insert(self.last, None);
        self.last
    }

    /// Handles the launcher's answer.
    pub fn handle_answer(&mut self, ticket: u64, answer: SpawnAnswer) {
        if let Some(asked) = self.asked.get_mut(&ticket) {
            *asked = Some(answer);
        }
    }

    fn take(&mut self, ticket: u64) -> Option<SpawnAnswer> {
        let answer = self.asked.get_mut(&ticket)?.take()?;
        self.asked.remove(&ticket);
        Some(answer)
    }
}

impl Engine {
    /// Adds ranks to the job, which run `programs` and have a world of their own; waits until they run. They
    /// learn that `parents` have spawned them.
    ///
    /// # Errors
    /// `NotSpawned` with the reason for each of them; the job has no launcher, or the launcher is gone.
    pub fn spawn(&self, programs: Vec<SpawnProgram>, parents: &[Rank]) -> Result<Range<u32>, Error> {
        let count: u32 = programs.iter().fold(0, |sum, program| sum.saturating_add(program.ranks));
        let mut core = self.lock_to_submit()?;
        self.need_launcher(&mut core)?;
        let ticket = core.membership.spawns.begin();
        let parents = parents.iter().map(|rank| rank.0).collect();
        core.membership.launcher.send(&ToLauncher::Spawn { ticket, programs, parents })?;
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => core.membership.spawns.take(ticket).map(Ok),
            Err(error) => Some(Err(error)),
        };
        let (_core, answer) = self.wait_for(core, Awaited::Other("ranks to be spawned", None), ready);
        match answer? {
            Ok(first) => Ok(first..first.saturating_add(count)),
            Err(reasons) => Err(Error::NotSpawned(reasons)),
        }
    }
}

impl Engine {
    /// Starts a launcher if there is none.
    pub(super) fn need_launcher(&self, core: &mut Core) -> Result<(), Error> {
        if core.membership.launcher.is_present() { Ok(()) } else { self.start_launcher(core) }
    }

    /// Starts a launcher. This process, which was started alone, is its rank 0 from now on.
    #[cold]
    fn start_launcher(&self, core: &mut Core) -> Result<(), Error> {
        let command = join::command();
        let (own, its) = Socket::pair().map_err(ControlError::from)?;
        let started = Command::new(&command)
            .arg("adopt")
            .arg(std::process::id().to_string())
            .stdin(Stdio::from(OwnedFd::from(its)))
            .spawn();
        if let Err(error) = started {
            let why = format!(
                "this program was started alone, and the launcher that it needs for other processes, {}, cannot be started: {error}; \
                 start the program with `canele run`, or put the command `canele` into the PATH",
                command.display()
            );
            return Err(Error::NotSpawned(vec![why]));
        }
        let mut launcher = Launcher::new(Some(Control::new(RankPlace::ALONE, own.into())));
        let job = launcher.introduce()?.ok_or(ControlError::LauncherGone)?;
        let rails = &core.lane.rails;
        let settings = shared_settings(&self.tunables, &job.profile);
        launcher.send_with(&ToLauncher::Inbox { settings }, &rails.inbox())?;
        for region in rails.regions().all_own() {
            launcher.send_with(&ToLauncher::Region { id: region.id().to_word() }, &[region.fd()])?;
        }
        for (name, value) in core.membership.names.take_own() {
            launcher.send(&ToLauncher::Publish { name, value })?;
        }
        core.adopt_launcher(launcher, job, &self.tunables);
        Ok(())
    }
}

impl Core {
    /// Handles new ranks of the job, or of another job.
    pub(super) fn handle_grown(&mut self, world: SpawnedWorld) {
        let Self { lane, membership, .. } = self;
        let (job, me) = (&mut membership.job, lane.proto.me());
        let known = |host: &u32| (*host as usize) < job.hosts.len() || world.network.is_some();
        if world.first != job.ranks() || world.hosts.is_empty() || !world.hosts.iter().all(known) {
            return;
        }
        let host = job.host_of(me.0);
        let on_this = |(_, on): &(u32, &u32)| **on as usize == host;
        let here: Vec<u32> = world.ranks().zip(&world.hosts).filter(on_this).map(|(rank, _)| rank).collect();
        job.spawned.push(world.clone());
        lane.proto.add_ranks(job.ranks() as usize);
        lane.rails.add_ranks(job.ranks(), here.into_iter().map(Rank));
        let opened = add_others(&mut lane.rails, me, job, &world);
        let living = job.ranks_on(host).filter(|rank| lane.proto.gone(Rank(*rank)).is_none());
        lane.wait_policy.ranks_share |= living.count() as u32 > job.processors;
        if let Err(error) = &opened {
            let unreachable = |rank| lane.proto.handle_unreachable(Rank(rank), error.to_string());
            world.ranks().for_each(unreachable);
        }
        // The other job also gets a notice about a rank without an address.
        if !matches!(opened, Ok(false)) {
            let rails = own_addresses(&lane.rails);
            self.send_to_launcher(&ToLauncher::Addresses { rails });
        }
    }

    /// Adopts the ring of a peer that sends over one of its own.
    pub(super) fn handle_ring(&mut self, from: Rank, ring: Option<OwnedFd>) {
        let lane = &mut self.lane;
        if from.0 as usize >= lane.proto.ranks() {
            return;
        }
        let Some(ring) = ring else { return lane.handle_no_descriptor(from) };
        if let Err(error) = lane.rails.adopt_ring(from, ring) {
            lane.proto.handle_unreachable(from, error.to_string());
        }
        lane.rails.accept();
    }

    /// Hands this rank's rings to their receivers.
    pub(super) fn hand_over_rings(&mut self) {
        while let Some((to, ring)) = self.lane.rails.take_ring() {
            // The next look at its socket finds out that the launcher is gone.
            let _ = self.membership.launcher.send_with(&ToLauncher::Ring { to: to.0 }, &[ring.fd()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_once_by_who_asked() {
        let mut spawns = Spawns::default();
        let (first, second) = (spawns.begin(), spawns.begin());
        spawns.handle_answer(second, Ok(4));
        spawns.handle_answer(second + 1, Ok(9));
        assert_eq!((spawns.take(first), spawns.take(second), spawns.take(second)), (None, Some(Ok(4)), None));
        spawns.handle_answer(first, Err(vec!["no".into()]));
        assert_eq!(spawns.take(first), Some(Err(vec!["no".into()])));
        assert!(spawns.asked.is_empty());
    }
}
