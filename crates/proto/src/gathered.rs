//! Short messages that wait for a packet together, already put into it: their memory is the sender's again at once, and they
//! need no request.
//!
//! ```text
//!   link busy, nothing else waits ─▶ gathered: part │ part │ part …  ─▶ the next packet, as it is
//! ```
//! Only where messages carry numbers and the strategy puts together in the order of submission whatever is there, so that nothing
//! is left to decide. Each has taken its number and its credit when it joins (invariant I53): it cannot be announced any more.

use canele_rail::{Busy, Class, Header, MAX_INLINE, Rail};
use canele_sys::ids::{FlowId, LinkId, Rank, Tag};

use crate::Proto;
use crate::backlog::Lane;
use crate::choice::Protocol;
use crate::peer::{Peer, cost};
use crate::request::{Buffer, Outcome, Status};
use crate::train;
use crate::wire::Kind;

/// Longer messages are not worth a copy.
pub const LONGEST: usize = 1024;

/// Bytes that are gathered for one peer at most: what some hundred short messages take.
const ROOM: usize = 32 << 10;

/// The messages gathered for one peer.
#[derive(Default)]
pub struct Gathered {
    parts: Vec<u8>,
    /// Messages that have joined, and that have left.
    joined: u64,
    left: u64,
}

impl Gathered {
    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Messages that wait.
    fn len(&self) -> u64 {
        self.joined - self.left
    }

    fn join(&mut self, header: Header, bytes: &[u8]) {
        let bulk = if header.inline_len == 0 { bytes.len() } else { 0 };
        self.parts.extend_from_slice(&train::head(header, bulk));
        self.parts.extend_from_slice(bytes);
        self.joined += 1;
    }
}

/// A message that was gathered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    to: Rank,
    tag: Tag,
    len: u16,
    /// So many have joined with it.
    number: u64,
}

impl Proto {
    /// Sends a message as soon as there is room, from a copy; nothing if it must take the general path.
    #[inline]
    pub fn try_gather(&mut self, to: Rank, flow: FlowId, tag: Tag, bytes: &[u8]) -> Option<Ticket> {
        let len = bytes.len();
        let most = ROOM.min(self.max_bulk);
        let chosen = self.flow(flow)?.lane != Lane::Any;
        if chosen || !self.gathers || len > LONGEST.min(self.settings.eager_bytes.max(MAX_INLINE)) {
            return None;
        }
        let peer = self.peers.known_mut(to)?;
        let alone = peer.link.is_some() && peer.gone.is_none() && !peer.has_backlog();
        let lines = peer.lines.as_mut().filter(|_| alone && peer.credit >= cost(len))?;
        if lines.gathered.parts.len() + train::room(len) > most {
            return None;
        }
        let (kind, inline_len) = if len <= MAX_INLINE { (Kind::Short, len as u8) } else { (Kind::Eager, 0) };
        let sequence = lines.order.next(flow);
        lines.order.sent(flow);
        lines
            .gathered
            .join(Header { kind: kind as u8, inline_len, flow: flow.0, tag: tag.0, sequence }, bytes);
        let (number, waiting) = (lines.gathered.joined, lines.gathered.len());
        peer.credit -= cost(len);
        peer.open = false;
        self.traffic.sent(if len <= MAX_INLINE { Protocol::Short } else { Protocol::Eager }, len);
        self.traffic.waited += 1;
        self.traffic.deepest = self.traffic.deepest.max(waiting);
        self.list(to);
        Some(Ticket { to, tag, len: len as u16, number })
    }

    /// Sends what was gathered for a peer, and the answers that wait.
    pub(crate) fn send_gathered<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
    ) -> Result<bool, Busy> {
        let len = gathered(&mut self.peers[to.0 as usize]).map_or(0, |gathered| gathered.parts.len());
        if len == 0 {
            return Ok(false);
        }
        let (control, total) = self.answers_beside(to, len, rail.caps(link).max_bulk);
        let slot = rail.claim(link, total, Class::Message)?;
        let mut train = train::Writer::new(slot.bulk);
        self.load_answers(to, control, &mut train);
        let Some(gathered) = gathered(&mut self.peers[to.0 as usize]) else { return Ok(false) };
        train.add_parts(&gathered.parts);
        let parts = gathered.len();
        gathered.parts.clear();
        gathered.left = gathered.joined;
        rail.commit(link, Kind::Train.header(0));
        self.traffic.packets += 1;
        self.traffic.parts += control as u64 + parts;
        self.traffic.aggregated += total as u64;
        self.ended += 1;
        Ok(true)
    }

    /// How a message ended that was gathered; nothing while it may still wait.
    pub fn take_gathered(&self, ticket: Ticket) -> Option<Outcome> {
        let Ticket { to, tag, len, number } = ticket;
        let lines = self.peers[to.0 as usize].lines.as_ref();
        let result = match (lines, self.forsaken.get(&to)) {
            (Some(lines), _) if lines.gathered.left < number => return None,
            (None, Some(left)) if *left < number => Err(self.why_gone(to)?),
            _ => Ok(Status { source: to, tag, bytes: len.into() }),
        };
        Some(Outcome { result, buffer: Buffer::None })
    }

    /// A peer is gone: what was gathered for it never leaves.
    pub(crate) fn forsake(&mut self, peer: Rank, gathered: &Gathered) {
        if !gathered.is_empty() {
            self.forsaken.insert(peer, gathered.left);
        }
    }
}

fn gathered(peer: &mut Peer) -> Option<&mut Gathered> {
    peer.lines.as_mut().map(|lines| &mut lines.gathered)
}
