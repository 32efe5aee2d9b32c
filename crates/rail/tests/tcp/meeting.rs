//! Ranks that must meet, and processes that must not.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};

use canele_rail::Member;
use canele_rail::tcp::encode_address;
use canele_rail::tcp::{AddressFailure, ConnectFailure, Tcp, TcpLimits};
use canele_rail::{Class, Header, Rail, Recoverable};
use canele_rail::{Driver, Network};
use canele_sys::ids::{LinkId, Rank};
use canele_sys::port_range::PortRange;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

use super::{LOCALHOST, RAIL, are_linked, introduce, member, open, rank, small, until};

/// An address at which no process listens: its port belongs to a socket that stays as long as this process.
pub fn deserted() -> SocketAddr {
    let taken = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&taken, &SocketAddr::new(LOCALHOST, 0)).unwrap();
    let address = getsockname(&taken).unwrap().try_into().unwrap();
    std::mem::forget(taken);
    address
}

fn lost_after(a: &mut Tcp, b: &mut Tcp) -> ConnectFailure {
    let mut lost = None;
    until(|| {
        b.progress_connections(0);
        a.progress_connections(0);
        lost = a.take_failure();
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
                rail.connect(link.peer());
            } else {
                rail.progress_connections(0);
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
        assert!(a.take_failure().is_none() && b.take_failure().is_none());
    }
}

#[test]
fn the_connection_that_can_be_made_is_used() {
    // The lower rank's connection would be preferred, but leads nowhere.
    let [mut a, mut b] = [open(0, 2), open(1, 2)];
    introduce(&mut a, &mut b);
    a.introduce(Rank(1), &encode_address(&[deserted()]));
    a.connect(Rank(1));
    b.connect(Rank(0));
    until(|| {
        a.progress_connections(0);
        b.progress_connections(0);
        are_linked(&a, &b)
    });
}

#[test]
fn addresses_are_tried_in_order_and_each_failure_is_told() {
    let [mut a, mut b] = [open(0, 2), open(1, 2)];
    let good = b.addresses()[0];
    a.introduce(Rank(1), &encode_address(&[deserted(), deserted(), good]));
    a.connect(Rank(1));
    until(|| {
        a.progress_connections(0);
        b.progress_connections(0);
        are_linked(&a, &b)
    });
    let (mut a, bad) = (open(0, 2), [deserted(), deserted()]);
    a.introduce(Rank(1), &encode_address(&bad));
    a.connect(Rank(1));
    let text = lost_after(&mut a, &mut b).to_string();
    let refused = "Connection refused (os error 111)";
    let expected = format!("rank 1: no address leads there: {}: {refused}; {}: {refused}", bad[0], bad[1]);
    assert_eq!(text, expected);
    let mut a = open(0, 2);
    a.connect(Rank(1));
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
        let mut a = Tcp::listen(RAIL, stranger, &[LOCALHOST], small()).unwrap();
        let mut b = open(1, 2);
        a.introduce(Rank(1), &b.own_address());
        a.connect(Rank(1));
        let failures = lost_after(&mut a, &mut b).tried;
        assert!(
            matches!(failures[..], [(_, AddressFailure::Refused(_) | AddressFailure::HungUp)]),
            "{failures:?}"
        );
        until(|| {
            b.progress_connections(0);
            b.unproven() == (0, 1)
        });
        assert!(b.incoming().is_empty());
    }
}

#[test]
fn an_address_that_leads_back_is_refused() {
    let mut a = open(0, 2);
    let mut b = open(1, 2);
    a.introduce(Rank(1), &a.own_address());
    a.connect(Rank(1));
    let text = lost_after(&mut a, &mut b).to_string();
    assert!(text.contains("leads to this rank itself"), "{text}");
}

#[test]
fn another_version_is_told_ours() {
    let mut b = open(1, 2);
    let mut stream = TcpStream::connect(b.addresses()[0]).unwrap();
    stream.write_all(b"CANELE\x01\x00").unwrap();
    until(|| {
        b.progress_connections(0);
        b.unproven() == (0, 1)
    });
    let mut answer = vec![];
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"CANELE\x04\x00");
}

