use proptest::prelude::*;

use super::*;

const GENERATION_AGREED: u32 = 0x0102_0304;

/// The flights of `golden_bytes`.
const GOLDEN: [&str; 4] = [
    "43414e454c450400eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeed0ffd31\
     9089278a56a76e892b5df7592dd41bfe538b5136e62c1fd2689a50a50aa704978bf1d52afdbd05f6569a2cd1",
    "43414e454c450400ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddc6a9fed8\
     ff9ebe8cc90c6a1a3da19deac4b958e6a26b3ca2c2f3fa8cf597106779cb09ee4d1c7eb50ed0fa2210d9a57e",
    "a7921291d63fb7290d5ec6e7519e88e1",
    "b55175e09b154c8c3a665cf2c00d85990868f937",
];

fn credentials(me: u32) -> Credentials {
    Credentials {
        me: Rank(me),
        rail: 2,
        ranks: 4,
        job: 0x1234,
        key: [7; 32],
        cells: 64,
        payload: 4096,
        sockets: SocketNames::default(),
    }
}

/// A function that may falsify a byte; it gets the byte's place in the stream.
type Change<'a> = &'a dyn Fn(usize, &mut u8);

/// Moves bytes one way, in pieces of at most `step`. `change` may falsify each byte.
fn pass(
    from: &mut Handshake,
    to: &mut Handshake,
    step: usize,
    at: &mut usize,
    change: Change<'_>,
) -> Result<bool, HandshakeError> {
    let len = from.to_send().len().min(to.wanted()).min(step);
    let mut bytes = from.to_send()[..len].to_vec();
    from.handle_sent(len);
    for byte in &mut bytes {
        change(*at, byte);
        *at += 1;
    }
    to.handle(&bytes)?;
    Ok(len > 0)
}

/// Runs two handshakes against each other until both end or one refuses.
fn meet(
    a: &mut Handshake,
    b: &mut Handshake,
    step: usize,
    change: [Change<'_>; 2],
) -> Result<(), HandshakeError> {
    let mut at = [0; 2];
    for _ in 0..1000 {
        let moved = pass(a, b, step, &mut at[0], change[0])? | pass(b, a, step, &mut at[1], change[1])?;
        if b.undecided().is_some() {
            b.accept(GENERATION_AGREED);
        } else if !moved {
            return Ok(());
        }
    }
    panic!("a handshake without end")
}

fn honest(_: usize, _: &mut u8) {}

fn meet_honestly(a: &Credentials, b: &Credentials, peer: u32) -> Result<(), HandshakeError> {
    let mut a = Handshake::initiate(a, Rank(peer), 9, [1; 32]);
    let mut b = Handshake::respond(b, [2; 32]);
    meet(&mut a, &mut b, 1000, [&honest, &honest])
}

#[test]
fn both_find_each_other_however_the_bytes_are_cut() {
    for step in [1, 7, 63, 64, 1000] {
        let mut a = Handshake::initiate(&credentials(3), Rank(1), 9, [1; 32]);
        let mut b = Handshake::respond(&credentials(1), [2; 32]);
        assert!(!a.is_over() && !b.is_over());
        meet(&mut a, &mut b, step, [&honest, &honest]).unwrap();
        assert!(a.is_over() && b.is_over());
        assert_eq!((a.wanted(), b.wanted(), b.peer, b.dial()), (0, 0, Some(Rank(3)), 9));
        assert_eq!((a.generation(), b.generation()), (GENERATION_AGREED, GENERATION_AGREED));
    }
}

#[test]
fn the_first_eight_bytes_never_change() {
    let a = Handshake::initiate(&credentials(0), Rank(1), 9, [0; 32]);
    assert_eq!(a.to_send()[..8], *b"CANELE\x04\x00");
    assert_eq!(a.to_send().len(), LONGEST_FLIGHT);
}

/// The bytes were computed by another program, from the text of Noise's specification.
#[test]
fn golden_bytes() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut a = Handshake::initiate(&credentials(3), Rank(1), 9, [0xee; 32]);
    assert_eq!(hex(a.to_send()), GOLDEN[0]);
    let mut b = Handshake::respond(&credentials(1), [0xdd; 32]);
    b.handle(a.to_send()).unwrap();
    a.handle_sent(LONGEST_FLIGHT);
    assert_eq!(hex(b.to_send()), GOLDEN[1]);
    a.handle(b.to_send()).unwrap();
    assert_eq!(hex(a.to_send()), GOLDEN[2]);
    b.handle_sent(LONGEST_FLIGHT);
    b.handle(a.to_send()).unwrap();
    b.accept(5);
    assert_eq!(hex(b.to_send()), GOLDEN[3]);
}

#[test]
fn strangers_are_refused_at_the_first_wrong_byte() {
    let mut b = Handshake::respond(&credentials(1), [2; 32]);
    assert_eq!(b.handle(b"G"), Err(HandshakeError::Magic));
    assert!(b.to_send().is_empty());
    let mut b = Handshake::respond(&credentials(1), [2; 32]);
    assert_eq!(b.handle(b"CANELx"), Err(HandshakeError::Magic));
}

