//! Programs of random RMA requests, and some that are made by hand.

use canele_rail::Distance;
use std::sync::Arc;

use canele_mem::exposed::Exposed;
use canele_mem::layout::Layout;
use canele_proto::rma::{ElementAccess, ElementAction, PutReport};

use super::*;

/// Makes two ranks without operations of their own; messages up to 1000 bytes go without a handshake.
fn pair() -> Play {
    let settings = Settings { eager_bytes: 1000, piece_bytes: 512, unexpected_bytes: 1 << 20 };
    let model =
        Model { recoverable: true, distance: Distance::Network, maps_regions: false, ..Model::default() };
    let net = Net::new(settings, &[model], "aggregate", Packets::Well, 1, &[8, 8]);
    let mut play = Play { net, ..Play::new(1, false) };
    play.left.truncate(2);
    play.runs.truncate(2);
    play.origins.truncate(2);
    play
}

fn run(seed: u64, cuts: bool, death: bool) {
    let mut play = Play::new(seed, cuts);
    let doomed = Rank(play.random.below(play.ranks()) as u32);
    let moment = play.random.below(2000);
    for step in 0..1_000_000 {
        if death && step == moment {
            play.dead = Some(doomed);
            play.net.world.kill(doomed);
            play.runs[doomed.0 as usize].clear();
            for rank in (0..play.ranks() as u32).map(Rank).filter(|rank| *rank != doomed).collect::<Vec<_>>()
            {
                play.net.tell(rank, doomed);
            }
        }
        play.step();
        let done = (0..play.ranks()).all(|rank| play.is_dead(rank) || play.left[rank] == 0);
        if done && (!death || step > moment) {
            break;
        }
    }
    play.check_the_end();
}

#[test]
fn rma_requests_are_done_once_and_in_order() {
    crate::seeds().for_each(|seed| run(seed, false, false));
}

#[test]
fn rma_requests_are_done_once_and_in_order_though_links_are_lost() {
    crate::seeds().for_each(|seed| run(seed, true, false));
}

#[test]
fn rma_requests_at_a_rank_that_dies_fail_and_name_it() {
    crate::seeds().for_each(|seed| run(seed, false, true));
}

#[test]
fn requests_that_come_whole_pass_no_matching() {
    let mut play = pair();
    // One beside the header of a packet, the other in its bulk.
    for (len, rounds) in [(8, 50), (300, 50)] {
        let key = play.expose(1, Exposed::of(vec![0; len]));
        let place = MemoryAddress { key: key.into(), offset: 0 };
        for round in 0..rounds {
            let memory = Exposed::of(vec![round; len]);
            let call = NewCall {
                data: memory.out_buffer(0, len),
                ending: CallEnding::Counted,
                ..NewCall::new(Rank(1), RmaRequest::Put { place, len: len as u64, report: PutReport::Flush })
            };
            let (proto, rail) = play.net.both(Rank(0));
            play.origins[0].submit(proto, rail, call);
            play.settle();
        }
    }
    assert_eq!(play.net.protos[1].traffic.unexpected, 0);
    let received = play.net.protos[1].traffic.received;
    assert_eq!(received.iter().map(|moved| moved.messages).sum::<u64>(), 100);
}

#[test]
fn an_answer_that_no_call_waits_for_is_undone() {
    let mut play = pair();
    for (question, late) in [
        ([1, 1, 0], LateAnswer::Undo([9, 0, 0])),
        ([0, 0, 0], LateAnswer::Undo([8, 0, 0])),
        ([2, 0, 0], LateAnswer::Ignore),
    ] {
        let (proto, rail) = play.net.both(Rank(0));
        let call =
            NewCall { ending: CallEnding::Left(late), ..NewCall::new(Rank(1), RmaRequest::Ask(question)) };
        play.origins[0].submit(proto, rail, call);
        play.settle();
    }
    let asked: Vec<_> = play.asked[1].iter().map(|(_, question)| question[0]).collect();
    assert_eq!(asked, [1, 9, 0, 2], "only what gave a value was undone");
    assert_eq!(play.net.protos.iter().map(Proto::holding).collect::<Vec<_>>(), [Holding::default(); 2]);
}

#[test]
fn a_flush_ends_after_all_pieces_of_a_long_read_though_they_come_together() {
    const BYTES: usize = 40_000;
    let mut play = pair();
    let bytes: Vec<u8> = (0..2 * BYTES).map(|n| (n % 251) as u8).collect();
    let key = play.expose(1, Exposed::of(bytes.clone()));
    let memory = Exposed::of(vec![0; BYTES]);
    let place = MemoryAddress { key: key.into(), offset: 0 };
    let access = ElementAccess {
        action: ElementAction::Get,
        place,
        operation: (0, 0),
        len: BYTES as u64,
        elements: None,
    };
    let call = NewCall {
        elements: Some((Arc::new(Layout::block(8).repeated(BYTES / 8, 16).unwrap()), 1)),
        element_bytes: 8,
        into: memory.in_buffer(0, BYTES),
        ending: CallEnding::Counted,
        ..NewCall::new(Rank(1), RmaRequest::Access(access))
    };
    let (proto, rail) = play.net.both(Rank(0));
    play.origins[0].submit(proto, rail, call);
    let flush = play.origins[0].submit(proto, rail, NewCall::new(Rank(1), RmaRequest::Flush { window: key }));
    while !play.origins[0].has_ended(flush) {
        // The owner is ahead, so that several answers are here before the origin looks.
        for _ in 0..20 {
            play.net.advance();
            play.net.open_links(true);
            play.pass(1);
        }
        while play.net.pass(Rank(0), 100).expect("no fault") {}
        play.pass(0);
    }
    let mut read = vec![0; BYTES];
    memory.load(0, &mut read);
    let expected: Vec<u8> = bytes.chunks_exact(16).flat_map(|pair| pair[..8].to_vec()).collect();
    assert!(read == expected, "a piece is missing");
    assert!(play.origins[0].take(flush).is_some_and(|outcome| outcome.result == Ok(0)));
    assert_eq!(play.origins[0].under_way(), 0);
}
