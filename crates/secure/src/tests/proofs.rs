//! Tests of the mutual proof that links, agents and joining agents share. Each rule is tried with both kinds
//! of key exchange.

use zeroize::Zeroizing;

use super::*;

/// The hellos of the two ends.
const HELLOS: [&[u8]; 2] = [b"rank 3 to rank 1", b"rank 1"];

/// One end: its secret and prologue, and its key exchange.
struct End {
    secret: Secret,
    prologue: Prologue,
    exchange: KeyExchange,
}

impl End {
    fn new(exchange: KeyExchange) -> End {
        End { secret: secret(1), prologue: here(), exchange }
    }

    fn proof(&self) -> MutualProof<'_> {
        MutualProof { secret: &self.secret, prologue: &self.prologue, exchange: self.exchange }
    }

    fn initiate(&self) -> (Initiator, Vec<u8>) {
        self.proof().initiate(HELLOS[0]).unwrap()
    }

    fn answer(&self, flight: &[u8]) -> Result<(SecureChannel, Vec<u8>), Refused> {
        let (responder, hello) = self.proof().respond(flight)?;
        assert_eq!(hello, HELLOS[0]);
        responder.answer(HELLOS[1])
    }
}

/// Tries a rule with the two ends of each kind of key exchange.
fn in_each_way(rule: impl Fn(&mut End, &mut End)) {
    for [of_initiator, of_responder] in WAYS {
        rule(&mut End::new(of_initiator), &mut End::new(of_responder));
    }
}

/// Returns another nonce, as every new connection has.
fn again(exchange: KeyExchange) -> KeyExchange {
    match exchange {
        KeyExchange::DiffieHellman => exchange,
        KeyExchange::Nonce(nonce) => KeyExchange::Nonce(nonce.map(|byte| byte + 2)),
    }
}

#[test]
fn both_ends_learn_each_others_hello_and_have_a_channel() {
    in_each_way(|a, b| {
        let (initiator, first) = a.initiate();
        assert_eq!(first.len(), flight_length(HELLOS[0].len()));
        let (mut there, answer) = b.answer(&first).unwrap();
        assert_eq!(answer.len(), flight_length(HELLOS[1].len()));
        let (mut here, hello) = initiator.handle_answer(&answer).unwrap();
        assert_eq!(hello, HELLOS[1]);
        for text in [&b""[..], b"frame"] {
            let sealed = seal(&mut here, text);
            assert_eq!(open(&mut there, &sealed).unwrap(), text);
            let sealed = seal(&mut there, text);
            assert_eq!(open(&mut here, &sealed).unwrap(), text);
        }
        // Sealed text cannot be read on the way.
        assert!(
            !first.windows(4).any(|bytes| bytes == b"rank")
                && !answer.windows(4).any(|bytes| bytes == b"rank")
        );
    });
}

/// The bytes were computed by another program, from the text of Noise's specification.
#[test]
fn the_bytes_of_a_handshake_with_nonces_are_those_of_noise() {
    let secret = Secret(Zeroizing::new([7; 32]));
    let prologue = Prologue::new("a test").bind(b"connection");
    let [a, b] = [1, 2].map(|byte| MutualProof {
        secret: &secret,
        prologue: &prologue,
        exchange: KeyExchange::Nonce([byte; NONCE]),
    });
    let (initiator, first) = a.initiate(b"hello").unwrap();
    let (responder, _) = b.respond(&first).unwrap();
    let (mut there, answer) = responder.answer(b"answer").unwrap();
    let (mut here, _) = initiator.handle_answer(&answer).unwrap();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&first), format!("{}a6c8e59320c723637c9dda5cba8ec6101be9d70c63", "01".repeat(NONCE)));
    assert_eq!(hex(&answer), format!("{}aeb8a0a434c91a95c50830c20e6a316b7550d863a2ea", "02".repeat(NONCE)));
    assert_eq!(hex(&seal(&mut here, b"frame")), "8950b2a913d3d64074a4af52169d6ead61690af356");
    assert_eq!(hex(&seal(&mut there, b"reply")), "4d407dbe8f35085bf6b034b1e5816edd47a45f5619");
}

#[test]
fn another_secret_connection_or_kind_of_exchange_is_refused_by_both_ends() {
    let changes: [fn(&mut End); 5] = [
        |end| end.secret = secret(2),
        |end| end.secret = Secret::none(),
        |end| end.prologue = prologue("10.0.0.2:7"),
        |end| end.prologue = Prologue::new("another purpose").bind(b"10.0.0.1:7"),
        |end| {
            end.exchange = match end.exchange {
                KeyExchange::DiffieHellman => KeyExchange::Nonce([9; NONCE]),
                KeyExchange::Nonce(_) => KeyExchange::DiffieHellman,
            }
        },
    ];
    for change in changes {
        in_each_way(|a, b| {
            change(b);
            let (initiator, first) = a.initiate();
            assert_eq!(b.answer(&first).unwrap_err(), Refused::Handshake);
            // A stranger answers by its own handshake.
            let (_, its_first) = b.initiate();
            let (_, answer) = b.answer(&its_first).unwrap();
            assert_eq!(initiator.handle_answer(&answer).unwrap_err(), Refused::Handshake);
        });
    }
}

