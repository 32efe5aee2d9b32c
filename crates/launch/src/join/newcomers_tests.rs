//! Tests of newcomers over loopback, and strangers among them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use canele_secure::{Initiator, KeyPurpose};

use super::*;
use crate::remote::FLIGHT;

fn secret() -> Secret {
    Secret::derive(KeyPurpose::JoiningAgents, &[7; 32])
}

struct Launcher {
    listener: TcpListener,
    newcomers: Newcomers,
    events: Events,
}

impl Launcher {
    fn new() -> Launcher {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let events = Events::new().unwrap();
        events.add(&listener, Source::JoinListener(0), Ready::IN).unwrap();
        Launcher { listener, newcomers: Newcomers::new(secret()), events }
    }

    fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// Handles events until no source is ready; returns the greeted ones.
    fn go_on(&mut self, now: Instant) -> Vec<Greeted> {
        let mut greeted = Vec::new();
        loop {
            let ready = self.events.wait(Some(Instant::now() + Duration::from_millis(20)));
            if ready.is_empty() {
                return greeted;
            }
            for (source, _) in ready {
                match source {
                    Source::Joining(number) => {
                        greeted.extend(self.newcomers.read((number - FIRST_PLACE) as usize, &self.events));
                    }
                    _ => {
                        while let Ok((stream, _)) = self.listener.accept() {
                            greeted.extend(self.newcomers.add(stream, now, &self.events));
                        }
                    }
                }
            }
        }
    }
}

/// Returns an agent's first bytes for a launcher that it expects at `address`.
fn first_words(address: SocketAddr) -> (Initiator, Vec<u8>) {
    Connection::Address(address).greet(&secret()).unwrap()
}

fn was_closed(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    !matches!(stream.read(&mut [0; 256]), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn one_that_has_the_key_is_greeted_though_its_words_come_in_pieces() {
    let mut launcher = Launcher::new();
    let address = launcher.address();
    let mut agent = TcpStream::connect(address).unwrap();
    let (initiator, words) = first_words(address);
    let now = Instant::now();
    for piece in words.chunks(30) {
        assert!(launcher.go_on(now).is_empty());
        agent.write_all(piece).unwrap();
    }
    let [greeted] = <[Greeted; 1]>::try_from(launcher.go_on(now)).unwrap();
    assert_eq!(greeted.until, now + PROOF_TIME + FIRST_MESSAGE_TIME);
    let mut channel = initiator.handle_answer(&greeted.answer).unwrap().0;
    let (mut sealed, mut plain) = (Vec::new(), Vec::new());
    channel.sealer.seal(b"first", &mut sealed).unwrap();
    let mut theirs = greeted.channel;
    theirs.opener.open(&sealed, &mut plain).unwrap();
    assert_eq!(plain, b"first");
    assert!(launcher.newcomers.deadline().is_none());
}

#[test]
fn strangers_that_hold_all_places_and_drip_keep_no_agent_out() {
    let mut launcher = Launcher::new();
    let (address, now) = (launcher.address(), Instant::now());
    let preamble = Version::own().preamble();
    let strangers: Vec<TcpStream> = (0..MOST_NEWCOMERS + 24)
        .map(|number| {
            let mut stranger = TcpStream::connect(address).unwrap();
            // Each stranger has sent another part of an agent's bytes.
            stranger.write_all(&preamble[..number % preamble.len()]).unwrap();
            if number % 64 == 0 {
                assert!(launcher.go_on(now).is_empty());
            }
            stranger
        })
        .collect();
    assert!(launcher.go_on(now).is_empty());
    assert_eq!(launcher.newcomers.order.len(), MOST_NEWCOMERS);
    assert!(strangers[..24].iter().all(was_closed) && !was_closed(&strangers[MOST_NEWCOMERS]));
    let mut agent = TcpStream::connect(address).unwrap();
    agent.write_all(&first_words(address).1).unwrap();
    assert_eq!(launcher.go_on(now).len(), 1);
    // A byte now and then extends no deadline.
    (&strangers[MOST_NEWCOMERS]).write_all(&[0]).unwrap();
    launcher.newcomers.check(now + PROOF_TIME, &launcher.events);
    assert_eq!(launcher.newcomers.order.len(), 0);
}

#[test]
fn nonsense_another_key_and_words_for_another_address_are_refused() {
    let mut launcher = Launcher::new();
    let (address, now) = (launcher.address(), Instant::now());
    let elsewhere = SocketAddr::from(([127, 0, 0, 1], address.port() ^ 1));
    let other = Secret::derive(KeyPurpose::JoiningAgents, &[8; 32]);
    let wrong = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        b"\0canele-agent?\r\n".to_vec(),
        Connection::Address(address).greet(&other).unwrap().1,
        Connection::Shell.greet(&secret()).unwrap().1,
        first_words(elsewhere).1,
    ];
    for words in wrong {
        let mut stranger = TcpStream::connect(address).unwrap();
        stranger.write_all(&words).unwrap();
        assert!(launcher.go_on(now).is_empty());
        assert!(was_closed(&stranger), "{words:?}");
    }
    assert_eq!(launcher.newcomers.order.len(), 0);
}

#[test]
fn both_ends_of_different_releases_name_them() {
    let mut launcher = Launcher::new();
    let (address, now) = (launcher.address(), Instant::now());
    let mut agent = TcpStream::connect(address).unwrap();
    let other = Version { version: 7, release: "0.0.7".into() };
    agent.write_all(&[other.preamble(), vec![1; FLIGHT]].concat()).unwrap();
    assert!(launcher.go_on(now).is_empty());
    assert_eq!(launcher.newcomers.other_version, Some(other.clone()));
    let mut answer = [0; PREAMBLE];
    agent.read_exact(&mut answer).unwrap();
    assert_eq!(Version::parse(&answer), Version::own());
}

/// A stranger between both ends passes on their bytes: it cannot change a byte of the later ones, nor answer
/// by itself.
#[test]
fn a_relay_can_pass_on_the_proofs_and_change_nothing_after_them() {
    let mut launcher = Launcher::new();
    let address = launcher.address();
    let mut to_launcher = TcpStream::connect(address).unwrap();
    let (initiator, words) = first_words(address);
    to_launcher.write_all(&words).unwrap();
    let [greeted] = <[Greeted; 1]>::try_from(launcher.go_on(Instant::now())).unwrap();
    let (mut agent, mut at_launcher) = (initiator.handle_answer(&greeted.answer).unwrap().0, greeted.channel);
    for (sealer, opener) in
        [(&mut at_launcher.sealer, &mut agent.opener), (&mut agent.sealer, &mut at_launcher.opener)]
    {
        let (mut order, mut plain) = (Vec::new(), Vec::new());
        sealer.seal(b"start /bin/true", &mut order).unwrap();
        order[7] ^= 1;
        assert!(opener.open(&order, &mut plain).is_err() && plain.is_empty());
    }
    // If the agent dials another address than the launcher listens at, a relay does not get that far.
    let (initiator, words) = first_words(SocketAddr::from(([127, 0, 0, 1], address.port() ^ 1)));
    let mut to_launcher = TcpStream::connect(address).unwrap();
    to_launcher.write_all(&words).unwrap();
    assert!(launcher.go_on(Instant::now()).is_empty());
    drop(initiator);
}
