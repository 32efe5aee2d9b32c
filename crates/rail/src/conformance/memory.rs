//! Tests that a rail sends from and receives into the user's memory directly, and gives that memory back.

use canele_mem::buffer::Owned;

use super::{Harness, Sent, TO_1, bytes, link_from, link_to, pair, receive, send};
use crate::{Class, FastPath, MAX_INLINE_WITH_BULK, Rail};

/// Attempts after which a test fails.
const MANY: usize = 100_000;

/// Lends `sent.bulk`, placed at `offset` of a larger buffer, and returns the buffer and its token.
fn lend<H: Harness>(h: &mut H, sent: &Sent, offset: usize) -> (Owned<u8>, canele_mem::buffer::OutBuffer) {
    let link = link_to(h, 0, 1);
    let mut owned = Owned::new([&vec![0xee; offset][..], &sent.bulk, &[0xee; 9]].concat());
    let mut token = owned.lend_out();
    let rail = h.rail(0);
    rail.begin_pass();
    let share = || token.share(offset, sent.bulk.len());
    rail.lend(link, sent.header, &sent.inline, share, sent.bulk.len()).expect("an empty link has room");
    (owned, token)
}

/// A lent bulk arrives in order with other packets. It is given back at the latest once its receiver has
/// nothing more to do.
pub fn what_is_lent_arrives_and_comes_back<H: Harness>() {
    let mut h = pair::<H>();
    let most = h.rail(0).caps(TO_1).max_bulk;
    for (n, len) in (1..=most).step_by(1 + most / 200).chain([most]).enumerate() {
        let n = n as u64 * 3;
        let inline = n as usize % (MAX_INLINE_WITH_BULK + 1);
        let packets = [Sent::new(n, 3, 0), Sent::new(n + 1, inline, len), Sent::new(n + 2, 4, 5)];
        send(&mut h, 0, 1, &packets[0], Class::Message).unwrap();
        let (mut owned, token) = lend(&mut h, &packets[1], n as usize % 7);
        send(&mut h, 0, 1, &packets[2], Class::Message).unwrap();
        h.deliver();
        for packet in &packets {
            assert_eq!(receive(&mut h, 1, 0).as_ref(), Some(packet));
        }
        h.rail(1).arm();
        h.deliver();
        assert!(!token.is_shared(), "a bulk of {len} bytes is still held");
        owned.take_back_out(token);
    }
}

/// A posted bulk arrives with its content at the time of posting, even if many packets wait before it. A
/// slice is free at once, lent memory when the packet has left.
pub fn what_is_posted_may_be_overwritten<H: Harness>() {
    let mut h = pair::<H>();
    let mut held = Vec::new();
    let most = h.rail(0).caps(TO_1).max_bulk;
    let mut posted = 0;
    for round in 0..40 {
        let first = posted;
        for _ in 0..50 {
            let packet = Sent::new(posted, 0, 1 + posted as usize * 7919 % most);
            if !post(&mut h, &packet, posted.is_multiple_of(2), &mut held) {
                break;
            }
            posted += 1;
        }
        assert!(posted > first, "a link that was emptied in round {round} has room");
        for n in first..posted {
            let packet = Sent::new(n, 0, 1 + n as usize * 7919 % most);
            h.deliver();
            assert_eq!(receive(&mut h, 1, 0), Some(packet));
        }
        h.rail(1).arm();
        h.deliver();
        for (mut owned, token) in held.drain(..) {
            assert!(!token.is_shared(), "all has left");
            owned.take_back_out(token);
        }
    }
}

/// Posts a packet from a slice or from lent memory. Overwrites that memory unless it is held. Returns true if
/// there was room.
fn post<H: Harness>(
    h: &mut H,
    sent: &Sent,
    lent: bool,
    held: &mut Vec<(Owned<u8>, canele_mem::buffer::OutBuffer)>,
) -> bool {
    let (link, len) = (link_to(h, 0, 1), sent.bulk.len());
    let (mut owned, mut bytes) = (Owned::new(sent.bulk.clone()), sent.bulk.clone());
    let mut token = owned.lend_out();
    let rail = h.rail(0);
    rail.begin_pass();
    let posted = match lent {
        true => rail.post_share(link, sent.header, || token.share(0, len), len),
        false => rail.post_bulk(link, sent.header, &bytes),
    };
    bytes.fill(0xee);
    if token.is_shared() {
        held.push((owned, token));
    } else {
        owned.take_back_out(token);
        owned.bytes().fill(0xee);
    }
    posted.is_ok()
}

