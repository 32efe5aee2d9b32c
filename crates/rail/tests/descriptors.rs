//! A rank without descriptors accepts no peer, without repeated reports, and accepts them once it has
//! descriptors again.

use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{Armed, Rail};
use canele_rail::{Member, Network};
use canele_sys::ids::Rank;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The only test of its process, because it takes all descriptors away.
#[test]
fn without_descriptors_no_peer_comes_in_and_no_rank_spins() {
    let member = Member { me: Rank(1), ranks: 2, job: 1, key: [1; 32] };
    let mut rail = Tcp::listen(0, member, &[Ipv4Addr::LOCALHOST.into()], TcpLimits::default()).unwrap();
    let address = rail.addresses()[0];
    let _strangers: Vec<_> = (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(3), ..limit }).unwrap();
    for now_ns in 0..100 {
        rail.progress_connections(now_ns);
        assert_eq!(rail.unproven(), (0, 0));
    }
    assert!(matches!(rail.arm(), Armed::Ready));
    let mut descriptors = [PollFd::from_borrowed_fd(rail.descriptor().unwrap(), PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(poll(&mut descriptors, Some(&now)).unwrap(), 0, "a peer that waits outside wakes no rank");
    assert!(rail.next_timeout().is_some_and(|timeout| timeout <= Duration::from_millis(100)));
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut now_ns = 100;
    for _ in 0..10 {
        now_ns += 50_000_000;
        rail.progress_connections(now_ns);
    }
    assert_eq!(rail.unproven(), (3, 0));
}
