//! Ports: processes that know nothing of each other but the name of a port get a communicator (MPI 5.0, §11.9).
//!
//! ```text
//!   root that connects                               process that opened the port, root that accepts
//!     request: its number, the members of its group ─────▶  matched by the number of the port
//!     ◀───────────────── answer: the call's number, the members of the other group
//!   both tell their groups; all members make the communicator under a name that port and call give
//! ```
//! A port is of one process, in whose calls its number is a tag. Names are kept by the job's launcher.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_engine::{Engine, FlowId, Mode, Rank, Tag, Want};
use canele_mem::buffer::Owned;
use canele_sys::atomic::{AtomicU32, Ordering::Relaxed};

use crate::comm::Comm;
use crate::group::Group;
use crate::world::World;
use crate::{Class, Error, Result, fail};

/// The flow of requests and answers: the one on which communicators without another one are made, whose tags all have the highest bit.
const FLOW: FlowId = FlowId(4);
/// Tags of requests are the numbers of ports, tags of answers those of requests with this bit.
const ANSWER: u32 = 0x4000_0000;
/// What all names of ports begin with.
const PREFIX: &str = "canele-port";

/// The ports of this process.
#[derive(Default)]
pub struct Ports {
    opened: Mutex<HashSet<u32>>,
    published: Mutex<HashSet<String>>,
    /// Ports, requests and accepted calls so far.
    last: AtomicU32,
}

/// What the name of a port says.
struct Port {
    launcher: u32,
    owner: Rank,
    number: u32,
}

impl Port {
    fn name(&self) -> String {
        format!("{PREFIX}:{}:{}:{}", self.launcher, self.owner.0, self.number)
    }

