//! Recovery from lost links by retransmission: each packet of a lost link reaches its peer exactly once.
//!
//! Owns the state of peers that are reached over several links, or over links that can be lost.
//!
//! ```text
//!   link lost ─▶ poll the rest, close it, tell the peer how far it had come: LinkClosed ──▶
//!                                                       ◀── LinkClosed, how far the peer's end had come
//!   what the peer does not have is sent again, over whatever link there is
//! ```
//! Either end may be the first to notice; the other closes its end when it is informed. An end reports its
//! progress on a link only after it has closed that link, so no packet arrives twice.

use std::collections::{HashSet, VecDeque};

use canele_rail::{Bulk, Busy, Class, Corrupt, FullRail, Rail, Unacked, UnackedPacket};
use canele_sys::ids::{FlowId, LinkId, Rank};

use crate::choice::Limits;
use crate::coalesced::Coalesced;
use crate::peer::{Peer, PeerEnd, ReceivePath, Reply, SendPath};
use crate::sequencer::{OutOfOrder, Sequencer};
use crate::unexpected::Body;
use crate::wire::LinkClosed;
use crate::{Proto, ProtoEvent};

/// The most links that a peer may have closed before this end knows of them.
const MOST_PEER_CLOSED: usize = 16;

/// State of a peer that is reached over several links, or over links that can be lost.
#[derive(Default)]
pub struct Multipath {
    /// The numbers of its messages.
    sequencer: Sequencer,
    /// Short messages for its next packet.
    coalesced: Coalesced,
    /// Links that were closed here, but not at the peer as far as is known, with the numbers of their rails.
    closing: Vec<(u8, Unacked)>,
    /// Reports of the peer about links that are not closed here yet.
    peer_closed: Vec<LinkClosed>,
    /// The rails and generations of the links that were closed here.
    closed: HashSet<(u8, u32)>,
    /// Packets that were on lost links and are to be sent again.
    retransmit: VecDeque<UnackedPacket>,
    /// The number of times that a receive has looked at a link.
    looks: usize,
}

impl Multipath {
    /// Notes that a link was closed here. Returns the reports for the peer.
    fn link_closed(&mut self, link: LinkId, unacked: Unacked) -> Vec<Reply> {
        self.closed.insert((link.rail(), unacked.generation));
        self.closing.push((link.rail(), unacked));
        // The reports of other links are repeated: they may have been lost with this one, and each end would
        // wait for the other.
        let said = |(rail, unacked): &(u8, Unacked)| {
            let (generation, expected) = (unacked.generation, Some(unacked.expected));
            Reply::LinkClosed(LinkClosed { rail: *rail, generation, expected })
        };
        self.closing.iter().map(said).collect()
    }

    /// Returns true if a lost link carried packets that the peer may not have.
    fn has_unacked(&self) -> bool {
        self.closing.iter().any(|(_, unacked)| !unacked.kept.is_empty())
    }

    /// Returns true if this close notice is a duplicate.
    fn is_duplicate(&self, link_closed: LinkClosed) -> bool {
        let link = (link_closed.rail, link_closed.generation);
        let waits = self.closing.iter().any(|(rail, unacked)| (*rail, unacked.generation) == link);
        let settled = self.closed.contains(&link) && !waits;
        settled || self.peer_closed.iter().any(|told| (told.rail, told.generation) == link)
    }
}

/// Methods that peers with and without numbered messages share.
impl Peer {
    /// Returns true if messages carry numbers.
    #[inline(always)]
    pub fn is_numbered(&self) -> bool {
        self.multipath.is_some()
    }

    /// Lets messages carry numbers. Returns false if they did before.
    pub(crate) fn begin_numbers(&mut self) -> bool {
        let is_new = self.multipath.is_none();
        self.multipath.get_or_insert_default();
        is_new
    }

    /// Returns the number of the next message to be sent on a flow, or of the next put or fence; 0 if they
    /// carry none.
    pub fn next_number(&mut self, flow: FlowId) -> u32 {
        self.sequencer().map_or(0, |sequencer| sequencer.next(flow))
    }

