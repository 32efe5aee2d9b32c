//! Tests of a stranger between an agent that joins and its launcher, which passes on the proofs of both and
//! then changes a byte.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_control::join::{JoinAnswer, JoinRequest, JoinTask};
use canele_control::{Socket, VERSION};
use canele_secure::Secret;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

use super::dialling::dial;
use super::{Arrivals, secret_of_agents};
use crate::events::{Events, Ready, Source};
use crate::remote::{
    Connection, FLIGHT, FromAgent, GREETING, Inflow, Outflow, PREAMBLE, ToAgent, sample_task, serve_joined,
};

const KEY: [u8; 32] = [7; 32];

fn secret() -> Secret {
    secret_of_agents(&KEY)
}

/// Passes all bytes on between the agent and the launcher at `launcher`, but changes byte `place` of the
/// launcher's after its proof.
fn relay(listener: &TcpListener, launcher: SocketAddr, place: Option<usize>) {
    let (mut agent, _) = listener.accept().unwrap();
    let mut launcher = TcpStream::connect(launcher).unwrap();
    let (mut from_agent, mut to_launcher) = (agent.try_clone().unwrap(), launcher.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_agent, &mut to_launcher);
        to_launcher.shutdown(Shutdown::Both)
    });
    let (mut passed, mut byte) = (0, [0]);
    while launcher.read(&mut byte).is_ok_and(|count| count == 1) {
        if place.is_some_and(|place| passed == FLIGHT + place) {
            byte[0] ^= 1;
        }
        passed += 1;
        if agent.write_all(&byte).is_err() {
            return;
        }
    }
}

/// Runs a launcher that is expected to listen at `address` and sends this message once a rank has come.
fn launcher(listener: &TcpListener, address: SocketAddr, message: &ToAgent) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut greeting = [0; GREETING];
    stream.read_exact(&mut greeting).unwrap();
    let (channel, answer) = Connection::Address(address).answer(&secret(), &greeting[PREAMBLE..]).unwrap();
    let events = Events::new().unwrap();
    let mut up =
        Inflow::new(OwnedFd::from(stream.try_clone().unwrap()), Source::Incoming(0), &events).unwrap();
    let mut down = Outflow::new(OwnedFd::from(stream), Source::Outgoing(0));
    up.open_with(channel.opener);
    down.begin(&answer);
    down.seal_with(channel.sealer);
    down.flush(&events).unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    let mut has_joined = false;
    while !has_joined && Instant::now() < deadline {
        events.wait(Some(deadline));
        up.read();
        while let Some(message) = up.next().unwrap() {
            has_joined |= matches!(message, FromAgent::Joined { rank: 0, .. });
        }
    }
    down.push(message);
    down.flush(&events).unwrap();
    up.close(&events);
    // The agent's further bytes are read, so that the connection is not reset.
    let rest = down.fd().try_clone_to_owned().unwrap();
    let _ = std::io::copy(&mut TcpStream::from(rest), &mut std::io::sink());
}

/// Returns the refusal that a rank gets whose agent reaches the launcher through a relay that changes this
/// byte.
fn through_relay(place: Option<usize>, message: ToAgent) -> String {
    let [at_relay, at_launcher] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let (address, to) = (at_relay.local_addr().unwrap(), at_launcher.local_addr().unwrap());
    std::thread::spawn(move || relay(&at_relay, to, place));
    let served = std::thread::spawn(move || launcher(&at_launcher, address, &message));
    let deadline = Instant::now() + Duration::from_secs(120);
    let events = Events::new().unwrap();
    let reached = dial(&[address], &secret(), deadline, &events).unwrap();

    let new = || {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
    };
    let (listener, rank) = (new(), new());
    let name = format!("canele-test-{:x}", canele_control::draw_job_id().unwrap());
    let name = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
    bind(&listener, &name).unwrap();
    listen(&listener, 8).unwrap();
    connect(&rank, &name).unwrap();
    let rank = Socket::new(rank);
    rank.try_send(&JoinRequest::Join { version: VERSION, rank: 0, ranks: 4 }, &[]).unwrap();
    let begin = JoinTask {
        version: VERSION,
        job: 1,
        key: KEY.into(),
        ranks: 4,
        timeout_ms: 1000,
        program: "x".into(),
        launcher: vec![address],
        namespace: None,
    };
    let arrivals = Arrivals::new(begin, listener, &events).unwrap();
    serve_joined(reached, arrivals, events).unwrap();
    served.join().unwrap();
    let told = Events::new().unwrap();
    told.add(&rank, Source::Joining(0), Ready::IN).unwrap();
    told.wait(Some(deadline));
    match rank.try_receive() {
        Ok(Some((JoinAnswer::Refused { why }, None))) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_order_that_a_relay_changes_is_refused_in_words_and_nothing_runs() {
    for place in [0, 3, 4, 30] {
        let why = through_relay(Some(place), ToAgent::Begin(Box::new(sample_task())));
        assert!(why.contains("changed on its way"), "{place}: {why}");
    }
}

#[test]
fn a_relay_that_changes_nothing_is_a_wire() {
    let said = "as the launcher says";
    assert_eq!(through_relay(None, ToAgent::Refuse { why: said.into() }), said);
}
