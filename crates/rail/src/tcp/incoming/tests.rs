use proptest::prelude::*;

use super::*;
use crate::{Class, Header};

const SIZES: Sizes = Sizes { cells: 16, payload: 1024 };

fn ends() -> (Outgoing, Incoming) {
    (Outgoing::new(SIZES), Incoming::new(SIZES, Rank(7)))
}

fn send(out: &mut Outgoing, n: u32, bulk: usize) {
    let slot = out.claim(bulk, Class::Message).unwrap();
    slot.bulk.write(0, &vec![n as u8; bulk]);
    out.commit(Header { tag: n, ..Header::default() }, wire::FIRST);
}

fn carry(from: &mut Outgoing, to: &mut Incoming, back: &mut Outgoing, most: usize) -> usize {
    let len = from.unsent().len().min(most).min(to.free().memory.len());
    to.free().memory[..len].copy_from_slice(&from.unsent()[..len]);
    from.handle_sent(len);
    to.handle_read(len, back);
    len
}

/// Handles bytes as if they had come from the peer.
fn feed(incoming: &mut Incoming, back: &mut Outgoing, bytes: &[u8]) {
    for bytes in bytes.chunks(SIZES.step()) {
        incoming.free().memory[..bytes.len()].copy_from_slice(bytes);
        incoming.handle_read(bytes.len(), back);
    }
}

proptest! {
    #[test]
    fn packets_come_out_as_they_went_in(
        rounds in prop::collection::vec((0usize..=256, 1usize..900, 0usize..4, any::<bool>()), 1..300),
    ) {
        let (mut out, mut incoming) = ends();
        let mut back = Outgoing::new(SIZES);
        let (mut sent, mut received) = (vec![], 0);
        for (bulk, most, take, lonely_ack) in rounds {
            if !out.has_unsent() && out.claim(bulk, Class::Message).is_ok() {
                send(&mut out, sent.len() as u32, bulk);
                sent.push(bulk);
            }
            carry(&mut out, &mut incoming, &mut back, most);
            if lonely_ack && incoming.scanned == incoming.filled {
                feed(&mut incoming, &mut back, &wire::ack_frame(wire::FIRST));
            }
            for _ in 0..take {
                let Some(packet) = incoming.poll().unwrap() else { break };
                prop_assert_eq!((packet.header.tag as usize, packet.bulk.len()), (received, sent[received]));
                let mut bulk = vec![0; packet.bulk.len()];
                packet.bulk.read(0, &mut bulk);
                prop_assert!(bulk.iter().all(|b| *b == received as u8));
                received += 1;
                incoming.release();
            }
            if incoming.owes(false) {
                out.handle_ack(incoming.tell()).unwrap();
            }
        }
        prop_assert!(incoming.is_open());
    }
}

#[test]
fn a_packet_out_of_turn_is_corrupt_and_those_before_are_not() {
    let (mut out, mut incoming) = ends();
    let mut back = Outgoing::new(SIZES);
    send(&mut out, 1, 3);
    let first = out.unsent().to_vec();
    feed(&mut incoming, &mut back, &first);
    feed(&mut incoming, &mut back, &first);
    assert_eq!(incoming.poll().unwrap().unwrap().header.tag, 1);
    incoming.release();
    let Err(error) = incoming.poll() else { panic!("the same packet came twice") };
    assert_eq!(
        error.to_string(),
        "rank 7 sent a packet with number 0xffffff00 where 0xffffff01 is due: its program is corrupted"
    );
    assert!(!incoming.is_open());
}

#[test]
fn an_acknowledgement_of_nothing_is_corrupt() {
    let (_, mut incoming) = ends();
    let mut back = Outgoing::new(SIZES);
    feed(&mut incoming, &mut back, &wire::ack_frame(wire::FIRST + 1));
    assert!(incoming.poll().is_err());
}

#[test]
fn more_than_there_is_room_for_is_corrupt() {
    let mut incoming = Incoming::new(SIZES, Rank(7));
    let mut back = Outgoing::new(SIZES);
    let mut sent = 0;
    for n in 0..10_000u32 {
        let mut head = [0; HEAD];
        wire::write_packet(&mut head, Header::default(), 0, wire::FIRST.wrapping_add(n), wire::FIRST);
        feed(&mut incoming, &mut back, &head);
        sent += 1;
        if !incoming.is_open() {
            break;
        }
    }
    assert!(sent < 1000 && incoming.poll().unwrap().is_some());
}