#[test]
fn a_stranger_is_refused_before_it_is_answered() {
    let a = Handshake::initiate(&Credentials { key: [8; 32], ..credentials(0) }, Rank(1), 9, [1; 32]);
    let mut b = Handshake::respond(&credentials(1), [2; 32]);
    let (most, last) = a.to_send().split_at(LONGEST_FLIGHT - 1);
    b.handle(most).unwrap();
    assert!(!b.shows_key());
    assert_eq!(b.handle(last), Err(HandshakeError::Proof));
    assert!(b.to_send().is_empty() && !b.shows_key());
}

#[test]
fn another_version_is_named_at_both_ends() {
    let mut b = Handshake::respond(&credentials(1), [2; 32]);
    let error = b.handle(b"CANELE\x09\x00").unwrap_err();
    assert_eq!(error, HandshakeError::Version { ours: 4, theirs: 9 });
    assert_eq!(b.to_send(), b"CANELE\x04\x00");
    assert_eq!(error.to_string(), "it speaks version 9 of the protocol, this program version 4");
    let mut a = Handshake::initiate(&credentials(0), Rank(1), 9, [2; 32]);
    assert_eq!(a.handle(b"CANELE\x09\x00"), Err(HandshakeError::Version { ours: 4, theirs: 9 }));
}

#[test]
fn another_key_is_refused() {
    let other = Credentials { key: [8; 32], ..credentials(1) };
    assert_eq!(meet_honestly(&credentials(0), &other, 1), Err(HandshakeError::Proof));
}

#[test]
fn another_job_with_the_same_key_is_named() {
    let other = Credentials { job: 5, ..credentials(1) };
    assert_eq!(
        meet_honestly(&credentials(0), &other, 1),
        Err(HandshakeError::Job { ours: 0x1234, theirs: 5 })
    );
}

#[test]
fn another_rank_than_looked_for_is_named() {
    let refused = HandshakeError::Rank { expected: Rank(2), theirs: Rank(1) };
    assert_eq!(meet_honestly(&credentials(0), &credentials(1), 2), Err(refused));
    assert_eq!(refused.to_string(), "rank 1 is there instead of rank 2");
    let outside = credentials(9);
    let refused = HandshakeError::NoSuchRank { theirs: Rank(9), ranks: 4 };
    assert_eq!(meet_honestly(&outside, &credentials(1), 1), Err(refused));
}

#[test]
fn other_sizes_are_named() {
    let other = Credentials { cells: 128, ..credentials(1) };
    let refused = HandshakeError::Sizes { ours: (64, 4096), theirs: (128, 4096) };
    assert_eq!(meet_honestly(&credentials(0), &other, 1), Err(refused));
}

#[test]
fn another_rail_is_named() {
    let other = Credentials { rail: 1, ..credentials(1) };
    assert_eq!(meet_honestly(&credentials(0), &other, 1), Err(HandshakeError::Rail { ours: 2, theirs: 1 }));
}

#[test]
fn oneself_is_refused() {
    assert_eq!(meet_honestly(&credentials(1), &credentials(1), 1), Err(HandshakeError::Oneself));
    // A reflecting peer, or a socket connected to itself, returns these bytes.
    let mut a = Handshake::initiate(&credentials(0), Rank(1), 9, [1; 32]);
    let own = a.to_send().to_vec();
    assert_eq!(a.handle(&own), Err(HandshakeError::Oneself));
}

#[test]
fn what_was_said_once_cannot_be_said_again() {
    let mut a = Handshake::initiate(&credentials(0), Rank(1), 9, [1; 32]);
    let mut b = Handshake::respond(&credentials(1), [2; 32]);
    let hello = a.to_send().to_vec();
    a.handle_sent(LONGEST_FLIGHT);
    b.handle(&hello).unwrap();
    let answer = b.to_send().to_vec();
    b.handle_sent(LONGEST_FLIGHT);
    a.handle(&answer).unwrap();
    let proof = a.to_send().to_vec();
    b.handle(&proof).unwrap();
    assert_eq!(b.undecided(), Some(Rank(0)));
    b.accept(GENERATION_AGREED);
    let acceptance = b.to_send().to_vec();
    let mut again = Handshake::respond(&credentials(1), [3; 32]);
    again.handle(&hello).unwrap();
    assert_eq!(again.handle(&proof), Err(HandshakeError::Proof), "an initiator repeated");
    let mut again = Handshake::initiate(&credentials(0), Rank(1), 9, [4; 32]);
    assert_eq!(again.handle(&answer), Err(HandshakeError::Proof), "a responder repeated");
    let mut again = Handshake::respond(&credentials(1), [2; 32]);
    again.handle(&hello).unwrap();
    let own = &acceptance[..proof.len()];
    assert_eq!(again.handle(own), Err(HandshakeError::Proof), "its own words given back");
    assert!(!again.shows_key() && !again.is_over() && again.wanted() == 0);
}

