//! What leaves when, what wakes a sleeper, and what becomes of a link whose peer is gone or lies.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use canele_rail::tcp::handshake::{Credentials, Handshake};
use canele_rail::tcp::{Limits, Tcp};
use canele_rail::{Armed, Class, Header, Rail};
use canele_sys::ids::{LinkId, Rank};

use super::{RAIL, member, open, pair, until};

const TO_0: LinkId = LinkId::new(RAIL, Rank(0));
const TO_1: LinkId = LinkId::new(RAIL, Rank(1));

/// Sends a packet in a pass of its own.
fn send(rail: &mut Tcp, link: LinkId, tag: u32) -> bool {
    rail.begin_pass();
    post(rail, link, tag)
}

fn post(rail: &mut Tcp, link: LinkId, tag: u32) -> bool {
    rail.post(link, Header { tag, inline_len: 8, ..Header::default() }, &[tag as u8; 8]).is_ok()
}

fn receive(rail: &mut Tcp, link: LinkId) -> Option<u32> {
    let tag = rail.poll(link).unwrap()?.header.tag;
    rail.release(link);
    Some(tag)
}

fn kept_on(rail: &Tcp, link: LinkId) -> u32 {
    let progress = rail.progress(link).unwrap();
    progress.committed.wrapping_sub(progress.acknowledged)
}

fn kept(a: &Tcp) -> u32 {
    kept_on(a, TO_1)
}

#[test]
fn a_packet_leaves_at_once_and_the_next_in_the_next_pass() {
    let [mut a, mut b] = pair();
    for n in 0..100 {
        a.begin_pass();
        assert!(post(&mut a, TO_1, n));
        assert!(!post(&mut a, TO_1, n) && a.claim(TO_1, 0, Class::Control).is_err());
        a.flush();
        assert!(!post(&mut a, TO_1, n), "the end of a pass is not the beginning of the next");
        until(|| receive(&mut b, TO_0) == Some(n));
        b.arm();
        a.fetch();
    }
}

#[test]
fn busy_is_each_link_for_itself() {
    let mut local = super::Local::<false>::new(3);
    use canele_rail::conformance::Harness;
    local.connect(0, 1);
    local.connect(0, 2);
    let rail = local.rail(0);
    rail.begin_pass();
    assert!(post(rail, TO_1, 1) && post(rail, LinkId::new(RAIL, Rank(2)), 1));
    assert!(!post(rail, TO_1, 2) && !post(rail, LinkId::new(RAIL, Rank(2)), 2));
}

#[test]
fn who_found_the_link_busy_is_told_once_that_it_is_not() {
    let [mut a, _b] = pair();
    assert!(send(&mut a, TO_1, 1) && !post(&mut a, TO_1, 2));
    assert!(matches!(a.arm(), Armed::Work), "the pass is over");
    assert!(matches!(a.arm(), Armed::Ready));
    assert!(post(&mut a, TO_1, 2));
}

#[test]
fn a_link_is_busy_until_the_system_has_taken_all() {
    let limits = Limits { payload: 64 << 20, ..Limits::default() };
    let [mut a, mut b] = super::pair_of(limits);
    let most = a.caps(TO_1).max_bulk;
    a.begin_pass();
    assert!(a.claim(TO_1, most, Class::Message).is_ok());
    a.commit(TO_1, Header::default());
    for _ in 0..10 {
        assert!(!send(&mut a, TO_1, 1), "the system cannot have taken {most} bytes");
        a.flush();
    }
    assert!(matches!(a.arm(), Armed::Ready), "there is no room");
    let mut come = None;
    until(|| {
        a.flush();
        come = b.poll(TO_0).unwrap().map(|packet| packet.bulk.len());
        come.is_some()
    });
    assert_eq!(come, Some(most));
    assert!(matches!(a.arm(), Armed::Work), "there is room");
    assert!(send(&mut a, TO_1, 1));
}

#[test]
fn whoever_sleeps_has_acknowledged_everything() {
    let [mut a, mut b] = pair();
    assert!(send(&mut a, TO_1, 1));
    until(|| receive(&mut b, TO_0) == Some(1));
    b.flush();
    a.fetch();
    assert_eq!(kept(&a), 1, "one packet alone is not worth a frame");
    assert!(matches!(b.arm(), Armed::Ready));
    until(|| {
        a.fetch();
        kept(&a) == 0
    });
}

/// Looks until `look` gives something, asleep in between.
fn asleep<T>(rail: &mut Tcp, mut look: impl FnMut(&mut Tcp) -> Option<T>) -> T {
    for _ in 0..10_000 {
        if let Some(found) = look(rail) {
            return found;
        }
        if matches!(rail.arm(), Armed::Ready) {
            rail.sleep(Some(Duration::from_secs(60)));
        }
    }
    panic!("it never comes");
}

