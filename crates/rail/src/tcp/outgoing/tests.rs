use std::collections::VecDeque;

use canele_mem::buffer::{OutBuffer, Owned};
use proptest::prelude::*;

use super::super::wire::View;
use super::*;

const SIZES: Sizes = Sizes { cells: 16, payload: 1024 };

#[derive(Clone, Debug)]
enum Step {
    Send { bulk: usize, inline: u8, class: Class },
    Lend { bulk: usize, inline: u8 },
    ClaimOnly { bulk: usize },
    Sent(usize),
    Acknowledge(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let class = prop_oneof![Just(Class::Control), Just(Class::Message), Just(Class::Stream)];
    let bulk = prop_oneof![Just(0usize), 1usize..=256, Just(256usize)];
    let step = prop_oneof![
        4 => (bulk.clone(), 0u8..=40, class).prop_map(|(bulk, inline, class)| Step::Send { bulk, inline, class }),
        2 => (1usize..=256, 0u8..=40).prop_map(|(bulk, inline)| Step::Lend { bulk, inline }),
        1 => bulk.prop_map(|bulk| Step::ClaimOnly { bulk }),
        3 => (1usize..600).prop_map(Step::Sent),
        3 => (0usize..8).prop_map(Step::Acknowledge),
    ];
    prop::collection::vec(step, 0..400)
}

/// A packet: the bytes beside its header, its bulk, and the lent memory that holds the bulk.
struct Packet {
    beside: Vec<u8>,
    bulk: Vec<u8>,
    lent: Option<(Owned<u8>, OutBuffer)>,
}

impl Packet {
    /// Makes a packet whose bytes follow from its number.
    fn new(out: &Outgoing, bulk: usize, inline: u8) -> Self {
        let number = out.next() as u8;
        Self { beside: vec![!number; inline as usize], bulk: vec![number; bulk], lent: None }
    }

    fn header(&self) -> Header {
        Header { inline_len: self.beside.len() as u8, ..Header::default() }
    }

    fn send(self, out: &mut Outgoing, class: Class) -> Option<Self> {
        let slot = out.claim(self.bulk.len(), class).ok()?;
        slot.bulk.write(0, &self.bulk);
        slot.inline.write(0, &self.beside);
        out.commit(self.header(), 5);
        Some(self)
    }

    fn lend(mut self, out: &mut Outgoing) -> Option<Self> {
        let mut owned = Owned::new(self.bulk.clone());
        let mut token = owned.lend_out();
        let len = self.bulk.len();
        let lent = out.lend(self.header(), 5, &self.beside, || token.share(0, len), len).is_ok();
        self.lent = Some((owned, token));
        if lent { Some(self) } else { self.give_back() }
    }