    fn read(name: &str) -> Result<Self> {
        let mut words = name.split(':');
        let is_ours = words.next() == Some(PREFIX);
        let numbers: Option<Vec<u32>> = words.map(|word| word.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[launcher, owner, number]) if is_ours && number < ANSWER => {
                Ok(Self { launcher, owner: Rank(owner), number })
            }
            _ => fail!(Port, "port_name is {name:?}: it is a name that MPI_Open_port has given"),
        }
    }

    /// The name under which the launcher knows that it is open.
    fn published(&self) -> String {
        format!("mpi port {}:{}", self.owner.0, self.number)
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ports {
    /// A number that no port, request or call of this process has had lately.
    fn number(&self) -> u32 {
        // Relaxed: a number on its own.
        self.last.fetch_add(1, Relaxed) % (ANSWER - 1) + 1
    }
}

impl World {
    /// Opens a port; gives its name.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn open_port(&self) -> Result<String> {
        let engine = self.engine();
        let port = Port { launcher: engine.launcher()?, owner: engine.rank(), number: self.ports.number() };
        engine.publish(&port.published(), &[])?;
        locked(&self.ports.opened).insert(port.number);
        Ok(port.name())
    }

    /// Closes a port. Those that wait there for a connection are refused.
    ///
    /// # Errors
    /// This process has no such port.
    pub fn close_port(&self, name: &str) -> Result<()> {
        let port = self.own_port(name)?;
        locked(&self.ports.opened).remove(&port.number);
        let engine = self.engine();
        engine.withdraw(&port.published())?;
        let want = Want { source: None, tag: Some(Tag(port.number)) };
        while let Some(matched) = engine.improbe(FLOW, want)? {
            let (from, request) = Request::receive(engine, matched)?;
            send(engine, from, Tag(ANSWER | request.number), Vec::new())?;
        }
        Ok(())
    }

    fn own_port(&self, name: &str) -> Result<Port> {
        let port = Port::read(name)?;
        if port.owner != self.engine().rank() || !locked(&self.ports.opened).contains(&port.number) {
            fail!(Port, "port_name is {name:?}: this process has no such port open");
        }
        Ok(port)
    }

    /// Makes the name of a port known under that of a service.
    ///
    /// # Errors
    /// The service is published already; the launcher is gone.
    pub fn publish_name(&self, service: &str, port: &str) -> Result<()> {
        match self.engine().publish(&service_name(service), port.as_bytes()) {
            Err(canele_engine::Error::NameTaken(_)) => {
                fail!(Service, "service_name is {service:?}, which is published already: unpublish it first")
            }
            result => result?,
        }
        locked(&self.ports.published).insert(service.to_owned());
        Ok(())
    }

    /// Takes the name of a service back.
    ///
    /// # Errors
    /// This process has not published it.
    pub fn unpublish_name(&self, service: &str) -> Result<()> {
        if !locked(&self.ports.published).remove(service) {
            fail!(Service, "service_name is {service:?}, which this process has not published");
        }
        let name = service_name(service);
        self.engine().withdraw(&name)?;
        // The launcher answers in order: once it has, no rank finds the name any more.
        Ok(self.engine().lookup(&name).map(drop)?)
    }

    /// The name of the port of a service.
    ///
    /// # Errors
    /// Nobody has published the service.
    pub fn lookup_name(&self, service: &str) -> Result<String> {
        match self.engine().lookup(&service_name(service))? {
            Some(port) => Ok(String::from_utf8_lossy(&port).into_owned()),
            None => fail!(Name, "service_name is {service:?}, which is not published in this job"),
        }
    }

    /// Accepts a connection of another group to a port of the `root`, who alone gives its name. All members of `comm` call it.
    ///
    /// # Errors
    /// The root has no such port; a member of either group died.
    pub fn accept(
        &self,
        comm: &Comm,
        root: usize,
        port: impl FnOnce() -> Result<String>,
    ) -> Result<Arc<Comm>> {
        check_group(comm, root)?;
        comm.check_call("MPI_Comm_accept")?;
        let mine = (root == comm.rank()).then(|| {
            let port = self.own_port(&port()?)?;
            let want = Want { source: None, tag: Some(Tag(port.number)) };
            let (from, request) = Request::receive(self.engine(), self.engine().mprobe(FLOW, want, None)?)?;
            let call = self.ports.number();
            let answer = Request { number: call, members: comm.group().members().to_vec() };
            send(self.engine(), from, Tag(ANSWER | request.number), answer.encode())?;
            Ok(Found { name: call_name(&port, call), members: request.members })
        });
        self.join_found(comm, root, mine)
    }

    /// Connects with the group that accepts connections at a port, which the `root` names. All members of `comm` call it.
    ///
    /// # Errors
    /// There is no such port, or it is closed; a member of either group died.
    pub fn connect(
        &self,
        comm: &Comm,
        root: usize,
        port: impl FnOnce() -> Result<String>,
    ) -> Result<Arc<Comm>> {
        check_group(comm, root)?;
        comm.check_call("MPI_Comm_connect")?;
        let mine = (root == comm.rank()).then(|| self.ask(comm, &port()?));
        self.join_found(comm, root, mine)
    }

    /// Asks the owner of a port for a connection, as the root.
    fn ask(&self, comm: &Comm, name: &str) -> Result<Found> {
        let (engine, port) = (self.engine(), Port::read(name)?);
        let launcher = engine.launcher()?;
        if port.launcher != launcher && port.launcher != 0 {
            fail!(
                Port,
                "port_name is {name:?}, a port of another job: this version of Canelé connects processes of one job"
            );
        }
        if engine.lookup(&port.published())?.is_none() {
            fail!(Port, "port_name is {name:?}, which is not open");
        }
        let number = self.ports.number();
        let request = Request { number, members: comm.group().members().to_vec() };
        send(engine, port.owner, Tag(port.number), request.encode())?;
        let want = Want { source: Some(port.owner), tag: Some(Tag(ANSWER | number)) };
        let bytes = receive(engine, engine.mprobe(FLOW, want, None)?)?.1;
        match Request::decode(&bytes) {
            Some(answer) => Ok(Found { name: call_name(&port, answer.number), members: answer.members }),
            None => fail!(Port, "port_name is {name:?}, which was closed while this process waited there"),
        }
    }

    /// Tells all members what the root has found, and makes the communicator.
    fn join_found(&self, comm: &Comm, root: usize, mine: Option<Result<Found>>) -> Result<Arc<Comm>> {
        let bytes = match &mine {
            Some(Ok(found)) => found.encode(),
            Some(Err(error)) => [&[1, error.class as u8][..], error.text.as_bytes()].concat(),
            None => Vec::new(),
        };
        let told = comm.tell(root, bytes)?;
        if let Some(Err(error)) = mine {
            return Err(error);
        }
        let (name, members) = match told.split_first() {
            Some((0, rest)) => match Found::decode(rest) {
                Some(Found { name, members }) => (name, members),
                None => fail!(Internal, "what the root says of the port cannot be understood"),
            },
            Some((_, rest)) => {
                let class = rest.first().and_then(|class| Class::ALL.get(usize::from(*class)));
                let text = String::from_utf8_lossy(rest.get(1..).unwrap_or_default()).into_owned();
                return Err(Error::new(class.copied().unwrap_or(Class::Port), text));
            }
            None => fail!(Internal, "the root says nothing of the port"),
        };
        comm.join(&Arc::new(Group::new(members)?), &name, comm.errhandler())
    }

    /// A communicator with one other process of the job, which calls this too; `name` is the same there, and of no other call.
    ///
    /// # Errors
    /// The other died; it is this process.
    pub fn join_one(&self, other: u32, name: &str) -> Result<Arc<Comm>> {
        let remote = Arc::new(Group::new(vec![Rank(other)])?);
        self.own.join(&remote, name, self.own.errhandler())
    }
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

/// The name under which the members of both groups find each other.
fn call_name(port: &Port, call: u32) -> String {
    format!("port {} of rank {}, call {call}", port.number, port.owner.0)
}

/// What the root tells its group: the name of the call, and who the others are.
struct Found {
    name: String,
    members: Vec<Rank>,
}

impl Found {
    /// Behind a zero, which says that it was found.
    fn encode(&self) -> Vec<u8> {
        let name = self.name.as_bytes();
        [&[0][..], &(name.len() as u32).to_le_bytes(), name, &bytes_of(&self.members)].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (name, members) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some(Self { name: String::from_utf8_lossy(name).into_owned(), members: members_of(members) })
    }
}

/// A request or an answer: a number, and the members of the group of its sender.
struct Request {
    number: u32,
    members: Vec<Rank>,
}

impl Request {
    fn encode(&self) -> Vec<u8> {
        [&self.number.to_le_bytes()[..], &bytes_of(&self.members)].concat()
    }

    /// Nothing of what has no members, as a refusal.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (number, members) = bytes.split_first_chunk()?;
        let (number, members) = (u32::from_le_bytes(*number), members_of(members));
        (number < ANSWER && !members.is_empty()).then_some(Self { number, members })
    }

    fn receive(engine: &Engine, matched: canele_engine::Matched) -> Result<(Rank, Self)> {
        let (from, bytes) = receive(engine, matched)?;
        match Self::decode(&bytes) {
            Some(request) if request.members.contains(&from) => Ok((from, request)),
            _ => fail!(Port, "what {from} wants of the port cannot be understood"),
        }
    }
}

