//! Messages of the launcher, passed to the part that they concern, and requests of the parts to the launcher.

use std::os::fd::OwnedFd;

use canele_control::{FromLauncher, MOST_PEERS, RankEnd, ToLauncher};
use canele_proto::peer;
use canele_proto::request::Failure;
use canele_rail::WantedRegion;
use canele_rail::{Corrupt, Rail};
use canele_sys::ids::{Rank, RegionId};
use canele_sys::printable;
use canele_sys::segment::SegmentError;
use rustix::io::Errno;

use super::launcher::{ControlRead, end_without_launcher};
use crate::core::Core;

/// The error of this process, or of its launcher for a region of another job, without a descriptor left.
const NO_DESCRIPTOR: SegmentError = SegmentError::Kernel {
    doing: "take over memory of another rank: this process, or the launcher of its job, may open no more files (raise the limit where the \
            job is started, `ulimit -n`)",
    error: Errno::MFILE,
};

impl Core {
    /// Handles a notification of the launcher: reads all messages, and publishes the counters. If the
    /// launcher wants them, it first answers with the waits of threads and the links.
    #[cold]
    pub fn read_notifications(&mut self) {
        self.read_launcher();
        // The waits are published before the answers, after which the launcher may read them.
        if self.stats.is_looked_at() {
            self.publish_detailed_waits();
        }
        self.report_links();
        self.publish_counters();
        self.rma.notices.call_handlers(&mut self.lane.proto);
        self.ask_launcher();
        // Threads wait for names, regions and links as for messages, so waiters must look too.
        self.lane.waiters.wake_all_after_pass();
    }

    /// Reads all messages of the launcher.
    pub fn read_launcher(&mut self) {
        loop {
            match self.membership.launcher.receive() {
                ControlRead::Message(message, descriptors) => self.handle_message(message, descriptors),
                ControlRead::Nothing => return,
                ControlRead::Closed => end_without_launcher(self.lane.proto.me()),
                ControlRead::Lost => return self.handle_lost_launcher(),
            }
        }
    }

    fn handle_message(&mut self, message: FromLauncher, descriptors: Vec<OwnedFd>) {
        let Self { lane, connections, membership, rma, stats, .. } = self;
        let mut descriptors = descriptors.into_iter();
        match message {
            FromLauncher::Peers { peers } => {
                lane.handle_inboxes(&peers, descriptors);
                self.hand_over_rings();
            }
            FromLauncher::Grown { world } => self.handle_grown(world),
            FromLauncher::Spawned { ticket, result } => membership.spawns.handle_answer(ticket, result),
            FromLauncher::Connected { ticket, result } => membership.ports.handle_connected(ticket, result),
            FromLauncher::Announced { ticket, result } => membership.ports.handle_announced(ticket, result),
            FromLauncher::FoundElsewhere { ticket, value } => membership.ports.handle_found(ticket, value),
            FromLauncher::Ring { from } => self.handle_ring(Rank(from), descriptors.next()),
            FromLauncher::Region { owner, id, found } if Rank(owner) == lane.proto.me() => {
                rma.handle_confirmed_region(RegionId::from_word(id), found);
            }
            FromLauncher::Region { owner, id, found } => {
                let memory = found.then(|| descriptors.next().ok_or(NO_DESCRIPTOR));
                lane.rails.regions_mut().adopt(Rank(owner), RegionId::from_word(id), memory)
            }
            FromLauncher::RegionDropped { owner, id } => {
                lane.rails.regions_mut().forget(Rank(owner), Some(RegionId::from_word(id)));
            }
            FromLauncher::Found { ticket, value } => membership.names.handle_found(ticket, value),
            FromLauncher::PublishRefused { name } => membership.names.handle_refused(name),
            FromLauncher::Gone { rank, how } => {
                if how != RankEnd::Finished {
                    membership.told_deaths.push(Rank(rank));
                }
                self.handle_gone(Rank(rank), how);
            }
            FromLauncher::Finished { ranks } => self.handle_finished(&ranks),
            FromLauncher::CutOff { by, of, what } => self.handle_cut_off(Rank(by), Rank(of), what),
            FromLauncher::Reach { rank, rails } => {
                connections.handle_addresses(lane, &membership.job, Rank(rank), &rails);
            }
            FromLauncher::ShowLinks { most } => stats.handle_links_wanted(most),
            FromLauncher::Welcome { .. } | FromLauncher::Over => {}
        }
    }

    /// Handles the end of a peer. Its earlier messages are delivered first.
    pub fn handle_gone(&mut self, peer: Rank, how: RankEnd) {
        if peer.0 as usize >= self.lane.proto.ranks() {
            return;
        }
        self.receive_last(peer);
        let how = match how {
            RankEnd::Finished => peer::PeerEnd::Finished,
            RankEnd::Exited(_) | RankEnd::Killed(_) | RankEnd::HostLost | RankEnd::JobLost => {
                peer::PeerEnd::Failed
            }
        };
        self.lane.proto.handle_gone(peer, how);
        self.survivors.report_deaths(self.lane.proto.deaths().len());
    }

