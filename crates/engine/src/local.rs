//! Several ranks in one process, without a launcher: for tests, and for counting instructions.
//!
//! Inboxes are introduced at once; names, regions of peers and deaths do not exist here.

use std::os::fd::{AsFd, OwnedFd};

use canele_rail::shm::Doorbell;
use canele_sys::tunables::Tunables;

use crate::control::{Bind, Control, FromLauncher, JobInfo, OnFailure, Place, Socket, ToLauncher, VERSION};
use crate::{Engine, Error, control};

/// The engines of a job of `size` ranks, all in this process.
///
/// # Errors
/// As [`Engine::start`].
pub fn ranks(size: u32, tunables: &Tunables) -> Result<Vec<Engine>, Error> {
    let job = JobInfo {
        launcher: 0,
        size,
        hosts: vec![control::Host::this(size)],
        processors: size,
        on_failure: OnFailure::Continue,
        network: None,
    };
    let mut engines = Vec::new();
    let mut hosts = Vec::new();
    for rank in 0..size {
        let (ours, theirs) = Socket::pair().map_err(crate::control::ControlError::from)?;
        // The queue holds the answer before the question comes.
        let welcome = FromLauncher::Welcome { version: VERSION, job: job.clone() };
        let _ = ours.try_send(&welcome, &[]);
        let place = Place { rank, size, local_rank: rank, local_size: size, bind: Bind::None };
        engines.push(Engine::join(tunables, Some(Control::new(place, theirs.into())))?);
        hosts.push(Host { inbox: inbox(&ours), socket: ours });
    }
    for (rank, host) in hosts.iter().enumerate() {
        for other in hosts.iter().filter(|other| !std::ptr::eq(*other, host)) {
            let peer = FromLauncher::Peer { rank: rank as u32, bytes: 0 };
            let _ = other.socket.try_send(&peer, &[host.inbox.as_fd()]);
        }
    }
    for (host, engine) in hosts.into_iter().zip(&engines) {
        if let Ok(doorbell) = Doorbell::map(host.inbox) {
            doorbell.ring();
        }
        engine.keep(host.socket);
    }
    Ok(engines)
}

struct Host {
    socket: Socket,
    inbox: OwnedFd,
}

/// The inbox that a rank has just sent.
fn inbox(socket: &Socket) -> OwnedFd {
    loop {
        match socket.try_receive::<ToLauncher>() {
            Ok(Some((ToLauncher::Inbox { .. }, Some(fd)))) => return fd,
            Ok(Some(_)) => {}
            other => panic!("a rank that has started has sent its inbox: {other:?}"),
        }
    }
}