#[test]
fn a_newer_connection_waits_until_the_older_one_is_buried() {
    let [mut a, mut b] = super::pair();
    b.introduce(Rank(0), &a.own_address());
    let mut last = 0;
    for n in 0..20 {
        // One of the two dials, and the other has not looked at the old connection.
        let (dialler, other) = if n % 3 == 0 { (&mut b, &mut a) } else { (&mut a, &mut b) };
        let [to, back] = [&*other, &*dialler].map(|rail| LinkId::new(RAIL, rank(rail)));
        let ours = dialler.close_link(to).unwrap();
        dialler.connect(to.peer());
        let mut lost = None;
        until(|| {
            dialler.progress_connections(0);
            other.progress_connections(0);
            lost = other.take_lost();
            lost.is_some()
        });
        assert_eq!(lost.unwrap().link, back);
        for _ in 0..50 {
            dialler.progress_connections(0);
            other.progress_connections(0);
            assert!(dialler.link(to.peer()).is_none() && other.claim(back, 0, Class::Control).is_err());
        }
        let theirs = other.close_link(back).unwrap();
        assert!(ours.generation == theirs.generation && ours.generation > last);
        last = ours.generation;
        until(|| {
            dialler.progress_connections(0);
            other.progress_connections(0);
            are_linked(dialler, other)
        });
        assert!(a.take_lost().is_none() && b.take_lost().is_none());
    }
}

#[test]
fn addresses_of_the_newer_kind_serve_too() {
    let open = |me| Tcp::listen(RAIL, member(me, 2), &[LOCALHOST, Ipv6Addr::LOCALHOST.into()], small());
    let (Ok(mut a), Ok(mut b)) = (open(0), open(1)) else { return };
    a.introduce(Rank(1), &encode_address(&[b.addresses()[1]]));
    assert!(b.addresses()[1].is_ipv6());
    a.connect(Rank(1));
    until(|| {
        a.progress_connections(0);
        b.progress_connections(0);
        are_linked(&a, &b)
    });
}

#[test]
fn an_address_that_no_interface_has_at_the_moment_keeps_no_rail_from_opening() {
    let missing = Ipv4Addr::new(192, 0, 2, 1).into();
    let open = |me, addresses: &[IpAddr]| Tcp::listen(RAIL, member(me, 2), addresses, small()).unwrap();
    let (mut a, mut b) = (open(0, &[LOCALHOST]), open(1, &[missing, LOCALHOST]));
    assert_eq!(b.addresses().len(), 2, "it may come back: {:?}", b.take_refused());
    a.introduce(Rank(1), &b.own_address());
    a.connect(Rank(1));
    until(|| {
        a.progress_connections(0);
        b.progress_connections(0);
        are_linked(&a, &b)
    });
}

#[test]
fn an_address_that_cannot_be_listened_on_is_left_out() {
    // No socket is ever bound to an address of many receivers.
    let never = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x77).into();
    let mut rail = Tcp::listen(RAIL, member(0, 2), &[never, LOCALHOST], small()).unwrap();
    assert_eq!(rail.addresses().len(), 1);
    assert!(rail.take_refused().is_some_and(|why| why.to_string().contains("ff02::77")));
}

#[test]
fn a_rail_listens_on_a_port_of_the_range() {
    // Some of these may be in use by other programs.
    let ports = PortRange::read("41000-41999").unwrap();
    let [a, b] = super::pair_of(TcpLimits { ports, ..small() });
    let report = b.report_link(Rank(0)).expect("the link is open");
    let port: u16 = report.here.rsplit(':').next().unwrap().parse().unwrap();
    assert!((41_000..42_000).contains(&port), "rank 0 connected to {}", report.here);
    drop(a);
    // A range whose only port is in use leaves the rail without an address, with the reason.
    let taken = std::net::TcpListener::bind((LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let limits = TcpLimits { ports: PortRange::read(&port.to_string()).unwrap(), ..small() };
    let mut rail = Tcp::listen(RAIL, member(0, 2), &[LOCALHOST], limits).unwrap();
    let refused = rail.take_refused().expect("the address cannot be used").to_string();
    assert!(refused.contains(&format!("CANELE_PORTS={port}-{port}")), "{refused}");
}
