//! Large packets go from the user's memory into the user's memory.

use canele_mem::buffer::{InBuffer, OutBuffer, scope};
use canele_rail::Regions;
use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{Armed, FastPath, Header, Rail};
use canele_sys::ids::{LinkId, Rank};

use super::{RAIL, pair_of, until};

const TO_0: LinkId = LinkId::new(RAIL, Rank(0));
const TO_1: LinkId = LinkId::new(RAIL, Rank(1));

/// Moves a whole buffer in pieces of the largest size, and returns the bytes that arrived.
fn transfer([a, b]: &mut [Tcp; 2], from: &mut OutBuffer, into: &mut InBuffer) -> usize {
    let (len, most) = (from.len(), a.caps(TO_1).max_bulk);
    let (mut sent, mut come, mut direct_bytes) = (0, 0, 0);
    until(|| {
        a.begin_pass();
        let piece = most.min(len - sent);
        if piece > 0 && a.lend(TO_1, Header::default(), &[], || from.share(sent, piece), piece).is_ok() {
            sent += piece;
        }
        assert!(a.poll(TO_1).unwrap().is_none());
        a.flush();
        b.begin_pass();
        if let Some(packet) = b.poll(TO_0).unwrap() {
            match packet.direct_bytes {
                0 => into.copy_from(come, packet.bulk),
                bytes => direct_bytes += bytes,
            }
            come += packet.direct_bytes.max(packet.bulk.len());
            b.release(TO_0);
        }
        if let Some((_, bulk)) = b.peek_bulk(TO_0) {
            b.direct_receive(TO_0, into.share(come, bulk));
        }
        b.flush();
        come == len && !from.is_shared()
    });
    assert!(!into.is_shared());
    direct_bytes
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * n / 100) as u8).collect()
}

#[test]
fn large_pieces_land() {
    let (mut rails, sent) = (pair_of(TcpLimits::default()), bytes(4 << 20));
    let mut received = vec![0; sent.len()];
    scope(|s| {
        let (mut out, mut into) = (s.lend(&sent), s.lend_mut(&mut received));
        let direct_bytes = transfer(&mut rails, &mut out, &mut into);
        assert!(direct_bytes >= sent.len() / 2, "{direct_bytes} bytes received directly");
        s.take_back(out);
        s.take_back_mut(into);
    });
    assert!(sent == received);
    let [sender, receiver] = [rails[0].speed(TO_1), rails[1].speed(TO_0)];
    assert!(sender.under_way == 0 && sender.round_trip_ns > 0 && sender.bytes_per_us > 0, "{sender:?}");
    assert_ne!(
        sender.round_trip_ns, receiver.round_trip_ns,
        "one is measured, the other what the rail can do"
    );
}

#[test]
fn memory_in_many_parts_serves_too() {
    let (mut rails, sent) = (pair_of(TcpLimits::default()), bytes(1 << 20));
    let mut received = vec![0; sent.len()];
    scope(|s| {
        let parts: Vec<_> = sent.chunks(1021).collect();
        let mut out = s.lend_list(&parts);
        let mut into = s.lend_list_mut(received.chunks_mut(511).collect());
        let direct_bytes = transfer(&mut rails, &mut out, &mut into);
        assert!(direct_bytes > 0);
        s.take_back(out);
        s.take_back_mut(into);
    });
    assert!(sent == received);
}

#[test]
fn a_receiver_does_not_sleep_while_the_system_holds_what_found_no_place_in_one_call() {
    let ([mut a, mut b], sent) = (pair_of(TcpLimits::default()), bytes(48 << 10));
    let mut received = vec![0; sent.len()];
    scope(|s| {
        let (mut out, mut into) = (s.lend(&sent), s.lend_list_mut(received.chunks_mut(256).collect()));
        a.begin_pass();
        a.lend(TO_1, Header::default(), &[], || out.share(0, sent.len()), sent.len()).expect("it is idle");
        until(|| {
            b.begin_pass();
            assert!(b.poll(TO_0).unwrap().is_none(), "it is shown first");
            b.arm();
            let shown = b.peek_bulk(TO_0).is_some();
            if shown {
                b.direct_receive(TO_0, into.share(0, sent.len()));
            }
            shown
        });
        loop {
            b.begin_pass();
            if b.poll(TO_0).unwrap().is_some() {
                break b.release(TO_0);
            }
            assert!(matches!(b.arm(), Armed::Work), "all has come");
        }
        b.flush();
        until(|| {
            assert!(a.poll(TO_1).unwrap().is_none());
            !out.is_shared()
        });
        s.take_back(out);
        s.take_back_mut(into);
    });
    assert!(sent == received);
}

#[test]
fn posted_memory_is_held_until_all_has_left_and_no_longer() {
    let [mut a, mut b] = pair_of(TcpLimits::default());
    let most = a.caps(TO_1).max_bulk;
    let sent = bytes(most);
    scope(|s| {
        let mut out = s.lend(&sent);
        // Sends until the system takes only a part of a packet, or the link is full.
        while !out.is_shared() {
            a.begin_pass();
            if a.post_share(TO_1, Header::default(), || out.share(0, most), most).is_err() {
                break;
            }
        }
        until(|| {
            b.fetch();
            a.begin_pass();
            a.flush();
            !out.is_shared()
        });
        assert!(a.speed(TO_1).under_way > 0, "nothing was released, and so nothing acknowledged");
        s.take_back(out);
    });
}

#[test]
fn memory_of_regions_serves_too() {
    const LEN: usize = 1 << 20;
    let (mut rails, mut regions, sent) = (pair_of(TcpLimits::default()), Regions::default(), bytes(LEN));
    let [from, to] = [(); 2].map(|()| regions.create(LEN).unwrap());
    from.window(0, LEN).unwrap().write(0, &sent);
    let mut out = from.out_buffer(0, LEN).unwrap();
    let mut into = to.in_buffer(0, LEN).unwrap();
    assert!(transfer(&mut rails, &mut out, &mut into) > 0);
    let mut received = vec![0; LEN];
    to.window(0, LEN).unwrap().read(0, &mut received);
    assert!(sent == received);
}
