//! Ports: independent processes, also of two jobs, get a communicator by a port's name (MPI 5.0, §11.9).
//!
//! ```text
//!   root that connects                     launchers                     root that accepts
//!     connect to the port ────────────▶  match both in order   ◀──── accept at the port
//!     ◀─── the other root, the number of the call ───  ───────────────────▶
//!     members of its group ─────────────────────────────────────────────▶ and vice versa
//!   both roots exchange their groups; all members make the communicator under the name of port and call
//! ```
//! A port belongs to the process that opened it; any process of its job accepts connections there. The job's
//! launcher stores the names, and processes of the user's other jobs can look them up.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use canele_engine::{Connection, JobRank, PortName, Tag};
use canele_sys::atomic::{AtomicU32, Ordering::Relaxed};

use crate::comm::Comm;
use crate::comm::agree::{decode, encode, swap};
use crate::group::Group;
use crate::world::{NO_COMM, World};
use crate::{Class, Error, Result, fail};

/// The prefix of all port names.
const PREFIX: &str = "canele-port";

/// The ports of this process.
#[derive(Default)]
pub struct Ports {
    opened: Mutex<HashSet<u32>>,
    published: Mutex<HashSet<String>>,
    /// The number of the next port.
    last: AtomicU32,
}

fn name_of(port: PortName) -> String {
    format!("{PREFIX}:{:016x}:{}:{}", port.owner.job, port.owner.rank, port.number)
}

