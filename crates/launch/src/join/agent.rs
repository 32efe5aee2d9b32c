//! The agent of a host whose ranks another launcher has started. Owns its connection to the launcher of its
//! job.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_control::join::JoinTask;
use canele_rail::tcp::interfaces::all_addresses;
use canele_secure::SecureChannel;
use canele_sys::namespace::network_namespace;
use canele_sys::tunables::Tunables;

use super::arrivals::Arrivals;
use super::dialling::dial;
use super::{say, secret_of_agents};
use crate::events::Events;
use crate::remote;

/// The time during which the agent informs arriving ranks why it failed.
const REFUSING: Duration = Duration::from_secs(5);

/// Runs the agent for the ranks that connect to `listener`.
///
/// # Errors
/// Fails with any error of the system.
pub fn serve(begin: JoinTask, listener: OwnedFd) -> io::Result<()> {
    rustix::thread::set_name(c"canele-agent")?;
    let events = Events::new()?;
    let tunables = Tunables::from_env().map_err(io::Error::other)?;
    let connected = connect(&begin, Duration::from_millis(tunables.remote_start_ms), &events);
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

/// Connects to the launcher at the first of its addresses that answers.
fn connect(
    begin: &JoinTask,
    timeout: Duration,
    events: &Events,
) -> Result<(TcpStream, SecureChannel), String> {
    let own = all_addresses()
        .map_err(|error| unreachable(&format!("this host's addresses cannot be read ({error})")))?;
    let addresses = reachable(begin, &own);
    if addresses.is_empty() {
        return Err(unreachable("it has no address that is not this host's own, too"));
    }
    let secret = secret_of_agents(&begin.key);
    dial(&addresses, &secret, Instant::now() + timeout, events).map_err(|why| unreachable(&why))
}

fn unreachable(why: &str) -> String {
    format!(
        "this host does not reach the launcher of its job, on the host of rank 0 ({why}): let its hosts connect with each other by TCP, or name \
         the interfaces between them in CANELE_RAILS"
    )
}

/// Returns the addresses at which the launcher may listen. An address of this host leads to the launcher only
/// if both share a network namespace; otherwise any process may listen there.
fn reachable(begin: &JoinTask, own: &[IpAddr]) -> Vec<SocketAddr> {
    let is_here = begin.namespace.is_some() && begin.namespace == network_namespace();
    let leads_there = |address: &&SocketAddr| {
        is_here
            || !(address.ip().is_loopback() || address.ip().is_unspecified() || own.contains(&address.ip()))
    };
    begin.launcher.iter().filter(leads_there).copied().collect()
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
