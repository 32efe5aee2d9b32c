//! Peers with several links, or links that can be lost: which there are, and how what was on a lost one gets there
//! exactly once.
//!
//! ```text
//!   link lost ─▶ poll the rest, bury it, tell the peer how far it had come: Buried ──▶
//!                                                       ◀── Buried, how far the peer's end had come
//!   what the peer does not have is sent again, over whatever link there is
//! ```
//! Either end may be the first to notice; the other buries its end when it is told. What a link carried twice cannot be, since
//! each end speaks of it only after it has closed its own.

use std::collections::{HashSet, VecDeque};

use canele_rail::{Bulk, Busy, Class, Corrupt, Kept, Rail, Remains};
use canele_sys::ids::{FlowId, LinkId, Rank};

use crate::Proto;
use crate::gathered::Gathered;
use crate::order::{Early, Order};
use crate::peer::Reply;
use crate::wire::Buried;

/// Links that a peer may have closed before this end knows of them.
const MOST_TOLD: usize = 16;

/// What there is of one peer beside its first link.
#[derive(Default)]
pub struct Lines {
    /// All links to it.
    pub links: Vec<LinkId>,
    /// The numbers of its messages.
    pub order: Order,
    /// Short messages for its next packet.
    pub gathered: Gathered,
    /// Links that were buried here, but not at the peer as far as is known, with the numbers of their rails.
    graves: Vec<(u8, Remains)>,
    /// What the peer has said about links that are not buried here yet.
    told: Vec<Buried>,
    /// The links that were buried here: rails and generations.
    had: HashSet<(u8, u32)>,
    /// Packets that were on lost links and are to be sent again.
    pub again: VecDeque<Kept>,
    /// How often a receive has looked.
    looks: usize,
}

impl Lines {
    /// The link on which a receive looks now: every other time the first, where most comes, in between one of the others after the other.
    pub fn next_look(&mut self, first: LinkId) -> LinkId {
        self.looks = self.looks.wrapping_add(1);
        match self.links.len() {
            links @ 2.. if self.looks % 2 == 1 => self.links[self.looks / 2 % links],
            _ => first,
        }
    }

    /// Whether packets or messages wait that go before all others.
    pub fn wait(&self) -> bool {
        !self.again.is_empty() || !self.gathered.is_empty()
    }

    /// Whether packets were on a lost link of which it is not known whether the peer has them.
    pub fn is_unsettled(&self) -> bool {
        self.graves.iter().any(|(_, remains)| !remains.kept.is_empty())
    }

    /// Whether the peer has said this before, and it was settled or waits to be.
    fn knows(&self, buried: Buried) -> bool {
        let link = (buried.rail, buried.generation);
        let waits = self.graves.iter().any(|(rail, remains)| (*rail, remains.generation) == link);
        let settled = self.had.contains(&link) && !waits;
        settled || self.told.iter().any(|told| (told.rail, told.generation) == link)
    }
}

impl Proto {
    /// A link to `peer` can be used.
    pub fn link_opened<R: Rail>(&mut self, rail: &R, peer: Rank, link: LinkId) {
        let caps = rail.caps(link);
        self.max_bulk = self.max_bulk.min(caps.max_bulk);
        let state = &mut self.peers[peer.0 as usize];
        if state.gone.is_some() {
            return; // It died while the link was made.
        }
        state.one_sided = caps.one_sided;
        state.wanted = false;
        if caps.numbered {
            let lines = state.lines.get_or_insert_default();
            lines.links.retain(|other| *other != link);
            lines.links.push(link);
            // Of links as fast as each other both ends take the same one, for a receive looks there most often.
            lines.links.sort_by_key(|link| (rail.speed(*link).round_trip_ns, link.rail()));
            state.link = lines.links.first().copied();
        } else {
            state.link = Some(link);
        }
        state.refresh();
        if state.has_work(self.grant / 2) {
            self.list(peer);
        }
        if caps.numbered {
            self.disown(peer, link.rail(), rail.generation(link));
        }
    }

    /// Links that the rail has lost are taken out of use.
    pub(crate) fn bury_lost<R: Rail>(&mut self, rail: &mut R) {
        while let Some(lost) = rail.take_lost() {
            self.bury(rail, lost.link);
        }
    }

    /// Takes a link out of use that carries nothing more, or is not trusted to.
    pub fn bury<R: Rail>(&mut self, rail: &mut R, link: LinkId) {
        let peer = rail.peer(link);
        // What had come before; bounded by what the rail holds.
        while self.receive_from(rail, link) {}
        let remains = rail.bury(link);
        let state = &mut self.peers[peer.0 as usize];
        let Some(lines) = &mut state.lines else { return };
        let before = lines.links.len();
        lines.links.retain(|other| *other != link);
        state.link = lines.links.first().copied();
        if lines.links.len() == before {
            return; // It broke the protocol meanwhile, or is buried.
        }
        self.traffic.lost_links += 1;
        if let Some(remains) = remains {
            lines.had.insert((link.rail(), remains.generation));
            lines.graves.push((link.rail(), remains));
            // Of the others too: what was said of them may have been on this one, and each end would wait for the other.
            let said = |(rail, remains): &(u8, Remains)| {
                let (generation, expected) = (remains.generation, Some(remains.expected));
                Reply::Buried(Buried { rail: *rail, generation, expected })
            };
            state.replies.extend(lines.graves.iter().map(said));
        }
        self.lost.push_back(link);
        state.refresh();
        // Whatever waits, and what is to be told, needs a link.
        self.list(peer);
        if let Err(corrupt) = self.settle(peer) {
            self.on_corrupt(rail, peer, corrupt);
        }
    }

