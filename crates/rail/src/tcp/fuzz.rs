//! Everything that reads bytes of others, fed with what honest ends say, changed at random.
//!
//! Owns the corpus: streams of honest ends, made anew in each run, and such as were once of interest. Runs are bounded and
//! their seeds fixed, so a failure repeats.

use canele_mem::buffer::Owned;
use canele_sys::ids::Rank;

use super::handshake::{Credentials, Handshake, SocketNames};
use super::incoming::{Free, Incoming};
use super::outgoing::Outgoing;
use super::sizes::Sizes;
use super::wire::{self, View};
use crate::{Class, Header, MAX_INLINE};

const SIZES: Sizes = Sizes { cells: 16, payload: 4096 };
const RUNS: u64 = 20_000;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Changes some bytes: falsified, extreme, left out, doubled, cut off, or of another stream.
fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    for _ in 0..=random.below(3) {
        let (at, len) = (random.below(bytes.len()), 1 + random.below(8));
        let end = (at + len).min(bytes.len());
        match random.below(7) {
            0 => bytes[at..end].iter_mut().for_each(|byte| *byte ^= 1 << random.below(8)),
            1 => bytes[at..end].fill([0, 0xff, 0x7f, 0x80][random.below(4)]),
            2 => bytes[at..end].iter_mut().for_each(|byte| *byte = random.next() as u8),
            3 => drop(bytes.drain(at..end)),
            4 => bytes.extend_from_within(at..end),
            5 => bytes.truncate(end),
            _ => {
                let other = &corpus[random.below(corpus.len())];
                bytes.splice(at..end, other[random.below(other.len())..].iter().copied());
            }
        }
        if bytes.is_empty() {
            bytes.push(random.next() as u8);
        }
    }
}

/// Packets of an honest end, one after the other.
fn stream(bulks: &[usize]) -> Vec<u8> {
    let (mut out, mut bytes) = (Outgoing::new(SIZES), vec![]);
    for (n, bulk) in bulks.iter().enumerate() {
        let slot = out.claim(*bulk, Class::Message).unwrap();
        slot.bulk.write(0, &vec![n as u8; *bulk]);
        let inline_len = (n * 11 % (wire::beside(MAX_INLINE, *bulk) + 1)) as u8;
        out.commit(Header { inline_len, tag: n as u32, ..Header::default() }, wire::FIRST);
        bytes.extend_from_slice(out.unsent());
        out.handle_sent(out.unsent().len());
    }
    bytes
}

fn frames() -> Vec<Vec<u8>> {
    let head = |bulk: u32, inline_len, number: u32, ack| {
        let mut head = [0; wire::HEAD];
        wire::write_packet(&mut head, Header { inline_len, ..Header::default() }, bulk, number, ack);
        head.to_vec()
    };
    let most = SIZES.max_bulk();
    vec![
        stream(&[0, 0, 5, 0]),
        stream(&[most, 1, 300, 256, 255]),
        stream(&[700, 700, 700]),
        [stream(&[0]), wire::ack_frame(wire::FIRST).to_vec(), vec![0; 100]].concat(),
        // The head of a packet of the longest bulk, and nothing behind it.
        head(most as u32, 40, wire::FIRST, wire::FIRST),
        // Too long by one, and as long as can be said.
        head(most as u32 + 1, 0, wire::FIRST, wire::FIRST),
        head(u32::MAX, 0xff, wire::FIRST, wire::FIRST),
        // Numbers that are not due.
        head(0, 0, wire::FIRST.wrapping_sub(1), wire::FIRST),
        head(0, 0, wire::FIRST, wire::FIRST.wrapping_add(1)),
    ]
}

