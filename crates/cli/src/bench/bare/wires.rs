//! Plain TCP connections between the hosts of two ranks, one for each network that connects both.
//!
//! Owns the making of connections. The far rank listens on every address of its networks and sends these in a
//! message of the job; rank 0 connects to each. Never authenticates; connections of other processes are
//! closed.

use super::super::Failure;
use canele::{Flow, Rank, Tag};
use canele_rail::tcp::interfaces::{Interface, choose, interfaces, names_in};
use canele_sys::tunables::Tunables;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Time limit for the answer of one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const ADDRESSES: Tag = Tag(1);
const CONNECTED: Tag = Tag(2);

/// A connection, and the name of its network on rank 0's host.
pub struct Wire {
    pub rail: String,
    pub stream: TcpStream,
}

/// One network of a host: its name and addresses, as sent to the rank at the other end.
type Offer = (String, Vec<SocketAddr>);

/// Connects rank 0 with `far`; both call it.
pub fn connect(flow: &Flow, far: Rank) -> Result<Vec<Wire>, Failure> {
    if flow.rank() == far { listen(flow) } else { dial(flow, far) }
}

/// Returns the networks that the job's rails use on this host.
fn networks() -> Result<Vec<Interface>, Failure> {
    let tunables = Tunables::from_env()?;
    Ok(choose(&interfaces()?, &names_in(&tunables.rails))?)
}

fn listen(flow: &Flow) -> Result<Vec<Wire>, Failure> {
    let (mut offers, mut listeners): (Vec<Offer>, Vec<TcpListener>) = (Vec::new(), Vec::new());
    let ports = Tunables::from_env()?.ports;
    for network in networks()? {
        let mut addresses = Vec::new();
        for address in network.addresses() {
            let listener = ports.bind(|port| TcpListener::bind((address, port)))?;
            addresses.push(listener.local_addr()?);
            listeners.push(listener);
        }
        offers.push((network.name, addresses));
    }
    send(flow, Rank(0), ADDRESSES, &offers)?;
    // For each connection: the listener's address, the address of the connecting end, and the name of its
    // network there.
    let made: Vec<(SocketAddr, SocketAddr, String)> = receive(flow, Rank(0), CONNECTED)?;
    let mut wires = Vec::new();
    for (to, from, rail) in made {
        let listener = listeners.iter().find(|listener| listener.local_addr().is_ok_and(|own| own == to));
        let listener = listener.ok_or("rank 0 connected to an address that was not offered")?;
        // The other end is connected already, so this loop ends.
        let stream = loop {
            let (stream, address) = listener.accept()?;
            if address == from {
                break stream;
            }
        };
        wires.push(Wire { rail, stream: ready(stream)? });
    }
    Ok(wires)
}

fn dial(flow: &Flow, far: Rank) -> Result<Vec<Wire>, Failure> {
    let offers: Vec<Offer> = receive(flow, far, ADDRESSES)?;
    let own = networks()?;
    let (mut wires, mut made) = (Vec::new(), Vec::new());
    for addresses in offers.iter().map(|(_, addresses)| addresses) {
        let Some(stream) =
            addresses.iter().find_map(|to| TcpStream::connect_timeout(to, CONNECT_TIMEOUT).ok())
        else {
            continue;
        };
        let (to, from) = (stream.peer_addr()?, stream.local_addr()?);
        let network = own.iter().find(|network| network.addresses().contains(&from.ip()));
        let rail = network.map_or_else(|| from.ip().to_string(), |network| network.name.clone());
        made.push((to, from, rail.clone()));
        wires.push(Wire { rail, stream: ready(stream)? });
    }
    send(flow, far, CONNECTED, &made)?;
    let tried = || offers.iter().flat_map(|(_, addresses)| addresses).map(SocketAddr::to_string);
    if wires.is_empty() {
        let tried: Vec<String> = tried().collect();
        return Err(format!("no plain socket reaches {far}; tried {}", tried.join(", ")).into());
    }
    Ok(wires)
}

/// Prepares a stream for the loops: no delay, non-blocking.
fn ready(stream: TcpStream) -> Result<TcpStream, Failure> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn send<T: serde::Serialize>(flow: &Flow, to: Rank, tag: Tag, value: &T) -> Result<(), Failure> {
    Ok(flow.send(to, tag, &serde_json::to_vec(value)?)?)
}

fn receive<T: serde::de::DeserializeOwned>(flow: &Flow, from: Rank, tag: Tag) -> Result<T, Failure> {
    let (_, bytes) = flow.mprobe(from, tag)?.recv_vec::<u8>()?;
    Ok(serde_json::from_slice(&bytes)?)
}
