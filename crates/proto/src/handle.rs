//! Incoming packets: takes them from the links, checks their order, and passes each to the function of its
//! kind.

use canele_mem::window::Window;
use canele_rail::{Corrupt, FullRail, Packet, Rail};
use canele_sys::ids::{FlowId, LinkId, Rank, Tag};

use crate::Proto;
use crate::batch;
use crate::choice::{Protocol, RegionAccess};
use crate::observed::MessageEvent;
use crate::peer::{PeerEnd, Reply};
use crate::request::{Receive, State, received};
use crate::rma::REQUESTS;
use crate::sequencer::{OutOfOrder, PUTS, SequenceCheck};
use crate::unexpected::{Body, Unexpected};
use crate::wire::{
    Cts, Kind, LinkClosed, Pull, PulledPart, Put, Rts, read_fin, read_piece, read_withdraw, words,
};

/// Packets taken from one link before the next one has its turn.
const BUDGET: usize = 32;
/// The most messages of a peer that may wait for an earlier one.
const MOST_OUT_OF_ORDER: usize = 1 << 20;

/// The result of looking at a packet whose bulk is still to come.
enum Shown {
    /// There is no such packet.
    Nothing,
    /// The packet has no place yet, and is shown again, or read by the rail.
    Unplaced,
    /// Its bulk comes to its place.
    Placed,
}

impl Proto {
    /// Takes packets from every link on which packets may wait.
    pub fn receive<R: FullRail>(&mut self, rail: &mut R) -> bool {
        let mut any = false;
        let mut i = 0;
        rail.find_ready();
        // A link may vanish on the way, when its peer turns out to be corrupted.
        while let Some(link) = rail.ready().get(i).copied() {
            any |= !rail.is_idle(link) && self.receive_from(rail, link);
            i += 1;
        }
        any
    }

    /// Takes the remaining packets of a link that brings no new ones. It looks twice, because a rail may
    /// leave out one look.
    pub fn receive_rest<R: FullRail>(&mut self, rail: &mut R, link: LinkId) {
        while (0..2).any(|_| self.receive_from(rail, link)) {}
    }

    /// Takes packets from one link.
    pub fn receive_from<R: FullRail>(&mut self, rail: &mut R, link: LinkId) -> bool {
        let from = link.peer();
        let (caps, peer) = (rail.caps(link), &mut self.peers[from.0 as usize]);
        peer.regions = RegionAccess::over(caps);
        if caps.needs_numbers() && peer.gone().is_none() {
            peer.numbers_began();
        }
        let completions = self.requests.completions();
        for n in 0..BUDGET {
            let mut of_long = false;
            let handled = match rail.poll(link) {
                Ok(None) => {
                    match self.receive_directly(rail, link) {
                        Shown::Nothing => return n > 0,
                        Shown::Unplaced => return true,
                        Shown::Placed => continue, // It may be here already.
                    }
                }
                Ok(Some(packet)) => {
                    let of_long_messages = [Kind::Piece as u8, Kind::EagerFirst as u8, Kind::EagerMore as u8];
                    of_long = packet.direct_bytes > 0 || of_long_messages.contains(&packet.header.kind);
                    self.handle(from, &packet)
                }
                Err(corrupt) => Err(corrupt),
            };
            if let Err(corrupt) = handled {
                self.on_corrupt(rail, from, corrupt);
                return true;
            }
            rail.release(link);
            self.handle_deferred(rail);
            // A caller that has waited for all of a long message first posts the buffer of the next one.
            // Until then that message stays in the rail.
            if of_long && self.requests.completions() != completions {
                break;
            }
        }
        true
    }

    /// Lets the rail receive the next piece, or the next message in one packet, directly into the posted
    /// buffer.
    fn receive_directly<R: FullRail>(&mut self, rail: &mut R, link: LinkId) -> Shown {
        let Some((packet, len)) = rail.peek_bulk(link) else { return Shown::Nothing };
        let header = packet.header;
        let place = match Kind::of(&header) {
            Some(Kind::Piece) => read_piece(&packet),
            Some(Kind::Eager) => self.match_early(link.peer(), header, len).map(|id| (id, 0)),
            _ => None,
        };
        let Some((id, offset)) = place else { return Shown::Unplaced };
        let Some(State::ExpectPieces(receive, _)) = self.requests.get_mut(id) else { return Shown::Unplaced };
        let fits = offset.checked_add(len as u64).is_some_and(|end| end <= receive.len as u64);
        if receive.from != link.peer() || !fits || receive.buffer.is_fine() {
            return Shown::Unplaced;
        }
        rail.direct_receive(link, receive.buffer.share(offset as usize, len));
        Shown::Placed
    }

