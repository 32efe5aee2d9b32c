//! A driver over Unix-domain sockets, written by following `docs/drivers.md`. It exists for tests alone, and
//! shows the smallest driver with a control path.
//!
//! - `frame`: the bytes of a packet, and how they are checked.
//! - `socket`: the system calls.
//! - `link`: room, order and credit of one connection.
//! - `rail`: the traits that move packets.
//! - `connections`, `network`: the control path, with proofs of the job's key.
//! - `hostile`, `jobs`, `set`: tests beside the suites.

mod connections;
mod frame;
mod hostile;
mod jobs;
mod link;
mod network;
mod rail;
mod set;
mod socket;

use canele_rail::conformance::{Harness, NetworkHarness};
use canele_rail::{Member, Network, Rail};
use canele_sys::ids::Rank;
use link::Limits;
use rail::Unix;

/// The number of the rail: links carry it.
const RAIL: u8 = 3;
/// Attempts after which an event is taken never to happen. Each one sleeps for a moment if nothing has come.
const MANY: usize = 20_000;

const SMALL: Limits = Limits { cells: 16, payload: 1024 };

fn open(me: u32, ranks: u32) -> Unix {
    let member = Member { me: Rank(me), ranks, job: 77, key: [3; 32] };
    Unix::listen(RAIL, member, &["canele-test-".into()], SMALL).expect("descriptors")
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

/// All ranks in one process, introduced to each other.
struct Local(Vec<Option<Unix>>);

impl Local {
    /// Returns true if all packets that one rank has sent are at the other.
    fn has_arrived(&self, from: usize, to: usize) -> bool {
        let counters = |at: usize, of: usize| {
            let rail = self.0[at].as_ref()?;
            rail.links.get(&Rank(of as u32)).map(|link| (link.counters(), link.has_waiting()))
        };
        let (Some(((sent, _), has_waiting)), Some(((_, received), _))) =
            (counters(from, to), counters(to, from))
        else {
            return true;
        };
        sent == received && !has_waiting
    }
}

impl Harness for Local {
    type Rail = Unix;
    /// Sequence numbers have 32 bits, and no ring memory wraps.
    const WRAPPED: u64 = 20_000;

    fn new(ranks: usize) -> Self {
        let mut rails: Vec<_> = (0..ranks as u32).map(|me| open(me, ranks as u32)).collect();
        let addresses: Vec<_> = rails.iter().map(Unix::own_address).collect();
        for rail in &mut rails {
            for (peer, address) in addresses.iter().enumerate() {
                rail.introduce(Rank(peer as u32), address);
            }
        }
        Self(rails.into_iter().map(Some).collect())
    }

    fn rail(&mut self, rank: usize) -> &mut Unix {
        self.0[rank].as_mut().expect("a rank that lives")
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.rail(from).connect(Rank(to as u32));
        until(|| {
            for rank in [from, to] {
                self.rail(rank).progress_connections(0);
            }
            [(from, to), (to, from)].iter().all(|(a, b)| self.rail(*a).link(Rank(*b as u32)).is_some())
        });
    }

    fn deliver(&mut self) {
        let ranks = self.0.len();
        // Credit is sent at once; the counters show when all packets have arrived.
        until(|| {
            self.0.iter_mut().flatten().for_each(|rail| _ = rail.flush());
            self.0.iter_mut().flatten().for_each(|rail| _ = rail.fetch());
            let mut pairs = (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b)));
            pairs.all(|(from, to)| self.has_arrived(from, to))
        });
    }

    fn kill(&mut self, rank: usize) {
        self.0[rank] = None;
    }
}

mod packets {
    canele_rail::conformance!(super::Local, without regions);
}

/// Ranks in one process, not introduced to each other.
struct Strangers {
    rails: Vec<Option<Unix>>,
    now_ns: u64,
}

impl NetworkHarness for Strangers {
    type Network = Unix;

    fn new(ranks: usize) -> Self {
        let rails = (0..ranks as u32).map(|me| Some(open(me, ranks as u32))).collect();
        Self { rails, now_ns: 0 }
    }

    fn network(&mut self, rank: usize) -> &mut Unix {
        self.rails[rank].as_mut().expect("a rank that lives")
    }

    fn step(&mut self) {
        self.now_ns += 1_000_000;
        for rail in self.rails.iter_mut().flatten() {
            rail.progress_connections(self.now_ns);
            let _ = rail.arm();
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
