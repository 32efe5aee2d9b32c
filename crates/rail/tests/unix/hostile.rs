//! Messages of processes without the key, and wrong messages of a peer that has it: none of them does harm.

use std::os::fd::OwnedFd;

use canele_rail::conformance::Harness;
use canele_rail::tcp::handshake::LONGEST_FLIGHT;
use canele_rail::{Class, Corrupt, Header, Member, Network, Rail, Recoverable};
use canele_sys::ids::{LinkId, Rank};
use rustix::net::listen;

use super::connections::{TIMEOUT_NS, UNPROVEN};
use super::frame::{Frame, HEAD, Sort};
use super::link::Link;
use super::socket::{accept, connect_to, open as open_socket, random, receive_packet, send_packet};
use super::{Local, RAIL, SMALL, Unix, open, until};

const TO_0: LinkId = LinkId::new(RAIL, Rank(0));

/// Returns three ranks with links 0–1 and 0–2.
fn connected() -> Local {
    let mut ranks = Local::new(3);
    ranks.connect(0, 1);
    ranks.connect(0, 2);
    ranks
}

fn link(ranks: &mut Local, at: usize, to: u32) -> &mut Link {
    ranks.rail(at).links.get_mut(&Rank(to)).expect("a link")
}

fn packet(number: u32, bulk: usize) -> Frame {
    Frame { sort: Sort::Packet, header: Header::default(), bulk, number, released: 0 }
}

/// Sends frames from rank 1 to rank 0 past the link's own rules. Returns the packets before the error and the
/// error that ends the link.
fn after(frames: &[Vec<u8>]) -> (usize, Corrupt) {
    let mut ranks = connected();
    for frame in frames {
        send_packet(&link(&mut ranks, 1, 0).socket, &[frame]).expect("an empty socket has room");
    }
    let from_1 = LinkId::new(RAIL, Rank(1));
    let rail = ranks.rail(0);
    rail.begin_pass();
    let mut packets = 0;
    let corrupt = loop {
        match rail.poll(from_1) {
            Ok(Some(_)) => packets += 1,
            Ok(None) => panic!("{packets} packets, and no error"),
            Err(corrupt) => break corrupt,
        }
        rail.release(from_1);
    };
    assert!(rail.claim(from_1, 0, Class::Control).is_err() && rail.take_lost().is_none());
    rail.disconnect(from_1);
    // The link to the other rank is unchanged.
    rail.post_to(2);
    ranks.deliver();
    assert!(ranks.rail(2).poll(TO_0).expect("an honest peer").is_some());
    (packets, corrupt)
}

impl Unix {
    fn post_to(&mut self, peer: u32) {
        let link = LinkId::new(RAIL, Rank(peer));
        self.claim(link, 0, Class::Message).expect("an empty link has room");
        self.commit(link, Header::default());
    }
}

#[test]
fn a_wrong_frame_ends_its_link_after_the_packets_before_it() {
    let good = packet(0, 10);
    let good = [&good.encode()[..], &[7; 10]].concat();
    let changed = |at: usize, to: u8| {
        let mut frame = [&packet(1, 10).encode()[..], &[7; 10]].concat();
        frame[at] = to;
        frame
    };
    let head = |frame: Frame| frame.encode().to_vec();
    let wrong = [
        (b"GET / HTTP/1.1\r\n".to_vec(), "less than a head"),
        (vec![0xff; 200], "unknown sort"),
        (changed(0, 3), "unknown sort"),
        (changed(3, 1), "unknown sort"),
        (changed(2, 49), "claims 49"),
        (changed(2, 41), "claims 41"),
        (changed(4, 9), "claims 0 and 9"),
        (changed(7, 0xff), "claims 0 and"),
        (good[..HEAD + 9].to_vec(), "claims 0 and 10"),
        (good[..HEAD - 1].to_vec(), "less than a head"),
        (head(Frame { sort: Sort::Credit, ..packet(1, 10) }), "claims 0 and 10"),
        (good.clone(), "packet 0 instead of 1"),
        (head(packet(2, 0)), "packet 2 instead of 1"),
        (head(Frame { sort: Sort::Credit, released: 1, ..packet(1, 0) }), "1 packets released"),
        (head(Frame { sort: Sort::End, released: u32::MAX, ..packet(1, 0) }), "packets released"),
        ([&packet(1, 257).encode()[..], &[0; 257]].concat(), "no room"),
        (vec![0; SMALL.max_frame() + 1], "more than any"),
    ];
    for (frame, why) in wrong {
        let (packets, corrupt) = after(&[good.clone(), frame]);
        assert!(
            packets == 1 && corrupt.0.contains(why),
            "{packets} packets, then {corrupt} instead of {why}"
        );
    }
}

