//! Several ranks in one process, without a launcher: for tests, and for counting instructions.
//!
//! Ranks are introduced to each other at once; names, regions of peers and deaths do not exist here.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use canele_rail::shm::Doorbell;
use canele_rail::tcp::{Limits, Member, Tcp};
use canele_sys::ids::Rank;
use canele_sys::tunables::Tunables;

use crate::control::{
    Bind, Control, FromLauncher, Handed, Host, JobInfo, OnFailure, Place, Socket, ToLauncher, VERSION,
};
use crate::{Engine, Error};

/// The engines of a job of `size` ranks, all in this process.
///
/// # Errors
/// As [`Engine::start`].
pub fn ranks(size: u32, tunables: &Tunables) -> Result<Vec<Engine>, Error> {
    ranks_on(&vec![0; size as usize], tunables)
}

/// The engines of a job, all in this process, as if each ran on the host of the number given for it: ranks of one host share
/// memory, others reach each other by TCP over the loopback address.
///
/// # Errors
/// As [`Engine::start`].
pub fn ranks_over_tcp(hosts: &[u32], tunables: &Tunables) -> Result<Vec<Engine>, Error> {
    let engines = ranks_on(hosts, tunables)?;
    let open = |rank: u32| {
        let member = Member { me: Rank(rank), ranks: hosts.len() as u32, job: 0, key: [0; 32] };
        Tcp::open(1, member, &[IpAddr::V4(Ipv4Addr::LOCALHOST)], Limits::default())
    };
    let rails = (0..hosts.len() as u32).map(open).collect::<Result<Vec<_>, _>>()?;
    let addresses: Vec<Vec<SocketAddr>> = rails.iter().map(|rail| rail.addresses().to_vec()).collect();
    for ((rail, engine), here) in rails.into_iter().zip(&engines).zip(hosts) {
        let others = (0..).map(Rank).zip(hosts.iter().zip(&addresses)).filter(|(_, (host, _))| *host != here);
        engine.add_rail(rail, others.map(|(peer, (_, addresses))| (peer, addresses.clone())).collect())?;
    }
    Ok(engines)
}

fn ranks_on(hosts: &[u32], tunables: &Tunables) -> Result<Vec<Engine>, Error> {
    let size = hosts.len() as u32;
    let job = JobInfo {
        launcher: 0,
        size,
        hosts: vec![Host::this(size)],
        processors: size,
        on_failure: OnFailure::Continue,
        network: None,
    };
    let mut engines = Vec::new();
    let mut members = Vec::new();
    for (rank, host) in (0..).zip(hosts) {
        let (ours, theirs) = Socket::pair().map_err(crate::control::ControlError::from)?;
        // The queue holds the answer before the question comes.
        let welcome = FromLauncher::Welcome { version: VERSION, job: job.clone() };
        let _ = ours.try_send(&welcome, &[]);
        let of_host = |ranks: &[u32]| ranks.iter().filter(|other| *other == host).count() as u32;
        let (local_rank, local_size) = (of_host(&hosts[..rank as usize]), of_host(hosts));
        let place = Place { rank, size, local_rank, local_size, bind: Bind::None };
        engines.push(Engine::join(tunables, Some(Control::new(place, theirs.into())))?);
        members.push(Joined { inbox: inbox(&ours), socket: ours });
    }
    for (rank, member) in members.iter().enumerate() {
        for (other, host) in members.iter().zip(hosts) {
            if *host == hosts[rank] && !std::ptr::eq(other, member) {
                let peer = FromLauncher::Peer { rank: rank as u32, bytes: 0 };
                let _ = other.socket.try_send(&peer, &member.inbox.descriptors());
            }
        }
    }
    for (member, engine) in members.into_iter().zip(&engines) {
        if let Ok(doorbell) = Doorbell::map(member.inbox.memory, member.inbox.event) {
            doorbell.ring();
        }
        engine.keep(member.socket);
    }
    Ok(engines)
}

struct Joined {
    socket: Socket,
    inbox: Handed,
}

/// The inbox that a rank has just sent.
fn inbox(socket: &Socket) -> Handed {
    loop {
        match socket.try_receive::<ToLauncher>() {
            Ok(Some((ToLauncher::Inbox { .. }, Some(inbox)))) => return inbox,
            Ok(Some(_)) => {}
            other => panic!("a rank that has started has sent its inbox: {other:?}"),
        }
    }
}
