use super::*;
use crate::shm::incoming::Incoming;
use crate::shm::layout::InboxLayout;
use canele_sys::ids::Rank;

const HEADER: Header = Header { kind: 1, inline_len: 0, flow: 0, tag: 0, sequence: 0 };

/// Returns a link from sender 1 to the owner of an inbox with small rings, and the inbox.
fn link() -> (Outgoing, Incoming, (Inbox, Arc<Memfd>)) {
    let layout = InboxLayout::new(2, 64, 32 << 10, usize::MAX);
    let inbox = |rank| Inbox::create(Rank(rank), layout, Fencing::Fences).unwrap();
    let ((owner, file), (sender, _)) = (inbox(0), inbox(1));
    let options = LinkOptions {
        fencing: Fencing::Fences,
        single_copy: SingleCopy::Never,
        rewinds: false,
        demotes: true,
    };
    let outgoing = Outgoing::open((&owner, &file), 1, options).unwrap();
    let slice = (owner.pages().clone(), owner.layout.slice_start(1));
    let incoming =
        Incoming::open(slice, owner.layout, (Rank(1), &sender), (false, SingleCopy::Never)).unwrap();
    (outgoing, incoming, (owner, file))
}

/// Returns the bytes of the inbox that are real memory.
fn real(file: &Memfd) -> usize {
    rustix::fs::fstat(file.fd()).unwrap().st_blocks as usize * 512
}

/// Sends packets of `bulk` bytes until there is no room, and receives them; returns their number.
fn fill_and_drain(outgoing: &mut Outgoing, incoming: &mut Incoming, bulk: usize, number: &mut u8) -> usize {
    let mut sent = Vec::new();
    while outgoing.post_bulk(HEADER, &vec![*number; bulk]).is_ok() {
        sent.push(*number);
        *number = number.wrapping_add(1);
    }
    for expected in &sent {
        let packet = incoming.poll().unwrap().expect("a packet that was sent");
        let mut bytes = vec![0; packet.bulk.len()];
        packet.bulk.read(0, &mut bytes);
        assert_eq!(bytes, vec![*expected; bulk]);
        incoming.release();
    }
    assert!(incoming.poll().unwrap().is_none());
    sent.len()
}

#[test]
fn a_slice_is_reserved_as_it_is_needed() {
    let (mut outgoing, mut incoming, (inbox, file)) = link();
    let layout = inbox.layout;
    let first = super::super::layout::HEADER_BYTES + layout.first_bytes();
    assert_eq!(real(&file), first);
    outgoing.post_bulk(HEADER, &vec![0; layout.max_bulk()]).unwrap();
    assert_eq!(real(&file), first, "the largest bulk of all needs no more");
    incoming.poll().unwrap().unwrap();
    incoming.release();
    assert!(fill_and_drain(&mut outgoing, &mut incoming, 1000, &mut 0) >= 30);
    assert_eq!(real(&file), super::super::layout::HEADER_BYTES + layout.slice_bytes());
}

#[test]
fn a_short_packet_to_a_sleeper_says_so_and_the_sleeper_can_be_woken() {
    let (mut outgoing, mut incoming, (inbox, _)) = link();
    assert_eq!(outgoing.try_post(HEADER, &[]), TryPost::Posted);
    let _ = sleep::announce(inbox.sleep_word(), sleep::WakeBy::Futex, Fencing::Fences);
    assert_eq!(outgoing.try_post(HEADER, &[]), TryPost::PostedToSleeper);
    outgoing.wake();
    assert_eq!(outgoing.wakeups, 1);
    assert_eq!(outgoing.try_post(HEADER, &[]), TryPost::Posted, "the peer is awake");
    for _ in 0..3 {
        incoming.poll().unwrap().expect("a packet that was posted");
        incoming.release();
    }
}

#[test]
fn a_ring_that_cannot_grow_takes_every_packet_once_it_is_empty() {
    let (mut outgoing, mut incoming, (inbox, file)) = link();
    outgoing.ready.refused = true;
    let (most, before, mut number) = (inbox.layout.max_bulk(), real(&file), 0);
    for round in 0..2000 {
        let bulk = if round % 5 == 4 { most } else { 1 + round * 61 % most };
        assert!(fill_and_drain(&mut outgoing, &mut incoming, bulk, &mut number) >= 1, "{bulk} bytes");
        let many = outgoing.has_room(2, most / 2);
        assert!(!many, "as many as the ring would have room for");
    }
    assert_eq!(real(&file), before);
}
