//! Ports, at which the launcher connects ranks that do not know each other, perhaps of two jobs.
//!
//! Owns the answers that threads wait for. The launcher matches accepting with connecting ranks, and adds
//! ranks of other jobs to this one before it answers.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use canele_control::{JobRank, Meeting, PortName, ToLauncher};
use canele_sys::ids::Rank;

use crate::Error;
use crate::core::Core;
use crate::engine::Engine;
use crate::lane::awaited::Awaited;

/// The interval at which the caller is asked whether it goes on waiting.
const LOOK: Duration = Duration::from_millis(100);
/// The number of times that the launcher is asked for a rank that is not known.
const ATTEMPTS: u32 = 1000;

/// An answer of the launcher.
#[derive(Debug, PartialEq, Eq)]
enum PortAnswer {
    Connected(Result<Meeting, String>),
    Found(Option<Vec<u8>>),
    Announced(Result<(), String>),
}

/// The questions of this rank, with the answers that have come.
#[derive(Default)]
pub(crate) struct Ports {
    asked: HashMap<u64, Option<PortAnswer>>,
    last: u64,
}

impl Ports {
    fn begin(&mut self) -> u64 {
        self.last += 1;
        self.asked.insert(self.last, None);
        self.last
    }

    fn handle(&mut self, ticket: u64, answer: PortAnswer) {
        if let Some(asked) = self.asked.get_mut(&ticket) {
            *asked = Some(answer);
        }
    }

    /// Handles the launcher's answer about a connection.
    pub fn handle_connected(&mut self, ticket: u64, result: Result<Meeting, String>) {
        self.handle(ticket, PortAnswer::Connected(result));
    }

    /// Handles the launcher's answer about a name that another job may have announced.
    pub fn handle_found(&mut self, ticket: u64, value: Option<Vec<u8>>) {
        self.handle(ticket, PortAnswer::Found(value));
    }

    /// Handles the launcher's answer about a name that this rank wants to be announced.
    pub fn handle_announced(&mut self, ticket: u64, result: Result<(), String>) {
        self.handle(ticket, PortAnswer::Announced(result));
    }

    fn take(&mut self, ticket: u64) -> Option<PortAnswer> {
        let answer = self.asked.get_mut(&ticket)?.take()?;
        self.asked.remove(&ticket);
        Some(answer)
    }
}

/// The other side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The rank that has connected, or accepted.
    pub with: Rank,
    /// The number of the connection, equal on both sides; no other connection of the port's job has it.
    pub call: u64,
}

impl Engine {
    /// Opens a port of this rank, identified by a number that the rank draws. A program that was started
    /// alone gets a launcher.
    ///
    /// # Errors
    /// There is no launcher and none can be started; the launcher is gone.
    pub fn open_port(&self, number: u32) -> Result<PortName, Error> {
        let mut core = self.lock_to_submit()?;
        self.need_launcher(&mut core)?;
        let membership = &mut core.membership;
        membership.launcher.send(&ToLauncher::OpenPort { port: number })?;
        Ok(PortName { owner: membership.job.process(self.rank().0), number })
    }

