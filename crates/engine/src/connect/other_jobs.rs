//! Ranks of another job that are reached over networks.

use canele_control::{ControlError, JobInfo, JobNetwork, MAX_RAIL_ADDRESS, RailAddress, SpawnedWorld};
use canele_rail::{MAX_ADDRESS, Member, OtherRanks, Set};
use canele_sys::ids::Rank;

use crate::Error;

const _: () =
    assert!(MAX_ADDRESS <= MAX_RAIL_ADDRESS, "the launcher takes every address that a driver tells");

/// Lets ranks of another job be reached over networks, if they are there; returns true if this rank opens its
/// first networks for them.
///
/// # Errors
/// No network can be opened.
pub(crate) fn add_others(
    rails: &mut Set,
    me: Rank,
    job: &JobInfo,
    world: &SpawnedWorld,
) -> Result<bool, Error> {
    let (Some(network), Some(origin)) = (&world.network, world.origin) else { return Ok(false) };
    let opens = !rails.has_networks();
    if opens {
        let drawn = JobNetwork::draw().map_err(ControlError::from)?;
        // No other process has the key: ranks of this job share the memory of their host.
        let member = Member { me, ranks: job.ranks(), job: drawn.job, key: *drawn.key };
        let ports = network.rails.get(job.host_of(me.0));
        rails.open_networks(member, ports.map_or(&[][..], Vec::as_slice))?;
    }
    rails.add_others(OtherRanks {
        job: job.id,
        theirs: origin.job,
        key: *network.key,
        first: origin.rank,
        ranks: world.hosts.len() as u32,
        here: Rank(world.first),
    });
    Ok(opens)
}

/// Returns the addresses of this rank, as the launcher gets them.
pub(crate) fn own_addresses(rails: &Set) -> Vec<RailAddress> {
    let told = rails.own_addresses().into_iter();
    told.map(|(driver, address)| RailAddress { driver: driver.into(), address }).collect()
}
