//! Transmission, peer by peer and link by link: the turns of peers, and the strategy's plan for the next
//! packet of a link. `packet.rs` fills it.

use canele_rail::{Busy, FullRail, Rail};
use canele_sys::ids::{LinkId, Rank};

use crate::Proto;
use crate::outgoing::{SLACK_NS, delivery_ns};
use crate::peer::Peer;
use crate::strategy::PacketDraft;

/// Packets sent over one link before other links and peers have their turn.
const PACKETS: usize = 64;

/// The reason to leave a link: it has no room, or nothing is to be sent over it.
enum LinkLeft {
    Busy,
    Idle,
}

impl From<Busy> for LinkLeft {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

impl Proto {
    /// Sends the waiting packets, as far as there is room. Every peer has its turn. Returns true if anything
    /// moved. It also returns true if no peer has packets any more, as after the end of the last one, so that
    /// callers look again.
    #[inline(always)]
    pub(crate) fn transmit<R: FullRail>(&mut self, rail: &mut R) -> bool {
        !self.outgoing.is_empty() && self.transmit_waiting(rail)
    }

    fn transmit_waiting<R: FullRail>(&mut self, rail: &mut R) -> bool {
        let mut any = false;
        for _ in 0..self.outgoing.len() {
            let Some(peer) = self.outgoing.next_listed() else { break };
            self.peers[peer.0 as usize].listed = false;
            any |= self.transmit_to(rail, peer);
        }
        any || self.outgoing.is_empty()
    }

    /// Sends the waiting packets for one peer, and lists it again if some are left.
    pub(crate) fn transmit_to<R: FullRail>(&mut self, rail: &mut R, to: Rank) -> bool {
        let peer = &mut self.peers[to.0 as usize];
        if peer.links().is_empty() {
            self.reports.want_link(to, peer);
            return false;
        }
        self.outgoing.lend_backlog(&mut self.peers[to.0 as usize]);
        let (mut any, mut busy) = (false, false);
        for guests in [false, true] {
            let (first, links) = first_link(rail, &self.peers[to.0 as usize]);
            for n in 0..links {
                let Some(link) = self.peers[to.0 as usize].link_at((first + n) % links) else { break };
                busy |= matches!(self.use_link(rail, to, link, guests, &mut any), LinkLeft::Busy);
            }
            // A message whose preferred rail is full may use another rail.
            let guests = self.peers[to.0 as usize].backlog.as_ref().is_some_and(|b| b.has_choosy());
            if !guests {
                break;
            }
        }
        let peer = &mut self.peers[to.0 as usize];
        peer.backlog_drained();
        self.outgoing.reclaim_backlog(peer);
        if busy || self.peers[to.0 as usize].has_work() {
            self.list(to);
        }
        any
    }

    /// Sends packets over one link until it has no room or nothing is left for it.
    fn use_link<R: FullRail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        guests: bool,
        any: &mut bool,
    ) -> LinkLeft {
        for _ in 0..PACKETS {
            let peer = &mut self.peers[to.0 as usize];
            if !peer.has_work() {
                return LinkLeft::Idle;
            }
            if peer.is_credit_due() {
                self.pull_or_return(to);
            }
            match self.send_packet(rail, to, link, guests) {
                Ok(()) => *any = true,
                Err(left) => return left,
            }
        }
        LinkLeft::Idle
    }

    /// Sends one packet.
    fn send_packet<R: FullRail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        guests: bool,
    ) -> Result<(), LinkLeft> {
        if !rail.admits_message(link) {
            // Perhaps the cells reserved for control are free.
            return Ok(self.send_reply(rail, to, link)?);
        }
        if self.retransmit(rail, link, to)? {
            return Ok(());
        }
        if is_timely(rail, &self.peers[to.0 as usize], link) && self.send_coalesced(rail, to, link)? {
            return Ok(());
        }
        if self.send_pulled(rail, to, link)? {
            return Ok(());
        }
        let peer = &mut self.peers[to.0 as usize];
        let draft = self.outgoing.plan(rail, link, guests, peer, &self.settings);
        let result = self.send_draft(rail, to, link, &draft);
        self.outgoing.recycle(draft);
        result
    }

    /// Sends the chosen messages; those that find no room go back to their places.
    fn send_draft<R: FullRail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        draft: &PacketDraft,
    ) -> Result<(), LinkLeft> {
        if draft.is_empty() {
            return Err(LinkLeft::Idle);
        }
        let result = match (draft.piece, draft.control, &draft.messages[..]) {
            (Some(piece), ..) => return Ok(self.send_piece(rail, to, link, piece)?),
            (None, 1, []) => self.send_reply(rail, to, link),
            (None, 0, [pick]) => self.send_message(rail, to, link, *pick),
            _ => self.send_batch(rail, to, link, draft),
        };
        let backlog = self.peers[to.0 as usize].backlog();
        backlog.carried(false);
        if let Err(busy) = result {
            draft.messages.iter().rev().for_each(|pick| backlog.put_back(pick.key));
            return Err(busy.into());
        }
        self.traffic.packets += 1;
        self.traffic.parts += draft.parts() as u64;
        Ok(())
    }
}

/// Returns the number of the link to a peer that is asked first, and of all links. A waiting short message
/// takes the link that delivers it first.
fn first_link<R: Rail>(rail: &R, peer: &Peer) -> (usize, usize) {
    let links = peer.links();
    let first = match links.len() > 1 && (peer.has_messages() || peer.has_numbered_waiting()) {
        true => (0..links.len()).min_by_key(|n| delivery_ns(rail.speed(links[*n]))),
        false => None,
    };
    (first.unwrap_or(0), links.len())
}

/// Returns true if a coalesced message would arrive over a link about as soon as over the best one.
fn is_timely<R: Rail>(rail: &R, peer: &Peer, link: LinkId) -> bool {
    let links = peer.links();
    if links.len() < 2 || !peer.has_numbered_waiting() {
        return true;
    }
    let soonest_ns = links.iter().map(|link| delivery_ns(rail.speed(*link))).min();
    delivery_ns(rail.speed(link)) <= 2 * soonest_ns.unwrap_or(0) + SLACK_NS
}