#[test]
fn a_proof_that_is_relayed_to_another_connection_is_refused() {
    in_each_way(|a, b| {
        // The stranger listens where the initiator dials, and dials where the responder listens.
        a.prologue = prologue("where the stranger listens");
        let (_, first) = a.initiate();
        assert_eq!(b.answer(&first).unwrap_err(), Refused::Handshake);
        // The answer of one connection is no answer of another one with the same ends.
        let (there, _) = End::new(a.exchange).initiate();
        let (_, first) = End::new(again(a.exchange)).initiate();
        let (_, answer) = b.answer(&first).unwrap();
        assert_eq!(there.handle_answer(&answer).unwrap_err(), Refused::Handshake);
    });
}

#[test]
fn what_an_end_said_is_no_answer_to_it() {
    in_each_way(|a, b| {
        let (initiator, first) = a.initiate();
        assert_eq!(initiator.handle_answer(&first).unwrap_err(), Refused::Handshake);
        let (initiator, first) = a.initiate();
        let (mut there, answer) = b.answer(&first).unwrap();
        assert_eq!(b.answer(&answer).unwrap_err(), Refused::Handshake);
        let (mut here, _) = initiator.handle_answer(&answer).unwrap();
        for end in [&mut here, &mut there] {
            let own = seal(end, b"frame");
            assert_eq!(open(end, &own), Err(Refused::Frame));
        }
    });
}

#[test]
fn a_first_flight_that_is_said_again_gives_keys_that_no_end_has() {
    in_each_way(|a, b| {
        let (initiator, first) = a.initiate();
        let (_, answer) = b.answer(&first).unwrap();
        let (mut here, _) = initiator.handle_answer(&answer).unwrap();
        b.exchange = again(b.exchange);
        let (mut there, _) = b.answer(&first).unwrap();
        let sealed = seal(&mut here, b"order");
        assert_eq!(open(&mut there, &sealed), Err(Refused::Frame));
    });
}

#[test]
fn every_bit_of_a_flight_counts() {
    in_each_way(|a, b| {
        for bit in 0..8 * flight_length(HELLOS[0].len()) {
            let (_, mut first) = a.initiate();
            first[bit / 8] ^= 1 << (bit % 8);
            let refused = b.answer(&first).unwrap_err();
            assert_eq!(refused, Refused::Handshake, "bit {bit} of the first");
        }
        for bit in 0..8 * flight_length(HELLOS[1].len()) {
            let (initiator, first) = a.initiate();
            let (_, mut answer) = b.answer(&first).unwrap();
            answer[bit / 8] ^= 1 << (bit % 8);
            let refused = initiator.handle_answer(&answer).unwrap_err();
            assert_eq!(refused, Refused::Handshake, "bit {bit} of the answer");
        }
    });
}

#[test]
fn a_flight_of_another_length_is_refused() {
    in_each_way(|a, b| {
        let (_, first) = a.initiate();
        let longer = [&first[..], &[0]].concat();
        for flight in (0..first.len()).map(|length| &first[..length]).chain([&longer[..]]) {
            assert_eq!(b.answer(flight).unwrap_err(), Refused::Handshake, "{}", flight.len());
        }
        let (_, answer) = b.answer(&first).unwrap();
        let longer = [&answer[..], &[0]].concat();
        for flight in (0..answer.len()).map(|length| &answer[..length]).chain([&longer[..]]) {
            let (initiator, _) = a.initiate();
            assert_eq!(initiator.handle_answer(flight).unwrap_err(), Refused::Handshake, "{}", flight.len());
        }
    });
}

#[test]
fn random_flights_are_refused() {
    in_each_way(|a, b| {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        for _ in 0..500 {
            let length = usize::from(random.byte());
            assert_eq!(b.answer(&random.bytes(length)).unwrap_err(), Refused::Handshake);
            let (initiator, _) = a.initiate();
            assert!(initiator.handle_answer(&random.bytes(length)).is_err());
        }
    });
}

#[test]
fn parts_of_a_prologue_do_not_run_into_each_other() {
    let whole = Prologue::new("links").bind(b"ab").bind(b"c");
    for other in [
        Prologue::new("links").bind(b"a").bind(b"bc"),
        Prologue::new("links").bind(b"abc"),
        Prologue::new("links").bind(b"ab").bind(b"c").bind(b""),
        Prologue::new("link").bind(b"sab").bind(b"c"),
    ] {
        assert_ne!(whole, other);
    }
}

#[test]
fn keys_for_different_purposes_differ() {
    let keys = KeyPurpose::ALL.map(|purpose| *derive_key(purpose, &[7; 32]));
    for (at, key) in keys.iter().enumerate() {
        assert_ne!(*key, [7; 32]);
        assert!(!keys[..at].contains(key), "{:?}", KeyPurpose::ALL[at]);
    }
    assert_ne!(secret(1), secret(2));
    assert_ne!(secret(1), Secret::derive(KeyPurpose::JoiningAgents, &[1; 32]));
}

#[test]
fn no_text_shows_a_key() {
    let (a, _) = pair();
    let (initiator, _) = End::new(WAYS[0][0]).initiate();
    let beats = a.sealer.beat_key();
    let text = format!("{:?} {initiator:?} {:?} {:?} {beats:?}", secret(1), a.sealer, a.opener);
    assert!(text.contains('…') && !text.contains('['), "{text}");
}
