//! The agent of a host whose ranks another launcher has started. Owns how it reaches the launcher of the job.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use canele_control::join::JoinTask;
use canele_rail::tcp::interfaces::all_addresses;
use canele_secure::{Secret, SecureChannel};
use canele_sys::namespace::network_namespace;
use canele_sys::tunables::Tunables;

use super::arrivals::Arrivals;
use super::newcomers::{self, PROOF_TIME};
use super::{say, secret_of_agents};
use crate::events::Events;
use crate::remote;

/// How soon the launcher is tried again: at first, and at last.
const AGAIN: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(320)];
/// How long ranks are told why an agent has come to nothing.
const REFUSING: Duration = Duration::from_secs(5);

/// Serves the ranks that come to `listener`.
///
/// # Errors
/// Whatever the system refuses.
pub fn serve(begin: JoinTask, listener: OwnedFd) -> io::Result<()> {
    rustix::thread::set_name(c"canele-agent")?;
    let events = Events::new()?;
    let tunables = Tunables::from_env().map_err(io::Error::other)?;
    let connected = connect(&begin, Duration::from_millis(tunables.remote_start_ms));
    let mut arrivals = Arrivals::new(begin, listener, &events)?;
    match connected {
        Ok(stream) => remote::serve_joined(stream, arrivals, events),
        Err(why) => {
            say(&why);
            let until = Instant::now() + REFUSING;
            while Instant::now() < until {
                for (source, _) in events.wait(Some(until)) {
                    arrivals.handle(source, &events);
                }
                arrivals.refuse(&why);
            }
            Ok(())
        }
    }
}

/// A connection to the launcher, over whichever of its addresses answers first.
fn connect(begin: &JoinTask, timeout: Duration) -> Result<(TcpStream, SecureChannel), String> {
    let own = all_addresses()
        .map_err(|error| unreachable(&format!("this host's addresses cannot be read ({error})")))?;
    let addresses = reachable(begin, &own);
    if addresses.is_empty() {
        return Err(unreachable("it has no address that is not this host's own, too"));
    }
    let (sender, results) = mpsc::channel();
    let deadline = Instant::now() + timeout;
    for address in addresses {
        let (told, key) = (sender.clone(), begin.key.clone());
        let started = std::thread::Builder::new().spawn(move || {
            // The receiver is gone once another address was faster.
            let _ = told.send((address, connect_until(address, &secret_of_agents(&key), deadline)));
        });
        if let Err(error) = started {
            let _ = sender.send((address, Err(error)));
        }
    }
    drop(sender);
    let mut failed = Vec::new();
    for (address, result) in results {
        match result {
            Ok(stream) => return Ok(stream),
            Err(error) => failed.push(format!("{address}: {error}")),
        }
    }
    Err(unreachable(&failed.join(", ")))
}

fn unreachable(why: &str) -> String {
    format!(
        "this host does not reach the launcher of its job, on the host of rank 0 ({why}): let its hosts connect with each other by TCP, or name \
         the interfaces between them in CANELE_RAILS"
    )
}

/// The addresses at which the launcher may be. Those that this host has itself lead to it only if both share a network namespace: any process
/// may listen there else.
fn reachable(begin: &JoinTask, own: &[IpAddr]) -> Vec<SocketAddr> {
    let is_here = begin.namespace.is_some() && begin.namespace == network_namespace();
    let leads_there = |address: &&SocketAddr| {
        is_here
            || !(address.ip().is_loopback() || address.ip().is_unspecified() || own.contains(&address.ip()))
    };
    begin.launcher.iter().filter(leads_there).copied().collect()
}

/// Connects again until `deadline` when the launcher had no time for this end: strangers may have taken all of its places for a moment.
fn connect_until(
    address: SocketAddr,
    secret: &Secret,
    deadline: Instant,
) -> io::Result<(TcpStream, SecureChannel)> {
    let [mut pause, longest] = AGAIN;
    loop {
        match connect_once(address, secret, deadline) {
            Err(error) if was_crowded_out(&error) && Instant::now() + pause < deadline => {
                std::thread::sleep(pause);
                pause = longest.min(2 * pause);
            }
            result => return result,
        }
    }
}

fn connect_once(
    address: SocketAddr,
    secret: &Secret,
    deadline: Instant,
) -> io::Result<(TcpStream, SecureChannel)> {
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let mut stream = TcpStream::connect_timeout(&address, left)?;
    stream.set_nodelay(true)?;
    let channel = newcomers::greet(&mut stream, address, secret, deadline.min(Instant::now() + PROOF_TIME))?;
    stream.set_read_timeout(None)?;
    stream.set_nonblocking(true)?;
    Ok((stream, channel))
}

/// True if the other end took the connection and closed it, or said nothing.
fn was_crowded_out(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe | TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_every_host_has_is_tried_on_the_launchers_own_host_alone() {
        let address = |text: &str| -> SocketAddr { text.parse().unwrap() };
        let all = ["127.0.0.1:7", "[::1]:7", "172.17.0.1:7", "10.0.0.1:7"].map(address);
        let mut begin = JoinTask {
            version: 0,
            job: 1,
            key: Default::default(),
            ranks: 2,
            timeout_ms: 1,
            program: String::new(),
            launcher: all.to_vec(),
            namespace: network_namespace(),
        };
        let own = [[172, 17, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
        assert!(begin.namespace.is_some());
        assert_eq!(reachable(&begin, &own), all);
        for namespace in [None, begin.namespace.map(|namespace| namespace ^ 1)] {
            begin.namespace = namespace;
            assert_eq!(reachable(&begin, &own), [all[3]]);
        }
    }
}