#[test]
fn packets_wake() {
    const ROUNDS: u32 = 3000;
    let [mut a, mut b] = pair();
    let echo = std::thread::spawn(move || {
        for n in 0..ROUNDS {
            assert_eq!(asleep(&mut b, |b| receive(b, TO_0)), n);
            assert!(send(&mut b, TO_0, n));
            b.flush();
        }
        b
    });
    for n in 0..ROUNDS {
        assert!(send(&mut a, TO_1, n));
        a.flush();
        assert_eq!(asleep(&mut a, |a| receive(a, TO_1)), n);
    }
    echo.join().unwrap();
}

#[test]
fn room_wakes_and_so_does_a_connection() {
    const PACKETS: u32 = 20_000;
    let [mut a, mut b] = [open(0, 2), open(1, 2)];
    super::introduce(&mut a, &mut b);
    let receiver = std::thread::spawn(move || {
        for n in 0..PACKETS {
            assert_eq!(asleep(&mut b, |b| receive(b, TO_0)), n);
            b.flush();
        }
        b.arm();
        b
    });
    a.open_link(Rank(1));
    asleep(&mut a, |a| a.link(Rank(1)));
    for n in 0..PACKETS {
        asleep(&mut a, |a| send(a, TO_1, n).then_some(()));
        a.flush();
    }
    a.arm();
    receiver.join().unwrap();
}

#[test]
fn what_was_sent_before_the_end_is_read_and_then_the_end_is_told() {
    let [mut a, mut b] = pair();
    for n in 0..10 {
        assert!(send(&mut a, TO_1, n));
    }
    a.flush();
    drop(a);
    let mut received = 0;
    until(|| {
        received += receive(&mut b, TO_0).map_or(0, |n| u32::from(n == received));
        received == 10
    });
    let mut lost = None;
    until(|| {
        assert_eq!(receive(&mut b, TO_0), None);
        lost = b.take_lost();
        lost.is_some()
    });
    let lost = lost.unwrap();
    assert_eq!((lost.link, &*lost.why), (TO_0, "the other end closed the connection"));
    assert!(b.claim(TO_0, 0, Class::Control).is_err() && b.take_lost().is_none());
    assert!(matches!(b.arm(), Armed::Ready), "told once, and no reason to stay awake");
}

#[test]
fn writing_to_a_peer_that_is_gone_kills_nobody_and_is_told() {
    let [mut a, mut b] = pair();
    assert!(send(&mut a, TO_1, 1));
    // With unread bytes in it, the connection is reset.
    drop(b);
    let mut lost = None;
    until(|| {
        send(&mut a, TO_1, 2);
        a.flush();
        a.fetch();
        lost = a.take_lost();
        lost.is_some()
    });
    let why = lost.unwrap().why;
    assert!(why.contains("closed") || why.contains("broke"), "{why}");
    assert!(!send(&mut a, TO_1, 3));
    b = open(1, 2);
    drop(b);
}

/// A connection to rank 1 whose handshake as rank 0 was made by hand.
fn by_hand(b: &mut Tcp) -> TcpStream {
    let me = member(0, 2);
    let credentials = Credentials { me: me.me, ranks: 2, job: me.job, key: me.key, cells: 16, payload: 1024 };
    let mut stream = TcpStream::connect(b.addresses()[0]).unwrap();
    let mut handshake = Handshake::initiate(&credentials, Rank(1), [1; 32]);
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

/// Sends and receives `packets` packets of many lengths at once, asleep while neither is possible.
fn flood(mut rail: Tcp, link: LinkId, packets: u32) -> Tcp {
    let most = rail.caps(link).max_bulk;
    let len = |n: u32| n as usize * 7919 % (most + 1);
    let (mut sent, mut received) = (0, 0);
    let mut bytes = vec![0; most];
    while sent < packets || received < packets {
        let before = (sent, received);
        rail.begin_pass();
        if sent < packets
            && let Ok(slot) = rail.claim(link, len(sent), Class::Message)
        {
            slot.bulk.write(0, &vec![sent as u8; len(sent)]);
            rail.commit(link, Header { tag: sent, ..Header::default() });
            sent += 1;
        }
        if let Some(packet) = rail.poll(link).unwrap() {
            assert_eq!((packet.header.tag, packet.bulk.len()), (received, len(received)));
            let bytes = &mut bytes[..len(received)];
            packet.bulk.read(0, bytes);
            assert!(bytes.iter().all(|byte| *byte == received as u8));
            rail.release(link);
            received += 1;
        }
        if (sent, received) == before && matches!(rail.arm(), Armed::Ready) {
            rail.sleep(Some(Duration::from_secs(60)));
        }
    }
    until(|| {
        rail.arm();
        kept_on(&rail, link) == 0
    });
    rail
}

#[test]
fn two_that_flood_each_other_finish() {
    let [a, b] = super::pair_of(Limits::default());
    let other = std::thread::spawn(move || flood(b, TO_0, 1000));
    let _open_until_the_other_is_done = flood(a, TO_1, 1000);
    other.join().unwrap();
}