#[test]
fn a_peer_that_sends_more_than_there_is_room_for_is_found_out() {
    let frame = |number, bulk| [&packet(number, bulk).encode()[..], &vec![1; bulk]].concat();
    let packets: Vec<_> = (0..=SMALL.cells).map(|number| frame(number, 0)).collect();
    assert_eq!(after(&packets).0, SMALL.cells as usize);
    let bulks: Vec<_> = (0..5).map(|number| frame(number, SMALL.max_bulk())).collect();
    assert_eq!(after(&bulks).0, 4);
}

#[test]
fn a_peer_that_reads_nothing_is_told_of_room_only_as_often_as_the_system_takes_it() {
    let mut ranks = connected();
    let from_1 = LinkId::new(RAIL, Rank(1));
    let mut number = 0;
    until(|| {
        // Sends as many packets as fit if every report of room counted.
        for _ in 0..SMALL.cells / 4 {
            let frame = packet(number, 0).encode();
            let sent = send_packet(&link(&mut ranks, 1, 0).socket, &[&frame]);
            number += u32::from(sent.is_ok());
        }
        let rail = ranks.rail(0);
        rail.begin_pass();
        loop {
            match rail.poll(from_1) {
                Ok(Some(_)) => {}
                Ok(None) => break false,
                Err(corrupt) => break corrupt.0.contains("no room"),
            }
            rail.release(from_1);
        }
    });
    assert!(number > SMALL.cells, "{number} packets came before");
}

#[test]
fn any_bytes_decode_to_what_is_there_or_not_at_all() {
    let good = [&packet(1, 10).encode()[..], &[7; 10]].concat();
    for bit in 0..8 * good.len() {
        let mut frame = good.clone();
        frame[bit / 8] ^= 1 << (bit % 8);
        for len in 0..=frame.len() {
            if let Ok(decoded) = Frame::decode(&frame[..len]) {
                assert_eq!(HEAD + decoded.header.inline_len as usize + decoded.bulk, len);
            }
        }
    }
    for len in 0..HEAD {
        assert!(Frame::decode(&vec![0; len]).is_err());
    }
}

/// Connects rank `a`, which is 0, to `b`, which is 1, and returns why it failed.
fn fails(a: &mut Unix, mut others: impl FnMut(u64)) -> String {
    a.connect(Rank(1));
    let (mut now_ns, mut failed) = (0, None);
    until(|| {
        now_ns += 1_000_000;
        others(now_ns);
        a.progress_connections(now_ns);
        failed = failed.take().or_else(|| a.take_unreachable());
        failed.is_some() || a.link(Rank(1)).is_some()
    });
    assert!(a.incoming().is_empty() && a.take_opened().is_none());
    failed.expect("no link").why
}