/// Feeds a link with bytes in pieces of any length; its owner polls, lands and releases at random. What it takes.
fn feed(mut bytes: &[u8], random: &mut Random) -> u32 {
    let (mut incoming, mut back) = (Incoming::new(SIZES, Rank(7)), Outgoing::new(SIZES));
    let (mut taken, mut direct) = (0, vec![]);
    while !bytes.is_empty() && incoming.is_open() {
        // The system writes directly received bytes, out of reach for this test: it only counts them.
        let Free { direct: lands, memory } = incoming.free();
        assert!(!memory.is_empty() && memory.len() <= SIZES.max_frame() + SIZES.step());
        let most = lands.map_or(0, |direct| direct.rest()) + memory.len();
        let len = (1 + random.below(most)).min(bytes.len());
        let first = lands.map_or(0, |direct| direct.rest()).min(len);
        memory[..len - first].copy_from_slice(&bytes[first..len]);
        bytes = &bytes[len..];
        incoming.handle_read(len, &mut back);
        match random.below(4) {
            0 => {
                if let Some((_, len)) = incoming.peek_bulk() {
                    assert!((SIZES.large()..=SIZES.max_bulk()).contains(&len));
                    let mut owned = Owned::new(vec![0; len]);
                    incoming.direct_receive(owned.lend_in().share(0, len));
                    direct.push(owned);
                }
            }
            1 => drop(incoming.peek_bulk()),
            _ => {
                while let Ok(Some(packet)) = incoming.poll() {
                    assert!(packet.bulk.len() <= SIZES.max_bulk() && packet.direct_bytes <= SIZES.max_bulk());
                    assert!(packet.header.inline_len as usize <= packet.inline.len());
                    incoming.release();
                    taken += 1;
                }
            }
        }
    }
    let corrupt = incoming.poll().is_err();
    assert!(!corrupt || !incoming.is_open());
    taken
}

#[test]
fn honest_streams_are_taken_and_changed_ones_do_no_harm() {
    let corpus = frames();
    let mut random = Random(1);
    for bytes in &corpus {
        for _ in 0..100 {
            feed(bytes, &mut random);
        }
    }
    let mut taken = 0;
    for seed in 0..RUNS {
        let mut random = Random(seed);
        let mut bytes = corpus[random.below(corpus.len())].clone();
        mutate(&mut bytes, &corpus, &mut random);
        let _ = View::new(&bytes, SIZES.max_bulk());
        taken += feed(&bytes, &mut random);
    }
    assert!(taken > RUNS as u32 / 10, "{taken} packets: the corpus is not of much use");
}

fn ends() -> [Handshake; 2] {
    let of = |me| Credentials {
        me: Rank(me),
        rail: 0,
        ranks: 2,
        job: 5,
        key: [7; 32],
        cells: 16,
        payload: 4096,
        sockets: SocketNames::default(),
    };
    [Handshake::initiate(&of(0), Rank(1), 1, [1; 32]), Handshake::respond(&of(1), [2; 32])]
}

/// Moves what one end says to the other, in pieces; `change` sees it before. Whether both go on.
fn say(
    ends: &mut [Handshake; 2],
    from: usize,
    random: &mut Random,
    change: &mut impl FnMut(&mut Vec<u8>),
) -> bool {
    let mut bytes = ends[from].to_send().to_vec();
    ends[from].handle_sent(bytes.len());
    change(&mut bytes);
    let mut rest = &bytes[..];
    while !rest.is_empty() && ends[1 - from].wanted() > 0 {
        let len = (1 + random.below(ends[1 - from].wanted())).min(rest.len());
        if ends[1 - from].handle(&rest[..len]).is_err() {
            return false;
        }
        rest = &rest[len..];
    }
    true
}

/// Runs a handshake, one flight of which is changed, if any; the flights.
fn meet(random: &mut Random, changed: Option<usize>, corpus: &[Vec<u8>]) -> (Vec<Vec<u8>>, bool) {
    let (mut ends, mut flights) = (ends(), vec![]);
    for flight in 0..4 {
        let mut kept = vec![];
        let mut same = changed != Some(flight);
        let mut seed = Random(random.next());
        let goes_on = say(&mut ends, flight % 2, random, &mut |bytes| {
            kept = bytes.clone();
            if changed == Some(flight) && !bytes.is_empty() {
                mutate(bytes, corpus, &mut seed);
                // Bytes after a whole flight are not read.
                same = bytes.starts_with(&kept);
            }
        });
        flights.push(kept);
        if ends[1].undecided().is_some() {
            ends[1].accept(3);
        }
        if !goes_on {
            return (flights, false);
        }
        if !same {
            assert!(!ends[0].is_over(), "flight {flight} was changed");
            assert!(flight >= 2 || !ends[1].is_over(), "flight {flight} was changed");
            return (flights, false);
        }
    }
    (flights, ends.iter().all(Handshake::is_over))
}

#[test]
fn a_handshake_in_which_anything_was_changed_does_not_come_about() {
    let (mut corpus, over) = meet(&mut Random(1), None, &[]);
    assert!(over);
    corpus.extend([b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), b"SSH-2.0-x\r\n".to_vec(), vec![0; 200]]);
    for seed in 0..RUNS / 4 {
        let mut random = Random(seed);
        let changed = random.below(4);
        meet(&mut random, Some(changed), &corpus);
    }
}