/// Returns true if the bulk was received directly. `answers` says if the test supplies memory when the rail
/// asks for it.
fn receive_directly<H: Harness>(h: &mut H, sent: &Sent, answers: bool) -> bool {
    let (link, len) = (link_from(h, 1, 0), sent.bulk.len());
    let mut owned = Owned::new(vec![0xeeu8; len + 10]);
    let mut token = owned.lend_in();
    for _ in 0..MANY {
        h.advance();
        h.rail(1).begin_pass();
        if let Some(packet) = h.rail(1).poll(link).expect("an honest peer") {
            let mut inline = vec![0; packet.header.inline_len as usize];
            packet.inline.read(0, &mut inline);
            assert_eq!((packet.header, &inline), (sent.header, &sent.inline));
            let direct_bytes = packet.direct_bytes;
            let mut bulk = vec![0; packet.bulk.len()];
            packet.bulk.read(0, &mut bulk);
            h.rail(1).release(link);
            assert!(!token.is_shared());
            owned.take_back_in(token);
            if direct_bytes > 0 {
                assert!(answers && bulk.is_empty());
                let bytes = owned.bytes();
                assert!(bytes[..5].iter().chain(&bytes[5 + len..]).all(|byte| *byte == 0xee), "it spilled");
                bulk = bytes[5..5 + direct_bytes].to_vec();
            }
            assert!(bulk == sent.bulk, "a bulk of {len} bytes, {direct_bytes} received directly");
            return direct_bytes > 0;
        }
        if let Some((packet, bulk)) = h.rail(1).peek_bulk(link) {
            let mut inline = vec![0; packet.header.inline_len as usize];
            packet.inline.read(0, &mut inline);
            assert_eq!((packet.header, inline, bulk), (sent.header, sent.inline.clone(), len));
            assert!(packet.bulk.is_empty() && packet.direct_bytes == 0);
            if answers {
                h.rail(1).direct_receive(link, token.share(5, len));
            }
        }
    }
    panic!("a bulk of {len} bytes never comes");
}

/// A bulk lands in the memory that its receiver names and nowhere else. Without an answer it arrives as an
/// ordinary bulk.
pub fn a_bulk_lands_where_it_is_told<H: Harness>() {
    let mut h = pair::<H>();
    let most = h.rail(0).caps(TO_1).max_bulk;
    let (mut owned, mut direct_bytes) = (vec![], [0; 2]);
    for (n, len) in (1..=most).step_by(1 + most / 200).chain([most; 20]).enumerate() {
        let packet = Sent::new(n as u64, n % 41, len);
        if n % 2 == 0 {
            owned.push(lend(&mut h, &packet, n % 5));
        } else {
            send(&mut h, 0, 1, &packet, Class::Message).expect("an empty link has room");
        }
        let answers = n % 3 > 0;
        direct_bytes[usize::from(answers)] += usize::from(receive_directly(&mut h, &packet, answers));
        h.deliver();
    }
    assert_eq!(direct_bytes[0], 0, "nothing lands without a place");
    h.rail(1).arm();
    h.deliver();
    for (mut owned, token) in owned {
        owned.take_back_out(token);
    }
}

/// Packets behind a directly received bulk arrive afterwards, in order.
pub fn landing_keeps_order<H: Harness>() {
    let mut h = pair::<H>();
    let most = h.rail(0).caps(TO_1).max_bulk;
    for n in 0..200 {
        let packets = [Sent::new(4 * n, 1, most), Sent::new(4 * n + 1, 48, 0), Sent::new(4 * n + 2, 2, most)];
        let short = Sent { bulk: bytes(n, 1), ..Sent::new(4 * n + 3, 7, 1) };
        for packet in packets.iter().chain([&short]) {
            send(&mut h, 0, 1, packet, Class::Message).unwrap();
        }
        for packet in packets.iter().chain([&short]) {
            receive_directly(&mut h, packet, n % 4 > 0);
        }
        h.deliver();
    }
}
