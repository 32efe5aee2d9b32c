//! Tests of frames through a pipe, whole, cut, and forged.

use std::io::Write;

use canele_secure::{BeatSealer, Secret, SecureChannel};
use rustix::pipe::{PipeFlags, pipe_with};

use canele_control::{FromLauncher, SpawnedWorld};

use super::*;
use crate::events::Stream;
use crate::host_ranks::Order;
use crate::remote::greeting::Connection;
use crate::remote::{FromAgent, ToAgent, stand_in_beat};

/// Returns both ends of a channel, that of the agent first.
fn channels() -> (SecureChannel, SecureChannel) {
    let secret = Secret::none();
    let (initiator, greeting) = Connection::Shell.greet(&secret).unwrap();
    let (launcher, answer) = Connection::Shell.answer(&secret, &greeting[PREAMBLE..]).unwrap();
    (initiator.handle_answer(&answer).unwrap().0, launcher)
}

/// Returns the launcher's stream, the agent's end of the pipe, and the agent's sealer.
fn inflow(events: &Events) -> (Inflow, std::fs::File, Sealer) {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let mut inflow = Inflow::new(reader, Source::Incoming(0), events).unwrap();
    let (agent, launcher) = channels();
    inflow.open_with(launcher.opener);
    (inflow, writer.into(), agent.sealer)
}

/// Writes `bytes` one by one and reads as a receiver would.
fn feed(inflow: &mut Inflow, writer: &mut std::fs::File, bytes: &[u8]) {
    writer.write_all(bytes).unwrap();
    assert_eq!(inflow.read(), Read::Some);
}

fn frame(message: &str, sealer: &mut Sealer) -> Vec<u8> {
    raw(&postcard::to_stdvec(message).unwrap(), sealer)
}

fn raw(message: &[u8], sealer: &mut Sealer) -> Vec<u8> {
    let mut bytes = Vec::new();
    chunks::push(message, sealer, &mut bytes);
    bytes
}

#[test]
fn messages_cut_at_every_byte_come_whole() {
    let events = Events::new().unwrap();
    let length = 3 * (chunks::HEADER + canele_secure::TAG + 2) + "onethree".len();
    for cut in 0..=length {
        let (mut inflow, mut writer, mut sealer) = inflow(&events);
        let bytes = ["one", "", "three"].map(|message| frame(message, &mut sealer)).concat();
        assert_eq!(bytes.len(), length);
        let mut found: Vec<String> = Vec::new();
        for part in [&bytes[..cut], &bytes[cut..]] {
            if !part.is_empty() {
                feed(&mut inflow, &mut writer, part);
            }
            while let Some(message) = inflow.next().unwrap() {
                found.push(message);
            }
        }
        assert_eq!(found, ["one", "", "three"]);
        drop(writer);
        assert_eq!(inflow.read(), Read::End);
    }
}

#[test]
fn the_preamble_is_found_behind_noise_however_it_arrives() {
    let events = Events::new().unwrap();
    // The noise, too, contains the start of the magic.
    let noise = [b"Welcome to h1\n\0cane".as_slice(), &MAGIC[..9]].concat();
    let version = Version { version: 7, release: "0.1.0".into() };
    let length = noise.len() + PREAMBLE + FLIGHT;
    for cut in 1..length {
        let (mut inflow, mut writer, mut sealer) = inflow(&events);
        let first = frame("first", &mut sealer);
        let bytes = [noise.clone(), version.preamble(), vec![9; FLIGHT], first].concat();
        let mut heard = Vec::new();
        feed(&mut inflow, &mut writer, &bytes[..cut]);
        let mut found = inflow.find_preamble(&mut heard);
        feed(&mut inflow, &mut writer, &bytes[cut..]);
        if found == Preamble::NotYet {
            found = inflow.find_preamble(&mut heard);
        }
        assert_eq!(found, Preamble::Here(version.clone()), "cut at {cut}");
        assert_eq!(heard, noise);
        assert_eq!(inflow.take_flight(), Some([9; FLIGHT]));
        assert_eq!(inflow.next::<String>(), Ok(Some("first".into())));
    }
}

