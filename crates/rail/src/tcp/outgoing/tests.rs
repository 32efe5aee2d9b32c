use std::collections::VecDeque;

use proptest::prelude::*;

use super::super::wire::View;
use super::*;

const SIZES: Sizes = Sizes { cells: 16, payload: 1024 };

#[derive(Clone, Debug)]
enum Step {
    Send { bulk: usize, inline: u8, class: Class },
    ClaimOnly { bulk: usize },
    Sent(usize),
    Acknowledge(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let class = prop_oneof![Just(Class::Control), Just(Class::Message), Just(Class::Stream)];
    let bulk = prop_oneof![Just(0usize), 1usize..=256, Just(256usize)];
    let step = prop_oneof![
        4 => (bulk.clone(), 0u8..=40, class).prop_map(|(bulk, inline, class)| Step::Send { bulk, inline, class }),
        1 => bulk.prop_map(|bulk| Step::ClaimOnly { bulk }),
        3 => (1usize..600).prop_map(Step::Sent),
        3 => (0usize..8).prop_map(Step::Acknowledge),
    ];
    prop::collection::vec(step, 0..400)
}

/// Sends one packet whose bytes follow from its number; what its frame has beside the head.
fn send(out: &mut Outgoing, bulk: usize, inline: u8, class: Class) -> Option<Vec<u8>> {
    let mut content = vec![out.next() as u8; bulk];
    content.extend(vec![!out.next() as u8; inline as usize]);
    let slot = out.claim(bulk, class).ok()?;
    slot.bulk.write(0, &content[..bulk]);
    slot.inline.write(0, &content[bulk..]);
    out.commit(Header { inline_len: inline, ..Header::default() }, 5);
    Some(content)
}

proptest! {
    #[test]
    fn what_leaves_is_what_was_committed(steps in steps()) {
        let mut out = Outgoing::new(SIZES);
        let (mut kept, mut stream, mut whole, mut acknowledged) = (VecDeque::new(), vec![], 0, wire::FIRST);
        for step in steps {
            match step {
                Step::Send { bulk, inline, class } => match send(&mut out, bulk, inline, class) {
                    Some(content) => kept.push_back((content, bulk)),
                    None => prop_assert!(kept.len() >= 14 || bulk > 0),
                },
                Step::ClaimOnly { bulk } => {
                    if let Ok(slot) = out.claim(bulk, Class::Control) {
                        slot.inline.write(0, &[0xff; 40]);
                        slot.bulk.write(0, &vec![0xff; bulk]);
                    }
                }
                Step::Sent(most) => {
                    let len = out.unsent().len().min(most);
                    stream.extend_from_slice(&out.unsent()[..len]);
                    out.handle_sent(len);
                    while let Some(view) = View::new(&stream, SIZES.max_bulk()).unwrap() {
                        let (content, bulk) = &kept[whole];
                        prop_assert_eq!(view.number(), acknowledged.wrapping_add(whole as u32));
                        prop_assert_eq!((view.bulk_len(), view.ack()), (*bulk, 5));
                        prop_assert_eq!(&stream[HEAD..view.frame_len()], &content[..]);
                        stream.drain(..view.frame_len());
                        whole += 1;
                    }
                }
                Step::Acknowledge(n) => {
                    let unsent = acknowledged.wrapping_add(whole as u32 + 1);
                    prop_assert_eq!(out.handle_ack(unsent), Err(unsent));
                    let n = n.min(whole);
                    kept.drain(..n);
                    (whole, acknowledged) = (whole - n, acknowledged.wrapping_add(n as u32));
                    out.handle_ack(acknowledged).unwrap();
                }
            }
            prop_assert_eq!(out.kept() as usize, kept.len());
        }
    }
}

#[test]
fn a_lying_acknowledgement_changes_nothing() {
    let mut out = Outgoing::new(SIZES);
    for ack in [0, wire::FIRST + 1, wire::FIRST - 1, u32::MAX] {
        assert_eq!(out.handle_ack(ack), Err(ack));
    }
    send(&mut out, 9, 9, Class::Message).unwrap();
    assert!(out.handle_ack(wire::FIRST + 1).is_err(), "committed, not sent");
    out.handle_sent(HEAD + 17);
    assert!(out.handle_ack(wire::FIRST + 1).is_err(), "a byte is missing");
    out.handle_sent(1);
    assert!(out.handle_ack(wire::FIRST + 1).is_ok() && out.kept() == 0);
}