#[test]
fn a_rank_without_the_key_meets_no_rank() {
    let member = Member { me: Rank(0), ranks: 2, job: 77, key: [4; 32] };
    let mut stranger = Unix::listen(RAIL, member, &["canele-test-".into()], SMALL).unwrap();
    let mut rank = open(1, 2);
    assert!(stranger.introduce(Rank(1), &rank.own_address()));
    fails(&mut stranger, |now_ns| _ = rank.progress_connections(now_ns));
    assert!(rank.incoming().is_empty() && rank.accepted.is_empty() && rank.take_opened().is_none());
    // Another rank does not take the stranger for the rank at whose name it listens.
    let mut honest = open(0, 2);
    let member = Member { me: Rank(1), ..member };
    let mut stranger = Unix::listen(RAIL, member, &["canele-test-".into()], SMALL).unwrap();
    assert!(honest.introduce(Rank(1), &stranger.own_address()));
    fails(&mut honest, |now_ns| _ = stranger.progress_connections(now_ns));
    assert!(stranger.incoming().is_empty());
}

#[test]
fn strangers_that_say_nothing_or_garbage_keep_no_peer_out() {
    let mut ranks = Local::new(2);
    let name = ranks.rail(1).own_address();
    let mut strangers = Vec::new();
    for n in 0..4 * UNPROVEN {
        let (socket, _) = open_socket(b"canele-stranger-").unwrap();
        connect_to(&socket, &name).expect("the queue has room");
        let garbage = [random::<64>().unwrap(), random().unwrap()].concat();
        if n % 2 == 0 {
            send_packet(&socket, &[&garbage[..1 + n]]).unwrap();
        }
        strangers.push(socket);
        if n % 8 == 0 {
            ranks.rail(1).progress_connections(0);
            assert!(ranks.rail(1).accepted.len() <= UNPROVEN);
        }
    }
    ranks.connect(0, 1);
    assert_eq!(ranks.rail(1).incoming(), [TO_0]);
    assert!(ranks.rail(1).next_timeout().is_some(), "silent ones are still there");
    ranks.rail(1).progress_connections(TIMEOUT_NS);
    assert!(ranks.rail(1).accepted.is_empty() && ranks.rail(1).next_timeout().is_none());
}

#[test]
fn strangers_behind_a_peer_do_not_take_its_place() {
    let mut ranks = Local::new(2);
    let name = ranks.rail(1).own_address();
    ranks.rail(0).connect(Rank(1));
    // Its first flight is on its way before any stranger comes.
    ranks.rail(0).progress_connections(0);
    let strangers: Vec<_> = (0..2 * UNPROVEN)
        .map(|_| {
            let (socket, _) = open_socket(b"canele-stranger-").unwrap();
            connect_to(&socket, &name).expect("the queue has room");
            socket
        })
        .collect();
    until(|| {
        ranks.rail(1).progress_connections(0);
        ranks.rail(0).progress_connections(0);
        assert!(ranks.rail(0).take_unreachable().is_none(), "the attempt was dropped");
        ranks.rail(0).link(Rank(1)).is_some()
    });
    assert_eq!(ranks.rail(1).incoming(), [TO_0]);
    drop(strangers);
}

#[test]
fn an_attempt_that_the_peers_own_connection_stands_for_has_an_end() {
    let mut ranks = Local::new(2);
    // Rank 1 proves itself, and accepts nothing; rank 0 prefers its own attempt.
    for (at, to) in [(0, 1), (1, 0)] {
        ranks.rail(at).connect(Rank(to));
    }
    until(|| {
        ranks.rail(1).progress_attempts();
        ranks.rail(0).progress_connections(0);
        ranks.rail(0).accepted.iter().any(|accepted| accepted.is_proven())
    });
    assert!(ranks.rail(0).take_unreachable().is_none() && ranks.rail(0).take_opened().is_none());
    ranks.kill(1);
    until(|| {
        ranks.rail(0).progress_connections(0);
        ranks.rail(0).take_unreachable().is_some_and(|failed| failed.link.peer() == Rank(1))
    });
    assert!(ranks.rail(0).take_opened().is_none() && ranks.rail(0).take_unreachable().is_none());
}

