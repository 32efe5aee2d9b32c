//! The choice between a fast and a slow rail. The receiver is played by hand and sees the packets of each.

use std::sync::{Arc, Mutex};

use canele_mem::buffer::Owned;
use canele_mem::window::Window;
use canele_proto::backlog::{ORDINARY, RailPolicy};
use canele_proto::matching::Want;
use canele_proto::peer::PeerEnd;
use canele_proto::request::{Mode, Status};
use canele_proto::wire::{Cts, CtsKind, Kind, Rts};
use canele_proto::{Envelope, EventListener, Filled, Proto, ProtoEvent, Received, Sent, Settings, batch};
use canele_rail::{Class, Distance, Header, Rail};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{FlowId, LinkId, Rank, Tag};

const FAST: u8 = 0;
const SLOW: u8 = 1;
const OTHER: Rank = Rank(1);
const MESSAGES: u32 = 400;

struct Rails {
    world: World,
    proto: Proto,
    rail: SimRail,
    by_hand: SimRail,
}

impl Rails {
    fn new(strategy: &str) -> Self {
        let fast = Model {
            recoverable: true,
            distance: Distance::Network,
            busy: true,
            maps_regions: false,
            overhead_ns: 1000,
            ..Model::default()
        };
        let slow = Model { latency_ns: 1_000_000, bytes_per_ms: 10_000, ..fast };
        let world = World::new(2, &[fast, slow], 1);
        let (mut rail, mut by_hand) = (world.rail(Rank(0)), world.rail(OTHER));
        let settings = Settings { eager_bytes: 4096, piece_bytes: 4096, unexpected_bytes: 1 << 30 };
        let mut proto = Proto::new(Rank(0), 2, settings);
        proto.set_strategy(canele_proto::strategy::named(strategy).expect("a strategy"));
        for network in [FAST, SLOW] {
            by_hand.open_link(network, Rank(0));
            let link = rail.open_link(network, OTHER);
            proto.link_opened(&rail, OTHER, link);
        }
        Self { world, proto, rail, by_hand }
    }

    /// Sends the messages, of 8 bytes each; returns the numbers of those over the fast rail and over the slow
    /// one.
    fn send(&mut self, flow: FlowId) -> [u32; 2] {
        self.send_over(&[FAST, SLOW], flow)
    }

    /// Sends the messages over these rails alone.
    fn send_over(&mut self, networks: &[u8], flow: FlowId) -> [u32; 2] {
        let mut items: Vec<_> = (0..MESSAGES).map(|_| Owned::new(vec![0u64])).collect();
        let sends: Vec<_> = items
            .iter_mut()
            .map(|item| {
                let buffer = item.lend_out();
                self.proto.submit_send(&mut self.rail, Envelope::new(OTHER, flow, Tag(0)), buffer)
            })
            .collect();
        let mut came = [0; 2];
        for _ in 0..10_000 {
            self.rail.accept();
            self.by_hand.accept();
            self.proto.pass(&mut self.rail);
            for network in networks {
                came[*network as usize] += self.take(LinkId::new(*network, Rank(0)));
            }
            if came.iter().sum::<u32>() == MESSAGES {
                break;
            }
            self.world.advance();
        }
        for (send, mut item) in sends.into_iter().zip(items) {
            match self.proto.take(send).expect("it has left").buffer {
                canele_proto::request::Buffer::Out(buffer) => item.take_back_out(buffer),
                _ => unreachable!("a send gives its buffer back"),
            }
        }
        came
    }

    /// Returns the number of messages that have come over a link.
    fn take(&mut self, link: LinkId) -> u32 {
        let mut count = 0;
        self.by_hand.begin_pass();
        while let Ok(Some(packet)) = self.by_hand.poll(link) {
            count += match Kind::of(&packet.header) {
                Some(Kind::Batch) => batch::Reader::new(packet.bulk).count() as u32,
                Some(Kind::Short) => 1,
                Some(Kind::LinkClosed) => 0,
                other => unreachable!("{other:?} was not sent"),
            };
            self.by_hand.release(link);
        }
        count
    }
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<ProtoEvent>>>);

impl EventListener for Heard {
    fn notify(&mut self, event: ProtoEvent) {
        self.0.lock().unwrap().push(event);
    }
}

#[test]
fn a_listener_is_told_of_a_lost_rail_and_of_a_death_once() {
    let mut rails = Rails::new("aggregate");
    let heard = Heard::default();
    rails.proto.set_listener(Some(Box::new(heard.clone())));
    assert_eq!(rails.send(FlowId(1)), [MESSAGES, 0]);
    rails.proto.close_link(&mut rails.rail, LinkId::new(SLOW, OTHER));
    (0..2).for_each(|_| rails.proto.handle_gone(OTHER, PeerEnd::Failed));
    let lost = ProtoEvent::RailLost { peer: OTHER, rail: SLOW };
    let died = ProtoEvent::RankDied { peer: OTHER, how: PeerEnd::Failed };
    assert_eq!(*heard.0.lock().unwrap(), [lost, died]);
}

