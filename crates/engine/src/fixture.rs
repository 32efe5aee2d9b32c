//! Ranks for tests of single parts: rails and protocols in one process, without a launcher, a lock or an
//! engine.

use canele_control::{Handed, Host, JobInfo, RankPlace};
use canele_profile::HostProfile;
use canele_rail::{Member, Set};
use canele_sys::ids::Rank;
use canele_sys::tunables::Tunables;

use crate::core::open_proto;
use crate::lane::Lane;

/// Makes a job of two ranks: on one host, or on one each.
pub(crate) fn job_of_two(hosts: usize) -> JobInfo {
    JobInfo::new(vec![Host::this(2 / hosts as u32); hosts])
}

/// Makes rank 0 or 1 of two, of which this many share its host.
fn rank_of_two(rank: u32, local_size: u32) -> Lane {
    let place = RankPlace { rank, size: 2, local_rank: rank % local_size, local_size };
    let tunables = Tunables::default();
    let first = rank - place.local_rank;
    let here = first..first + local_size;
    let rails =
        Set::open(Rank(rank), here, (false, local_size == 2), (&tunables, &HostProfile::SHARED_CACHES))
            .expect("memory for an inbox");
    Lane::new(
        0,
        rails,
        open_proto(0, Rank(rank), &job_of_two(2 / local_size as usize), &tunables),
        &tunables,
        false,
    )
}

/// Makes two ranks of one host, with a link both ways.
pub(crate) fn two_on_one_host() -> [Lane; 2] {
    let mut ranks = [0, 1].map(|rank| rank_of_two(rank, 2));
    for (to, from) in [(0, 1), (1, 0)] {
        let memory = ranks[from].rails.inbox()[0].try_clone_to_owned().expect("a descriptor");
        ranks[to].handle_inbox(Rank(from as u32), Handed { memory, event: None });
    }
    ranks.iter_mut().for_each(|rank| rank.rails.accept());
    ranks
}

/// Makes two ranks of different hosts, each with one network, which do not know each other's addresses.
pub(crate) fn two_on_two_hosts() -> [Lane; 2] {
    [0, 1].map(|rank| {
        let mut lane = rank_of_two(rank, 1);
        let member = Member { me: Rank(rank), ranks: 2, job: 1, key: [1; 32] };
        let ports = [vec!["127.0.0.1".to_owned()]];
        lane.rails.open_networks(member, &ports).expect("a port of the loopback interface");
        lane
    })
}
