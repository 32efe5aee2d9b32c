//! Order and time of sending, wake-ups of sleepers, and links whose peer is gone.

use std::time::Duration;

use canele_rail::Network;
use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{Armed, Class, FastPath, Header, Rail, Recoverable};
use canele_sys::ids::{LinkId, Rank};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{RAIL, open, pair, until};

pub const TO_0: LinkId = LinkId::new(RAIL, Rank(0));
pub const TO_1: LinkId = LinkId::new(RAIL, Rank(1));

/// Sends a packet in a pass of its own.
pub fn send(rail: &mut Tcp, link: LinkId, tag: u32) -> bool {
    rail.begin_pass();
    post(rail, link, tag)
}

fn post(rail: &mut Tcp, link: LinkId, tag: u32) -> bool {
    rail.post(link, Header { tag, inline_len: 8, ..Header::default() }, &[tag as u8; 8]).is_ok()
}

pub fn receive(rail: &mut Tcp, link: LinkId) -> Option<u32> {
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
    let limits = TcpLimits { payload: 64 << 20, ..TcpLimits::default() };
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
fn a_rank_that_sleeps_has_acknowledged_everything() {
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

/// Repeats `look` until it returns a value, and sleeps in between.
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
    a.connect(Rank(1));
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
fn writing_to_a_peer_that_is_gone_kills_no_process_and_is_told() {
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

/// Returns the ends of a link with a packet each way, one of which was not read.
fn drained_with_unread() -> [Tcp; 2] {
    let [mut a, mut b] = pair();
    assert!(a.is_drained() && send(&mut b, TO_0, 7));
    for n in 0..10 {
        assert!(send(&mut a, TO_1, n));
    }
    until(|| a.is_drained() && b.is_drained());
    [a, b]
}

#[test]
fn who_ends_drained_has_lost_nothing_though_it_never_read() {
    for _ in 0..50 {
        let [a, mut b] = drained_with_unread();
        drop(a);
        let mut received = 0;
        until(|| {
            received += receive(&mut b, TO_0).map_or(0, |n| u32::from(n == received));
            received == 10
        });
    }
}

#[test]
fn what_the_system_holds_is_not_drained() {
    let limits = TcpLimits { payload: 64 << 20, ..TcpLimits::default() };
    let [mut a, mut b] = super::pair_of(limits);
    let most = a.caps(TO_1).max_bulk;
    a.begin_pass();
    assert!(a.claim(TO_1, most, Class::Message).is_ok());
    a.commit(TO_1, Header::default());
    assert!(!a.is_drained());
    until(|| {
        a.flush();
        b.fetch();
        a.is_drained()
    });
    until(|| b.poll(TO_0).unwrap().is_some_and(|packet| packet.bulk.len() == most));
}

/// Returns true if the descriptor of a rail is ready.
fn is_ready(rail: &Tcp) -> bool {
    let mut descriptors = [PollFd::from_borrowed_fd(rail.descriptor().unwrap(), PollFlags::IN)];
    poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).unwrap() > 0
}

#[test]
fn one_descriptor_stands_for_all() {
    let [mut a, mut b] = [open(0, 2), open(1, 2)];
    super::introduce(&mut a, &mut b);
    b.arm();
    assert!(!is_ready(&b));
    a.connect(Rank(1));
    until(|| is_ready(&b));
    until(|| {
        a.progress_connections(0);
        b.progress_connections(0);
        super::are_linked(&a, &b)
    });
    b.arm();
    assert!(!is_ready(&b), "who came is in");
    assert!(send(&mut a, TO_1, 1));
    until(|| is_ready(&b));
    until(|| receive(&mut b, TO_0) == Some(1));
    until(|| matches!(b.arm(), Armed::Ready));
    assert!(!is_ready(&b));
    drop(a);
    until(|| is_ready(&b));
    assert!(matches!(b.arm(), Armed::Work) && b.take_lost().is_some());
    assert!(matches!(b.arm(), Armed::Ready) && !is_ready(&b), "an end is news once");
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
    let [a, b] = super::pair_of(TcpLimits::default());
    let other = std::thread::spawn(move || flood(b, TO_0, 1000));
    let _open_until_the_other_is_done = flood(a, TO_1, 1000);
    other.join().unwrap();
}