    /// Notes that the message with that number was sent.
    pub fn number_sent(&mut self, flow: FlowId) {
        if let Some(sequencer) = self.sequencer() {
            sequencer.sent(flow);
        }
    }

    /// Returns the number of a message that is sent now, and counts it.
    #[inline]
    pub fn take_number(&mut self, flow: FlowId) -> u32 {
        self.sequencer().map_or(0, |sequencer| sequencer.take_next(flow))
    }

    /// Returns the numbers of its messages, if they carry any.
    #[inline]
    pub fn sequencer(&mut self) -> Option<&mut Sequencer> {
        self.multipath.as_mut().map(|multipath| &mut multipath.sequencer)
    }

    /// Returns the short messages for its next packet. Only messages with numbers are coalesced.
    pub fn coalesced(&self) -> Option<&Coalesced> {
        self.multipath.as_ref().map(|multipath| &multipath.coalesced)
    }

    /// Returns the short messages for its next packet, to be changed.
    #[inline]
    pub fn coalesced_mut(&mut self) -> Option<&mut Coalesced> {
        self.multipath.as_mut().map(|multipath| &mut multipath.coalesced)
    }

    /// Returns true if packets or messages wait that already have their numbers. They leave before all
    /// others.
    pub fn has_numbered_waiting(&self) -> bool {
        let waits =
            |multipath: &Multipath| !multipath.retransmit.is_empty() || !multipath.coalesced.is_empty();
        self.multipath.as_deref().is_some_and(waits)
    }

    /// Returns true if a lost link carried packets that the peer may not have.
    pub fn has_unacked(&self) -> bool {
        self.multipath.as_ref().is_some_and(|multipath| multipath.has_unacked())
    }

    /// Returns the link at which a receive looks now. Every second look is at the first link, which brings
    /// most messages; the looks in between go through all links in turn.
    pub fn next_look(&mut self, first: LinkId) -> LinkId {
        let links = self.links().len();
        let Some(multipath) = &mut self.multipath else { return first };
        multipath.looks = multipath.looks.wrapping_add(1);
        let looks = multipath.looks;
        if links >= 2 && looks % 2 == 1 { self.links()[looks / 2 % links] } else { first }
    }
}

impl Proto {
    /// Notes that a link to `peer` can be used.
    pub fn link_opened<R: FullRail>(&mut self, rail: &R, peer: Rank, link: LinkId) {
        let caps = rail.caps(link);
        self.max_bulk = self.max_bulk.min(caps.max_bulk);
        let state = &mut self.peers[peer.0 as usize];
        if state.gone().is_some() {
            return; // It died while the link was made.
        }
        let receive_path = match self.observer.is_there() || caps.needs_numbers() {
            true => ReceivePath::General,
            false if rail.is_short(link) => ReceivePath::Short(link),
            false => ReceivePath::Plain(link),
        };
        let limits = Limits::over(caps, &self.host, self.settings.eager_bytes);
        state.link_opened(link, (caps, limits), receive_path, |link| rail.speed(link).round_trip_ns);
        if state.has_work() {
            self.list(peer);
        }
        if caps.needs_numbers() {
            self.report_never_opened(peer, link.rail(), rail.generation(link));
        }
    }

    /// Closes the links that the rail has lost.
    pub(crate) fn close_lost_links<R: FullRail>(&mut self, rail: &mut R) {
        while let Some(lost) = rail.take_lost() {
            if lost.finished {
                self.handle_finished(rail, lost.link)
            } else {
                self.close_link(rail, lost.link)
            }
        }
    }

    /// Handles the notice of a peer, over a link, that the peer has finished. The notice may precede the
    /// launcher's; no link to the peer is made afterwards. The rail keeps its end of the link until it has to
    /// disconnect.
    fn handle_finished<R: FullRail>(&mut self, rail: &mut R, link: LinkId) {
        // The peer waited for the acknowledgement of all packets, so all that remain are here.
        self.receive_rest(rail, link);
        self.handle_gone(link.peer(), PeerEnd::Finished);
    }