    fn handle_finished(&mut self, series: &[(u32, u32)]) {
        let last_of_all = self.lane.proto.ranks() as u32 - 1;
        for &(first, last) in series {
            for rank in first..=last.min(last_of_all) {
                self.handle_gone(Rank(rank), RankEnd::Finished);
            }
        }
    }

    /// Handles the notice that a rank accepts nothing more from another one, which may be this one.
    fn handle_cut_off(&mut self, by: Rank, of: Rank, what: String) {
        let proto = &self.lane.proto;
        if of != proto.me() {
            self.membership.splits.push(Failure::CutOff { by, of, why: what.into() });
        } else if (by.0 as usize) < proto.ranks() {
            self.receive_last(by);
            let why = what.clone().into();
            self.survivors.handle_excluded(Failure::CutOff { by, of, why });
            self.lane.proto.handle_cut_off(by, what);
        }
    }

    /// Takes the last packets of a peer that sends no more, and closes its links.
    fn receive_last(&mut self, peer: Rank) {
        let Self { lane, connections, rma, .. } = self;
        lane.rails.accept();
        let links = lane.rails.incoming().iter().copied().filter(|link| link.peer() == peer);
        for link in links.collect::<Vec<_>>() {
            lane.proto.receive_rest(&mut lane.rails, link);
            lane.rails.disconnect(link);
        }
        lane.rails.forget_host_peer(peer);
        rma.serve_all(lane);
        connections.forget_links(lane, peer);
    }

    /// Handles the loss of the launcher: without it no rank learns of ends, so all others count as gone.
    #[cold]
    pub fn handle_lost_launcher(&mut self) {
        let Self { lane, connections, membership, .. } = self;
        if std::mem::replace(&mut membership.launcher.is_lost, true) {
            return; // Each failed message to the launcher reports the loss.
        }
        for rank in (0..lane.proto.ranks() as u32).map(Rank) {
            if rank != lane.proto.me() {
                // A buffer that a rail still holds would keep its operation from ending.
                connections.forget_links(lane, rank);
                // The peer may live, and its copies into an operation's buffer would come after the end of
                // the operation.
                lane.rails.end_shared_copies(rank);
                lane.proto.handle_gone(rank, peer::PeerEnd::Failed);
            }
        }
    }

    /// Passes on the requests of protocols and rails to the launcher; returns true if there was one.
    #[inline(always)]
    pub fn ask_launcher(&mut self) -> bool {
        let wants = self.lane.proto.wants_anything() || self.lane.rails.regions().wants_any();
        wants && self.ask_launcher_for_all()
    }

    fn ask_launcher_for_all(&mut self) -> bool {
        let mut any = false;
        let mut unknown = Vec::new();
        while let Some(peer) = self.lane.proto.take_wanted() {
            any = true;
            if !self.connect(peer) {
                unknown.push(peer.0);
            }
        }
        self.hand_over_rings();
        for peers in unknown.chunks(MOST_PEERS) {
            self.send_to_launcher(&ToLauncher::Connect { peers: peers.into() });
        }
        while let Some(wanted) = self.lane.rails.regions_mut().take_wanted() {
            any = true;
            let WantedRegion { owner, id, is_kept } = wanted;
            self.send_to_launcher(&ToLauncher::FindRegion { owner: owner.0, id: id.to_word(), is_kept });
        }
        while let Some((peer, corrupt)) = self.lane.proto.take_fault() {
            any = true;
            self.report_fault(peer, corrupt);
        }
        while let Some((peer, fence)) = self.lane.proto.take_fenced() {
            any = true;
            self.rma.fences.handle_answer(peer, fence);
        }
        any
    }

    /// Connects with a peer; returns false if the launcher has to introduce it.
    #[cold]
    fn connect(&mut self, peer: Rank) -> bool {
        let Self { lane, connections, .. } = self;
        lane.open_host_link(peer)
            || connections.is_connecting_to(peer)
            || connections.connect_all(&mut lane.rails, peer)
    }

    /// Reports a peer that was cut off: the launcher informs all ranks. The peer's messages to this rank
    /// would wait for ever otherwise.
    #[cold]
    fn report_fault(&mut self, peer: Rank, corrupt: Corrupt) {
        if !self.membership.launcher.is_present() {
            let me = self.lane.proto.me();
            let what = corrupt.to_string();
            return eprintln!("canele: {me} accepts nothing more from {peer}: {}", printable::line(&what));
        }
        self.send_to_launcher(&ToLauncher::CutOff { peer: peer.0, what: corrupt.to_string() });
    }

    pub(super) fn send_to_launcher(&mut self, message: &ToLauncher) {
        if self.membership.launcher.send(message).is_err() {
            self.handle_lost_launcher();
        }
    }
}