#[test]
fn endless_noise_is_given_up() {
    let events = Events::new().unwrap();
    let (mut inflow, mut writer, _) = inflow(&events);
    let (mut heard, mut found, mut rounds) = (Vec::new(), Preamble::NotYet, 0);
    while found == Preamble::NotYet && rounds < 100 {
        feed(&mut inflow, &mut writer, &[b'x'; 4096]);
        found = inflow.find_preamble(&mut heard);
        rounds += 1;
    }
    assert_eq!(found, Preamble::Noise);
    assert!(heard.len() < MOST_NOISE + 8192);
}

#[test]
fn what_is_no_message_is_refused() {
    let events = Events::new().unwrap();
    for message in [&[1, b'a', b'b', b'c', b'd'][..], &[0xff; 3]] {
        let (mut inflow, mut writer, mut sealer) = inflow(&events);
        feed(&mut inflow, &mut writer, &raw(message, &mut sealer));
        assert!(inflow.next::<String>().is_err(), "{message:?}");
    }
    let (mut inflow, mut writer, _) = inflow(&events);
    feed(&mut inflow, &mut writer, &[0; 4]);
    assert!(inflow.next::<String>().is_err());
}

#[test]
fn messages_wait_for_the_channel_in_both_directions() {
    let events = Events::new().unwrap();
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let (agent, launcher) = channels();
    let mut outflow = Outflow::new(writer, Source::Outgoing(0));
    outflow.begin(b"greeting");
    for message in ["one", "two"] {
        assert!(outflow.push(&message));
    }
    outflow.push_beat();
    outflow.flush(&events).unwrap();
    let mut inflow = Inflow::new(reader, Source::Incoming(0), &events).unwrap();
    assert_eq!(inflow.read(), Read::Some);
    assert_eq!(inflow.next::<String>(), Ok(None));
    assert_eq!(inflow.take_rest(), b"greeting");
    assert!(outflow.beat_key().is_none() && outflow.waiting() > 0);
    outflow.seal_with(agent.sealer);
    assert!(outflow.beat_key().is_some());
    outflow.push(&"three");
    outflow.flush(&events).unwrap();
    inflow.open_with(launcher.opener);
    assert_eq!(inflow.read(), Read::Some);
    for message in ["one", "two", "three"] {
        assert_eq!(inflow.next::<String>(), Ok(Some(message.into())));
    }
}

/// Returns one message of each kind that an agent gets.
fn told() -> Vec<ToAgent> {
    let task = crate::remote::agent::tests::task();
    let world = SpawnedWorld { first: 4, hosts: vec![1], ..SpawnedWorld::default() };
    let orders = [
        Order::Tell { rank: 2, message: FromLauncher::Over },
        Order::TellLane { rank: 2, number: 3, message: FromLauncher::Over },
        Order::Kill { rank: 2 },
        Order::Spawn { world, plans: vec![task.plan.clone()] },
        Order::Signal { signal: 10 },
        Order::End { grace_ms: 500 },
        Order::Room { stream: Stream::Out, bytes: 4096 },
        Order::Shut { stream: Stream::Error },
        Order::Feed { bytes: b"input\n".to_vec() },
        Order::TellClock { asked_ns: 1 << 40 },
        Order::Count { question: 1, timeout_ms: 100, has_places: true },
    ];
    let orders = orders.map(ToAgent::Order);
    orders.into_iter().chain([ToAgent::Refuse { why: "x".into() }, ToAgent::Begin(Box::new(task))]).collect()
}

/// Sends one message of each kind through the streams of launcher and agents. A message of which any byte is
/// changed is refused, and no later one is taken.
#[test]
fn each_changed_byte_of_each_frame_is_refused() {
    let events = Events::new().unwrap();
    let told: Vec<_> = told().iter().map(|message| postcard::to_stdvec(message).unwrap()).collect();
    let said = crate::remote::agent::tests::samples()
        .into_iter()
        .map(|message| postcard::to_stdvec(&message).unwrap());
    for message in told.into_iter().chain(said).chain([vec![7; 2 * chunks::MAX_PART]]) {
        let length = raw(&message, &mut channels().0.sealer).len();
        // The loop changes all bytes of short frames, and some of long ones.
        for at in (0..length).step_by(1 + length / 400) {
            let (mut inflow, mut writer, mut sealer) = inflow(&events);
            let mut bytes = raw(&message, &mut sealer);
            bytes[at] ^= 1 << (at % 8);
            feed(&mut inflow, &mut writer, &[bytes, frame("next", &mut sealer)].concat());
            let taken = inflow.next::<ToAgent>();
            assert!(taken.is_err(), "byte {at} of {length}: {taken:?}");
            assert!(inflow.next::<FromAgent>().is_err());
        }
    }
}

