//! Peers that lie, and connections of strangers.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

use canele_rail::Network;
use canele_rail::tcp::encode_address;
use canele_rail::tcp::handshake::{Handshake, VERSION};
use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{Armed, Rail, Recoverable};
use canele_sys::ids::{LinkId, Rank};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

use super::{LOCALHOST, RAIL, are_linked, credentials, introduce, member, open, small, until};

const TO_0: LinkId = LinkId::new(RAIL, Rank(0));

/// Connects to rank 1 and makes the handshake of rank 0 by hand.
fn by_hand(b: &mut Tcp) -> TcpStream {
    let credentials = credentials(member(0, 2), RAIL);
    let mut stream = TcpStream::connect(b.addresses()[0]).unwrap();
    let mut handshake = Handshake::initiate(&credentials, Rank(1), 1, [1; 32]);
    while !handshake.is_over() {
        stream.write_all(handshake.to_send()).unwrap();
        handshake.handle_sent(handshake.to_send().len());
        let before = b.unproven().0;
        until(|| {
            b.progress_connections(0);
            b.unproven().0 >= before || b.link(Rank(0)).is_some()
        });
        stream.set_nonblocking(true).unwrap();
        let mut bytes = vec![0; handshake.wanted()];
        until(|| {
            b.progress_connections(0);
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
    frame[4..8].copy_from_slice(&[9, 2, 1, 3]);
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

#[test]
fn garbage_is_dropped_and_silence_ends_with_the_timeout() {
    let limits = TcpLimits { connect_timeout_ns: 1000, ..small() };
    let mut b = Tcp::listen(RAIL, member(1, 2), &[LOCALHOST], limits).unwrap();
    let address = b.addresses()[0];
    let connect = || TcpStream::connect(address).unwrap();
    for n in 0..3u64 {
        connect().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        until(|| {
            b.progress_connections(0);
            b.unproven() == (0, n + 1)
        });
    }
    let _silent: Vec<_> = (0..3).map(|_| connect()).collect();
    until(|| {
        b.progress_connections(1);
        b.unproven().0 == 3
    });
    b.set_time(1000);
    let _ = b.arm();
    assert_eq!(b.unproven(), (3, 3));
    b.set_time(1001);
    let _ = b.arm();
    assert_eq!(b.unproven(), (0, 6), "a rank that sleeps ends them too");
}

const SECOND_NS: u64 = 1_000_000_000;

/// The behaviour of an attacker's connections.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Hostile {
    Silent,
    /// Sends the first bytes of a hello.
    Half,
    /// Repeats the first flight of a peer, which the attacker has overheard.
    Repeating,
}

impl Hostile {
    fn connect(self, to: std::net::SocketAddr, flight: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(to).unwrap();
        let bytes = match self {
            Self::Silent => 0,
            Self::Half => 50,
            Self::Repeating => flight.len(),
        };
        // The connection may be evicted by now.
        let _ = stream.write_all(&flight[..bytes]);
        stream
    }
}

/// The clock stands still, so no connection times out. New ones come in each step, from the address of the
/// peer.
#[test]
fn a_peer_connects_among_any_number_of_strangers() {
    let credentials = credentials(member(0, 2), RAIL);
    let flight = Handshake::initiate(&credentials, Rank(1), 1, [1; 32]).to_send().to_vec();
    for hostile in [Hostile::Silent, Hostile::Half, Hostile::Repeating] {
        let [mut a, mut b] = [open(0, 2), open(1, 2)];
        introduce(&mut a, &mut b);
        let address = b.addresses()[0];
        let mut strangers: Vec<_> = (0..100).map(|_| hostile.connect(address, &flight)).collect();
        let mut opened = 0;
        until(|| {
            if a.link(Rank(1)).is_none() && b.link(Rank(0)).is_none() {
                // An evicted peer tries again.
                opened += u32::from(a.take_failure().is_some());
                a.connect(Rank(1));
            }
            // Each step brings four new connections: one for each place of a stranger.
            strangers.extend((0..4).map(|_| hostile.connect(address, &flight)));
            strangers.drain(..4);
            let _ = a.arm();
            let _ = b.arm();
            // Connections that repeat an overheard flight show the key, like the peer does.
            let most = if hostile == Hostile::Repeating { 16 * 4 + 4 } else { 1 + 4 };
            assert!(b.unproven().0 <= most, "{hostile:?}: {:?}", b.unproven());
            are_linked(&a, &b)
        });
        let yielded = if hostile == Hostile::Repeating { 20 } else { 90 };
        assert!(b.unproven().1 >= yielded, "{hostile:?}: those that yielded");
        assert!(hostile == Hostile::Repeating || opened == 0, "{hostile:?}: a peer is never evicted");
    }
}

#[test]
fn the_network_with_most_connections_yields() {
    let mut b = open(1, 2);
    let elsewhere = |n: u8| -> std::net::IpAddr { Ipv4Addr::new(127, 0, 0, n).into() };
    let address = b.addresses()[0];
    let connect_from = |from: std::net::IpAddr| {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &std::net::SocketAddr::new(from, 0)).unwrap();
        rustix::net::connect(&socket, &address).unwrap();
        TcpStream::from(socket)
    };
    let mut alone = connect_from(elsewhere(2));
    let many: Vec<_> = (0..200).map(|_| connect_from(elsewhere(3))).collect();
    until(|| {
        b.progress_connections(0);
        b.unproven() == (4, 197)
    });
    alone.set_nonblocking(true).unwrap();
    let answer = alone.read(&mut [0]).unwrap_err();
    assert_eq!(answer.kind(), std::io::ErrorKind::WouldBlock, "it is still connected");
    drop(many);
}

#[test]
fn a_stranger_that_trickles_is_dropped() {
    let mut b = open(1, 2);
    let mut stream = TcpStream::connect(b.addresses()[0]).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut bytes = [&b"CANELE"[..], &VERSION.to_le_bytes()].concat();
    bytes.resize(60, 0);
    let mut bytes = bytes.chunks(1);
    until(|| {
        b.progress_connections(0);
        let dropped = b.unproven().1 == 1;
        if !dropped && b.unproven().0 == 1 {
            // Each byte arrives before the next is sent, so each is read on its own.
            let _ = stream.write_all(bytes.next().expect("it is dropped before it has said so much"));
            let mut came = [PollFd::from_borrowed_fd(b.descriptor().unwrap(), PollFlags::IN)];
            poll(&mut came, Some(&Timespec { tv_sec: 60, tv_nsec: 0 })).unwrap();
        }
        dropped
    });
}

#[test]
fn who_has_proven_itself_takes_no_place() {
    let limits = TcpLimits { unproven: 1, ..small() };
    let [mut a, mut b, mut c] =
        [0, 1, 2].map(|me| Tcp::listen(RAIL, member(me, 3), &[LOCALHOST], limits).unwrap());
    introduce(&mut a, &mut b);
    introduce(&mut b, &mut c);
    a.connect(Rank(1));
    until(|| {
        a.progress_connections(0);
        b.progress_connections(0);
        are_linked(&a, &b)
    });
    // A newer connection of rank 0 waits until the older one is closed; rank 2 comes in meanwhile.
    a.close_link(LinkId::new(RAIL, Rank(1))).unwrap();
    a.connect(Rank(1));
    until(|| {
        a.progress_connections(0);
        b.progress_connections(0);
        b.take_lost().is_some()
    });
    c.connect(Rank(1));
    until(|| {
        c.progress_connections(0);
        b.progress_connections(0);
        are_linked(&b, &c)
    });
    assert!(a.link(Rank(1)).is_none());
}

/// An address that swallows connections: a listener whose queue is full.
fn abyss() -> (Vec<TcpStream>, std::net::SocketAddr, std::os::fd::OwnedFd) {
    let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&listener, &std::net::SocketAddr::new(LOCALHOST, 0)).unwrap();
    listen(&listener, 0).unwrap();
    let address: std::net::SocketAddr = getsockname(&listener).unwrap().try_into().unwrap();
    (vec![TcpStream::connect(address).unwrap()], address, listener)
}

#[test]
fn an_address_that_swallows_everything_holds_up_no_other() {
    let (_full, abyss, _listener) = abyss();
    let [mut a, mut b] = [open(0, 2), open(1, 2)];
    a.introduce(Rank(1), &encode_address(&[abyss, abyss, b.addresses()[0]]));
    a.connect(Rank(1));
    for _ in 0..50 {
        a.progress_connections(SECOND_NS);
        b.progress_connections(0);
        assert!(a.link(Rank(1)).is_none() && b.unproven().0 == 0, "each address has its moment");
    }
    let mut now_ns = SECOND_NS;
    until(|| {
        now_ns += SECOND_NS / 100;
        a.progress_connections(now_ns);
        b.progress_connections(0);
        are_linked(&a, &b)
    });
    assert!(now_ns >= SECOND_NS * 3 / 2, "two moments");
}

#[test]
fn after_the_timeout_each_address_is_told() {
    let (_full, abyss, _listener) = abyss();
    let deserted = super::meeting::deserted();
    let limits = TcpLimits { connect_timeout_ns: 15 * SECOND_NS, ..small() };
    let mut a = Tcp::listen(RAIL, member(0, 2), &[LOCALHOST], limits).unwrap();
    a.introduce(Rank(1), &encode_address(&[abyss, deserted]));
    a.connect(Rank(1));
    let (mut now_ns, mut told) = (0, None);
    until(|| {
        a.progress_connections(now_ns);
        now_ns += SECOND_NS / 10;
        told = a.take_failure();
        told.is_some()
    });
    assert!((15 * SECOND_NS..16 * SECOND_NS).contains(&now_ns));
    let expected = format!(
        "rank 1: no address leads there: {deserted}: Connection refused (os error 111); \
         {abyss}: no answer in time: Connection timed out (os error 110)"
    );
    assert_eq!(told.unwrap().to_string(), expected);
}

#[test]
fn a_thousand_connections_leave_nothing_behind() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let [mut a, mut b] = super::pair();
    let before = descriptors();
    for _ in 0..1000 {
        a.disconnect(LinkId::new(RAIL, Rank(1)));
        a.connect(Rank(1));
        until(|| {
            a.progress_connections(0);
            b.progress_connections(0);
            if let Some(lost) = b.take_lost() {
                b.disconnect(lost.link);
            }
            a.link(Rank(1)).is_some()
        });
    }
    // Other tests of this process have descriptors too.
    assert!(descriptors() < before + 500);
}
