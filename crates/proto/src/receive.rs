//! The short path of a receive: a message that goes straight from its link into the receiver's memory.
//!
//! ```text
//!   flow is quiet ─▶ the oldest packet of the source's link ──▶ is it a wanted message? taken
//!                    of each link in turn, from any source      something else? left to the general path
//! ```
//! No request, no list, no allocation. A flow is *quiet* while no receive and no message waits in its
//! matcher. Then the oldest packet of any link is the oldest message of its sender, and a receive that takes
//! it overtakes nothing. If messages carry numbers, the packet must also be the next expected one of its
//! flow.

use canele_mem::window::Window;
use canele_rail::{FullRail, Header, Rail, TakeIf, TryTake};
use canele_sys::ids::{FlowId, LinkId, Rank, Tag};

use crate::Proto;
use crate::choice::Protocol;
use crate::matching::Want;
use crate::observed::MessageEvent;
use crate::peer::ReceivePath;
use crate::peers::ShortAddress;
use crate::request::Status;
use crate::traffic::Traffic;
use crate::wire::Kind;

/// The result of a look for a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received<T = Status> {
    /// A message has come.
    Done(T),
    /// No message has come.
    Nothing,
    /// A packet is there that needs the general path.
    NotHere,
}

/// Memory for a message whose length is not known before it comes.
pub trait Room {
    /// Returns memory of this length, if it can be had.
    fn room(&mut self, len: usize) -> Option<&mut [u8]>;
}

impl Room for [u8] {
    #[inline(always)]
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        self.get_mut(..len)
    }
}

impl Proto {
    /// Returns true if a receive on `flow` may call [`Proto::try_recv`]: no other receive and no message
    /// waits there.
    #[inline(always)]
    pub fn is_quiet(&self, flow: FlowId) -> bool {
        self.flows.is_quiet(flow)
    }

    /// Returns the link to `peer` that small messages take, if there is one.
    #[inline(always)]
    pub fn link_from(&self, peer: Rank) -> Option<LinkId> {
        self.peers.known(peer)?.first_link()
    }

    /// Returns a link on which messages of `peer` may come: a rank that only receives opens none itself.
    #[inline(always)]
    pub fn incoming_link<R: Rail>(&self, rail: &R, peer: Rank) -> Option<LinkId> {
        self.link_from(peer).or_else(|| one_way_link(rail, peer))
    }

