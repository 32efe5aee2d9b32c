//! Transfers to and from regions against an end played by hand: cases that a rank that only polls does not
//! show.

mod private;

use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer, Owned, RegionAddress};
use canele_mem::chunk_counter::Generation;
use canele_proto::matching::Want;
use canele_proto::peer::PeerEnd;
use canele_proto::request::Buffer;
use canele_proto::wire::{
    BufferPlace, Cts, CtsKind, FinStatus, Kind, Rts, fin_words, piece_words, read_fin, read_piece,
};
use canele_proto::{Envelope, Holding, Proto, Settings};
use canele_rail::Region;
use canele_rail::{Class, Header, OneSided, Rail};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{FlowId, LinkId, Rank, RequestId, Tag};

const LEN: usize = 100_000;
const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(3);
/// The request of the end played by hand.
const THEIRS: RequestId = RequestId { index: 5, generation: 6 };

/// Rank 0 is real, rank 1 is played by hand.
struct Ends {
    world: World,
    proto: Proto,
    rail: SimRail,
    region: Arc<Region>,
    by_hand: SimRail,
    far: Arc<Region>,
    link: LinkId,
}

impl Ends {
    fn new() -> Self {
        Self::of(Model { region_misses: 0, ..Model::default() }, 1)
    }

    fn of(model: Model, seed: u64) -> Self {
        let world = World::new(2, &[model], seed);
        let (mut rail, mut by_hand) = (world.rail(Rank(0)), world.rail(Rank(1)));
        let settings = Settings { eager_bytes: 4096, piece_bytes: 4096, unexpected_bytes: 1 << 20 };
        let proto = Proto::new(Rank(0), 2, settings);
        let (region, far) =
            (rail.create_region(LEN).expect("memory"), by_hand.create_region(LEN).expect("memory"));
        let link = by_hand.open_link(0, Rank(0));
        Self { world, proto, rail, region, by_hand, far, link }
    }

    /// Lets rank 0 pass until nothing more comes.
    fn pass(&mut self) {
        for _ in 0..100 {
            self.rail.accept();
            self.proto.pass(&mut self.rail);
            if let Some(peer) = self.proto.take_wanted() {
                let link = self.rail.open_link(0, peer);
                self.proto.link_opened(&self.rail, peer, link);
            }
            self.world.advance();
        }
        self.by_hand.accept();
    }

    fn send(&mut self, header: Header, words: &[u64]) {
        let slot = self.by_hand.claim(self.link, 0, Class::Control).expect("room");
        slot.inline.write_words(0, words);
        self.by_hand.commit(self.link, header);
    }

