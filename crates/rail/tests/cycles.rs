//! Connections that come and go a thousand times leave neither descriptors nor memory behind, however they end.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

use canele_rail::tcp::encode_address;
use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{FastPath, Header, Rail, Recoverable};
use canele_rail::{Member, Network};
use canele_sys::ids::{LinkId, Rank};

const CYCLES: usize = 1000;
/// The capacity in bytes that lists and maps may keep.
const KEPT_BYTES: i64 = 16 << 10;
/// Checks after which an event is taken never to happen.
const MANY: usize = 100_000;

fn open(me: u32) -> Tcp {
    let member = Member { me: Rank(me), ranks: 2, job: 77, key: [3; 32] };
    let limits = TcpLimits {
        cells: 16,
        payload: 1024,
        unproven: 4,
        connect_timeout_ns: u64::MAX,
        ..TcpLimits::default()
    };
    Tcp::listen(1, member, &[Ipv4Addr::LOCALHOST.into()], limits).unwrap()
}

fn to(rank: u32) -> LinkId {
    LinkId::new(1, Rank(rank))
}

fn until(mut look: impl FnMut() -> bool) {
    let met = (0..MANY).any(|n| {
        if n > 100 {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        look()
    });
    assert!(met, "it never happens");
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Runs ten cycles to warm up, then a thousand that must leave nothing behind.
fn leaves_nothing(what: &str, mut cycle: impl FnMut(usize)) {
    (0..10).for_each(&mut cycle);
    let before = descriptors();
    let held = allocation_counter::measure(|| (0..CYCLES).for_each(&mut cycle)).bytes_current;
    assert_eq!(descriptors(), before, "{what}: descriptors");
    assert!(held < KEPT_BYTES, "{what}: {held} bytes more after {CYCLES} cycles");
}

fn connect(a: &mut Tcp, b: &mut Tcp) {
    a.connect(Rank(1));
    until(|| {
        a.progress_connections(0);
        b.progress_connections(0);
        a.link(Rank(1)).is_some() && b.link(Rank(0)).is_some()
    });
}

fn post(rail: &mut Tcp, link: LinkId) {
    rail.begin_pass();
    rail.post(link, Header { inline_len: 8, ..Header::default() }, &[1; 8]).unwrap();
}

/// The only test of its process, because it counts the descriptors and memory of the process.
#[test]
fn a_thousand_connections_of_any_kind_leave_nothing() {
    let (mut a, mut b) = (open(0), open(1));
    let address = b.addresses()[0];
    a.introduce(Rank(1), &encode_address(&[address]));
    leaves_nothing("connected, used, given up by either end", |n| {
        connect(&mut a, &mut b);
        post(&mut a, to(1));
        post(&mut b, to(0));
        let (one, other) = if n % 2 == 0 { (&mut a, &mut b) } else { (&mut b, &mut a) };
        let (there, back) = if n % 2 == 0 { (to(1), to(0)) } else { (to(0), to(1)) };
        if n % 4 < 2 {
            one.disconnect(there);
        } else {
            assert!(one.close_link(there).is_some_and(|unacked| unacked.kept.len() <= 1));
        }
        // Packets sent earlier can still be read; then the loss is reported.
        until(|| {
            while other.poll(back).unwrap().is_some() {
                other.release(back);
            }
            other.take_lost().is_some()
        });
        drop(other.close_link(back));
    });
    leaves_nothing("strangers that say nothing, garbage, or half a greeting", |n| {
        let before = b.unproven().1;
        let mut stranger = TcpStream::connect(address).unwrap();
        let words: [&[u8]; 4] = [b"", b"GET / HTTP/1.1\r\n\r\n", b"CANELE\x02\x00\x01", b"CANELE\x63\x00"];
        stranger.write_all(words[n % 4]).unwrap();
        drop(stranger);
        until(|| {
            b.progress_connections(0);
            b.unproven() == (0, before + 1)
        });
    });
    let deserted: SocketAddr = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    a.introduce(Rank(1), &encode_address(&[deserted; 3]));
    leaves_nothing("dials that no rank answers", |_| {
        a.connect(Rank(1));
        until(|| {
            a.progress_connections(0);
            a.take_failure().is_some_and(|why| why.tried.len() == 3)
        });
    });
    leaves_nothing("dials that are given up", |_| {
        a.introduce(Rank(1), &encode_address(&[address]));
        a.connect(Rank(1));
        a.disconnect(to(1));
        until(|| {
            b.progress_connections(0);
            b.unproven().0 == 0
        });
    });
}