    /// Takes the oldest message of a link if `want` accepts it and it fits into `into`. From any source, the
    /// links take turns: the link that was served last is looked at last. Allowed only while the flow is
    /// quiet.
    #[inline(always)]
    pub fn try_recv<R: FullRail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        flow: FlowId,
        want: Want,
        into: &mut M,
    ) -> Received {
        if let Want { source: Some(source), tag: Some(tag) } = want
            && let Some(peer) = self.peers.known_mut(source)
            && let Some(link) = peer.receive_path().link()
        {
            let mut wanted = Wanted::<false, M>::new(flow, tag, into);
            return match rail.try_take(link, &mut wanted) {
                TryTake::Taken => {
                    let bytes = wanted.taken.count(&mut self.traffic);
                    if peer.credit.consumed(bytes) {
                        self.list(source);
                    }
                    Received::Done(Status { source, tag, bytes })
                }
                TryTake::Nothing => Received::Nothing,
                TryTake::Left => Received::NotHere,
            };
        }
        match want.source {
            Some(source) => self.try_recv_from(rail, source, flow, want.tag, into),
            None => self.try_recv_any(rail, flow, want.tag, into),
        }
    }

    /// Takes a message of at most [`canele_rail::MAX_INLINE`] bytes if it is the oldest of its source and
    /// fits into `into`; returns its length. It takes few instructions and no call. Allowed only while the
    /// flow is quiet.
    #[inline(always)]
    pub fn take_short<R: FullRail>(
        &mut self,
        rail: &mut R,
        from: &ShortAddress,
        tag: Tag,
        into: &mut [u8],
    ) -> Option<usize> {
        let peer = self.peers.at_mut(from.peer)?;
        let ReceivePath::Short(link) = peer.receive_path() else { return None };
        // The largest such message may make a return of credit due, and the general path returns credit.
        if peer.credit.is_return_near() {
            return None;
        }
        let mut short = ShortMessage { from, tag, into, len: 0 };
        if !rail.take_short(link, &mut short) {
            return None;
        }
        let len = short.len;
        peer.credit.consumed(len);
        self.traffic.received(Protocol::Short, len);
        Some(len)
    }

    /// Does [`Proto::try_recv`] from one source.
    #[inline(never)]
    fn try_recv_from<R: FullRail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        from: Rank,
        flow: FlowId,
        tag: Option<Tag>,
        into: &mut M,
    ) -> Received {
        let Some(first) = self.incoming_link(rail, from) else { return Received::NotHere };
        let link = self.peers[from.0 as usize].next_look(first);
        self.try_recv_on(rail, (from, link), flow, tag, into)
    }

    /// Does [`Proto::try_recv`] from any source.
    #[inline(never)]
    fn try_recv_any<R: FullRail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        flow: FlowId,
        tag: Option<Tag>,
        into: &mut M,
    ) -> Received {
        rail.find_ready();
        let links = rail.ready().len();
        let mut at = self.incoming.first_look();
        for _ in 0..links {
            at = if at < links { at } else { 0 };
            let link = rail.ready()[at];
            at += 1;
            let received = self.try_recv_on(rail, (link.peer(), link), flow, tag, &mut *into);
            if received != Received::Nothing {
                self.incoming.look_next_at(at);
                return received;
            }
        }
        Received::Nothing
    }

    /// Does [`Proto::try_recv`] on one link.
    #[inline(always)]
    fn try_recv_on<R: FullRail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        (from, link): (Rank, LinkId),
        flow: FlowId,
        tag: Option<Tag>,
        into: &mut M,
    ) -> Received {
        match tag {
            Some(tag) => self.take_next(rail, (from, link), Wanted::<false, M>::new(flow, tag, into)),
            None => self.take_next(rail, (from, link), Wanted::<true, M>::new(flow, Tag(0), into)),
        }
    }

    /// Takes the oldest packet of a link if it is wanted and, if messages carry numbers, the next expected
    /// one.
    #[inline(always)]
    fn take_next<const ANY_TAG: bool, R: FullRail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        (from, link): (Rank, LinkId),
        mut wanted: Wanted<'_, ANY_TAG, M>,
    ) -> Received {
        if self.peers[from.0 as usize].receive_path().link() != Some(link) {
            return self.take_next_otherwise(rail, (from, link), wanted);
        }
        match rail.try_take(link, &mut wanted) {
            TryTake::Taken => Received::Done(self.count_taken(from, &wanted)),
            TryTake::Nothing => Received::Nothing,
            TryTake::Left => Received::NotHere,
        }
    }

    /// Takes the oldest packet if messages carry numbers, have an observer, or come on a link that was not
    /// opened from here.
    #[inline(never)]
    fn take_next_otherwise<const ANY_TAG: bool, R: FullRail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        (from, link): (Rank, LinkId),
        mut wanted: Wanted<'_, ANY_TAG, M>,
    ) -> Received {
        let flow = wanted.flow;
        let taken = if self.sequencer(from).is_some() {
            self.take_numbered(rail, (from, link), wanted)
        } else if rail.caps(link).needs_numbers() {
            Received::NotHere // The general path begins to count the peer's messages.
        } else {
            match rail.try_take(link, &mut wanted) {
                TryTake::Taken => Received::Done(self.count_taken(from, &wanted)),
                TryTake::Nothing => Received::Nothing,
                TryTake::Left => Received::NotHere,
            }
        };
        if let Received::Done(Status { source, tag, bytes }) = taken {
            self.observe(|| MessageEvent::Matched { from: source, flow, tag, bytes });
        }
        taken
    }

    /// Takes the oldest packet of a link if it is the next expected one of its flow.
    #[inline(never)]
    fn take_numbered<const ANY_TAG: bool, R: FullRail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        (from, link): (Rank, LinkId),
        wanted: Wanted<'_, ANY_TAG, M>,
    ) -> Received {
        let flow = wanted.flow;
        if self.early_matches.contains(from, flow) {
            return Received::NotHere; // The next message already has its receive.
        }
        let Some(sequencer) = self.sequencer(from) else { return Received::NotHere };
        let next_expected = sequencer.next_expected(flow);
        // Polling here also makes the rail progress: an answer need not wait for a pass.
        rail.begin_pass();
        let mut numbered = Numbered { next_expected, wanted };
        match rail.try_take(link, &mut numbered) {
            TryTake::Taken => {
                let status = self.count_taken(from, &numbered.wanted);
                let caught_up = self.number_came(from, flow);
                debug_assert!(caught_up.is_ok(), "only fences are refused, which are on no flow of messages");
                Received::Done(status)
            }
            TryTake::Nothing => Received::Nothing,
            TryTake::Left => Received::NotHere,
        }
    }

    /// Counts a message that was taken, and returns its credit.
    #[inline(always)]
    fn count_taken<const ANY_TAG: bool, M: Room + ?Sized>(
        &mut self,
        from: Rank,
        wanted: &Wanted<'_, ANY_TAG, M>,
    ) -> Status {
        let bytes = wanted.taken.count(&mut self.traffic);
        self.return_credit(from, bytes);
        Status { source: from, tag: wanted.tag, bytes }
    }
}

