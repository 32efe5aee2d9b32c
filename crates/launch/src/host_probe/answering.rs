//! The examined host's side: it answers requests on standard input until the input ends.
//!
//! Owns the listening sockets. Never reads data of connecting peers.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use canele_control::VERSION;
use canele_rail::tcp::interfaces::{Interface, choose, interfaces, names_in};
use canele_sys::ids::LinkId;
use canele_sys::port_range::PortRange;
use canele_sys::tunables::Tunables;

use super::shells::MOST_LINE;
use super::{Attempts, Outcomes, ProbeAnswer, ProbeRequest, line, message};

/// The longest time for a connection, and then for the identity.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The number of simultaneous connection attempts.
pub(super) const AT_ONCE: usize = 32;

/// Answers requests on standard input, until its end, with messages on standard output. `examine` returns the
/// report of this host.
///
/// # Errors
/// Fails if no request comes.
pub fn answer(examine: impl FnOnce(&ProbeRequest) -> serde_json::Value) -> io::Result<()> {
    let input = io::stdin();
    if input.is_terminal() {
        return Err(io::Error::other("its standard input and output lead to `canele doctor`"));
    }
    let mut lines = std::iter::from_fn({
        let mut input = input.lock();
        move || next_line(&mut input).transpose()
    });
    let nonsense = |text: &str| io::Error::other(format!("what it is asked makes no sense: {text}"));
    let first = lines.next().ok_or_else(|| nonsense("nothing"))??;
    let request: ProbeRequest =
        message(&first).ok_or_else(|| nonsense(&first))?.map_err(|text| nonsense(&text))?;
    let found = interfaces().unwrap_or_default();
    let identity = draw_identity()?;
    // The examination reports an invalid setting.
    let tunables = Tunables::from_pairs(request.settings.iter().cloned()).unwrap_or_default();
    let addresses = used_interfaces(&found, &tunables.rails);
    let addresses = addresses.iter().flat_map(Interface::addresses);
    let listening = addresses.filter_map(|at| listen(at, tunables.ports, identity).ok()).collect();
    let answer = ProbeAnswer {
        version: VERSION,
        release: env!("CARGO_PKG_VERSION").into(),
        identity,
        listening,
        interfaces: found,
        report: examine(&request),
    };
    say(&line(&answer))?;
    for asked in lines {
        if let Some(Ok(Attempts(addresses))) = message(&asked?) {
            say(&line(&Outcomes(attempt(&addresses))))?;
        }
    }
    Ok(())
}

/// Returns the next line; none at the end.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let count = input.by_ref().take(MOST_LINE).read_until(b'\n', &mut line)?;
    if count as u64 == MOST_LINE {
        return Err(io::Error::other(format!("it is asked by a line of more than {MOST_LINE} bytes")));
    }
    let line = String::from_utf8(line).map_err(io::Error::other)?;
    Ok((count > 0).then(|| line.trim_end_matches('\n').to_owned()))
}

fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Returns the interfaces that `rails` names, or all if it names none or one that this host lacks.
fn used_interfaces(found: &[Interface], rails: &str) -> Vec<Interface> {
    let names = names_in(rails);
    let chosen = (!names.is_empty()).then(|| choose(found, &names).ok()).flatten();
    chosen.unwrap_or_else(|| found.to_vec())
}

fn draw_identity() -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(bytes))
}

/// Sends the identity to each peer that connects to the address, until this process ends; returns the bound
/// address.
fn listen(at: IpAddr, ports: PortRange, identity: u64) -> io::Result<SocketAddr> {
    let listener = ports.bind(|port| TcpListener::bind((at, port)))?;
    let address = listener.local_addr()?;
    std::thread::Builder::new().name("listener".into()).spawn(move || {
        for mut caller in listener.incoming().flatten() {
            // The identity fits into the empty buffer of a new socket. If writing fails, the caller has gone.
            let _ = caller.write_all(&identity.to_le_bytes());
        }
    })?;
    Ok(address)
}

/// Connects to each address, several at a time.
fn attempt(addresses: &[SocketAddr]) -> Vec<Result<(u64, u64), String>> {
    let addresses = &addresses[..addresses.len().min(LinkId::MOST_RANKS as usize)];
    let try_one = |address: &SocketAddr| {
        let address = *address;
        std::thread::Builder::new().spawn(move || connect(address).map_err(|error| in_words(&error)))
    };
    let of_chunk = |chunk: &[SocketAddr]| -> Vec<_> {
        let threads: Vec<_> = chunk.iter().map(try_one).collect();
        let ended = |thread: io::Result<std::thread::JoinHandle<_>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err("the attempt was not made".into())),
            Err(error) => Err(format!("the attempt was not made: no thread can be started ({error})")),
        };
        threads.into_iter().map(ended).collect()
    };
    addresses.chunks(AT_ONCE).flat_map(of_chunk).collect()
}

fn connect(address: SocketAddr) -> io::Result<(u64, u64)> {
    let since = Instant::now();
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
    let mut identity = [0; 8];
    stream.read_exact(&mut identity)?;
    Ok((u64::from_le_bytes(identity), since.elapsed().as_micros() as u64))
}

/// Describes the failure of an attempt.
fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            format!("no answer within {} s", CONNECT_TIMEOUT.as_secs())
        }
        io::ErrorKind::UnexpectedEof => "something else answers there".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_connects_gets_the_identity_and_failures_come_in_their_order() {
        let open = listen("127.0.0.1".parse().unwrap(), PortRange::ANY, 77).unwrap();
        let closed = {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap()
        };
        let outcomes = attempt(&[closed, open, open]);
        assert!(outcomes[0].as_ref().unwrap_err().contains("refused"), "{outcomes:?}");
        assert!(outcomes[1..].iter().all(|one| one.as_ref().is_ok_and(|(found, _)| *found == 77)));
    }
}
