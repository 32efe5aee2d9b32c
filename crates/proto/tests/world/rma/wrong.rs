//! Origins that break the rules or stand still: they harm no other rank.

use canele_rail::Distance;
use canele_sys::ids::FlowId;

use super::*;

/// Makes some ranks with small regions and without operations of their own.
pub(super) fn idle(ranks: usize) -> Play {
    idle_over(Model { recoverable: true, ..Model::default() }, ranks)
}

/// Makes such ranks over a network that maps no memory.
pub(super) fn idle_over(model: Model, ranks: usize) -> Play {
    let settings = Settings { eager_bytes: 1000, piece_bytes: 512, unexpected_bytes: 1 << 20 };
    let model = Model { distance: Distance::Network, maps_regions: false, ..model };
    let net = Net::new(settings, &[model], "aggregate", Packets::Well, 1, &vec![4096; ranks]);
    Play {
        net,
        random: Random(1),
        targets: (0..ranks).map(|_| RmaTarget::default()).collect(),
        origins: (0..ranks).map(|_| RmaOrigin::default()).collect(),
        sent: Vec::new(),
        asked: vec![Vec::new(); ranks],
        deposits: vec![Vec::new(); ranks],
        runs: (0..ranks).map(|_| Vec::new()).collect(),
        areas: Vec::new(),
        notices: vec![vec![VecDeque::new(); ranks]; ranks],
        counts: vec![Vec::new(); ranks],
        sent_deposits: Vec::new(),
        left: vec![0; ranks],
        next_notice: 0,
        dead: None,
    }
}

/// Sends a message that the library does not send.
fn send(play: &mut Play, me: usize, to: Rank, way: (FlowId, Tag), bytes: &[u8]) {
    let (proto, rail) = play.net.both(Rank(me as u32));
    let mut owned = Owned::new(bytes.to_vec());
    let request = proto.submit_send(rail, Envelope::new(to, way.0, way.1), owned.lend_out());
    play.sent.push((me, request, owned));
}

/// Passes until nothing moves any more, without serving targets.
fn deliver(play: &mut Play) {
    for _ in 0..100_000 {
        let mut any = play.net.open_links(true);
        for rank in (0..play.ranks() as u32).map(Rank) {
            any |= play.net.pass(rank, 3).expect("no fault");
        }
        if !any && play.net.advance().is_none() {
            return;
        }
    }
    panic!("it never comes to rest");
}

#[test]
fn a_rank_that_sends_garbage_twice_is_accused_once_and_nothing_behind_is_done() {
    let mut play = idle(2);
    let garbage = Tag(15 << 28);
    for _ in 0..2 {
        send(&mut play, 0, Rank(1), (REQUESTS, garbage), &[1; 40]);
    }
    let place = MemoryAddress { key: play.net.regions[1].id().into(), offset: 0 };
    let put = RmaRequest::Put { place, len: 8, report: PutReport::Notice(1) };
    play.start(0, Rank(1), put, &[7; 8], Expected::Nothing);
    deliver(&mut play);
    let (proto, rail) = (&mut play.net.protos[1], &mut play.net.rails[1]);
    let (asked, deposits, region) = (&mut play.asked[1], &mut play.deposits[1], &play.net.regions[1]);
    play.targets[1].serve(proto, &mut Here { rail, region, asked, deposits });
    assert_eq!(proto.take_fault().map(|(from, _)| from), Some(Rank(0)));
    assert!(proto.take_fault().is_none(), "one fault, however much was wrong");
    assert!(proto.take_notice().is_none());
    let mut there = [0; 8];
    play.net.regions[1].window(0, 8).unwrap().read(0, &mut there);
    assert_eq!(there, [0; 8], "what came behind is not done");
    assert_eq!(play.targets[1].under_way(), 0);
}

#[test]
fn a_rank_whose_rma_requests_stand_still_keeps_no_other_waiting() {
    let mut play = idle(3);
    let place = MemoryAddress { key: play.net.regions[1].id().into(), offset: 0 };
    let put = RmaRequest::Put { place, len: 2000, report: PutReport::Notice(1) };
    let sequence = play.origins[0].take_sequence();
    let (head, len) = put.head(Form::Apart);
    send(&mut play, 0, Rank(1), (REQUESTS, put.tag(Form::Apart, sequence)), &head[..len]);
    for _ in 0..5000 {
        play.start(0, Rank(1), RmaRequest::Fence, &[], Expected::Value(0));
    }
    play.settle();
    assert_eq!(play.runs[0].len(), 5000, "its data has not come");
    play.start(2, Rank(1), RmaRequest::Ask([3, 4, 0]), &[], Expected::Value(7));
    play.settle();
    assert!(play.runs[2].is_empty(), "another rank is answered");
    play.notices[0][1].push_back((1, 0, Vec::new()));
    send(&mut play, 0, Rank(1), (DATA, Tag(sequence)), &[5; 2000]);
    play.settle();
    assert!(play.runs[0].is_empty() && play.notices[0][1].is_empty(), "and so is the one that stood still");
    assert!(play.net.protos.iter().all(|proto| proto.holding() == Holding::default()));
}

#[test]
fn a_refusal_that_no_fence_waited_for_is_kept_and_told_once() {
    let mut play = idle(2);
    let place = |offset| MemoryAddress { key: play.net.regions[1].id().into(), offset };
    let puts = [1000, 4096, 5000].map(|offset| RmaRequest::Put {
        place: place(offset),
        len: 8,
        report: PutReport::Notice(1),
    });
    play.notices[0][1].push_back((1, 0, Vec::new()));
    for put in puts {
        play.start(0, Rank(1), put, &[7; 8], Expected::Nothing);
        let (proto, rail) = play.net.both(Rank(0));
        let ending = CallEnding::Left(LateAnswer::Keep);
        play.origins[0].submit(proto, rail, NewCall { ending, ..NewCall::new(Rank(1), RmaRequest::Fence) });
    }
    play.settle();
    let refused = Some((Some(play.net.regions[1].id().into()), Refusal::Outside(4096)));
    assert_eq!(play.origins[0].take_refusal(Rank(1)), refused);
    assert_eq!(play.origins[0].take_refusal(Rank(1)), None, "once");
    assert!(play.notices[0][1].is_empty() && play.runs[0].is_empty());
}