fn port_of(name: &str) -> Result<PortName> {
    let read = || {
        let mut words = name.split(':');
        let is_ours = words.next() == Some(PREFIX);
        let job = u64::from_str_radix(words.next()?, 16).ok()?;
        let (rank, number) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        (is_ours && words.next().is_none()).then_some(PortName { owner: JobRank { job, rank }, number })
    };
    match read() {
        Some(port) => Ok(port),
        None => fail!(Port, "port_name is {name:?}: it is a name that MPI_Open_port has given"),
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// Opens a port; returns its name.
    ///
    /// # Errors
    /// Fails if there is no launcher and none can be started, or if it is gone.
    pub fn open_port(&self) -> Result<String> {
        // Relaxed: the number orders no other memory.
        let port = self.engine().open_port(self.ports.last.fetch_add(1, Relaxed))?;
        locked(&self.ports.opened).insert(port.number);
        // A process that learns the name from now on finds the port.
        self.await_launcher()?;
        Ok(name_of(port))
    }

    /// Closes a port; connections that wait there are refused.
    ///
    /// # Errors
    /// Fails if this process has no such port.
    pub fn close_port(&self, name: &str) -> Result<()> {
        let (port, engine) = (port_of(name)?, self.engine());
        if engine.process(engine.rank())? != port.owner || !locked(&self.ports.opened).remove(&port.number) {
            fail!(Port, "port_name is {name:?}: this process has no such port open");
        }
        Ok(engine.close_port(port.number)?)
    }

    /// Publishes a port under a service name, for this job and the user's other jobs.
    ///
    /// # Errors
    /// Fails if the service is published in this job, other jobs could not find it, or the launcher is gone.
    pub fn publish_name(&self, service: &str, port: &str) -> Result<()> {
        let name = service_name(service);
        match self.engine().publish(&name, port.as_bytes()) {
            Err(canele_engine::Error::NameTaken(_)) => {
                fail!(Service, "service_name is {service:?}, which is published already: unpublish it first")
            }
            result => result?,
        }
        if let Err(error) = self.engine().announce(&name) {
            self.engine().withdraw(&name)?;
            match error {
                canele_engine::Error::Port(why) => fail!(Service, "service_name is {service:?}: {why}"),
                error => return Err(error.into()),
            }
        }
        locked(&self.ports.published).insert(service.to_owned());
        Ok(())
    }

    /// Unpublishes a service name.
    ///
    /// # Errors
    /// Fails if this process has not published it.
    pub fn unpublish_name(&self, service: &str) -> Result<()> {
        if !locked(&self.ports.published).remove(service) {
            fail!(Service, "service_name is {service:?}, which this process has not published");
        }
        self.engine().withdraw(&service_name(service))?;
        self.await_launcher()
    }

    /// Waits for an answer of the launcher. It answers in order, so earlier requests are then visible to all
    /// ranks.
    fn await_launcher(&self) -> Result<()> {
        Ok(self.engine().lookup("").map(drop)?)
    }

    /// Returns the port of a service: of this job, or else of another job of the user.
    ///
    /// # Errors
    /// Fails if the service is not published.
    pub fn lookup_name(&self, service: &str) -> Result<String> {
        let (name, engine) = (service_name(service), self.engine());
        let port = match engine.lookup(&name)? {
            Some(port) => Some(port),
            None => engine.lookup_elsewhere(&name)?,
        };
        match port {
            Some(port) => Ok(String::from_utf8_lossy(&port).into_owned()),
            None => fail!(Name, "service_name is {service:?}, which no job of this user has published"),
        }
    }

    /// Accepts a connection of another group at a port, whose name only the `root` gives; collective over
    /// `comm`.
    ///
    /// # Errors
    /// Fails if the port is not open or gets closed, or if a member of either group died.
    pub fn accept(
        &self,
        comm: &Comm,
        root: usize,
        port: impl FnOnce() -> Result<String>,
    ) -> Result<Arc<Comm>> {
        check_group(comm, root)?;
        comm.check_call("MPI_Comm_accept")?;
        let accept = |port| self.engine().accept(port, || None);
        let mine = (root == comm.rank()).then(|| self.meet(comm, &port()?, accept));
        join_found(comm, root, mine)
    }

    /// Connects to a group that accepts at a port, which the `root` names, with an optional time limit;
    /// collective over `comm`.
    ///
    /// # Errors
    /// Fails if the port does not exist or is closed, no process accepts in time, or a member of either group
    /// died.
    pub fn connect(
        &self,
        comm: &Comm,
        root: usize,
        port: impl FnOnce() -> Result<(String, Option<Duration>)>,
    ) -> Result<Arc<Comm>> {
        check_group(comm, root)?;
        comm.check_call("MPI_Comm_connect")?;
        let ask = || {
            let (name, limit) = port()?;
            let until = limit.and_then(|limit| Instant::now().checked_add(limit));
            let is_late = || until.is_some_and(|until| Instant::now() >= until);
            let stops = || is_late().then_some("no process has accepted there in time");
            self.meet(comm, &name, |port| self.engine().connect_port(port, stops))
        };
        let mine = (root == comm.rank()).then(ask);
        join_found(comm, root, mine)
    }

    /// Connects the root with the other root, by accepting or connecting, and exchanges the groups.
    fn meet(
        &self,
        comm: &Comm,
        name: &str,
        connect: impl FnOnce(PortName) -> std::result::Result<Connection, canele_engine::Error>,
    ) -> Result<PortMeeting> {
        let (engine, port) = (self.engine(), port_of(name)?);
        let Connection { with, call } = match connect(port) {
            Err(canele_engine::Error::Port(why)) => fail!(Port, "port_name is {name:?}: {why}"),
            connection => connection?,
        };
        let tag = Tag((call as u32) & !(1 << 31));
        let members = swap(engine, NO_COMM, with, tag, encode(engine, comm.group())?)?;
        if decode(engine, &members).is_ok_and(|members| !members.contains(&with)) {
            fail!(Port, "what {with} wants of the port cannot be understood");
        }
        Ok(PortMeeting { name: format!("call {call} at ports of job {:016x}", port.owner.job), members })
    }

    /// Makes a communicator with one other process that is connected by a socket; both call this. `exchange`
    /// sends and receives the same number of bytes. `is_there` returns true while the other end exists.
    ///
    /// # Errors
    /// Fails like [`World::accept`], or if the two cannot be connected.
    pub fn join_by(
        &self,
        mut exchange: impl FnMut([u8; NAME_BYTES]) -> Result<[u8; NAME_BYTES]>,
        mut is_there: impl FnMut() -> bool,
    ) -> Result<Arc<Comm>> {
        let name = self.open_port()?;
        let mut mine = [0; NAME_BYTES];
        mine[..name.len()].copy_from_slice(name.as_bytes());
        let theirs = exchange(mine)?;
        let text = String::from_utf8_lossy(&theirs).trim_end_matches('\0').to_owned();
        let ended = || (!is_there()).then_some("the process at the other end of fd has ended");
        // Both processes use the port with the smaller name.
        let found = match port_of(&text) {
            Ok(_) if text == name => fail!(Argument, "fd leads to this process itself"),
            Ok(_) if text < name => {
                self.meet(&self.own, &text, |port| self.engine().connect_port(port, ended))
            }
            Ok(_) => self.meet(&self.own, &name, |port| self.engine().accept(port, ended)),
            Err(_) => fail!(Argument, "the other end of fd does not call MPI_Comm_join"),
        };
        self.close_port(&name)?;
        join_found(&self.own, 0, Some(found))
    }
}

/// Length in bytes of the message over the socket: a port name.
pub const NAME_BYTES: usize = 64;

/// Sends the root's result to all members, and makes the communicator.
fn join_found(comm: &Comm, root: usize, mine: Option<Result<PortMeeting>>) -> Result<Arc<Comm>> {
    let bytes = match &mine {
        Some(Ok(found)) => found.encode(),
        Some(Err(error)) => [&[1, error.class.number()][..], error.text.as_bytes()].concat(),
        None => Vec::new(),
    };
    let told = comm.tell(root, bytes)?;
    if let Some(Err(error)) = mine {
        return Err(error);
    }
    let (name, members) = match told.split_first() {
        Some((0, rest)) => match PortMeeting::decode(rest) {
            Some(PortMeeting { name, members }) => (name, decode(comm.engine(), &members)?),
            None => fail!(Internal, "what the root says of the port cannot be understood"),
        },
        Some((_, rest)) => {
            let class = rest.first().and_then(|class| Class::of_number(*class));
            let text = String::from_utf8_lossy(rest.get(1..).unwrap_or_default()).into_owned();
            return Err(Error::new(class.unwrap_or(Class::Port), text));
        }
        None => fail!(Internal, "the root says nothing of the port"),
    };
    comm.join(&Arc::new(Group::new(members)?), &name, comm.errhandler())
}

fn check_group(comm: &Comm, root: usize) -> Result<()> {
    if comm.is_inter() {
        fail!(Communicator, "comm is an intercommunicator: a port is for those of one group");
    }
    if root >= comm.size() {
        fail!(Root, "root is {root}: it must be from 0 to {}", comm.size() - 1);
    }
    Ok(())
}

fn service_name(service: &str) -> String {
    format!("mpi service {service}")
}

/// The message of the root to its group: the name of the call, and the encoded members of the other group.
struct PortMeeting {
    name: String,
    members: Vec<u8>,
}

impl PortMeeting {
    /// Encodes the message behind a zero, which marks success.
    fn encode(&self) -> Vec<u8> {
        let name = self.name.as_bytes();
        [&[0][..], &(name.len() as u32).to_le_bytes(), name, &self.members].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (name, members) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some(Self { name: String::from_utf8_lossy(name).into_owned(), members: members.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_read_from_its_name_and_nothing_else_is_one() {
        let port = PortName { owner: JobRank { job: u64::MAX, rank: u32::MAX }, number: u32::MAX };
        assert_eq!(port_of(&name_of(port)).unwrap(), port);
        assert!(name_of(port).len() <= NAME_BYTES);
        for name in
            ["", "canele-port", "canele-port:1:2", "canele-port:1:2:x", "port:1:2:3", "canele-port:1:2:3:4"]
        {
            assert_eq!(port_of(name).err().unwrap().class, Class::Port, "{name}");
        }
    }

    #[test]
    fn what_is_found_survives_its_message() {
        let members = vec![4, 2];
        let found = PortMeeting { name: "call".into(), members: members.clone() }.encode();
        let back = PortMeeting::decode(&found[1..]).unwrap();
        assert_eq!((found[0], back.name.as_str(), back.members), (0, "call", members));
        assert!(PortMeeting::decode(&found[1..6]).is_none());
    }
}