#[test]
fn frames_that_are_said_again_left_out_or_moved_are_refused() {
    let events = Events::new().unwrap();
    let orders: [&[usize]; 4] = [&[0, 0], &[1], &[1, 0], &[0, 2]];
    for order in orders {
        let (mut inflow, mut writer, mut sealer) = inflow(&events);
        let frames = ["one", "two", "three"].map(|message| frame(message, &mut sealer));
        order.iter().for_each(|place| feed(&mut inflow, &mut writer, &frames[*place]));
        let taken: Vec<_> = order.iter().map(|_| inflow.next::<String>()).collect();
        assert!(taken.last().is_some_and(Result::is_err), "{order:?}: {taken:?}");
    }
}

#[test]
fn random_frames_never_panic_and_take_no_memory_they_do_not_have() {
    let events = Events::new().unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..2000 {
        let (mut inflow, mut writer, mut sealer) = inflow(&events);
        let mut bytes = vec![0; 1 + (state % 60) as usize];
        for byte in &mut bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 56) as u8 % 32;
        }
        // The frames come from a sender that has the keys, and from one that has not.
        let bytes = match round % 2 {
            0 => raw(&bytes, &mut sealer),
            _ => [&chunks::header(bytes.len() as u16 + 17, ChunkKind::Sealed)[..], &bytes, &[0; 17]].concat(),
        };
        feed(&mut inflow, &mut writer, &bytes);
        let _ = inflow.next::<FromAgent>();
        let _ = inflow.next::<ToAgent>();
    }
}

#[test]
fn a_reader_that_does_not_read_makes_it_wait_not_block() {
    let events = Events::new().unwrap();
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let mut outflow = Outflow::new(writer, Source::Outgoing(0));
    outflow.seal_with(channels().0.sealer);
    assert!(outflow.push(&"x".repeat(1 << 20)));
    assert!(!outflow.push(&"x".repeat(MAX_FRAME + 1)));
    outflow.flush(&events).unwrap();
    assert!(outflow.waiting() > 500_000);
    drop(reader);
    assert!(outflow.flush(&events).is_err());
}

/// Messages longer than a chunk arrive whole, with beats of another process between their chunks; too long
/// ones are refused.
#[test]
fn beats_between_chunks_harm_no_message_and_are_heard() {
    let events = Events::new().unwrap();
    let (mut inflow, mut writer, mut sealer) = inflow(&events);
    let mut stand_in = BeatSealer::new(sealer.beat_key());
    let long = "long".repeat(10_000);
    for chunk in frame(&long, &mut sealer).chunks(chunks::MAX_CHUNK) {
        feed(&mut inflow, &mut writer, &stand_in_beat(&stand_in.seal_beat()));
        assert!(inflow.next::<String>().unwrap().is_none());
        assert!(inflow.lives());
        feed(&mut inflow, &mut writer, chunk);
    }
    assert_eq!(inflow.next(), Ok(Some(long)));
    let mut beat = Vec::new();
    chunks::push_beat(&mut sealer, &mut beat);
    feed(&mut inflow, &mut writer, &beat);
    assert_eq!(inflow.next::<String>(), Ok(None));
    assert!(inflow.lives());
    let endless = vec![1; MAX_FRAME + 1];
    let refused = raw(&endless, &mut sealer).chunks(chunks::MAX_CHUNK).any(|chunk| {
        feed(&mut inflow, &mut writer, chunk);
        inflow.next::<String>().is_err()
    });
    assert!(refused);
}

#[test]
fn a_beat_that_comes_again_or_is_made_up_is_the_end() {
    let events = Events::new().unwrap();
    for again in [true, false] {
        let (mut inflow, mut writer, sealer) = inflow(&events);
        let mut stand_in = BeatSealer::new(sealer.beat_key());
        let first = stand_in_beat(&stand_in.seal_beat());
        let mut second = if again { first } else { stand_in_beat(&stand_in.seal_beat()) };
        if !again {
            second[chunks::HEADER] ^= 1;
        }
        feed(&mut inflow, &mut writer, &first);
        assert_eq!(inflow.next::<String>(), Ok(None));
        feed(&mut inflow, &mut writer, &second);
        assert!(inflow.next::<String>().is_err());
    }
}
