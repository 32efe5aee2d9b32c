//! Messages in one packet whose head comes before the bulk and meets its receive then. Both ends are real
//! protocols; two rails join them.

use canele_mem::buffer::Owned;
use canele_proto::matching::Want;
use canele_proto::peer::PeerEnd;
use canele_proto::request::{Buffer, Failure};
use canele_proto::wire::Kind;
use canele_proto::{Envelope, Proto, Received, Settings};
use canele_rail::{Class, Distance, Header, Rail};
use canele_sim::world::{Cut, Model, SimRail, When, World};
use canele_sys::ids::{FlowId, LinkId, Rank, RequestId, Tag};

const SENDER: usize = 0;
const RECEIVER: usize = 1;
const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(1);
const LEN: usize = 4000;

struct Pair {
    world: World,
    protos: [Proto; 2],
    rails: [SimRail; 2],
}

/// An operation and its memory.
struct Operation {
    rank: usize,
    id: RequestId,
    memory: Owned<u8>,
}

impl Pair {
    /// Makes a pair. On the second rail, too, a bulk comes after its head if `shows` is set.
    fn new(shows: bool) -> Self {
        let model = Model {
            recoverable: true,
            distance: Distance::Network,
            maps_regions: false,
            shows_bulk: true,
            ..Model::default()
        };
        // Short messages take the first rail.
        let world = World::new(2, &[model, Model { latency_ns: 5000, shows_bulk: shows, ..model }], 1);
        let settings = Settings { eager_bytes: 4096, piece_bytes: 4096, unexpected_bytes: 1 << 20 };
        let mut protos = [0, 1].map(|me| Proto::new(Rank(me), 2, settings));
        let mut rails = [0, 1].map(|me| world.rail(Rank(me)));
        for network in 0..2 {
            for me in 0..2 {
                rails[me].open_link(network, other(me));
                rails[1 - me].accept();
            }
            for me in 0..2 {
                protos[me].link_opened(&rails[me], other(me), LinkId::new(network, other(me)));
            }
        }
        Self { world, protos, rails }
    }

    fn send(&mut self, byte: u8) -> Operation {
        let mut memory = Owned::new(vec![byte; LEN]);
        let envelope = Envelope::new(Rank(RECEIVER as u32), FLOW, TAG);
        let id = self.protos[SENDER].submit_send(&mut self.rails[SENDER], envelope, memory.lend_out());
        Operation { rank: SENDER, id, memory }
    }

    fn receive(&mut self, len: usize) -> Operation {
        let mut memory = Owned::new(vec![0; len]);
        let id = self.protos[RECEIVER].submit_recv(FLOW, want(), memory.lend_in());
        Operation { rank: RECEIVER, id, memory }
    }

    fn pass(&mut self, rank: usize) {
        self.rails[rank].accept();
        self.protos[rank].pass(&mut self.rails[rank]);
    }

    /// Passes until nothing moves any more.
    fn settle(&mut self) {
        for _ in 0..200 {
            (0..2).for_each(|rank| self.pass(rank));
            self.world.advance();
        }
    }

    /// Passes when the head of a message has come, but not all of its bulk.
    fn begin(&mut self) {
        self.world.advance_to(self.world.now_ns() + 3000);
        self.pass(RECEIVER);
    }

    /// Cuts the first rail. Its sender notices and informs the receiver, so the repeated message comes alone.
    fn cut(&mut self) {
        let at = self.world.now_ns();
        self.world.cut(Cut {
            network: 0,
            ends: [Rank(0), Rank(1)],
            when: When::At(at),
            notices_ns: [Some(10), None],
        });
        self.world.advance_to(at + 1);
    }

    /// Returns the outcome of an operation, and its memory.
    fn end(&mut self, mut operation: Operation) -> (Result<usize, Failure>, Vec<u8>) {
        let outcome = self.protos[operation.rank].take(operation.id).expect("it has ended");
        match outcome.buffer {
            Buffer::Out(buffer) => operation.memory.take_back_out(buffer),
            Buffer::In(buffer) => operation.memory.take_back_in(buffer),
            Buffer::None => unreachable!("each has memory"),
        }
        (outcome.result.map(|status| status.bytes), operation.memory.into_items())
    }
}

fn other(me: usize) -> Rank {
    Rank(1 - me as u32)
}

fn want() -> Want {
    Want { source: Some(Rank(SENDER as u32)), tag: Some(TAG) }
}

#[test]
fn a_message_comes_directly_into_the_memory_of_a_receive_that_is_posted() {
    let mut pair = Pair::new(true);
    let (receive, send) = (pair.receive(LEN), pair.send(7));
    pair.settle();
    assert_eq!(pair.protos[RECEIVER].traffic.copies, 0, "nothing was copied there");
    assert_eq!(pair.end(receive), (Ok(LEN), vec![7; LEN]));
    assert_eq!(pair.end(send).0, Ok(LEN));
}

#[test]
fn a_message_whose_link_is_lost_comes_again_into_the_same_receive() {
    for shows in [true, false] {
        let mut pair = Pair::new(shows);
        let (first, send) = (pair.receive(LEN), pair.send(1));
        pair.begin();
        let (second, next) = (pair.receive(LEN), pair.send(2));
        assert!(pair.protos[RECEIVER].take(first.id).is_none(), "its bulk is still to come");
        pair.cut();
        pair.settle();
        assert!(pair.protos[SENDER].traffic.sent_again > 0, "it was lost");
        assert_eq!(pair.end(first), (Ok(LEN), vec![1; LEN]));
        assert_eq!(pair.end(second), (Ok(LEN), vec![2; LEN]));
        assert!(pair.end(send).0.is_ok() && pair.end(next).0.is_ok());
    }
}

