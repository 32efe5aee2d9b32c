//! Tests of an agent that dials launchers, strangers and closed ports.

use std::net::TcpListener;
use std::thread::JoinHandle;

use canele_secure::KeyPurpose;

use super::*;
use crate::remote::GREETING;

const TIMEOUT: Duration = Duration::from_secs(120);

fn secret() -> Secret {
    Secret::derive(KeyPurpose::JoiningAgents, &[7; 32])
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A function that returns the bytes sent at an address in answer to a greeting.
type Words = fn(SocketAddr, &[u8]) -> Vec<u8>;

/// Takes connections one after the other: each gets the bytes of its answer after its greeting, which may be
/// none.
fn answer(listener: TcpListener, answers: Vec<Words>) -> JoinHandle<Vec<TcpStream>> {
    std::thread::spawn(move || {
        let address = listener.local_addr().unwrap();
        let serve = |answer: Words| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut greeting = [0; GREETING];
            stream.read_exact(&mut greeting).unwrap();
            let words = answer(address, &greeting);
            for byte in &words {
                stream.write_all(&[*byte]).unwrap();
            }
            // A listener that sends nothing keeps the connection.
            words.is_empty().then_some(stream)
        };
        answers.into_iter().filter_map(serve).collect()
    })
}

fn launcher(address: SocketAddr, greeting: &[u8]) -> Vec<u8> {
    Connection::Address(address).answer(&secret(), &greeting[PREAMBLE..]).unwrap().1
}

fn dial_all(addresses: &[SocketAddr]) -> Result<SocketAddr, String> {
    let events = Events::new().unwrap();
    let (stream, _) = dial(addresses, &secret(), Instant::now() + TIMEOUT, &events)?;
    Ok(stream.peer_addr().unwrap())
}

#[test]
fn the_launcher_is_found_beside_addresses_that_say_nothing_or_lead_nowhere() {
    let ((silent, at_silent), (deserted, at_deserted), (real, at_real)) = (listen(), listen(), listen());
    drop(deserted);
    let served = answer(real, vec![launcher]);
    assert_eq!(dial_all(&[at_silent, at_deserted, at_real]), Ok(at_real));
    served.join().unwrap();
    drop(silent);
}

#[test]
fn an_attempt_that_was_crowded_out_is_made_again() {
    let (listener, address) = listen();
    // The connection is closed in the middle of an answer, twice.
    let served = answer(listener, vec![|_, _| vec![1], |_, _| vec![2; 20], launcher]);
    assert_eq!(dial_all(&[address]), Ok(address));
    served.join().unwrap();
}

#[test]
fn a_stranger_is_no_launcher_and_each_address_is_told() {
    let ((deserted, at_deserted), (listener, at_stranger)) = (listen(), listen());
    drop(deserted);
    let served = answer(listener, vec![|_, _| vec![3; FLIGHT]]);
    let text = dial_all(&[at_deserted, at_stranger]).unwrap_err();
    assert!(text.contains(&format!("{at_deserted}: Connection refused")), "{text}");
    assert!(text.contains(&format!("{at_stranger}: the other end is not of this job")), "{text}");
    served.join().unwrap();
    assert_eq!(dial_all(&[]), Err(String::new()));
}

#[test]
fn a_launcher_of_another_release_is_named() {
    let (listener, address) = listen();
    let served = answer(listener, vec![|_, _| Version { version: 7, release: "0.0.7".into() }.preamble()]);
    let text = dial_all(&[address]).unwrap_err();
    assert!(text.contains("canele 0.0.7"), "{text}");
    served.join().unwrap();
}