    fn handle(&mut self, from: Rank, packet: &Packet<'_>) -> Result<(), Corrupt> {
        let broken = || Corrupt(format!("{from} sent a packet that cannot be: {:?}", packet.header));
        let kind = Kind::of(&packet.header).ok_or_else(broken)?;
        if kind == Kind::Batch {
            return batch::Reader::new(packet.bulk)
                .try_for_each(|part| self.handle(from, &part.ok_or_else(broken)?));
        }
        let flow = match kind {
            Kind::Short | Kind::Eager | Kind::Rts | Kind::EagerFirst | Kind::Withdraw => {
                let flow = FlowId(packet.header.flow);
                // A message on the flow of puts is refused, too.
                if self.flow(flow).is_none() {
                    return Err(Corrupt(format!("{from} sent to flow {}, which cannot exist", flow.0)));
                }
                flow
            }
            Kind::Put | Kind::Fence => PUTS,
            _ => return self.handle_now(from, kind, packet, broken),
        };
        let number = packet.header.sequence;
        match self.sequencer(from).map_or(SequenceCheck::Next, |sequencer| sequencer.check(flow, number)) {
            SequenceCheck::Next => {
                self.handle_now(from, kind, packet, broken)?;
                if self.peers[from.0 as usize].is_numbered() {
                    self.number_came(from, flow)?;
                }
                Ok(())
            }
            SequenceCheck::OutOfOrder => self.keep_out_of_order(from, flow, kind, packet, broken),
            SequenceCheck::Duplicate => {
                Err(Corrupt(format!("{from} sent message {number} of flow {} twice", flow.0)))
            }
        }
    }

    fn handle_now(
        &mut self,
        from: Rank,
        kind: Kind,
        packet: &Packet<'_>,
        broken: impl Fn() -> Corrupt,
    ) -> Result<(), Corrupt> {
        let (flow, tag) = (FlowId(packet.header.flow), Tag(packet.header.tag));
        match kind {
            Kind::Short => {
                self.on_message(from, flow, tag, beside(packet).ok_or_else(broken)?, Protocol::Short)?
            }
            Kind::Eager => match self.early_matches.take(from, flow) {
                Some(id) => self.finish_early(from, id, packet)?,
                // Its receive has failed with everything that this peer was to send.
                None if packet.direct_bytes > 0 => {}
                None => self.on_message(from, flow, tag, packet.bulk, Protocol::Eager)?,
            },
            Kind::Rts => self.on_rts(from, flow, tag, Rts::read(packet).ok_or_else(broken)?)?,
            Kind::EagerFirst => {
                self.on_eager_first((from, flow, tag), Rts::read(packet).ok_or_else(broken)?, packet)?
            }
            Kind::EagerMore => self.on_eager_more(from, read_piece(packet).ok_or_else(broken)?, packet)?,
            Kind::Cts => self.on_cts(from, Cts::read(packet).ok_or_else(broken)?),
            Kind::Piece => {
                let (request, offset) = read_piece(packet).ok_or_else(broken)?;
                self.on_piece(from, request, offset, packet)?;
            }
            Kind::Fin => {
                let (request, ending) = read_fin(packet).ok_or_else(broken)?;
                self.on_fin(from, request, ending);
            }
            Kind::Withdraw => {
                self.on_withdraw(from, flow, tag, read_withdraw(packet).ok_or_else(broken)?);
            }
            Kind::Credit => {
                let [bytes] = words(packet).ok_or_else(broken)?;
                let widest = self.settings.widest_window();
                self.peers[from.0 as usize].credit.granted(bytes, widest);
            }
            Kind::Pull => self.on_pull(from, Pull::read(packet).ok_or_else(broken)?)?,
            Kind::Pulled => self.on_pulled(from, PulledPart::read(packet).ok_or_else(broken)?, packet)?,
            Kind::Put => {
                let put = Put::decode(packet.header, packet.inline).ok_or_else(broken)?;
                self.deferred.add_put(from, put);
            }
            Kind::Fence => {
                let [ticket] = words(packet).ok_or_else(broken)?;
                self.on_fence(from, ticket)?;
            }
            Kind::Fenced => {
                let [ticket] = words(packet).ok_or_else(broken)?;
                self.on_fenced(from, ticket)?;
            }
            Kind::LinkClosed => {
                self.deferred.add_closed_link(from, LinkClosed::read(packet).ok_or_else(broken)?);
            }
            Kind::Batch => return Err(broken()),
        }
        Ok(())
    }

