//! The death of a rank, and its report to the others.

use canele_proto::matching::Want;
use canele_proto::peer::PeerEnd;
use canele_proto::request::Buffer;
use canele_sys::ids::{FlowId, Rank};

use super::{Checked, Play, PlayOperation};
use crate::campaign::program::Memory;

impl Play<'_, '_, '_> {
    pub(super) fn death_ahead(&self) -> bool {
        self.program.death.is_some() && self.told.len() + 1 < self.net.ranks()
    }

    /// Kills the rank that dies and reports its death, each at its time.
    pub(super) fn deaths(&mut self) -> Checked {
        let Some((dead, when, delay)) = self.program.death else { return Ok(()) };
        if self.net.step < when {
            return Ok(());
        }
        if self.dead.is_none() {
            self.net.world.kill(dead);
            self.dead = Some(dead);
        }
        for rank in (0..self.net.ranks() as u32).map(Rank) {
            let late = delay * (1 + (rank.0 as usize + dead.0 as usize) % 3);
            if rank != dead && self.net.step >= when + late && self.told.insert(rank) {
                self.tell(rank, dead)?;
            }
        }
        Ok(())
    }

    fn tell(&mut self, rank: Rank, dead: Rank) -> Checked {
        let r = rank.0 as usize;
        // Messages that came before the report are matched before it.
        self.net.tell(rank, dead);
        self.arrivals(r)?;
        let mut failed = Vec::new();
        for (flow, matching) in self.flows[r].all() {
            let sends_here = self.net.sends_on(flow, dead);
            let hit = |want: Want| want.source.is_none() && sends_here || want.source == Some(dead);
            let receives: Vec<_> = matching.posted().filter(|(_, want)| hit(*want)).collect();
            for (receive, want) in receives {
                matching.cancel(receive);
                failed.push(receive);
                if want.source.is_none() {
                    self.told_flows.insert((rank, flow));
                }
            }
        }
        for receive in failed {
            self.posted_receives.get_mut(&receive).expect("a receive that was posted").fails = true;
        }
        self.collect(r)?;
        for pending in &self.pending[r] {
            let of_the_dead = match pending.what {
                PlayOperation::Send(message) => self.letters[&message].to == dead,
                PlayOperation::Receive(receive) => {
                    let got = self.posted_receives[&receive].got;
                    self.posted_receives[&receive].fails || got.is_some_and(|m| self.letters[&m].from == dead)
                }
            };
            if of_the_dead {
                return Err(format!("{rank} waits for {dead}, which it knows to be dead"));
            }
        }
        if self.coalesced[r].iter().any(|(message, _)| self.letters[message].to == dead) {
            return Err(format!("{rank} coalesces for {dead}, which it knows to be dead"));
        }
        Ok(())
    }

    /// Returns true if the dead rank is declared to send on a flow.
    pub(super) fn concerns(&self, flow: FlowId) -> bool {
        self.dead.is_some_and(|dead| self.net.sends_on(flow, dead))
    }

    /// Takes back the memory of the dead rank's operations, which a real job cannot do.
    pub(super) fn end_the_dead(&mut self) -> Checked {
        let Some(dead) = self.dead else { return Ok(()) };
        let d = dead.0 as usize;
        for peer in (0..self.net.ranks() as u32).map(Rank).filter(|peer| *peer != dead) {
            self.net.protos[d].handle_gone(peer, PeerEnd::Failed);
        }
        self.net.close_links_of(dead);
        while let Some((matched, message)) = self.matched[d].pop() {
            let number = self.extra_number();
            self.receive_matched(number, d, matched, message, self.letters[&message].len, Memory::Plain);
        }
        for pending in std::mem::take(&mut self.pending[d]) {
            let _ = self.net.protos[d].cancel(pending.id);
            let outcome = self.net.protos[d].take(pending.id).ok_or("an operation of the dead rank hangs")?;
            match outcome.buffer {
                Buffer::Out(token) => pending.home.back_out(self.scope, token),
                Buffer::In(token) => drop(pending.home.back_in(self.scope, token)),
                Buffer::None => {}
            }
        }
        Ok(())
    }
}
