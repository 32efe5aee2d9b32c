//! The TCP driver passes the suite, meets its peers and no other process, and reports lost peers.

mod chance;
mod cut;
mod finish;
mod hostile;
mod idle;
mod meeting;
mod memory;
mod traffic;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use canele_rail::Rail;
use canele_rail::conformance::{Harness, NetworkHarness};
use canele_rail::tcp::handshake::{Credentials, SocketNames};
use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{Member, Network};
use canele_sys::ids::{LinkId, Rank};

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The number of the rail: links carry it.
const RAIL: u8 = 3;
/// Attempts after which an event is taken never to happen. Each one sleeps for a moment if nothing has come.
const MANY: usize = 20_000;

fn member(me: u32, ranks: u32) -> Member {
    Member { me: Rank(me), ranks, job: 77, key: [3; 32] }
}

/// Returns what a rank with the limits of [`small`] proves in a handshake.
fn credentials(member: Member, rail: u8) -> Credentials {
    let Member { me, ranks, job, key } = member;
    Credentials { me, rail, ranks, job, key, cells: 16, payload: 1024, sockets: SocketNames::default() }
}

fn small() -> TcpLimits {
    TcpLimits { cells: 16, payload: 1024, unproven: 4, connect_timeout_ns: u64::MAX, ..TcpLimits::default() }
}

fn open(me: u32, ranks: u32) -> Tcp {
    Tcp::listen(RAIL, member(me, ranks), &[LOCALHOST], small()).unwrap()
}

/// Repeats `look` until it is true.
fn until(mut look: impl FnMut() -> bool) {
    for n in 0..MANY {
        if look() {
            return;
        }
        if n > 100 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    panic!("it never happens");
}

/// Introduces two rails to each other by their addresses.
fn introduce(a: &mut Tcp, b: &mut Tcp) {
    a.introduce(rank(b), &b.own_address());
    b.introduce(rank(a), &a.own_address());
}

fn rank(rail: &Tcp) -> Rank {
    rail.me()
}

/// Returns true if both rails see the link.
fn are_linked(a: &Tcp, b: &Tcp) -> bool {
    a.link(rank(b)).is_some() && b.link(rank(a)).is_some()
}

/// Returns ranks 0 and 1, linked.
fn pair() -> [Tcp; 2] {
    let mut local = Local::<false>::new(2);
    local.connect(0, 1);
    let mut rails = local.0.into_iter().flatten();
    std::array::from_fn(|_| rails.next().expect("two"))
}

/// Returns ranks 0 and 1, linked, with these limits.
fn pair_of(limits: TcpLimits) -> [Tcp; 2] {
    let [mut a, mut b] = [0, 1].map(|me| Tcp::listen(RAIL, member(me, 2), &[LOCALHOST], limits).unwrap());
    introduce(&mut a, &mut b);
    a.connect(Rank(1));
    until(|| {
        a.progress_connections(0);
        b.progress_connections(0);
        are_linked(&a, &b)
    });
    [a, b]
}

/// All ranks in one process, introduced to each other, over IPv6 if `NEWER`, else over IPv4.
struct Local<const NEWER: bool>(Vec<Option<Tcp>>);

impl<const NEWER: bool> Local<NEWER> {
    /// Returns true if both ends of a link have received and acknowledged all packets.
    fn is_quiet(&self, a: usize, b: usize) -> bool {
        let progress = |at: usize, of: usize| {
            self.0[at].as_ref().and_then(|rail| rail.progress(LinkId::new(RAIL, Rank(of as u32))))
        };
        let (Some(here), Some(there)) = (progress(a, b), progress(b, a)) else { return true };
        here.committed == there.expected && here.acknowledged == there.told
    }
}

impl<const NEWER: bool> Harness for Local<NEWER> {
    type Rail = Tcp;
    /// Sequence numbers start close to their wrap, and ring memory wraps every few packets.
    const WRAPPED: u64 = 50_000;

    fn new(ranks: usize) -> Self {
        let address = if NEWER { Ipv6Addr::LOCALHOST.into() } else { LOCALHOST };
        let open = |rank| Tcp::listen(RAIL, member(rank, ranks as u32), &[address], small()).unwrap();
        let mut rails: Vec<_> = (0..ranks as u32).map(open).collect();
        let addresses: Vec<_> = rails.iter().map(Tcp::own_address).collect();
        for rail in &mut rails {
            for (peer, addresses) in addresses.iter().enumerate() {
                rail.introduce(Rank(peer as u32), addresses);
            }
        }
        Self(rails.into_iter().map(Some).collect())
    }

    fn rail(&mut self, rank: usize) -> &mut Tcp {
        self.0[rank].as_mut().expect("a rank that lives")
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.rail(from).connect(Rank(to as u32));
        until(|| {
            self.rail(to).progress_connections(0);
            self.rail(from).progress_connections(0);
            let pair = [(from, to), (to, from)];
            pair.iter().all(|(a, b)| self.rail(*a).link(Rank(*b as u32)).is_some())
        });
    }

    fn deliver(&mut self) {
        for rail in self.0.iter_mut().flatten() {
            rail.flush();
        }
        let ranks = self.0.len();
        until(|| {
            let mut pairs = (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b)));
            let quiet = pairs.all(|(a, b)| self.is_quiet(a, b));
            if !quiet {
                for rail in self.0.iter_mut().flatten() {
                    rail.fetch();
                    rail.flush();
                }
            }
            quiet
        });
    }

    fn advance(&mut self) {
        for rail in self.0.iter_mut().flatten() {
            rail.flush();
        }
    }

    fn kill(&mut self, rank: usize) {
        self.0[rank] = None;
    }
}

mod older {
    canele_rail::conformance!(super::Local<false>, without regions);
}

mod newer {
    canele_rail::conformance!(super::Local<true>, without regions);
}

/// Ranks in one process, not introduced to each other.
struct Strangers {
    rails: Vec<Option<Tcp>>,
    now_ns: u64,
}

impl NetworkHarness for Strangers {
    type Network = Tcp;

    fn new(ranks: usize) -> Self {
        let limits = TcpLimits { connect_timeout_ns: 1_000_000_000, ..small() };
        let open = |me| Some(Tcp::listen(RAIL, member(me, ranks as u32), &[LOCALHOST], limits).unwrap());
        Self { rails: (0..ranks as u32).map(open).collect(), now_ns: 0 }
    }

    fn network(&mut self, rank: usize) -> &mut Tcp {
        self.rails[rank].as_mut().expect("a rank that lives")
    }

    fn step(&mut self) {
        self.now_ns += 1_000_000;
        for rail in self.rails.iter_mut().flatten() {
            rail.progress_connections(self.now_ns);
            let _ = rail.arm();
            rail.fetch();
        }
        std::thread::sleep(std::time::Duration::from_micros(50));
    }

    fn kill(&mut self, rank: usize) {
        self.rails[rank] = None;
    }
}

mod control_path {
    canele_rail::network_conformance!(super::Strangers);
}
