//! Credit in a job of many ranks: pairs that communicate get more than an equal share, and all together never
//! more than the total.

use canele_mem::buffer::Owned;
use canele_proto::credit::{base_window, credit_cost};
use canele_proto::matching::Want;
use canele_proto::peer::PeerEnd;
use canele_proto::request::Buffer;
use canele_proto::{Envelope, Holding, Proto, Settings};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(7);
const RANKS: usize = 4096;
const EAGER: usize = 16 << 10;
const UNEXPECTED_BYTES: u64 = 64 << 20;

/// The first ranks of a large job, the others of which do nothing.
struct Few {
    world: World,
    ranks: Vec<(Proto, SimRail)>,
}

impl Few {
    fn new(few: u32) -> Self {
        let model = Model { cells: 64, payload: 128 << 10, ..Model::default() };
        let world = World::new(RANKS, &[model], 1);
        let settings =
            Settings { eager_bytes: EAGER, piece_bytes: EAGER, unexpected_bytes: UNEXPECTED_BYTES };
        let ranks = (0..few).map(Rank).map(|rank| (Proto::new(rank, RANKS, settings), world.rail(rank)));
        Self { ranks: ranks.collect(), world }
    }

    /// Passes until nothing moves; the bound on memory holds all the time.
    fn settle(&mut self) {
        let bound = UNEXPECTED_BYTES;
        loop {
            let mut any = false;
            for (proto, rail) in &mut self.ranks {
                rail.accept();
                let mut has_moved = proto.pass(rail);
                while let Some(peer) = proto.take_wanted() {
                    let link = rail.open_link(0, peer);
                    proto.link_opened(rail, peer, link);
                    has_moved = true;
                }
                if !has_moved {
                    continue;
                }
                any = true;
                assert!(proto.take_fault().is_none(), "no rank sends more than it may");
                assert!(proto.credit_given() <= bound, "{} of {bound} bytes are given", proto.credit_given());
                assert!(proto.holding().unexpected_bytes <= bound, "{:?}", proto.holding());
            }
            if !any && self.world.advance().is_none() {
                return;
            }
        }
    }

    fn send(&mut self, from: u32, to: u32, len: usize) -> (RequestId, Owned<u8>) {
        let mut owned = Owned::new(vec![from as u8; len]);
        let (proto, rail) = &mut self.ranks[from as usize];
        let id = proto.submit_send(rail, Envelope::new(Rank(to), FLOW, TAG), owned.lend_out());
        (id, owned)
    }

    fn end(&mut self, at: u32, (id, mut owned): (RequestId, Owned<u8>)) {
        let outcome = self.ranks[at as usize].0.take(id).expect("it has ended");
        assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        match outcome.buffer {
            Buffer::Out(token) => owned.take_back_out(token),
            Buffer::In(token) => owned.take_back_in(token),
            Buffer::None => panic!("a buffer comes back"),
        }
    }

    fn submit_receive(&mut self, at: u32, from: u32, len: usize) -> (RequestId, Owned<u8>) {
        let mut owned = Owned::new(vec![0; len]);
        let want = Want { source: Some(Rank(from)), tag: Some(TAG) };
        (self.ranks[at as usize].0.submit_recv(FLOW, want, owned.lend_in()), owned)
    }

    fn receive(&mut self, at: u32, from: u32, len: usize) {
        let received = self.submit_receive(at, from, len);
        self.settle();
        self.end(at, received);
    }

    /// Sends one message and receives it.
    fn exchange(&mut self, from: u32, to: u32, len: usize) {
        let sent = self.send(from, to, len);
        self.receive(to, from, len);
        self.end(from, sent);
    }

    /// Returns the credit that a rank has given another.
    fn window(&self, of: u32, at: u32) -> u64 {
        self.ranks[at as usize].0.credit_window(Rank(of))
    }

    fn at(&self, rank: u32) -> &Proto {
        &self.ranks[rank as usize].0
    }

    fn nothing_is_held(&self) {
        assert!(self.ranks.iter().all(|(proto, _)| proto.holding() == Holding::default()));
    }
}

#[test]
fn a_pair_of_a_large_job_soon_sends_several_eager_messages_unasked() {
    let mut few = Few::new(2);
    assert_eq!(few.at(0).credit(Rank(1)).0, base_window(UNEXPECTED_BYTES, RANKS));
    // There is none for the first message, which is received; the credit given then is for two.
    few.exchange(0, 1, EAGER);
    assert!(few.at(0).credit(Rank(1)).0 >= credit_cost(EAGER), "{:?}", few.at(0).credit(Rank(1)));
    // These are not received, and yet they all leave.
    let sent: Vec<_> = (0..64).map(|_| few.send(0, 1, EAGER)).collect();
    few.settle();
    assert_eq!(few.at(1).holding().unexpected_bytes, 64 * credit_cost(EAGER));
    assert!(few.window(0, 1) >= 64 * credit_cost(EAGER), "more than 64 equal shares");
    for message in sent {
        few.end(0, message);
        few.receive(1, 0, EAGER);
    }
    few.nothing_is_held();
}

#[test]
fn short_messages_that_are_received_widen_the_window_without_being_announced() {
    let mut few = Few::new(2);
    for _ in 0..2000 {
        few.exchange(0, 1, 8);
    }
    assert!(few.window(0, 1) >= 64 << 10, "{}", few.window(0, 1));
    let moved = &few.at(0).traffic;
    assert_eq!((moved.sent[0].messages, moved.control), (2000, 0), "none was announced");
    assert!(few.at(1).traffic.control < 20, "credit returns seldom: {}", few.at(1).traffic.control);
}

#[test]
fn many_that_flood_one_stay_within_the_pool_and_each_has_some_of_it() {
    const SENDERS: u32 = 200;
    const EACH: usize = 60;
    let mut few = Few::new(SENDERS + 1);
    let mut sent = Vec::new();
    for _ in 0..EACH {
        sent.extend((1..=SENDERS).map(|from| (from, few.send(from, 0, EAGER))));
    }
    few.settle();
    let held = few.at(0).holding();
    assert!(EACH as u64 * u64::from(SENDERS) * credit_cost(EAGER) > 2 * UNEXPECTED_BYTES, "it is a flood");
    assert!(held.unexpected_bytes > UNEXPECTED_BYTES / 4, "half of the pool is used: {held:?}");
    let paid = |from: &u32| few.window(*from, 0) >= credit_cost(EAGER);
    let paid = (1..=SENDERS).filter(paid).count();
    assert!(paid > SENDERS as usize * 3 / 4, "{paid} have credit for an eager message");
    let received: Vec<_> = sent.iter().map(|(from, _)| few.submit_receive(0, *from, EAGER)).collect();
    few.settle();
    received.into_iter().for_each(|message| few.end(0, message));
    sent.into_iter().for_each(|(from, message)| few.end(from, message));
    few.nothing_is_held();
}

#[test]
fn a_peer_that_is_gone_gives_back_all_but_what_is_kept_of_it() {
    let mut few = Few::new(3);
    let given = few.at(0).credit_given();
    let sent: Vec<_> = (0..10).map(|_| few.send(1, 0, EAGER)).collect();
    few.settle();
    assert!(few.at(0).credit_given() > given + 10 * EAGER as u64);
    few.ranks[0].0.handle_gone(Rank(1), PeerEnd::Finished);
    assert_eq!(few.window(1, 0), 10 * credit_cost(EAGER));
    for message in sent {
        few.end(1, message);
        few.receive(0, 1, EAGER);
    }
    assert_eq!(few.at(0).credit_given(), given);
}
