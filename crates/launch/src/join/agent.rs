//! The agent of a host whose ranks another launcher has started. Owns how it reaches the launcher of the job.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use canele_control::join::JoinTask;
use canele_sys::tunables::Tunables;

use super::arrivals::Arrivals;
use super::{proof, say};
use crate::events::Events;
use crate::remote;

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
fn connect(begin: &JoinTask, patience: Duration) -> Result<TcpStream, String> {
    let (sender, results) = mpsc::channel();
    for address in begin.launcher.clone() {
        let (sender, key) = (sender.clone(), begin.key.clone());
        std::thread::spawn(move || {
            // Nobody listens any more once another one was faster.
            let _ = sender.send((address, connect_with(address, &key, patience)));
        });
    }
    drop(sender);
    let mut failed = Vec::new();
    for (address, result) in results {
        match result {
            Ok(stream) => return Ok(stream),
            Err(error) => failed.push(format!("{address}: {error}")),
        }
    }
    Err(format!(
        "this host does not reach the launcher of its job, on the host of rank 0 ({}): let its hosts connect with each other by TCP, or name \
         the interfaces between them in CANELE_RAILS",
        failed.join(", ")
    ))
}

fn connect_with(address: SocketAddr, key: &[u8; 32], patience: Duration) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_nodelay(true)?;
    proof::prove_agent(&mut stream, key)?;
    stream.set_read_timeout(None)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}