#[test]
fn proofs_are_bound_to_the_names_of_the_sockets() {
    let at = |me, [listener, initiator]: [&[u8]; 2]| Credentials {
        sockets: SocketNames { listener: listener.to_vec(), initiator: initiator.to_vec() },
        ..credentials(me)
    };
    let names: [&[u8]; 2] = [b"a", b"bc"];
    assert_eq!(meet_honestly(&at(0, names), &at(1, names), 1), Ok(()));
    for others in [[&b"a"[..], b"b"], [b"ab", b"c"], [b"bc", b"a"], [b"", b""]] {
        assert_eq!(meet_honestly(&at(0, names), &at(1, others), 1), Err(HandshakeError::Proof), "{others:?}");
    }
}

#[test]
fn a_hello_keeps_what_it_says() {
    let hello = Hello { from: Rank(1), to: Rank(2), job: 3, cells: 4, payload: 5, dial: 6, rail: 7 };
    assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
    assert_eq!(Hello::decode(&hello.encode()[..31]), Err(HandshakeError::Proof));
}

#[test]
fn any_flipped_bit_refuses() {
    for (way, bytes) in [(0, LONGEST_FLIGHT + TAG), (1, LONGEST_FLIGHT + GENERATION + TAG)] {
        for bit in 0..bytes * 8 {
            let flip = |at: usize, byte: &mut u8| {
                if at == bit / 8 {
                    *byte ^= 1 << (bit % 8);
                }
            };
            let mut a = Handshake::initiate(&credentials(0), Rank(1), 9, [1; 32]);
            let mut b = Handshake::respond(&credentials(1), [2; 32]);
            let change: [Change<'_>; 2] = if way == 0 { [&flip, &honest] } else { [&honest, &flip] };
            let met = meet(&mut a, &mut b, 1000, change);
            assert!(met.is_err(), "bit {bit} of way {way} flipped");
            assert!(!a.is_over(), "bit {bit} of way {way} flipped");
        }
    }
}

proptest! {
    #[test]
    fn a_stranger_never_gets_through(flights in prop::collection::vec(any::<u8>(), 0..300), good in 0..LONGEST_FLIGHT) {
        let hello = Handshake::initiate(&credentials(0), Rank(1), 9, [1; 32]).to_send()[..good].to_vec();
        for mut end in [
            Handshake::respond(&credentials(1), [2; 32]),
            Handshake::initiate(&credentials(0), Rank(1), 9, [3; 32]),
        ] {
            let mut rest = &[&hello[..], &flights].concat()[..];
            while !rest.is_empty() && end.wanted() > 0 {
                let (now, later) = rest.split_at(end.wanted().min(rest.len()));
                rest = later;
                if end.handle(now).is_err() {
                    break;
                }
            }
            prop_assert!(!end.is_over() && end.undecided().is_none());
        }
    }
}

/// Returns two jobs' ranks; each job numbers the other's ranks in its own way.
fn two_jobs() -> [OtherRanks; 2] {
    let first = OtherRanks { job: 5, theirs: 6, key: [9; 32], first: 0, ranks: 2, here: Rank(4) };
    [first, OtherRanks { job: 6, theirs: 5, here: Rank(8), ranks: 4, ..first }]
}

fn meet_other(
    peer: u32,
    among: OtherRanks,
    others: &[OtherRanks],
    to: u32,
) -> (Handshake, Handshake, Result<(), HandshakeError>) {
    let mut a = Handshake::initiate_among(&credentials(1), Some(among), Rank(peer), 9, [1; 32]);
    let other_job = Credentials { job: 0x4321, key: [8; 32], ..credentials(to) };
    let mut b = Handshake::respond_to_all(&other_job, &others.into(), [2; 32]);
    let met = meet(&mut a, &mut b, 1000, [&honest, &honest]);
    (a, b, met)
}

#[test]
fn ranks_of_two_jobs_meet_by_their_key_and_are_known_by_their_numbers_in_each() {
    let [mine, theirs] = two_jobs();
    let spawned = OtherRanks { first: 4, ranks: 2, here: Rank(20), ..theirs };
    // Rank 1 of the first job, which the second numbers 9, has numbered rank 1 of the second 5.
    let (a, b, met) = meet_other(5, mine, &[spawned, theirs], 1);
    assert_eq!((met, a.is_over(), b.is_over(), b.peer), (Ok(()), true, true, Some(Rank(9))));
    let elsewhere = OtherRanks { key: [3; 32], ..theirs };
    assert_eq!(meet_other(5, mine, &[elsewhere], 1).2, Err(HandshakeError::Proof));
    assert_eq!(meet_other(5, mine, &[], 1).2, Err(HandshakeError::Proof));
    let reversed = OtherRanks { theirs: 6, ..theirs };
    assert!(matches!(meet_other(5, mine, &[reversed], 1).2, Err(HandshakeError::Job { .. })));
    assert!(matches!(meet_other(5, mine, &[theirs], 0).2, Err(HandshakeError::Rank { .. })));
    assert!(matches!(meet_other(5, mine, &[spawned], 1).2, Err(HandshakeError::NoSuchRank { .. })));
}
