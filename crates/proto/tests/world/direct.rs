//! Transfers to and from regions where the other end is played by hand: what a rank that only ever polls would not show.

use canele_mem::chunk_counter::{ChunkCounter, CopyProgress, Generation};
use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer, Owned, RegionAddress, StridedMemory};
use canele_proto::matching::Want;
use canele_proto::peer::PeerEnd;
use canele_proto::request::Buffer;
use canele_proto::wire::{
    BufferPlace, Cts, CtsKind, FinStatus, Kind, Rts, fin_words, piece_words, read_fin, read_piece,
};
use canele_proto::{Envelope, Holding, Proto, Settings};
use canele_rail::Region;
use canele_rail::{Class, Header, OneSided, PeerCopy, Rail};
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

    /// Rank 0 looks until nothing more comes.
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

    /// The next packet of this kind from rank 0.
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

    /// The length of the next piece from rank 0.
    fn next_piece(&mut self) -> Option<usize> {
        self.next(Kind::Piece, |packet| read_piece(packet).map(|_| packet.bulk.len()))
    }

    fn far_place(&self) -> RegionAddress {
        RegionAddress { region: self.far.id(), offset: 0 }
    }

    /// Rank 0 has a receive in its region, and the end played by hand announces a message in its own.
    fn announce(&mut self) -> RequestId {
        let buffer = self.region.in_buffer(0, LEN).expect("all of it");
        self.announce_for(buffer)
    }

    /// The same for a receive in any memory.
    fn announce_for(&mut self, buffer: InBuffer) -> RequestId {
        let place = BufferPlace::Region(self.far_place());
        self.announce_of(buffer, place)
    }

    /// The same of a message that lies there.
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

/// Plays the sender that is asked for pieces: the receive ends with what they hold.
fn send_in_pieces(ends: &mut Ends, id: RequestId, sent: &[u8]) -> Buffer {
    let cts = ends.next(Kind::Cts, Cts::read).expect("it asks for the message");
    assert_eq!(cts, Cts { request: THEIRS, receiver: id, how: CtsKind::Stream });
    for (number, piece) in sent.chunks(4096).enumerate() {
        ends.send_piece(id, 4096 * number as u64, piece);
        ends.pass();
    }
    let outcome = ends.proto.take(id).expect("it ends");
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    outcome.buffer
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
    // The sender's word that it has copied its part comes late.
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
    let Buffer::In(buffer) = send_in_pieces(&mut ends, id, &sent) else { panic!("the buffer comes back") };
    owned.take_back_in(buffer);
    assert!(owned.bytes() == sent);
    assert_eq!(ends.proto.holding(), Holding::default());
}

/// Rank 0 announces a message.
fn announced(ends: &mut Ends, buffer: OutBuffer) -> RequestId {
    let id = ends.proto.submit_send(&mut ends.rail, Envelope::new(Rank(1), FLOW, TAG), buffer);
    ends.pass();
    assert_eq!(ends.next(Kind::Rts, Rts::read).map(|rts| rts.request), Some(id));
    id
}

/// Rank 0 is told how its message is to travel.
fn tell(ends: &mut Ends, request: RequestId, how: CtsKind) {
    ends.send(Kind::Cts.header(6), &Cts { request, receiver: THEIRS, how }.to_words());
    ends.pass();
}

/// The message of rank 0 comes in pieces.
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

/// Where a message between private buffers lies.
fn process_place(bytes: &[u8]) -> BufferPlace {
    BufferPlace::Process(StridedMemory::without_gaps(bytes.as_ptr() as u64))
}

/// What the sender played by hand does with the piece that it takes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum SenderPart {
    Copies,
    Fails,
    Nothing,
}

/// The chunk counter of the first message to rank 0, as its sender sees it.
fn counter_of(ends: &mut Ends) -> &ChunkCounter {
    ends.by_hand.chunk_counter(ends.link, false, 0).expect("a chunk counter")
}

/// The sender played by hand writes a piece. The rail refuses that now and then.
fn write_by_hand(ends: &mut Ends, address: u64, bytes: &[u8]) {
    let mut owned = Owned::new(bytes.to_vec());
    let mut buffer = owned.lend_out();
    while !ends.by_hand.copy_to_peer(ends.link, &[(address, bytes.len())], buffer.share(0, bytes.len())) {}
    owned.take_back_out(buffer);
}

/// Rank 0 receives a message of private memory whose sender is played by hand. Memory is refused now and then, by the seed: then the message
/// comes in another way, and is the same.
fn receive_by_both_ends(part: SenderPart, seed: u64) -> bool {
    let mut ends = Ends::of(Model { region_misses: 0, fetched_percent: 100, ..Model::default() }, seed);
    let sent: Vec<u8> = (0..LEN).map(|n| (n * 7 / 5) as u8).collect();
    let mut owned = Owned::new(vec![0_u8; LEN]);
    let buffer = owned.lend_in();
    let Some(into) = buffer.address() else { panic!("a vector is one stretch") };
    let id = ends.announce_of(buffer, process_place(&sent));
    ends.proto.pass(&mut ends.rail);
    ends.proto.pass(&mut ends.rail);
    let pieces = LEN.div_ceil(32 << 10) as u32;
    let counter = counter_of(&mut ends);
    let taken = (part != SenderPart::Nothing).then(|| counter.take_back(Generation(1), pieces)).flatten();
    ends.pass();
    let cts = ends.next(Kind::Cts, Cts::read);
    let shares = cts.is_some_and(|cts| matches!(cts.how, CtsKind::Share(..)));
    if let Some(piece) = taken {
        let ended = ends.next(Kind::Fin, read_fin).is_some() || ends.proto.is_done(id);
        assert!(shares && !ended, "a piece is still missing");
        let at = piece as usize * (32 << 10);
        match part {
            SenderPart::Copies => {
                write_by_hand(&mut ends, into + at as u64, &sent[at..]);
                counter_of(&mut ends).finish_piece();
            }
            _ => counter_of(&mut ends).fail_piece(),
        }
        ends.pass();
    }
    if !ends.proto.is_done(id) {
        // The sender's memory could not be read: it sends all of it in pieces.
        for (number, piece) in sent.chunks(4096).enumerate() {
            ends.send_piece(id, 4096 * number as u64, piece);
            ends.pass();
        }
    }
    let outcome = ends.proto.take(id).expect("it ends");
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    let Buffer::In(buffer) = outcome.buffer else { panic!("the buffer comes back") };
    owned.take_back_in(buffer);
    assert!(owned.bytes() == sent, "{part:?}, seed {seed}");
    assert_eq!(ends.proto.holding(), Holding::default());
    shares && (taken.is_some() || part == SenderPart::Nothing)
}