#[test]
fn small_messages_take_the_link_that_delivers_first() {
    for strategy in ["aggregate", "fifo", "priority", "split"] {
        assert_eq!(Rails::new(strategy).send(FlowId(1)), [MESSAGES, 0], "{strategy}");
    }
}

#[test]
fn a_flow_keeps_to_the_rail_it_requires_and_takes_the_one_it_prefers() {
    let mut rails = Rails::new("aggregate");
    rails.proto.set_flow(FlowId(1), ORDINARY, RailPolicy::Require(SLOW));
    assert_eq!(rails.send(FlowId(1)), [0, MESSAGES]);
    rails.proto.set_flow(FlowId(2), ORDINARY, RailPolicy::Prefer(SLOW));
    assert!(rails.send(FlowId(2))[SLOW as usize] > 0);
}

#[test]
fn no_message_slips_past_the_rail_its_flow_requires() {
    let mut rails = Rails::new("aggregate");
    rails.proto.set_flow(FlowId(1), ORDINARY, RailPolicy::Require(SLOW));
    let Rails { proto, rail, .. } = &mut rails;
    let mut post = |flow| proto.post(rail, Envelope::new(OTHER, flow, Tag(0)), &[1][..]);
    assert_eq!([FlowId(1), FlowId(2)].map(&mut post), [Sent::Busy, Sent::Done]);
}

#[test]
fn a_flow_whose_rail_is_lost_takes_the_one_that_is_left() {
    let mut rails = Rails::new("aggregate");
    rails.proto.set_flow(FlowId(1), ORDINARY, RailPolicy::Prefer(SLOW));
    rails.proto.close_link(&mut rails.rail, LinkId::new(SLOW, OTHER));
    assert_eq!(rails.send_over(&[FAST], FlowId(1)), [MESSAGES, 0]);
}

