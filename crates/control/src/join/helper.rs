//! The start, by a rank, of the processes that replace Canelé's launcher where another launcher has started
//! the ranks. Owns that start.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Instant;

use canele_sys::spawn::detach;

use super::messages::{JoinAnswer, JoinRequest, JoinTask};
use super::{JoinError, command, local};
use crate::socket::Socket;

/// A launcher or agent that this rank has started. It learns of the rank's death when this socket closes.
pub(super) struct Helper(Socket);

impl Helper {
    /// Starts `canele join ROLE`, which is no child of this process. An agent gets the socket on which it
    /// listens.
    pub fn start(
        role: &'static str,
        begin: &JoinTask,
        listener: Option<&OwnedFd>,
    ) -> Result<Helper, JoinError> {
        let path = command();
        let failed = |source| JoinError::Helper { command: path.display().to_string(), role, source };
        let (own, its) = Socket::pair().map_err(|errno| failed(errno.into()))?;
        let mut command = Command::new(&path);
        command.args(["join", role]).stdin(Stdio::from(OwnedFd::from(its)));
        detach(&mut command);
        let mut child = command.spawn().map_err(failed)?;
        // The wait fails if the program ignores the ends of its children; then the system reaps them.
        let _ = child.wait();
        let descriptors: Vec<_> = listener.iter().map(AsFd::as_fd).collect();
        let request = JoinRequest::Begin(begin.clone());
        local::ask(&own, &request, &descriptors).map_err(|why| failed(std::io::Error::other(why)))?;
        Ok(Helper(own))
    }

    /// Returns the addresses at which the launcher listens for agents.
    pub fn addresses(&self, deadline: Instant) -> Result<Vec<SocketAddr>, String> {
        match local::answer(&self.0, deadline)? {
            JoinAnswer::Listening { addresses } => Ok(addresses),
            JoinAnswer::Refused { why } => Err(why),
            JoinAnswer::Joined { .. } => Err("its launcher says what an agent says".into()),
        }
    }
}
