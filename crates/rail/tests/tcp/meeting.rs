//! Who meets whom, and who does not.

use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};

use canele_rail::tcp::{Failure, Limits, Member, Tcp, Unreachable};
use canele_rail::{Class, Header, Rail};
use canele_sys::ids::{LinkId, Rank};

use super::{LOCALHOST, RAIL, are_linked, introduce, member, open, rank, small, until};

/// An address where nobody listens.
fn deserted() -> SocketAddr {
    TcpListener::bind((LOCALHOST, 0)).unwrap().local_addr().unwrap()
}

fn lost_after(a: &mut Tcp, b: &mut Tcp) -> Unreachable {
    let mut lost = None;
    until(|| {
        b.meet(0);
        a.meet(0);
        lost = a.take_unreachable();
        lost.is_some()
    });
    lost.unwrap()
}

#[test]
fn two_that_connect_at_once_have_one_link_and_lose_nothing() {
    for seed in 0..100u32 {
        let [mut a, mut b] = [open(0, 2), open(1, 2)];
        introduce(&mut a, &mut b);
        let (mut sent, mut received) = ([0u32; 2], [0u32; 2]);
        let mut turns = seed.wrapping_mul(0x9e37_79b9);
        let mut opened = [false; 2];
        until(|| {
            turns = turns.rotate_left(5).wrapping_mul(5).wrapping_add(1);
            let at = (turns >> 16 & 1) as usize;
            let (rail, link) = if at == 0 {
                (&mut a, LinkId::new(RAIL, Rank(1)))
            } else {
                (&mut b, LinkId::new(RAIL, Rank(0)))
            };
            if !opened[at] {
                opened[at] = true;
                rail.open_link(link.peer());
            } else {
                rail.meet(0);
            }
            rail.begin_pass();
            if sent[at] < 5 && rail.claim(link, 0, Class::Message).is_ok() {
                rail.commit(link, Header { tag: sent[at], ..Header::default() });
                sent[at] += 1;
            }
            rail.flush();
            if let Some(packet) = rail.poll(link).unwrap() {
                assert_eq!(packet.header.tag, received[at]);
                received[at] += 1;
                rail.release(link);
            }
            received == [5, 5]
        });
        assert!(are_linked(&a, &b) && a.incoming().len() == 1 && b.incoming().len() == 1);
        assert!(a.take_lost().is_none() && b.take_lost().is_none());
        assert!(a.take_unreachable().is_none() && b.take_unreachable().is_none());
    }
}

#[test]
fn the_connection_that_can_be_made_is_used() {
    // The lower rank's would be preferred, but leads nowhere.
    let [mut a, mut b] = [open(0, 2), open(1, 2)];
    introduce(&mut a, &mut b);
    a.introduce(Rank(1), vec![deserted()]);
    a.open_link(Rank(1));
    b.open_link(Rank(0));
    until(|| {
        a.meet(0);
        b.meet(0);
        are_linked(&a, &b)
    });
}

#[test]
fn addresses_are_tried_in_order_and_each_failure_is_told() {
    let [mut a, mut b] = [open(0, 2), open(1, 2)];
    let good = b.addresses()[0];
    a.introduce(Rank(1), vec![deserted(), deserted(), good]);
    a.open_link(Rank(1));
    until(|| {
        a.meet(0);
        b.meet(0);
        are_linked(&a, &b)
    });
    let (mut a, bad) = (open(0, 2), [deserted(), deserted()]);
    a.introduce(Rank(1), bad.to_vec());
    a.open_link(Rank(1));
    let text = lost_after(&mut a, &mut b).to_string();
    let refused = "Connection refused (os error 111)";
    let expected = format!("rank 1: no address leads there: {}: {refused}; {}: {refused}", bad[0], bad[1]);
    assert_eq!(text, expected);
    let mut a = open(0, 2);
    a.open_link(Rank(1));
    assert_eq!(lost_after(&mut a, &mut b).to_string(), "rank 1: no address leads there: none is known");
}

