//! What the launcher says, and what is asked of it: inboxes of peers, their regions, names, deaths, cuts.

use canele_proto::peer;
use canele_proto::request::Failure;
use canele_rail::{Corrupt, Rail};
use canele_sys::ids::{Rank, RegionId};

use crate::control::{FromLauncher, Gone, Handed, ToLauncher};
use crate::core::Core;

impl Core {
    /// The launcher has rung: reads everything it has said, and shows it the links, if it wants to see them, and the counters, which may be all it wants.
    #[cold]
    pub fn read_news(&mut self) {
        self.read_control();
        self.show_links();
        self.publish_counters();
    }

    fn read_control(&mut self) {
        loop {
            let Some(control) = &mut self.control else { return };
            self.counts.system_calls += 1;
            match control.try_receive() {
                Ok(Some((message, handed))) => self.on_message(message, handed),
                Ok(None) => return,
                Err(error) => {
                    self.broken = Some(error.to_string());
                    self.fail_all();
                    return;
                }
            }
        }
    }

    fn on_message(&mut self, message: FromLauncher, handed: Option<Handed>) {
        match (message, handed) {
            (FromLauncher::Peer { rank, .. }, Some(inbox)) => self.on_peer(Rank(rank), inbox),
            (FromLauncher::Region { owner, id, .. }, _) if Rank(owner) == self.proto.me() => {
                self.known_regions.push(id);
            }
            (FromLauncher::Region { owner, id, .. }, handed) => {
                let memory = handed.map(|handed| handed.memory);
                self.rails.shm.regions.adopt(Rank(owner), RegionId::from_word(id), memory)
            }
            (FromLauncher::Found { ticket, value }, _) => drop(self.found.insert(ticket, value)),
            (FromLauncher::PublishRefused { name }, _) => self.refused.push(name),
            (FromLauncher::Gone { rank, how }, _) => self.on_gone(Rank(rank), how),
            (FromLauncher::CutOff { by, of, what }, _) => self.on_cut_off(Rank(by), Rank(of), what),
            (FromLauncher::Reach { rank, rails }, _) => self.on_reach(Rank(rank), rails),
            (FromLauncher::ShowLinks { most }, _) => self.links_wanted = Some(most),
            (FromLauncher::Welcome { .. } | FromLauncher::Peer { .. }, _) => {}
        }
    }

    /// A peer's inbox: one of the two has something for the other, so the link is opened both ways at once.
    fn on_peer(&mut self, peer: Rank, inbox: Handed) {
        if peer.0 as usize >= self.proto.ranks() {
            return;
        }
        self.counts.connections += 1;
        let Handed { memory, event } = inbox;
        let shm = &mut self.rails.shm;
        let opened = shm.introduce(peer, memory, event).and_then(|()| shm.open_link(peer));
        match opened {
            Ok(link) => self.proto.link_opened(&self.rails, peer, link),
            Err(error) => self.proto.handle_unreachable(peer, error.to_string()),
        }
        self.rails.accept();
    }

    /// A peer is gone. What it sent before is delivered first.
    fn on_gone(&mut self, peer: Rank, how: Gone) {
        if peer.0 as usize >= self.proto.ranks() {
            return;
        }
        self.gone.insert(peer, how);
        self.receive_last(peer);
        let how = match how {
            Gone::Finished => peer::Gone::Finished,
            Gone::Exited(_) | Gone::Killed(_) | Gone::HostLost => peer::Gone::Failed,
        };
        self.proto.handle_gone(peer, how);
    }

    /// A rank accepts nothing more from another one, which may be this one.
    fn on_cut_off(&mut self, by: Rank, of: Rank, what: String) {
        if of != self.proto.me() {
            self.splits.push(Failure::CutOff { by, of, why: what.into() });
        } else if (by.0 as usize) < self.proto.ranks() {
            self.receive_last(by);
            self.proto.handle_cut_off(by, what);
        }
    }

    /// Takes what a peer has sent that sends no more, and closes its links.
    fn receive_last(&mut self, peer: Rank) {
        self.rails.accept();
        let links = self.rails.incoming().iter().copied().filter(|link| link.peer() == peer);
        for link in links.collect::<Vec<_>>() {
            // Bounded by what lies in the rings: the peer writes no more.
            while self.proto.receive_from(&mut self.rails, link) {}
            self.rails.disconnect(link);
        }
        // Bounded by what came.
        while self.rails.has_sockets() && self.serve() {}
        self.forget_links(peer);
    }

    /// Without a launcher there is nobody left who could tell who lives.
    fn fail_all(&mut self) {
        for rank in 0..self.proto.ranks() as u32 {
            if Rank(rank) != self.proto.me() {
                // What a rail still holds of a buffer would keep its operation from ending.
                self.forget_links(Rank(rank));
                self.proto.handle_gone(Rank(rank), peer::Gone::Failed);
            }
        }
    }

    /// Passes on what protocols and rail want of the launcher; says whether there was anything.
    #[inline]
    pub fn ask_launcher(&mut self) -> bool {
        let mut any = false;
        while let Some(peer) = self.proto.take_wanted() {
            any = true;
            self.connect(peer);
        }
        while let Some((owner, id)) = self.rails.shm.regions.take_wanted() {
            any = true;
            self.ask(&ToLauncher::FindRegion { owner: owner.0, id: id.to_word() });
        }
        while let Some((peer, corrupt)) = self.proto.take_fault() {
            any = true;
            self.report(peer, corrupt);
        }
        while let Some(answer) = self.proto.take_fenced() {
            any = true;
            self.fenced.push(answer);
        }
        any
    }

    #[cold]
    fn connect(&mut self, peer: Rank) {
        if self.rails.shm.is_introduced(peer) {
            match self.rails.shm.open_link(peer) {
                Ok(link) => self.proto.link_opened(&self.rails, peer, link),
                Err(error) => self.proto.handle_unreachable(peer, error.to_string()),
            }
            return;
        }
        if self.network.is_busy_with(peer) || self.dial_all(peer) {
            return;
        }
        self.ask(&ToLauncher::Connect { peer: peer.0 });
    }

    /// A peer was cut off: the launcher tells everybody, the peer too, whose messages to this rank would wait for ever.
    #[cold]
    fn report(&mut self, peer: Rank, corrupt: Corrupt) {
        if self.control.is_none() {
            return eprintln!("canele: {} accepts nothing more from {peer}: {corrupt}", self.proto.me());
        }
        self.ask(&ToLauncher::CutOff { peer: peer.0, what: corrupt.to_string() });
    }

    fn ask(&mut self, message: &ToLauncher) {
        if let Err(error) = self.tell(message) {
            self.broken = Some(error.to_string());
            self.fail_all();
        }
    }
}
