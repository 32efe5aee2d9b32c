//! Messages between private buffers, which both processes copy, with gaps or without.

use canele_mem::buffer::StridedMemory;
use canele_mem::chunk_counter::{ChunkCounter, CopyProgress};
use canele_rail::PeerCopy;

use super::*;

/// Returns the place of a message between private buffers.
fn process_place(bytes: &[u8]) -> BufferPlace {
    BufferPlace::Process(StridedMemory::without_gaps(bytes.as_ptr() as u64))
}

/// The action of the sender played by hand on the piece that it takes.
#[derive(Clone, Copy, PartialEq, Debug)]
enum SenderPart {
    Copies,
    Fails,
    Nothing,
}

/// Returns the chunk counter of the first message to rank 0, as its sender sees it.
fn counter_of(ends: &mut Ends) -> &ChunkCounter {
    ends.by_hand.chunk_counter(ends.link, false, 0).expect("a chunk counter")
}

/// Writes a piece as the sender played by hand. The rail refuses that now and then.
fn write_by_hand(ends: &mut Ends, address: u64, bytes: &[u8]) {
    let mut owned = Owned::new(bytes.to_vec());
    let mut buffer = owned.lend_out();
    while !ends.by_hand.copy_to_peer(ends.link, &[(address, bytes.len())], buffer.share(0, bytes.len())) {}
    owned.take_back_out(buffer);
}

/// Lets rank 0 receive a message of private memory whose sender is played by hand. By the seed, memory is
/// refused now and then: then the message comes in another way, unchanged.
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
        // The sender's memory could not be read: it sends all of it.
        send_pieces(&mut ends, id, &sent);
    }
    let buffer = received(&mut ends, id);
    check_received(&ends, buffer, owned, &sent);
    shares && (taken.is_some() || part == SenderPart::Nothing)
}

#[test]
fn a_receiver_of_private_memory_ends_when_the_sender_has_copied_or_failed_what_it_took() {
    for part in [SenderPart::Copies, SenderPart::Fails, SenderPart::Nothing] {
        let shared = (1..=60).filter(|seed| receive_by_both_ends(part, *seed)).count();
        assert!(shared >= 10, "{part:?}: {shared} of 60 messages were shared");
    }
}

/// Lets rank 0 send private memory to a receiver played by hand that copies nothing. Returns true if rank 0
/// wrote all of it.
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
    // A sender that took no piece reports nothing.
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

/// Reports as the receiver that it has the message; returns the sent bytes.
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

/// No call copies as many blocks of one byte, and no process has memory at the last addresses. Such a message
/// comes in pieces.
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
        send_pieces(&mut ends, id, &sent);
        let buffer = received(&mut ends, id);
        check_received(&ends, buffer, owned, &sent);
    }
}