#[test]
fn what_is_coalesced_leaves_with_the_next_packet_and_nothing_is_coalesced_at_the_end() {
    let mut rails = Rails::new("aggregate");
    let Rails { proto, rail, .. } = &mut rails;
    let envelope = Envelope { coalesce: true, ..Envelope::new(OTHER, FlowId(1), Tag(0)) };
    assert_eq!(proto.post(rail, envelope, &[1; 8][..]), Sent::Done, "the link is not busy yet");
    assert_eq!(proto.post(rail, Envelope { coalesce: false, ..envelope }, &[1; 8][..]), Sent::Busy);
    assert_eq!(proto.post(rail, envelope, &[1; 2000][..]), Sent::Busy, "too long");
    let sends: Vec<_> = (0..MESSAGES)
        .map(|n| match n % 2 {
            0 => proto.post(rail, envelope, &[1; 8][..]),
            _ => {
                proto.post(rail, envelope, Filled { len: 8, fill: |slot: Window<'_>| slot.write(0, &[1; 8]) })
            }
        })
        .map(|sent| match sent {
            Sent::Posted(send) => send,
            other => panic!("the link is busy: {other:?}"),
        })
        .collect();
    assert!(proto.take_coalesced(sends[0]).is_none(), "nothing has left yet");
    for _ in 0..100 {
        rails.proto.pass(&mut rails.rail);
    }
    for send in sends {
        let outcome = rails.proto.take_coalesced(send).expect("it has left");
        assert_eq!(outcome.result.unwrap().bytes, 8);
    }
    rails.proto.close();
    assert_eq!(rails.proto.post(&mut rails.rail, envelope, &[1; 8][..]), Sent::Busy);
}

#[test]
fn who_is_invited_to_send_nothing_has_sent_it() {
    let mut rails = Rails::new("aggregate");
    let mut nothing = Owned::new(Vec::<u64>::new());
    let Rails { proto, rail, by_hand, world } = &mut rails;
    let buffer = nothing.lend_out();
    let send = proto.submit_send(
        rail,
        Envelope { mode: Mode::Synchronous, ..Envelope::new(OTHER, FlowId(1), Tag(0)) },
        buffer,
    );
    let link = LinkId::new(FAST, Rank(0));
    let mut invited = false;
    for _ in 0..1000 {
        by_hand.accept();
        by_hand.begin_pass();
        let rts = by_hand.poll(link).unwrap().and_then(|packet| Rts::read(&packet));
        if let Some(Rts { request, .. }) = rts {
            by_hand.release(link);
            let cts = Cts { request, receiver: request, how: CtsKind::Stream };
            let slot = by_hand.claim(link, 0, Class::Control).unwrap();
            slot.inline.write_words(0, &cts.to_words());
            by_hand.commit(link, Header { inline_len: 48, ..Kind::Cts.header(0) });
            invited = true;
        }
        rail.accept();
        proto.pass(rail);
        if proto.is_done(send) {
            break;
        }
        world.advance();
    }
    assert!(invited, "it was announced");
    // Rails that send from the user's memory take no packet without its bulk.
    for _ in 0..100 {
        world.advance();
        by_hand.begin_pass();
        assert!(by_hand.poll(link).unwrap().is_none(), "there is no piece of nothing");
    }
    let outcome = proto.take(send).expect("the invitation ends it");
    assert_eq!(outcome.result.unwrap().bytes, 0);
    match outcome.buffer {
        canele_proto::request::Buffer::Out(buffer) => nothing.take_back_out(buffer),
        _ => unreachable!("a send gives its buffer back"),
    }
}

/// Makes two networks of the same speed, whose links open in the opposite order at the two ends.
fn two_alike() -> (World, [Proto; 2], [SimRail; 2]) {
    let model =
        Model { recoverable: true, distance: Distance::Network, maps_regions: false, ..Model::default() };
    let world = World::new(2, &[model, model], 1);
    let mut rails = [world.rail(Rank(0)), world.rail(OTHER)];
    let settings = Settings { eager_bytes: 4096, piece_bytes: 4096, unexpected_bytes: 1 << 30 };
    let mut protos = [0, 1].map(|rank| Proto::new(Rank(rank), 2, settings));
    for (me, order) in [[FAST, SLOW], [SLOW, FAST]].into_iter().enumerate() {
        for network in order {
            let peer = Rank(1 - me as u32);
            let link = rails[me].open_link(network, peer);
            protos[me].link_opened(&rails[me], peer, link);
        }
    }
    rails.iter_mut().for_each(|rail| rail.accept());
    (world, protos, rails)
}

#[test]
fn both_ends_take_the_same_one_of_links_as_fast_as_each_other() {
    let (_world, protos, _rails) = two_alike();
    let first = [0, 1].map(|me| protos[me].link_from(Rank(1 - me as u32)).map(|link| link.rail()));
    assert!(first[0].is_some() && first[0] == first[1], "{first:?}");
}

#[test]
fn a_receive_that_looks_finds_what_comes_over_another_link() {
    for source in [Some(Rank(0)), None] {
        let (world, [_, mut proto], [mut by_hand, mut rail]) = two_alike();
        let first = proto.link_from(Rank(0)).expect("a link");
        let other = LinkId::new(if first.rail() == FAST { SLOW } else { FAST }, OTHER);
        post_by_hand(&mut by_hand, other, 0);
        while world.advance().is_some() {}
        let mut into = [0; 8];
        let want = Want { source, tag: Some(Tag(0)) };
        let mut look = || proto.try_recv(&mut rail, FlowId(0), want, &mut into[..]);
        let status = Status { source: Rank(0), tag: Tag(0), bytes: 8 };
        assert!((0..4).any(|_| look() == Received::Done(status)), "four looks at two links, from {source:?}");
    }
}

#[test]
fn a_look_from_any_source_takes_no_message_before_its_turn() {
    let (world, [_, mut proto], [mut by_hand, mut rail]) = two_alike();
    let mut into = [0; 8];
    let want = Want { source: None, tag: None };
    let mut look = |proto: &mut Proto| proto.try_recv(&mut rail, FlowId(0), want, &mut into[..]);
    post_by_hand(&mut by_hand, LinkId::new(FAST, OTHER), 1);
    while world.advance().is_some() {}
    assert!((0..4).all(|_| !matches!(look(&mut proto), Received::Done(_))), "message 0 comes first");
    post_by_hand(&mut by_hand, LinkId::new(SLOW, OTHER), 0);
    while world.advance().is_some() {}
    let mut taken = (0..8).filter(|_| matches!(look(&mut proto), Received::Done(_)));
    assert_eq!(taken.by_ref().count(), 2, "both, once they can be in order");
}

/// Sends 8 bytes as message `sequence` of flow 0.
fn post_by_hand(by_hand: &mut SimRail, link: LinkId, sequence: u32) {
    let slot = by_hand.claim(link, 0, Class::Message).expect("room");
    slot.inline.write(0, &[7; 8]);
    by_hand.commit(link, Header { inline_len: 8, sequence, ..Kind::Short.header(0) });
}