    fn give_back(mut self) -> Option<Self> {
        if let Some((mut owned, token)) = self.lent.take() {
            owned.take_back_out(token);
        }
        None
    }
}

/// Takes at most `most` bytes of the unsent ones, like a socket.
fn take(out: &mut Outgoing, most: usize) -> Vec<u8> {
    let mut bytes = out.unsent().to_vec();
    if let Some(Lent { stretches, skip }) = out.unsent_lent() {
        let (start, len) = stretches[0];
        // SAFETY: a stretch of what is unsent is readable, and this test holds no other reference to it.
        bytes.extend(unsafe { std::slice::from_raw_parts(start.as_ptr().add(skip), len - skip) });
    }
    bytes.truncate(most);
    out.handle_sent(bytes.len());
    bytes
}

proptest! {
    #[test]
    fn what_leaves_is_what_was_committed(steps in steps()) {
        let mut out = Outgoing::new(SIZES);
        let (mut kept, mut stream, mut whole, mut acknowledged) = (VecDeque::new(), vec![], 0, wire::FIRST);
        for step in steps {
            match step {
                // A link sends one packet after the other.
                Step::Send { .. } | Step::Lend { .. } if out.has_unsent() => {}
                Step::Send { bulk, inline, class } => match Packet::new(&out, bulk, inline).send(&mut out, class) {
                    Some(packet) => kept.push_back(packet),
                    None => prop_assert!(kept.len() >= 14 || bulk > 0),
                },
                Step::Lend { bulk, inline } => kept.extend(Packet::new(&out, bulk, inline).lend(&mut out)),
                Step::ClaimOnly { .. } if out.has_unsent() => {}
                Step::ClaimOnly { bulk } => {
                    if let Ok(slot) = out.claim(bulk, Class::Control) {
                        slot.inline.write(0, &[0xff; 40]);
                        slot.bulk.write(0, &vec![0xff; bulk]);
                    }
                }
                Step::Sent(most) => {
                    stream.extend(take(&mut out, most));
                    while let Some(view) = View::new(&stream, SIZES.max_bulk()).unwrap() {
                        if view.frame_len() > stream.len() {
                            break;
                        }
                        let packet = &kept[whole];
                        prop_assert_eq!(view.number(), acknowledged.wrapping_add(whole as u32));
                        prop_assert_eq!((view.bulk_len(), view.ack()), (packet.bulk.len(), 5));
                        prop_assert_eq!(&stream[HEAD..HEAD + packet.beside.len()], &packet.beside[..]);
                        prop_assert_eq!(&stream[view.before_bulk()..view.frame_len()], &packet.bulk[..]);
                        stream.drain(..view.frame_len());
                        whole += 1;
                    }
                }
                Step::Acknowledge(n) => {
                    let unsent = acknowledged.wrapping_add(whole as u32 + 1);
                    prop_assert_eq!(out.handle_ack(unsent), Err(unsent));
                    let n = n.min(whole);
                    (whole, acknowledged) = (whole - n, acknowledged.wrapping_add(n as u32));
                    out.handle_ack(acknowledged).unwrap();
                    // A share that is still held would panic.
                    kept.drain(..n).for_each(|packet: Packet| assert!(packet.give_back().is_none()));
                }
            }
            prop_assert_eq!(out.kept() as usize, kept.len());
        }
        let left = out.into_kept();
        prop_assert_eq!(left.len(), kept.len());
        for (n, (left, packet)) in left.into_iter().zip(kept).enumerate() {
            prop_assert_eq!(left.number, acknowledged.wrapping_add(n as u32));
            prop_assert_eq!(left.header, packet.header());
            prop_assert_eq!(&left.beside[..packet.beside.len()], &packet.beside[..]);
            match left.bulk {
                Bulk::Copied(bulk) => prop_assert!(packet.lent.is_none() && *bulk == packet.bulk[..]),
                Bulk::Lent(share) => prop_assert_eq!(share.len(), packet.bulk.len()),
            }
            packet.give_back();
        }
    }
}

#[test]
fn a_lying_acknowledgement_changes_nothing() {
    let mut out = Outgoing::new(SIZES);
    for ack in [0, wire::FIRST + 1, wire::FIRST - 1, u32::MAX] {
        assert_eq!(out.handle_ack(ack), Err(ack));
    }
    Packet::new(&out, 9, 9).send(&mut out, Class::Message).unwrap();
    assert!(out.handle_ack(wire::FIRST + 1).is_err(), "committed, not sent");
    out.handle_sent(HEAD + 48);
    assert!(out.handle_ack(wire::FIRST + 1).is_err(), "a byte is missing");
    out.handle_sent(1);
    assert!(out.handle_ack(wire::FIRST + 1).is_ok() && out.kept() == 0);
}

#[test]
fn of_large_messages_one_in_many_is_acknowledged_at_once_and_every_piece() {
    let mut out = Outgoing::new(SIZES);
    for (class, expected) in [(Class::Message, 3), (Class::Stream, 2 * MEASURED + 1)] {
        let mut prompt = 0;
        for _ in 0..2 * MEASURED + 1 {
            let packet = Packet::new(&out, SIZES.large(), 0).send(&mut out, class);
            assert!(packet.is_some(), "nothing is under way");
            let frame = take(&mut out, usize::MAX);
            let view = View::new(&frame, SIZES.max_bulk()).unwrap().expect("a frame");
            prompt += u32::from(view.is_prompt());
            out.handle_ack(out.next()).expect("it was sent");
        }
        assert_eq!(prompt, expected, "{class:?}");
    }
}
