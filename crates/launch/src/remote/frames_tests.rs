//! Frames through a pipe, whole, cut, and made up.

use std::io::Write;

use rustix::pipe::{PipeFlags, pipe_with};

use super::*;

fn inflow(events: &Events) -> (Inflow, std::fs::File) {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    (Inflow::new(reader, Source::Incoming(0), events).unwrap(), writer.into())
}

/// Writes `bytes` one by one and reads as a receiver would.
fn feed(inflow: &mut Inflow, writer: &mut std::fs::File, bytes: &[u8]) {
    writer.write_all(bytes).unwrap();
    assert_eq!(inflow.read(), Read::Some);
}

fn frame(message: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    chunks::push(&postcard::to_stdvec(message).unwrap(), &mut bytes);
    bytes
}

#[test]
fn messages_cut_at_every_byte_come_whole() {
    let events = Events::new().unwrap();
    let bytes = [frame("one"), frame(""), frame("three")].concat();
    for cut in 0..=bytes.len() {
        let (mut inflow, mut writer) = inflow(&events);
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
    // The beginning of the magic in the noise, too.
    let noise = [b"Welcome to h1\n\0cane".as_slice(), &MAGIC[..9]].concat();
    let bytes = [noise.clone(), preamble(7, "0.1.0"), frame("first")].concat();
    for cut in 1..bytes.len() {
        let (mut inflow, mut writer) = inflow(&events);
        let mut heard = Vec::new();
        feed(&mut inflow, &mut writer, &bytes[..cut]);
        let mut found = inflow.find_preamble(&mut heard);
        feed(&mut inflow, &mut writer, &bytes[cut..]);
        if found == Preamble::NotYet {
            found = inflow.find_preamble(&mut heard);
        }
        assert_eq!(found, Preamble::Here(Version { version: 7, release: "0.1.0".into() }), "cut at {cut}");
        assert_eq!(heard, noise);
        assert_eq!(inflow.next::<String>(), Ok(Some("first".into())));
    }
}

#[test]
fn endless_noise_is_given_up() {
    let events = Events::new().unwrap();
    let (mut inflow, mut writer) = inflow(&events);
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
    let chunk = |bytes: &[u8]| [&chunks::header(bytes.len() as u16, true)[..], bytes].concat();
    let trailing = chunk(&[1, b'a', b'b', b'c', b'd']);
    let wild = chunk(&[0xff, 0xff, 0xff]);
    for bytes in [vec![0; 4], trailing, wild] {
        let (mut inflow, mut writer) = inflow(&events);
        feed(&mut inflow, &mut writer, &bytes);
        assert!(inflow.next::<String>().is_err(), "{bytes:?}");
    }
}

#[test]
fn random_frames_never_panic_and_take_no_memory_they_do_not_have() {
    let events = Events::new().unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..2000 {
        let (mut inflow, mut writer) = inflow(&events);
        let mut bytes = vec![0; 4 + (state % 60) as usize];
        for byte in &mut bytes[4..] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 56) as u8 % 32;
        }
        let length = bytes.len() as u16 - 4;
        bytes[..4].copy_from_slice(&chunks::header(length, true));
        feed(&mut inflow, &mut writer, &bytes);
        let _ = inflow.next::<crate::remote::FromAgent>();
        let _ = inflow.next::<crate::remote::ToAgent>();
    }
}

#[test]
fn a_reader_that_does_not_read_makes_it_wait_not_block() {
    let events = Events::new().unwrap();
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let mut outflow = Outflow::new(writer, Source::Outgoing(0));
    assert!(outflow.push(&"x".repeat(1 << 20)));
    assert!(!outflow.push(&"x".repeat(MAX_FRAME + 1)));
    outflow.flush(&events).unwrap();
    assert!(outflow.waiting() > 500_000);
    drop(reader);
    assert!(outflow.flush(&events).is_err());
}

/// Messages longer than a chunk come whole, with beats of another process between their chunks; too long ones are refused.
#[test]
fn beats_between_chunks_harm_no_message_and_are_heard() {
    let events = Events::new().unwrap();
    let long = "long".repeat(10_000);
    let bytes = frame(&long);
    let (mut inflow, mut writer) = inflow(&events);
    for chunk in bytes.chunks(chunks::MAX_CHUNK) {
        feed(&mut inflow, &mut writer, &chunks::BEAT);
        assert!(inflow.next::<String>().unwrap().is_none());
        assert!(inflow.lives());
        feed(&mut inflow, &mut writer, chunk);
    }
    assert_eq!(inflow.next(), Ok(Some(long)));
    let part = [&chunks::header(4092, false)[..], &[1; 4092]].concat();
    let refused = (0..=MAX_FRAME / 4092).any(|_| {
        feed(&mut inflow, &mut writer, &part);
        inflow.next::<String>().is_err()
    });
    assert!(refused);
}