#[test]
fn a_receiver_of_private_memory_ends_when_the_sender_has_copied_or_failed_what_it_took() {
    for part in [SenderPart::Copies, SenderPart::Fails, SenderPart::Nothing] {
        let shared = (1..=60).filter(|seed| receive_by_both_ends(part, *seed)).count();
        assert!(shared >= 10, "{part:?}: {shared} of 60 messages were shared");
    }
}

/// Rank 0 sends a message of private memory whose receiver is played by hand and copies nothing. Says whether rank 0 wrote all of it.
fn send_by_both_ends(seed: u64) -> bool {
    let mut ends = Ends::of(Model { region_misses: 0, fetched_percent: 100, ..Model::default() }, seed);
    let mut owned = Owned::new((0..LEN).map(|n| (n * 7 / 5) as u8).collect::<Vec<_>>());
    let mut into = vec![0_u8; LEN];
    let id = announced(&mut ends, owned.lend_out());
    ends.by_hand.chunk_counter(ends.link, true, 2).expect("a chunk counter").start(Generation(9));
    let place = BufferPlace::Process(StridedMemory::without_gaps(into.as_mut_ptr() as u64));
    tell(&mut ends, id, CtsKind::Share(place, 2, Generation(9)));
    assert!(!ends.proto.is_done(id), "only the receiver ends it");
    let ended = ends.next(Kind::Fin, read_fin);
    let pieces = LEN.div_ceil(32 << 10) as u32;
    let counter = ends.by_hand.chunk_counter(ends.link, true, 2).expect("a chunk counter");
    counter.take_rest(Generation(9), pieces);
    let progress = counter.progress(Generation(9), pieces);
    assert_ne!(progress, CopyProgress::Copying, "no piece is in hand");
    // A sender that took no piece has nothing to say.
    let said = (THEIRS, FinStatus::Done);
    assert!(
        ended == Some(said) || ended.is_none() && progress == CopyProgress::Done,
        "{ended:?}, {progress:?}"
    );
    let (sent, has_all) = (owned_bytes(&mut ends, id, &mut owned), progress == CopyProgress::Done);
    let wrote_all = std::hint::black_box(&into) == &sent;
    assert!(has_all || !wrote_all);
    wrote_all
}

/// The receiver says that it has the message; what was sent.
fn owned_bytes(ends: &mut Ends, id: RequestId, owned: &mut Owned<u8>) -> Vec<u8> {
    ends.send(Kind::Fin.header(2), &fin_words(id, FinStatus::Done));
    ends.pass();
    let Buffer::Out(buffer) = ends.proto.take(id).expect("it ends").buffer else { panic!("it comes back") };
    owned.take_back_out(buffer);
    assert_eq!(ends.proto.holding(), Holding::default());
    owned.bytes().to_vec()
}

#[test]
fn a_sender_writes_a_message_of_private_memory_alone_if_its_receiver_copies_nothing() {
    let alone = (1..=60).filter(|seed| send_by_both_ends(*seed)).count();
    assert!((5..60).contains(&alone), "{alone} of 60 messages: now and then memory is refused");
}

/// No call copies as many blocks of one byte, and no process has memory at the last addresses. Such a message comes in pieces.
#[test]
fn a_message_whose_sender_describes_memory_that_there_is_not_comes_in_pieces() {
    let wrong =
        [(1 << 20, 1, 2), (u64::MAX - 100, 20_000, 30_000), (u64::MAX - 100, 0, 0), (1 << 20, 20_000, 0)];
    for (seed, (address, block_bytes, stride_bytes)) in (1..9).zip(wrong.into_iter().cycle()) {
        let mut ends = Ends::of(Model { region_misses: 0, fetched_percent: 100, ..Model::default() }, seed);
        let mut owned = Owned::new(vec![0_u8; LEN]);
        let place = BufferPlace::Process(StridedMemory { address, block_bytes, stride_bytes });
        let id = ends.announce_of(owned.lend_in(), place);
        ends.pass();
        let sent = vec![7; LEN];
        for (number, piece) in sent.chunks(4096).enumerate() {
            ends.send_piece(id, 4096 * number as u64, piece);
            ends.pass();
        }
        let outcome = ends.proto.take(id).expect("it ends");
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        let Buffer::In(buffer) = outcome.buffer else { panic!("the buffer comes back") };
        owned.take_back_in(buffer);
        assert!(owned.bytes() == sent, "seed {seed}");
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