#[test]
fn who_does_not_belong_is_refused_at_both_ends() {
    let strangers = [
        Member { key: [9; 32], ..member(0, 2) },
        Member { job: 78, ..member(0, 2) },
        Member { me: Rank(5), ..member(5, 6) },
    ];
    for stranger in strangers {
        let mut a = Tcp::open(RAIL, stranger, &[LOCALHOST], small()).unwrap();
        let mut b = open(1, 2);
        a.introduce(Rank(1), b.addresses().to_vec());
        a.open_link(Rank(1));
        let failures = lost_after(&mut a, &mut b).tried;
        assert!(matches!(failures[..], [(_, Failure::Refused(_) | Failure::HungUp)]), "{failures:?}");
        until(|| {
            b.meet(0);
            b.unproven() == (0, 1)
        });
        assert!(b.incoming().is_empty());
    }
}

#[test]
fn an_address_that_leads_back_is_refused() {
    let mut a = open(0, 2);
    let mut b = open(1, 2);
    a.introduce(Rank(1), a.addresses().to_vec());
    a.open_link(Rank(1));
    let text = lost_after(&mut a, &mut b).to_string();
    assert!(text.contains("leads to this rank itself"), "{text}");
}

#[test]
fn another_version_is_told_ours() {
    let mut b = open(1, 2);
    let mut stream = TcpStream::connect(b.addresses()[0]).unwrap();
    stream.write_all(b"CANELE\x02\x00").unwrap();
    until(|| {
        b.meet(0);
        b.unproven() == (0, 1)
    });
    let mut answer = vec![];
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"CANELE\x01\x00");
}

#[test]
fn garbage_is_dropped_and_silence_holds_a_bounded_number_of_places_for_a_bounded_time() {
    let limits = Limits { patience_ns: 1000, ..small() };
    let mut b = Tcp::open(RAIL, member(1, 2), &[LOCALHOST], limits).unwrap();
    let mut a =
        Tcp::open(RAIL, member(0, 2), &[LOCALHOST], Limits { patience_ns: u64::MAX, ..limits }).unwrap();
    introduce(&mut a, &mut b);
    let address = b.addresses()[0];
    let connect = || TcpStream::connect(address).unwrap();
    for n in 0..3u64 {
        connect().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        until(|| {
            b.meet(0);
            b.unproven() == (0, n + 1)
        });
    }
    let silent: Vec<_> = (0..10).map(|_| connect()).collect();
    a.open_link(Rank(1));
    until(|| {
        b.meet(1);
        b.unproven().0 == 4
    });
    for _ in 0..50 {
        b.meet(2);
        assert_eq!(b.unproven(), (4, 3), "patience lasts, and there is no further place");
    }
    let mut now_ns = 1;
    until(|| {
        now_ns += 500;
        a.meet(0);
        b.meet(now_ns);
        assert!(b.unproven().0 <= 4);
        are_linked(&a, &b)
    });
    drop(silent);
}

#[test]
fn a_second_connection_waits_until_the_first_is_forgotten() {
    let [mut a, mut b] = super::pair();
    drop(a);
    a = open(0, 2);
    a.introduce(Rank(1), b.addresses().to_vec());
    a.open_link(Rank(1));
    let link = b.link(Rank(0)).unwrap();
    for _ in 0..50 {
        a.meet(0);
        b.meet(0);
        assert!(a.link(rank(&b)).is_none());
    }
    b.disconnect(link);
    until(|| {
        a.meet(0);
        b.meet(0);
        are_linked(&a, &b)
    });
}

#[test]
fn addresses_of_the_newer_kind_serve_too() {
    let open = |me| Tcp::open(RAIL, member(me, 2), &[LOCALHOST, Ipv6Addr::LOCALHOST.into()], small());
    let (Ok(mut a), Ok(mut b)) = (open(0), open(1)) else { return };
    a.introduce(Rank(1), vec![b.addresses()[1]]);
    assert!(b.addresses()[1].is_ipv6());
    a.open_link(Rank(1));
    until(|| {
        a.meet(0);
        b.meet(0);
        are_linked(&a, &b)
    });
}