/// Returns a link from `peer` towards which this rank has opened none.
#[cold]
#[inline(never)]
fn one_way_link<R: Rail>(rail: &R, peer: Rank) -> Option<LinkId> {
    rail.incoming().iter().copied().find(|link| link.peer() == peer)
}

/// A message to look for.
struct Wanted<'a, const ANY_TAG: bool, M: ?Sized> {
    flow: FlowId,
    /// The wanted tag. If any tag is wanted: the tag of the message, once it has come.
    tag: Tag,
    into: &'a mut M,
    taken: TakenPayload,
}

impl<'a, const ANY_TAG: bool, M: Room + ?Sized> Wanted<'a, ANY_TAG, M> {
    #[inline(always)]
    fn new(flow: FlowId, tag: Tag, into: &'a mut M) -> Self {
        Self { flow, tag, into, taken: TakenPayload::Short(0) }
    }
}

impl<const ANY_TAG: bool, M: Room + ?Sized> TakeIf for Wanted<'_, ANY_TAG, M> {
    #[inline(always)]
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool {
        let (kind, bytes, taken) = match bulk.len() {
            0 => (Kind::Short, inline, TakenPayload::Short(inline.len())),
            len => (Kind::Eager, bulk, TakenPayload::Eager(len)),
        };
        let tag = ANY_TAG || header.tag == self.tag.0;
        let wanted = header.kind == kind as u8 && header.flow == self.flow.0 && tag;
        let (true, Some(into)) = (wanted, self.into.room(bytes.len())) else { return false };
        bytes.read(0, into);
        self.taken = taken;
        if ANY_TAG {
            self.tag = Tag(header.tag);
        }
        true
    }
}

/// A message without bulk to look for.
struct ShortMessage<'a> {
    from: &'a ShortAddress,
    tag: Tag,
    into: &'a mut [u8],
    len: usize,
}

impl TakeIf for ShortMessage<'_> {
    #[inline(always)]
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool {
        let is_short = header.kind == Kind::Short as u8 && bulk.is_empty();
        if !is_short || header.flow != self.from.flow.0 || header.tag != self.tag.0 {
            return false;
        }
        let Some(into) = self.into.get_mut(..inline.len()) else { return false };
        inline.read(0, into);
        self.len = inline.len();
        true
    }
}

/// The protocol by which a message came, and its length in bytes.
enum TakenPayload {
    Short(usize),
    Eager(usize),
}

impl TakenPayload {
    /// Counts the message, and returns its length.
    #[inline(always)]
    fn count(&self, traffic: &mut Traffic) -> usize {
        match *self {
            Self::Short(len) => {
                traffic.received(Protocol::Short, len);
                len
            }
            Self::Eager(len) => {
                traffic.received(Protocol::Eager, len);
                traffic.copies += 1;
                len
            }
        }
    }
}

/// A message to look for, if it is the next expected one of its flow.
struct Numbered<'a, const ANY_TAG: bool, M: ?Sized> {
    next_expected: u32,
    wanted: Wanted<'a, ANY_TAG, M>,
}

impl<const ANY_TAG: bool, M: Room + ?Sized> TakeIf for Numbered<'_, ANY_TAG, M> {
    #[inline(always)]
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool {
        header.sequence == self.next_expected && self.wanted.accept(header, inline, bulk)
    }
}