    /// Keeps a message that has come before its turn.
    fn keep_out_of_order(
        &mut self,
        from: Rank,
        flow: FlowId,
        kind: Kind,
        packet: &Packet<'_>,
        broken: impl Fn() -> Corrupt,
    ) -> Result<(), Corrupt> {
        // This check comes before anything is kept.
        if self.sequencer(from).is_some_and(|sequencer| sequencer.out_of_order() >= MOST_OUT_OF_ORDER) {
            return Err(Corrupt(format!(
                "{from} sent {MOST_OUT_OF_ORDER} messages ahead of one that is missing"
            )));
        }
        let tag = Tag(packet.header.tag);
        let body = match kind {
            Kind::Short => Some(self.keep(from, beside(packet).ok_or_else(&broken)?)?),
            Kind::Eager => Some(self.keep(from, packet.bulk)?),
            Kind::Rts => {
                let rts = Rts::read(packet).ok_or_else(&broken)?;
                self.charge_announced(from)?;
                self.note_lack(from, &rts);
                Some(Body::Announced(rts))
            }
            Kind::EagerFirst => return Err(broken()),
            _ => None,
        };
        let out_of_order = match (body, kind) {
            (Some(body), _) => OutOfOrder::Message(
                tag,
                self.incoming.hold(Unexpected { from, tag, body }, &mut self.traffic),
            ),
            (None, Kind::Put) => {
                OutOfOrder::Put(Put::decode(packet.header, packet.inline).ok_or_else(broken)?)
            }
            (None, Kind::Withdraw) => OutOfOrder::Withdraw(tag, read_withdraw(packet).ok_or_else(broken)?),
            (None, _) => OutOfOrder::Fence(words::<1>(packet).ok_or_else(broken)?[0]),
        };
        self.traffic.reordered += 1;
        if let Some(sequencer) = self.sequencer(from) {
            sequencer.keep(flow, packet.header.sequence, out_of_order);
        }
        Ok(())
    }

    fn on_message(
        &mut self,
        from: Rank,
        flow: FlowId,
        tag: Tag,
        payload: Window<'_>,
        protocol: Protocol,
    ) -> Result<(), Corrupt> {
        if flow == REQUESTS && self.keep_request(from, tag, payload)? {
            return Ok(());
        }
        let posted = self.flow(flow).and_then(|f| f.matcher.arrive(from, tag));
        let Some(id) = posted else {
            let body = self.keep(from, payload)?;
            return self.store(flow, from, tag, body).map(drop);
        };
        let Some(State::ExpectMessage { mut buffer, .. }) = self.requests.leave(id) else { return Ok(()) };
        let len = payload.len();
        self.observe(|| MessageEvent::Matched { from, flow, tag, bytes: len });
        let fits = len <= buffer.len();
        if fits {
            buffer.copy_from(0, payload);
            self.traffic.copies += u64::from(protocol == Protocol::Eager);
        }
        self.traffic.received(protocol, len);
        self.return_credit(from, len);
        let receive = Receive::new(from, tag, buffer, len);
        let result = if fits { Ok(()) } else { Err(receive.truncated()) };
        self.requests.end(id, received(receive, result));
        Ok(())
    }

    /// Cuts off a peer that broke the protocol: nothing more is taken from it.
    pub fn on_corrupt<R: Rail>(&mut self, rail: &mut R, from: Rank, corrupt: Corrupt) {
        let here: Vec<LinkId> = rail.incoming().iter().copied().filter(|link| link.peer() == from).collect();
        here.into_iter()
            .chain(self.links_to(from).collect::<Vec<_>>())
            .for_each(|link| rail.disconnect(link));
        self.reports.accuse(from, self.gone(from), corrupt);
        self.handle_gone(from, PeerEnd::Failed);
    }

    /// Keeps an answer until there is room for it (invariant I5).
    pub(crate) fn answer(&mut self, to: Rank, reply: Reply) {
        self.peers[to.0 as usize].replies.push_back(reply);
        self.list(to);
    }
}

/// Returns the bytes beside a header.
fn beside<'a>(packet: &Packet<'a>) -> Option<Window<'a>> {
    packet.inline.part(0, packet.header.inline_len as usize)
}