    /// Closes a link that carries nothing more, or that this rank no longer trusts.
    pub fn close_link<R: FullRail>(&mut self, rail: &mut R, link: LinkId) {
        let peer = link.peer();
        // Packets that came before the loss; bounded by the rail's room.
        self.receive_rest(rail, link);
        let unacked = rail.close_link(link);
        let state = &mut self.peers[peer.0 as usize];
        if !state.link_lost(link) {
            return; // It broke the protocol meanwhile, or is closed.
        }
        self.traffic.lost_links += 1;
        if let (Some(unacked), Some(multipath)) = (unacked, &mut state.multipath) {
            state.replies.extend(multipath.link_closed(link, unacked));
        }
        self.reports.link_lost(link);
        // Waiting messages, and the reports, need a link.
        self.list(peer);
        self.tell(|| ProtoEvent::RailLost { peer, rail: link.rail() });
        if let Err(corrupt) = self.reconcile(peer) {
            self.on_corrupt(rail, peer, corrupt);
        }
    }

    /// Handles the report that the peer has closed its end of a link.
    pub(crate) fn on_link_closed<R: FullRail>(
        &mut self,
        rail: &mut R,
        from: Rank,
        link_closed: LinkClosed,
    ) -> Result<(), Corrupt> {
        let link = LinkId::new(link_closed.rail, from);
        let peer = &mut self.peers[from.0 as usize];
        let is_open = peer.links().contains(&link);
        let Some(multipath) = &mut peer.multipath else { return Ok(()) };
        if multipath.is_duplicate(link_closed) {
            return Ok(()); // The peer repeats it whenever another link is lost.
        }
        if multipath.peer_closed.len() >= MOST_PEER_CLOSED {
            return Err(Corrupt(format!("{from} closed {MOST_PEER_CLOSED} links that are none")));
        }
        multipath.peer_closed.push(link_closed);
        let current = is_open.then(|| rail.generation(link));
        match current {
            Some(current) if current == link_closed.generation => self.close_link(rail, link),
            Some(current) if current > link_closed.generation => {
                self.report_never_opened(from, link_closed.rail, current)
            }
            _ => {}
        }
        self.reconcile(from)
    }

    /// Notes that no link over rail `rail` older than generation `before` can open here any more. The peer
    /// gets a report for each link that only it had, as after the loss of the last packet of a handshake.
    pub fn report_never_opened(&mut self, peer: Rank, rail: u8, before: u32) {
        let state = &mut self.peers[peer.0 as usize];
        let Some(multipath) = &mut state.multipath else { return };
        let closed = &multipath.closed;
        let never = |told: &mut LinkClosed| {
            told.rail == rail && told.generation < before && !closed.contains(&(rail, told.generation))
        };
        for told in multipath.peer_closed.extract_if(.., never) {
            state.replies.push_back(Reply::LinkClosed(LinkClosed { expected: None, ..told }));
        }
        self.list(peer);
    }

    /// Compares the reports of both ends on closed links, and marks the packets that the peer does not have
    /// for retransmission.
    fn reconcile(&mut self, peer: Rank) -> Result<(), Corrupt> {
        let state = &mut self.peers[peer.0 as usize];
        let Some(multipath) = &mut state.multipath else { return Ok(()) };
        for at in (0..multipath.closing.len()).rev() {
            let (rail, Unacked { generation, .. }) = multipath.closing[at];
            let same = |told: &LinkClosed| told.rail == rail && told.generation == generation;
            let Some(told) = multipath.peer_closed.iter().position(same) else { continue };
            let expected = multipath.peer_closed.swap_remove(told).expected;
            let mut unacked = multipath.closing.swap_remove(at).1;
            // A peer that never had the link has none of its packets.
            if let Some(expected) = expected {
                unacked.reconcile(expected).map_err(|(first, end)| {
                    Corrupt(format!("{peer} expected packet {expected:#x} of {first:#x} to {end:#x}"))
                })?;
            }
            self.traffic.sent_again += unacked.kept.len() as u64;
            multipath.retransmit.append(&mut unacked.kept);
        }
        state.backlog_began();
        self.list(peer);
        Ok(())
    }