    /// Returns the next packet of this kind from rank 0.
    fn next<T>(&mut self, kind: Kind, read: impl Fn(&canele_rail::Packet<'_>) -> Option<T>) -> Option<T> {
        for _ in 0..10 {
            let packet = self.by_hand.poll(self.link).expect("a good link")?;
            let found = (packet.header.kind == kind as u8).then(|| read(&packet)).flatten();
            self.by_hand.release(self.link);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn send_piece(&mut self, receiver: RequestId, offset: u64, bytes: &[u8]) {
        let slot = self.by_hand.claim(self.link, bytes.len(), Class::Stream).expect("room");
        slot.inline.write_words(0, &piece_words(receiver, offset));
        slot.bulk.write(0, bytes);
        self.by_hand.commit(self.link, Kind::Piece.header(2));
    }

    /// Returns the length of the next piece from rank 0.
    fn next_piece(&mut self) -> Option<usize> {
        self.next(Kind::Piece, |packet| read_piece(packet).map(|_| packet.bulk.len()))
    }

    fn far_place(&self) -> RegionAddress {
        RegionAddress { region: self.far.id(), offset: 0 }
    }

    /// Posts a receive of rank 0 in its region; the end played by hand announces a message in its own.
    fn announce(&mut self) -> RequestId {
        let buffer = self.region.in_buffer(0, LEN).expect("all of it");
        self.announce_for(buffer)
    }

    /// Posts a receive of rank 0 in any memory, and announces such a message.
    fn announce_for(&mut self, buffer: InBuffer) -> RequestId {
        let place = BufferPlace::Region(self.far_place());
        self.announce_of(buffer, place)
    }

    /// Posts a receive of rank 0, and announces a message in this place.
    fn announce_of(&mut self, buffer: InBuffer, place: BufferPlace) -> RequestId {
        let want = Want { source: Some(Rank(1)), tag: Some(TAG) };
        let id = self.proto.submit_recv(FLOW, want, buffer);
        let rts = Rts { len: LEN as u64, request: THEIRS, place: Some(place), lacks_credit: false };
        self.send(Header { flow: FLOW.0, tag: TAG.0, ..Kind::Rts.header(5) }, &rts.to_words());
        self.world.advance();
        let link = self.rail.open_link(0, Rank(1));
        self.proto.link_opened(&self.rail, Rank(1), link);
        self.rail.accept();
        self.by_hand.accept();
        id
    }
}

#[test]
fn the_sender_of_a_shared_message_says_when_it_has_copied_its_part() {
    let mut ends = Ends::new();
    let buffer = ends.region.out_buffer(0, LEN).expect("all of it");
    let id = ends.proto.submit_send(&mut ends.rail, Envelope::new(Rank(1), FLOW, TAG), buffer);
    ends.pass();
    let rts = ends.next(Kind::Rts, Rts::read).expect("it is announced");
    assert_eq!(rts.request, id);
    let generation = Generation(9);
    ends.by_hand.chunk_counter(ends.link, true, 2).expect("a chunk counter").start(generation);
    let how = CtsKind::Share(BufferPlace::Region(ends.far_place()), 2, generation);
    let cts = Cts { request: id, receiver: THEIRS, how };
    ends.send(Kind::Cts.header(6), &cts.to_words());
    ends.pass();
    // The receiver may sleep by now, for it found no piece left to copy.
    assert_eq!(ends.next(Kind::Fin, read_fin), Some((THEIRS, FinStatus::Done)));
    assert!(!ends.proto.is_done(id), "only the receiver ends it");
}

/// Plays the sender that is asked for pieces: the receive ends with their bytes.
fn send_in_pieces(ends: &mut Ends, id: RequestId, sent: &[u8]) -> Buffer {
    let cts = ends.next(Kind::Cts, Cts::read).expect("it asks for the message");
    assert_eq!(cts, Cts { request: THEIRS, receiver: id, how: CtsKind::Stream });
    send_pieces(ends, id, sent);
    received(ends, id)
}

fn send_pieces(ends: &mut Ends, id: RequestId, sent: &[u8]) {
    for (number, piece) in sent.chunks(4096).enumerate() {
        ends.send_piece(id, 4096 * number as u64, piece);
        ends.pass();
    }
}

/// Checks that the receive has ended well, and returns its buffer.
fn received(ends: &mut Ends, id: RequestId) -> Buffer {
    let outcome = ends.proto.take(id).expect("it ends");
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    outcome.buffer
}

/// Checks that the sent bytes are in the receiver's memory, and that nothing is held any more.
fn check_received(ends: &Ends, buffer: Buffer, mut owned: Owned<u8>, sent: &[u8]) {
    let Buffer::In(buffer) = buffer else { panic!("the buffer comes back") };
    owned.take_back_in(buffer);
    assert!(owned.bytes() == sent);
    assert_eq!(ends.proto.holding(), Holding::default());
}

#[test]
fn a_shared_message_whose_memory_cannot_be_reached_is_sent_when_the_sender_has_stopped() {
    let mut ends = Ends::new();
    let id = ends.announce();
    ends.proto.pass(&mut ends.rail);
    assert_eq!(ends.proto.holding().chunk_counters, 1, "it shares");
    // The sender takes a piece and is slow; meanwhile its memory goes.
    assert_eq!(
        ends.by_hand.chunk_counter(ends.link, false, 0).and_then(|t| t.take_back(Generation(1), 7)),
        Some(6)
    );
    ends.by_hand.drop_region(ends.far.id());
    ends.pass();
    assert!(ends.next(Kind::Cts, Cts::read).is_some_and(|cts| matches!(cts.how, CtsKind::Share(..))));
    assert_eq!(ends.next(Kind::Cts, Cts::read), None, "the sender still copies");
    ends.by_hand.chunk_counter(ends.link, false, 0).expect("a chunk counter").finish_piece();
    ends.pass();
    // The sender's report that it has copied its part comes late.
    ends.send(Kind::Fin.header(2), &fin_words(id, FinStatus::Done));
    ends.pass();
    assert!(!ends.proto.is_done(id), "nothing but pieces ends it");
    let sent = vec![7; LEN];
    assert!(matches!(send_in_pieces(&mut ends, id, &sent), Buffer::In(_)));
    let mut received = vec![0; LEN];
    ends.region.window(0, LEN).expect("all of it").read(0, &mut received);
    assert!(received == sent);
    assert_eq!(ends.proto.holding(), Holding::default());
}

#[test]
fn a_message_in_memory_that_the_receiver_cannot_reach_is_sent_in_pieces() {
    let mut ends = Ends::new();
    ends.by_hand.drop_region(ends.far.id());
    let mut owned = Owned::new(vec![0_u8; LEN]);
    let id = ends.announce_for(owned.lend_in());
    ends.pass();
    let sent = vec![7; LEN];
    let buffer = send_in_pieces(&mut ends, id, &sent);
    check_received(&ends, buffer, owned, &sent);
}

/// Lets rank 0 announce a message.
fn announced(ends: &mut Ends, buffer: OutBuffer) -> RequestId {
    let id = ends.proto.submit_send(&mut ends.rail, Envelope::new(Rank(1), FLOW, TAG), buffer);
    ends.pass();
    assert_eq!(ends.next(Kind::Rts, Rts::read).map(|rts| rts.request), Some(id));
    id
}

/// Tells rank 0 the way of its message.
fn tell(ends: &mut Ends, request: RequestId, how: CtsKind) {
    ends.send(Kind::Cts.header(6), &Cts { request, receiver: THEIRS, how }.to_words());
    ends.pass();
}

/// Receives the message of rank 0 in pieces.
fn receive_pieces(ends: &mut Ends, id: RequestId) -> Buffer {
    let mut bytes = 0;
    for _ in 0..LEN {
        bytes += ends.next_piece().unwrap_or_default();
        if bytes >= LEN {
            break;
        }
        ends.pass();
    }
    assert_eq!(bytes, LEN);
    let outcome = ends.proto.take(id).expect("it ends");
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    outcome.buffer
}

#[test]
fn a_sender_that_cannot_reach_the_receivers_memory_sends_pieces() {
    let mut ends = Ends::new();
    let mut owned = Owned::new(vec![3_u8; LEN]);
    ends.by_hand.drop_region(ends.far.id());
    let place = ends.far_place();
    let id = announced(&mut ends, owned.lend_out());
    tell(&mut ends, id, CtsKind::Write(place));
    let Buffer::Out(buffer) = receive_pieces(&mut ends, id) else { panic!("the buffer comes back") };
    owned.take_back_out(buffer);
    assert_eq!(ends.proto.holding(), Holding::default());
}

#[test]
fn a_sender_sends_pieces_when_its_receiver_asks_for_them_late() {
    for reaches in [false, true] {
        let mut ends = Ends::new();
        let buffer = ends.region.out_buffer(0, LEN).expect("all of it");
        if !reaches {
            ends.by_hand.drop_region(ends.far.id());
        }
        let id = announced(&mut ends, buffer);
        ends.by_hand.chunk_counter(ends.link, true, 2).expect("a chunk counter").start(Generation(9));
        let how = CtsKind::Share(BufferPlace::Region(ends.far_place()), 2, Generation(9));
        tell(&mut ends, id, how);
        assert!(!ends.proto.is_done(id), "the receiver could copy it alone");
        tell(&mut ends, id, CtsKind::Stream);
        receive_pieces(&mut ends, id);
        assert_eq!(ends.proto.holding(), Holding::default());
    }
}

#[test]
fn a_link_that_opens_after_its_peer_died_is_not_used() {
    let mut ends = Ends::new();
    ends.proto.handle_gone(Rank(1), PeerEnd::Failed);
    let link = ends.rail.open_link(0, Rank(1));
    ends.proto.link_opened(&ends.rail, Rank(1), link);
    assert_eq!(ends.proto.link_from(Rank(1)), None);
}