#[test]
fn a_process_that_takes_the_name_of_a_dead_rank_is_not_believed() {
    let mut rank = open(0, 2);
    let (listener, name) = open_socket(b"canele-test-").unwrap();
    listen(&listener, 8).unwrap();
    for answer in [vec![0; LONGEST_FLIGHT], vec![1], b"CANELE".to_vec(), vec![0; 4096]] {
        assert!(rank.introduce(Rank(1), &name));
        let mut connection = None;
        let why = fails(&mut rank, |_| {
            if connection.is_none() {
                connection = accept(&listener).ok();
                let sent = connection.iter().map(|(socket, _)| send_packet(socket, &[&answer]).is_ok());
                assert!(sent.count() <= 1);
            }
        });
        assert!(!why.contains("does not answer"), "{why}");
    }
}

/// Passes packets on, and returns their number.
fn pass_on(from: &OwnedFd, to: &OwnedFd) -> usize {
    let mut buffer = [0; 256];
    let mut count = 0;
    while let Ok(len @ 1..) = receive_packet(from, &mut buffer) {
        count += usize::from(send_packet(to, &[&buffer[..len]]).is_ok());
    }
    count
}

#[test]
fn proofs_that_are_passed_on_convince_no_rank() {
    let (mut a, mut b) = (open(0, 2), open(1, 2));
    let (listener, name) = open_socket(b"canele-relay-").unwrap();
    listen(&listener, 8).unwrap();
    assert!(a.introduce(Rank(1), &name));
    let (onward, _) = open_socket(b"canele-relay-").unwrap();
    connect_to(&onward, &b.own_address()).unwrap();
    let (mut connection, mut passed) = (None, 0);
    a.connect(Rank(1));
    // The relay never closes: only the ranks' own decisions end this.
    until(|| {
        a.progress_connections(0);
        connection = connection.take().or_else(|| accept(&listener).ok());
        if let Some((socket, _)) = &connection {
            passed += pass_on(socket, &onward);
            passed += pass_on(&onward, socket);
        }
        b.progress_connections(0);
        passed > 0 && b.accepted.is_empty()
    });
    assert!(b.incoming().is_empty() && b.take_opened().is_none() && a.incoming().is_empty());
    a.progress_connections(TIMEOUT_NS);
    assert!(a.take_unreachable().is_some() && a.take_opened().is_none());
}

#[test]
fn a_peer_that_dies_is_lost_after_what_it_has_sent() {
    let mut ranks = connected();
    ranks.rail(1).claim(TO_0, 0, Class::Message).unwrap();
    ranks.rail(1).commit(TO_0, Header::default());
    ranks.kill(1);
    let rail = ranks.rail(0);
    let from_1 = LinkId::new(RAIL, Rank(1));
    until(|| {
        rail.begin_pass();
        rail.take_lost().is_some_and(|lost| lost.link == from_1 && !lost.finished)
    });
    assert!(rail.poll(from_1).expect("an honest peer").is_some());
    rail.release(from_1);
    assert!(rail.poll(from_1).expect("an honest peer").is_none() && rail.take_lost().is_none());
}

#[test]
fn what_a_peer_has_sent_comes_though_it_left_something_unread() {
    for finishes in [false, true] {
        let mut ranks = connected();
        let from_1 = LinkId::new(RAIL, Rank(1));
        ranks.rail(0).post_to(1);
        ranks.rail(1).post_to(0);
        if finishes {
            ranks.rail(1).finish();
        }
        ranks.kill(1);
        let rail = ranks.rail(0);
        let mut packets = 0;
        until(|| {
            rail.begin_pass();
            if rail.poll(from_1).expect("an honest peer").is_some() {
                rail.release(from_1);
                packets += 1;
            }
            rail.take_lost().is_some_and(|lost| lost.finished == finishes)
        });
        // The loss may be reported before the last packets are polled.
        packets += usize::from(rail.poll(from_1).expect("an honest peer").is_some());
        assert_eq!(packets, 1, "finishes: {finishes}");
    }
}