    /// The peer has closed its end of a link.
    pub(crate) fn on_buried<R: Rail>(
        &mut self,
        rail: &mut R,
        from: Rank,
        buried: Buried,
    ) -> Result<(), Corrupt> {
        let link = LinkId::new(buried.rail, from);
        let Some(lines) = &mut self.peers[from.0 as usize].lines else { return Ok(()) };
        if lines.knows(buried) {
            return Ok(()); // It is said again whenever another link is lost.
        }
        if lines.told.len() >= MOST_TOLD {
            return Err(Corrupt(format!("{from} closed {MOST_TOLD} links that are none")));
        }
        lines.told.push(buried);
        let current = lines.links.contains(&link).then(|| rail.generation(link));
        match current {
            Some(current) if current == buried.generation => self.bury(rail, link),
            Some(current) if current > buried.generation => self.disown(from, buried.rail, current),
            _ => {}
        }
        self.settle(from)
    }

    /// No link over rail `rail` older than generation `before` can come about here any more: the peer is told of those it
    /// had and this end never did, as when the last word of a handshake is lost.
    pub fn disown(&mut self, peer: Rank, rail: u8, before: u32) {
        let state = &mut self.peers[peer.0 as usize];
        let Some(lines) = &mut state.lines else { return };
        let had = &lines.had;
        let never = |told: &mut Buried| {
            told.rail == rail && told.generation < before && !had.contains(&(rail, told.generation))
        };
        for told in lines.told.extract_if(.., never) {
            state.replies.push_back(Reply::Buried(Buried { expected: None, ..told }));
        }
        self.list(peer);
    }

    /// Where both ends have said how far they had come, what the peer does not have is to be sent again.
    fn settle(&mut self, peer: Rank) -> Result<(), Corrupt> {
        let state = &mut self.peers[peer.0 as usize];
        let Some(lines) = &mut state.lines else { return Ok(()) };
        for at in (0..lines.graves.len()).rev() {
            let (rail, Remains { generation, .. }) = lines.graves[at];
            let same = |told: &Buried| told.rail == rail && told.generation == generation;
            let Some(told) = lines.told.iter().position(same) else { continue };
            let expected = lines.told.swap_remove(told).expected;
            let mut remains = lines.graves.swap_remove(at).1;
            // Who never had the link has nothing of it.
            if let Some(expected) = expected {
                remains.settle(expected).map_err(|(first, end)| {
                    Corrupt(format!("{peer} expected packet {expected:#x} of {first:#x} to {end:#x}"))
                })?;
            }
            self.traffic.sent_again += remains.kept.len() as u64;
            lines.again.append(&mut remains.kept);
        }
        state.refresh();
        self.list(peer);
        Ok(())
    }

    /// Sends the oldest packet again that was on a lost link.
    pub(crate) fn send_again<R: Rail>(&mut self, rail: &mut R, link: LinkId, to: Rank) -> Result<bool, Busy> {
        let Some(lines) = &mut self.peers[to.0 as usize].lines else { return Ok(false) };
        let Some(kept) = lines.again.front() else { return Ok(false) };
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
        lines.again.pop_front();
        Ok(true)
    }

    /// A link that was lost, to be made again; whether the peer has others does not matter.
    pub fn take_lost_link(&mut self) -> Option<LinkId> {
        self.lost.pop_front()
    }

    /// Whether something waits for a link to a peer.
    pub fn is_wanted(&self, peer: Rank) -> bool {
        let peer = &self.peers[peer.0 as usize];
        peer.wanted && peer.link.is_none() && peer.gone.is_none()
    }

    /// Whether a peer that lives has no link left though it had one.
    pub fn is_cut(&self, peer: Rank) -> bool {
        let peer = &self.peers[peer.0 as usize];
        peer.gone.is_none() && peer.lines.as_ref().is_some_and(|lines| lines.links.is_empty())
    }

    /// The links to a peer, the fastest first.
    pub fn links_to(&self, peer: Rank) -> impl Iterator<Item = LinkId> + '_ {
        let peer = &self.peers[peer.0 as usize];
        (0..).map_while(|n| peer.link_at(n))
    }

    /// Gives what was too early to whoever it is for, now that what stood before it has come.
    pub(crate) fn catch_up(&mut self, from: Rank, flow: FlowId) {
        while let Some(early) = self.order(from).and_then(|order| order.take_due(flow)) {
            match early {
                Early::Message(tag, key) => self.deliver_early(flow, from, tag, key),
                Early::Put(put) => self.landing.push_back((from, put)),
                Early::Fence(ticket) => self.answer(from, Reply::Fenced(ticket)),
                Early::Withdraw(tag, request) => self.on_withdraw(from, flow, tag, request),
            }
        }
    }

    /// The next message of a flow has come.
    pub(crate) fn number_came(&mut self, from: Rank, flow: FlowId) {
        let Some(order) = self.order(from) else { return };
        order.came(flow);
        if order.early() > 0 {
            self.catch_up(from, flow);
        }
    }

    pub(crate) fn order(&mut self, peer: Rank) -> Option<&mut Order> {
        self.peers[peer.0 as usize].lines.as_mut().map(|lines| &mut lines.order)
    }

    /// A peer is gone: what came too early never has its turn, and what was gathered never leaves.
    pub(crate) fn drop_lines(&mut self, peer: Rank, lines: Option<Box<Lines>>) {
        let Some(mut lines) = lines else { return };
        self.forsake(peer, &lines.gathered);
        for early in lines.order.drain() {
            if let Early::Message(_, key) = early {
                self.unexpected.remove(key);
            }
        }
    }
}