    /// Retransmits the oldest packet that was on a lost link.
    pub(crate) fn retransmit<R: Rail>(&mut self, rail: &mut R, link: LinkId, to: Rank) -> Result<bool, Busy> {
        let Some(multipath) = &mut self.peers[to.0 as usize].multipath else { return Ok(false) };
        let Some(kept) = multipath.retransmit.front() else { return Ok(false) };
        let len = match &kept.bulk {
            Bulk::Copied(bytes) => bytes.len(),
            Bulk::Lent(share) => share.len(),
        };
        let slot = rail.claim(link, len, Class::Message)?;
        slot.inline.write(0, &kept.beside);
        match &kept.bulk {
            Bulk::Copied(bytes) => slot.bulk.write(0, bytes),
            Bulk::Lent(share) => share.copy_to(slot.bulk),
        }
        rail.commit(link, kept.header);
        multipath.retransmit.pop_front();
        Ok(true)
    }

    /// Takes a lost link that is to be made again, also if the peer has other links.
    pub fn take_lost_link(&mut self) -> Option<LinkId> {
        self.reports.take_lost()
    }

    /// Returns true if a message or a transfer waits for a link to a peer.
    pub fn is_wanted(&self, peer: Rank) -> bool {
        self.peers[peer.0 as usize].send_path() == SendPath::ExpectLink
    }

    /// Returns true if a peer that lives has lost its last link.
    pub fn is_cut(&self, peer: Rank) -> bool {
        let peer = &self.peers[peer.0 as usize];
        peer.gone().is_none() && peer.is_numbered() && peer.links().is_empty()
    }

    /// Returns the links to a peer, the fastest first.
    pub fn links_to(&self, peer: Rank) -> impl Iterator<Item = LinkId> + '_ {
        self.peers[peer.0 as usize].links().iter().copied()
    }

    /// Delivers the out-of-order messages of a flow that are next now.
    fn catch_up(&mut self, from: Rank, flow: FlowId) -> Result<(), Corrupt> {
        while let Some(out_of_order) =
            self.sequencer(from).and_then(|sequencer| sequencer.take_next_expected(flow))
        {
            match out_of_order {
                OutOfOrder::Message(tag, key) => self.deliver_out_of_order(flow, from, tag, key),
                OutOfOrder::Put(put) => self.deferred.add_put(from, put),
                OutOfOrder::Fence(ticket) => self.on_fence(from, ticket)?,
                OutOfOrder::Withdraw(tag, request) => self.on_withdraw(from, flow, tag, request),
            }
        }
        Ok(())
    }

    /// Notes that the next message of a flow has come, and delivers the messages behind it.
    pub(crate) fn number_came(&mut self, from: Rank, flow: FlowId) -> Result<(), Corrupt> {
        let Some(sequencer) = self.sequencer(from) else { return Ok(()) };
        sequencer.advance(flow);
        if sequencer.out_of_order() > 0 { self.catch_up(from, flow) } else { Ok(()) }
    }

    pub(crate) fn sequencer(&mut self, peer: Rank) -> Option<&mut Sequencer> {
        self.peers[peer.0 as usize].sequencer()
    }

    /// Drops the state of a peer that is gone: messages that came too early, and coalesced ones that never
    /// left.
    pub(crate) fn drop_multipath(&mut self, peer: Rank, multipath: Option<Box<Multipath>>) {
        let Some(mut multipath) = multipath else { return };
        self.discard_coalesced(peer, &multipath.coalesced);
        for out_of_order in multipath.sequencer.drain() {
            let OutOfOrder::Message(_, key) = out_of_order else { continue };
            match self.incoming.take(key).map(|message| message.body) {
                Some(Body::Announced(_)) | None => {}
                Some(body) => self.discharge(peer, body.len()),
            }
        }
    }
}
