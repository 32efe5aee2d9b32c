//! Peers that lie, and strangers that knock.

use std::io::{Read, Write};
use std::net::TcpStream;

use canele_rail::tcp::Tcp;
use canele_rail::tcp::handshake::{Credentials, Handshake};
use canele_rail::{Armed, Rail};
use canele_sys::ids::{LinkId, Rank};

use super::{RAIL, member, open, until};

const TO_0: LinkId = LinkId::new(RAIL, Rank(0));

/// A connection to rank 1 whose handshake as rank 0 was made by hand.
fn by_hand(b: &mut Tcp) -> TcpStream {
    let me = member(0, 2);
    let credentials =
        Credentials { me: me.me, rail: RAIL, ranks: 2, job: me.job, key: me.key, cells: 16, payload: 1024 };
    let mut stream = TcpStream::connect(b.addresses()[0]).unwrap();
    let mut handshake = Handshake::initiate(&credentials, Rank(1), 1, [1; 32]);
    while !handshake.is_over() {
        stream.write_all(handshake.to_send()).unwrap();
        handshake.handle_sent(handshake.to_send().len());
        let before = b.unproven().0;
        until(|| {
            b.meet(0);
            b.unproven().0 >= before || b.link(Rank(0)).is_some()
        });
        stream.set_nonblocking(true).unwrap();
        let mut bytes = vec![0; handshake.wanted()];
        until(|| {
            b.meet(0);
            stream.read_exact(&mut bytes).is_ok()
        });
        stream.set_nonblocking(false).unwrap();
        handshake.handle(&bytes).unwrap();
    }
    stream
}

#[test]
fn a_peer_that_sends_what_cannot_be_is_corrupt() {
    let mut b = open(1, 2);
    let mut stream = by_hand(&mut b);
    stream.write_all(&[0xff; 100]).unwrap();
    let mut error = None;
    until(|| {
        error = b.poll(TO_0).err();
        error.is_some()
    });
    let text = error.unwrap().to_string();
    assert!(text.starts_with("rank 0 sent a frame of version 255"), "{text}");
    assert!(b.poll(TO_0).is_err(), "it stays so");
    b.disconnect(TO_0);
    assert!(matches!(b.arm(), Armed::Ready));
}

#[test]
fn a_frame_in_pieces_is_one_packet() {
    let mut b = open(1, 2);
    let mut stream = by_hand(&mut b);
    let mut frame = [0; 28 + 40 + 3];
    frame[0] = 3;
    frame[4..8].copy_from_slice(&[9, 2, 1, 2]);
    frame[20..24].copy_from_slice(&0xffff_ff00u32.to_le_bytes());
    frame[24..28].copy_from_slice(&0xffff_ff00u32.to_le_bytes());
    frame[28..30].copy_from_slice(b"in");
    frame[68..].copy_from_slice(b"bul");
    for byte in frame {
        assert!(b.poll(TO_0).unwrap().is_none());
        stream.write_all(&[byte]).unwrap();
    }
    until(|| b.poll(TO_0).unwrap().is_some());
    let packet = b.poll(TO_0).unwrap().unwrap();
    let (mut bulk, mut inline) = ([0; 3], [0; 2]);
    packet.bulk.read(0, &mut bulk);
    packet.inline.read(0, &mut inline);
    assert_eq!((packet.header.kind, &bulk, &inline), (9, b"bul", b"in"));
}
