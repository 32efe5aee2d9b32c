//! Requests of ranks about ports and about names for other jobs, and the answers. Owns these reactions of the
//! launcher.

use canele_control::{FromLauncher, PortName, ToLauncher};

use super::messages::ToJob;
use super::ports::{Caller, PortAnswer};
use super::services::FoundName;
use super::{ATTEMPTS, WantedConnection};
use crate::launcher::Launcher;

impl Launcher {
    /// Handles a rank's message about ports or about names for other jobs.
    ///
    /// # Errors
    /// Fails with a text that says, after `rank N `, which rule it broke.
    pub(crate) fn handle_connecting(&mut self, rank: u32, message: ToLauncher) -> Result<(), String> {
        let own = self.info().id;
        let caller = |ticket| Caller { rank, ticket, job: None };
        match message {
            ToLauncher::OpenPort { port } => self.connected.ports.open(rank, port)?,
            ToLauncher::ClosePort { port } => {
                let answers = self.connected.ports.close(rank, port)?;
                self.tell_callers(answers);
            }
            ToLauncher::Accept { ticket, port: PortName { owner, number } } => {
                let answers = match owner.job == own {
                    true => self.connected.ports.accept((owner.rank, number), caller(ticket)),
                    false => vec![(caller(ticket), Err("that port is of another job".into()))],
                };
                self.tell_callers(answers);
            }
            ToLauncher::ConnectPort { ticket, port: PortName { owner, number } } if owner.job == own => {
                let answers = self.connected.ports.connect((owner.rank, number), caller(ticket));
                self.tell_callers(answers);
            }
            ToLauncher::ConnectPort { ticket, port } => {
                self.connected.last += 1;
                let wanted = WantedConnection { rank, ticket, port, is_sent: false, attempts: ATTEMPTS };
                self.connected.wanted.insert(self.connected.last, wanted);
                self.begin_link(port.owner.job);
            }
            ToLauncher::Abandon { ticket } => self.forget_caller(|caller| *caller == (rank, ticket)),
            ToLauncher::Announce { ticket, name } => {
                let Some(value) = self.job.published_by(rank, &name).map(<[u8]>::to_vec) else {
                    return Err(format!("announced the name {name:?}, which it did not publish"));
                };
                let announced = self.connected.services.announce(&name, &value, &self.events);
                let result = announced.map_err(|error| format!("other jobs cannot find it: {error}"));
                self.job.tell(rank, FromLauncher::Announced { ticket, result });
            }
            ToLauncher::FindElsewhere { ticket, name } => {
                let found = self.connected.services.find((rank, ticket), name, &self.events);
                self.tell_found(found);
            }
            _ => {}
        }
        Ok(())
    }

    /// Withdraws a name of a rank that other jobs may know.
    pub(crate) fn withdraw_elsewhere(&mut self, name: &str) {
        self.connected.services.withdraw(name, &self.events);
    }

    /// Closes the ports of a rank whose process has ended, and ends its waits.
    pub(crate) fn close_ports_of(&mut self, rank: u32) {
        self.forget_caller(|(caller, _)| *caller == rank);
        let answers = self.connected.ports.close_all_of(rank);
        self.tell_callers(answers);
    }

    /// Ends the waits of ranks of this job, selected by their number and ticket.
    fn forget_caller(&mut self, which: impl Fn(&(u32, u64)) -> bool) {
        let connected = &mut self.connected;
        connected.ports.forget(|caller| caller.job.is_none() && which(&(caller.rank, caller.ticket)));
        let given_up = connected.wanted.extract_if(|_, wanted| which(&(wanted.rank, wanted.ticket)));
        for (number, wanted) in given_up.collect::<Vec<_>>() {
            if let Some(link) = connected.link(wanted.port.owner.job).filter(|_| wanted.is_sent) {
                link.push(ToJob::Abandon { ticket: number }, Vec::new());
            }
        }
    }

    pub(super) fn tell_callers(&mut self, answers: Vec<PortAnswer>) {
        for (Caller { rank, ticket, job }, result) in answers {
            match job {
                None => self.job.tell(rank, FromLauncher::Connected { ticket, result }),
                Some(job) => {
                    if let Some(link) = self.connected.link(job) {
                        link.push(ToJob::Connected { ticket, result }, Vec::new());
                    }
                }
            }
        }
    }

    pub(super) fn tell_found(&mut self, found: impl IntoIterator<Item = FoundName>) {
        for ((rank, ticket), value) in found {
            self.job.tell(rank, FromLauncher::FoundElsewhere { ticket, value });
        }
    }
}