    /// Closes a port of this rank: ranks that wait there are refused.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn close_port(&self, number: u32) -> Result<(), Error> {
        self.lock_to_submit()?.membership.launcher.send(&ToLauncher::ClosePort { port: number })
    }

    /// Waits for a connection at a port of this job, until `stops` returns a reason.
    ///
    /// # Errors
    /// `Port`: the port is not open, is closed meanwhile, or the wait stops; the launcher is gone.
    pub fn accept(
        &self,
        port: PortName,
        stops: impl FnMut() -> Option<&'static str>,
    ) -> Result<Connection, Error> {
        self.meet(|ticket| ToLauncher::Accept { ticket, port }, stops)
    }

    /// Waits until a rank accepts this one's connection at a port, or `stops` returns a reason.
    ///
    /// # Errors
    /// `Port`: the port is not open, or is closed meanwhile; its job has ended, or cannot be connected with
    /// this one; the wait stops; the launcher is gone.
    pub fn connect_port(
        &self,
        port: PortName,
        stops: impl FnMut() -> Option<&'static str>,
    ) -> Result<Connection, Error> {
        self.meet(|ticket| ToLauncher::ConnectPort { ticket, port }, stops)
    }

    fn meet(
        &self,
        message: impl FnOnce(u64) -> ToLauncher,
        mut stops: impl FnMut() -> Option<&'static str>,
    ) -> Result<Connection, Error> {
        let mut core = self.lock_to_submit()?;
        self.need_launcher(&mut core)?;
        let ticket = core.membership.ports.begin();
        core.membership.launcher.send(&message(ticket))?;
        loop {
            let (next, answer) = self.wait_before(
                core,
                Some(Instant::now() + LOOK),
                Awaited::Other("a connection at a port", None),
                |core: &mut Core| match core.check() {
                    Ok(()) => core.membership.ports.take(ticket).map(Ok),
                    Err(error) => Some(Err(error)),
                },
            );
            core = next;
            match answer.transpose()? {
                Some(PortAnswer::Connected(Ok(Meeting { with, call }))) => {
                    return Ok(Connection { with: Rank(with), call });
                }
                Some(PortAnswer::Connected(Err(why))) => return Err(Error::Port(why)),
                Some(PortAnswer::Found(_) | PortAnswer::Announced(_)) | None => {}
            }
            drop(core);
            let why = stops();
            core = self.lock_to_submit()?;
            if let Some(why) = why {
                core.membership.ports.asked.remove(&ticket);
                core.membership.launcher.send(&ToLauncher::Abandon { ticket })?;
                return Err(Error::Port(why.into()));
            }
        }
    }

    /// Lets ranks of other jobs of the user find a name that this rank has published. A program that was
    /// started alone gets a launcher.
    ///
    /// # Errors
    /// `Port`: other jobs cannot find the name; there is no launcher and none can be started; the launcher is
    /// gone.
    pub fn announce(&self, name: &str) -> Result<(), Error> {
        let about = Awaited::Other("a name to be announced", None);
        match self.ask_of_names(|ticket| ToLauncher::Announce { ticket, name: name.to_owned() }, about)? {
            PortAnswer::Announced(result) => result.map_err(Error::Port),
            PortAnswer::Found(_) | PortAnswer::Connected(_) => Ok(()),
        }
    }

    /// Returns the value of a name that a rank of another job of the user has announced, if there is one.
    ///
    /// # Errors
    /// There is no launcher and none can be started; the launcher is gone.
    pub fn lookup_elsewhere(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let about = Awaited::Other("a name of another job", None);
        match self
            .ask_of_names(|ticket| ToLauncher::FindElsewhere { ticket, name: name.to_owned() }, about)?
        {
            PortAnswer::Found(value) => Ok(value),
            PortAnswer::Connected(_) | PortAnswer::Announced(_) => Ok(None),
        }
    }

    /// Asks the launcher, and waits for the answer.
    fn ask_of_names(
        &self,
        question: impl FnOnce(u64) -> ToLauncher,
        about: Awaited,
    ) -> Result<PortAnswer, Error> {
        let mut core = self.lock_to_submit()?;
        self.need_launcher(&mut core)?;
        let ticket = core.membership.ports.begin();
        core.membership.launcher.send(&question(ticket))?;
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => core.membership.ports.take(ticket).map(Ok),
            Err(error) => Some(Err(error)),
        };
        let (_core, answer) = self.wait_for(core, about, ready);
        answer
    }

    /// Returns the name of a rank that every job understands.
    ///
    /// # Errors
    /// `Forked`.
    pub fn process(&self, rank: Rank) -> Result<JobRank, Error> {
        Ok(self.lock()?.membership.job.process(rank.0))
    }

    /// Returns the rank that a process has here, of this job or of a connected one.
    ///
    /// # Errors
    /// `Port`: its job is not connected with this one; the launcher is gone.
    pub fn rank_of(&self, process: JobRank) -> Result<Rank, Error> {
        for _ in 0..ATTEMPTS {
            if let Some(rank) = self.lock()?.membership.job.rank_of(process) {
                return Ok(Rank(rank));
            }
            // The launcher may have sent its notice, or is about to.
            self.lookup("")?;
        }
        Err(Error::Port(format!(
            "rank {} of job {:016x} is of a job that this one is not connected with",
            process.rank, process.job
        )))
    }

    /// Returns true if all of these ranks are of this rank's job.
    ///
    /// # Errors
    /// `Forked`.
    pub fn are_of_this_job(&self, ranks: &[Rank]) -> Result<bool, Error> {
        let core = self.lock()?;
        let job = &core.membership.job;
        Ok(!job.is_connected() || ranks.iter().all(|rank| job.is_own(rank.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_once_by_who_asked() {
        let mut ports = Ports::default();
        let (first, second) = (ports.begin(), ports.begin());
        ports.handle_found(second, None);
        ports.handle_connected(second + 1, Ok(Meeting { with: 1, call: 1 }));
        assert_eq!((ports.take(first), ports.take(second)), (None, Some(PortAnswer::Found(None))));
        assert_eq!(ports.take(second), None);
        ports.handle_connected(first, Err("closed".into()));
        assert_eq!(ports.take(first), Some(PortAnswer::Connected(Err("closed".into()))));
        assert!(ports.asked.is_empty());
    }
}
