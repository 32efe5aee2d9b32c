//! The short path of receives that name no source.

use canele_proto::matching::Want;
use canele_proto::request::Status;
use canele_proto::{Envelope, Proto, Received, Sent, Settings};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{FlowId, LinkId, Rank, Tag};

const FLOW: FlowId = FlowId(0);
const ANY: Want = Want { source: None, tag: None };
const RANKS: usize = 4;

/// Makes rank 0, which receives, and the others, each with a link to it.
fn star() -> (World, Vec<Proto>, Vec<SimRail>) {
    let world = World::new(RANKS, &[Model::default()], 1);
    let mut rails: Vec<_> = (0..RANKS as u32).map(|rank| world.rail(Rank(rank))).collect();
    let settings = Settings { eager_bytes: 4096, piece_bytes: 4096, unexpected_bytes: 1 << 30 };
    let mut protos: Vec<_> = (0..RANKS as u32).map(|rank| Proto::new(Rank(rank), RANKS, settings)).collect();
    for (rank, rail) in rails.iter_mut().enumerate().skip(1) {
        let link: LinkId = rail.open_link(0, Rank(0));
        protos[rank].link_opened(rail, Rank(0), link);
    }
    rails[0].accept();
    (world, protos, rails)
}

fn send(protos: &mut [Proto], rails: &mut [SimRail], from: usize, flow: FlowId, tag: u32) {
    let sent =
        protos[from].post(&mut rails[from], Envelope::new(Rank(0), flow, Tag(tag)), &[from as u8; 8][..]);
    assert_eq!(sent, Sent::Done);
}

fn receive(proto: &mut Proto, rail: &mut SimRail, want: Want) -> Received {
    let mut into = [0; 8];
    let received = proto.try_recv(rail, FLOW, want, &mut into[..]);
    if let Received::Done(Status { source, .. }) = received {
        assert_eq!(into, [source.0 as u8; 8], "the bytes are those of {source}");
    }
    received
}

#[test]
fn every_source_has_its_turn_and_keeps_its_order() {
    const EACH: u32 = 20;
    let (world, mut protos, mut rails) = star();
    for tag in 0..EACH {
        (1..RANKS).for_each(|from| send(&mut protos, &mut rails, from, FLOW, tag));
    }
    while world.advance().is_some() {}
    let mut next = [0; RANKS];
    for n in 0..EACH as usize * (RANKS - 1) {
        let Received::Done(status) = receive(&mut protos[0], &mut rails[0], ANY) else {
            panic!("message {n} is there");
        };
        let source = status.source.0 as usize;
        assert_eq!((status.tag, status.bytes), (Tag(next[source]), 8), "the order of {source}");
        next[source] += 1;
        let (least, most) = (next[1..].iter().min(), next[1..].iter().max());
        assert!(most.unwrap() - least.unwrap() <= 1, "each has its turn: {next:?}");
    }
    assert_eq!(receive(&mut protos[0], &mut rails[0], ANY), Received::Nothing);
    assert_eq!(protos[0].traffic.unexpected, 0, "none took the general path");
}

#[test]
fn what_is_not_wanted_is_left_to_the_general_path() {
    let (world, mut protos, mut rails) = star();
    send(&mut protos, &mut rails, 2, FLOW, 5);
    while world.advance().is_some() {}
    let other_tag = Want { source: None, tag: Some(Tag(6)) };
    assert_eq!(receive(&mut protos[0], &mut rails[0], other_tag), Received::NotHere);
    let other_source = Want { source: Some(Rank(1)), tag: None };
    assert_eq!(receive(&mut protos[0], &mut rails[0], other_source), Received::Nothing);
    let this = Want { source: Some(Rank(2)), tag: None };
    let status = Status { source: Rank(2), tag: Tag(5), bytes: 8 };
    assert_eq!(receive(&mut protos[0], &mut rails[0], this), Received::Done(status));
    send(&mut protos, &mut rails, 3, FlowId(1), 5);
    while world.advance().is_some() {}
    assert_eq!(receive(&mut protos[0], &mut rails[0], ANY), Received::NotHere, "it is of another flow");
    protos[0].pass(&mut rails[0]);
    assert_eq!(protos[0].probe(FlowId(1), ANY).map(|found| found.source), Some(Rank(3)));
}