fn bytes_of(members: &[Rank]) -> Vec<u8> {
    members.iter().flat_map(|rank| rank.0.to_le_bytes()).collect()
}

fn members_of(bytes: &[u8]) -> Vec<Rank> {
    bytes.as_chunks().0.iter().map(|word| Rank(u32::from_le_bytes(*word))).collect()
}

/// Sends a message and waits until it has left.
fn send(engine: &Engine, to: Rank, tag: Tag, bytes: Vec<u8>) -> Result<()> {
    let mut bytes = Owned::new(bytes);
    let pending = match engine.isend(to, FLOW, tag, Mode::Standard, bytes.lend_out()) {
        Ok(pending) => pending,
        Err(refused) => {
            bytes.take_back_out(refused.1);
            return Err(refused.0.into());
        }
    };
    let sent = engine.wait(pending, None)?;
    if let canele_engine::Buffer::Out(buffer) = sent.buffer {
        bytes.take_back_out(buffer);
    }
    sent.result?;
    Ok(())
}

/// Receives a message that was matched; from whom it is.
fn receive(engine: &Engine, matched: canele_engine::Matched) -> Result<(Rank, Vec<u8>)> {
    let status = matched.status;
    let mut bytes = vec![0; status.bytes];
    engine.recv_matched(matched, &mut bytes)?;
    Ok((status.source, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_read_from_its_name_and_nothing_else_is_one() {
        let port = Port { launcher: 7, owner: Rank(3), number: 5 };
        let read = Port::read(&port.name()).unwrap();
        assert_eq!((read.launcher, read.owner, read.number), (7, Rank(3), 5));
        for name in
            ["", "canele-port", "canele-port:1:2", "canele-port:1:2:x", "port:1:2:3", "canele-port:1:2:3:4"]
        {
            assert_eq!(Port::read(name).err().unwrap().class, Class::Port, "{name}");
        }
    }

    #[test]
    fn requests_and_what_is_found_survive_their_messages() {
        let members = vec![Rank(4), Rank(2)];
        let request = Request { number: 9, members: members.clone() };
        let back = Request::decode(&request.encode()).unwrap();
        assert_eq!((back.number, back.members), (9, members.clone()));
        assert!(Request::decode(&[]).is_none() && Request::decode(&[1, 0, 0, 0]).is_none());
        let found = Found { name: "call".into(), members: members.clone() }.encode();
        let back = Found::decode(&found[1..]).unwrap();
        assert_eq!((found[0], back.name.as_str(), back.members), (0, "call", members));
        assert!(Found::decode(&found[1..6]).is_none());
    }
}
