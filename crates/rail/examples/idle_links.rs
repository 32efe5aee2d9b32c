//! A progress pass beside many TCP connections on which nothing happens: its time, and its system calls.
//! Run: `ulimit -n 20000; cargo run --release -p canele-rail --example idle_links [links…]`.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{FastPath, Rail};
use canele_rail::{Member, Network};
use canele_sys::ids::Rank;

const PASSES: u32 = 10_000;
/// Looks at the handshakes of one link before it is given up.
const MANY_STEPS: u32 = 1_000_000;

/// A pass as the layer above makes it.
fn pass(rail: &mut Tcp) {
    rail.begin_pass();
    rail.find_ready();
    let mut at = 0;
    while let Some(link) = rail.ready().get(at).copied() {
        while let Ok(Some(_)) = rail.poll(link) {
            rail.release(link);
        }
        at += 1;
    }
    rail.flush();
}

/// Rank 0 of a job, connected with all others, whose ends are kept open.
fn connected(links: u32) -> Result<(Tcp, Vec<Tcp>), Box<dyn Error>> {
    let open = |rank| {
        let member = Member { me: Rank(rank), ranks: links + 1, job: 77, key: [3; 32] };
        Tcp::listen(1, member, &[IpAddr::V4(Ipv4Addr::LOCALHOST)], TcpLimits::default())
    };
    let mut hub = open(0)?;
    let mut others = Vec::new();
    for rank in 1..=links {
        let mut other = open(rank)?;
        other.introduce(Rank(0), &hub.own_address());
        hub.introduce(Rank(rank), &other.own_address());
        other.connect(Rank(0));
        let is_open = (0..MANY_STEPS).any(|_| {
            hub.progress_connections(0);
            other.progress_connections(0);
            hub.link(Rank(rank)).is_some() && other.link(Rank(0)).is_some()
        });
        if !is_open {
            return Err(format!("rank {rank} did not connect").into());
        }
        others.push(other);
    }
    Ok((hub, others))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut asked: Vec<u32> = std::env::args().skip(1).map(|n| n.parse()).collect::<Result<_, _>>()?;
    if asked.is_empty() {
        asked = vec![3, 100, 1000];
    }
    println!("links  ns a pass (best and median of 20 rounds)  system calls a pass");
    for links in asked {
        let (mut hub, _others) = connected(links)?;
        (0..PASSES).for_each(|_| pass(&mut hub));
        let before = hub.system_calls();
        let mut rounds: Vec<_> = (0..20)
            .map(|_| {
                let begin = Instant::now();
                (0..PASSES).for_each(|_| pass(&mut hub));
                begin.elapsed().as_nanos() / u128::from(PASSES)
            })
            .collect();
        let calls = (hub.system_calls() - before) as f64 / (20.0 * f64::from(PASSES));
        rounds.sort_unstable();
        println!("{links:5}  {:4} {:4}  {calls:.3}", rounds[0], rounds[10]);
    }
    Ok(())
}