#[test]
fn no_other_receive_takes_a_message_that_has_its_own_when_it_comes_again() {
    for shows in [true, false] {
        let mut pair = Pair::new(shows);
        let (first, send) = (pair.receive(LEN), pair.send(1));
        pair.begin();
        pair.cut();
        let mut into = vec![0; LEN];
        for _ in 0..200 {
            pair.pass(SENDER);
            pair.rails[RECEIVER].accept();
            pair.rails[RECEIVER].begin_pass();
            let Pair { protos: [_, proto], rails: [_, rail], .. } = &mut pair;
            let taken = proto.try_recv(rail, FLOW, want(), &mut into[..]);
            assert!(!matches!(taken, Received::Done(_)), "it is another one's");
            pair.pass(RECEIVER);
            pair.world.advance();
        }
        assert_eq!(pair.end(first), (Ok(LEN), vec![1; LEN]));
        assert!(pair.end(send).0.is_ok());
    }
}

#[test]
fn a_receive_whose_message_will_never_be_whole_fails_with_its_sender() {
    let mut pair = Pair::new(true);
    let (receive, send) = (pair.receive(LEN), pair.send(1));
    pair.begin();
    pair.world.kill(Rank(SENDER as u32));
    for network in 0..2 {
        pair.rails[RECEIVER].disconnect(LinkId::new(network, Rank(SENDER as u32)));
    }
    pair.protos[RECEIVER].handle_gone(Rank(SENDER as u32), PeerEnd::Failed);
    pair.pass(RECEIVER);
    let (result, _) = pair.end(receive);
    assert_eq!(result, Err(Failure::PeerFailed(Rank(SENDER as u32))));
    assert!(pair.end(send).0.is_ok(), "it had left");
}

#[test]
fn a_bulk_whose_receive_has_failed_is_no_message_for_another() {
    let mut pair = Pair::new(true);
    let (first, send) = (pair.receive(LEN), pair.send(1));
    pair.begin();
    // It cannot be reached, but its link still brings the packets that had left.
    pair.protos[RECEIVER].handle_gone(Rank(SENDER as u32), PeerEnd::Unreachable);
    let anyone = Want { source: None, tag: None };
    let mut memory = Owned::new(vec![0; LEN]);
    let told = pair.protos[RECEIVER].submit_recv(FLOW, anyone, memory.lend_in());
    assert!(pair.end(Operation { rank: RECEIVER, id: told, memory }).0.is_err(), "it is told of that");
    let mut memory = Owned::new(vec![0; LEN]);
    let id = pair.protos[RECEIVER].submit_recv(FLOW, anyone, memory.lend_in());
    pair.settle();
    assert!(pair.protos[RECEIVER].take(id).is_none(), "it waits on");
    assert!(pair.protos[RECEIVER].cancel_here(id));
    assert!(pair.end(Operation { rank: RECEIVER, id, memory }).0.is_err());
    assert!(pair.end(first).0.is_err() && pair.end(send).0.is_ok(), "it had left");
}

#[test]
fn a_head_with_a_flow_that_cannot_exist_is_an_accusation() {
    let mut pair = Pair::new(true);
    let receive = pair.receive(LEN);
    let link = LinkId::new(0, Rank(RECEIVER as u32));
    let _ = pair.rails[SENDER].claim(link, LEN, Class::Message).expect("an empty link has room");
    let header = Header { kind: Kind::Eager as u8, flow: u32::MAX - 1, tag: TAG.0, ..Header::default() };
    pair.rails[SENDER].commit(link, header);
    pair.settle();
    assert!(pair.protos[RECEIVER].take_fault().is_some());
    assert!(pair.end(receive).0.is_err(), "nothing more is taken from that peer");
}

#[test]
fn what_a_peer_had_sent_is_taken_before_it_is_forgotten() {
    let mut pair = Pair::new(true);
    let sends = [pair.send(1), pair.send(2)];
    pair.world.advance_to(pair.world.now_ns() + 3000);
    pair.world.kill(Rank(SENDER as u32));
    let link = LinkId::new(0, Rank(SENDER as u32));
    let Pair { protos: [_, proto], rails: [_, rail], .. } = &mut pair;
    proto.receive_rest(rail, link);
    rail.disconnect(link);
    proto.handle_gone(Rank(SENDER as u32), PeerEnd::Failed);
    for byte in [1, 2] {
        let receive = pair.receive(LEN);
        let (result, memory) = pair.end(receive);
        assert!(result == Ok(LEN) && memory == vec![byte; LEN], "{result:?}");
    }
    sends.into_iter().for_each(|send| assert!(pair.end(send).0.is_ok(), "it had left"));
}

#[test]
fn a_receive_that_is_too_short_is_told_when_all_has_come() {
    let mut pair = Pair::new(true);
    let (receive, send) = (pair.receive(LEN - 1), pair.send(1));
    pair.settle();
    let (result, memory) = pair.end(receive);
    assert!(matches!(result, Err(Failure::Truncated { message: LEN, .. })), "{result:?}");
    assert_eq!((memory, pair.end(send).0), (vec![0; LEN - 1], Ok(LEN)));
}
