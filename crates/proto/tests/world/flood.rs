//! Floods: far more messages than receives, on links that hold only a few. Memory stays below the cap (which
//! [`Net::pass`] checks every time), and a waiting rank advances as soon as its peer receives.

use canele_mem::buffer::Owned;
use canele_proto::matching::Want;
use canele_proto::peer::PeerEnd;
use canele_proto::request::{Buffer, Outcome};
use canele_proto::{Envelope, Filled, Holding, Sent, Settings};
use canele_sim::world::Model;
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use canele_sim::campaign::{Net, Packets};

const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(7);

/// Sends numbers of eight bytes by blocking sends: each ends before the next begins.
struct Sender {
    me: Rank,
    to: Rank,
    sent: u64,
    waits: Option<(RequestId, Owned<u64>)>,
}

impl Sender {
    fn new(me: u32, to: u32) -> Self {
        Self { me: Rank(me), to: Rank(to), sent: 0, waits: None }
    }

    /// Sends until it has to wait, or has sent `count`; returns true if it is done.
    fn go_on(&mut self, net: &mut Net, count: u64) -> bool {
        let (proto, rail) = net.both(self.me);
        if let Some((id, mut owned)) = self.waits.take() {
            let Some(outcome) = proto.take(id) else {
                self.waits = Some((id, owned));
                return false;
            };
            let Buffer::Out(token) = outcome.buffer else { panic!("a send gives its buffer back") };
            owned.take_back_out(token);
            assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        }
        while self.sent < count {
            let number = self.sent;
            self.sent += 1;
            let fill = |slot: canele_mem::window::Window<'_>| slot.write(0, &number.to_le_bytes());
            let envelope = Envelope::new(self.to, FLOW, TAG);
            if proto.post(rail, envelope, Filled { len: 8, fill }) == Sent::Busy {
                let mut owned = Owned::new(vec![number]);
                let id = proto.submit_send(rail, Envelope::new(self.to, FLOW, TAG), owned.lend_out());
                self.waits = Some((id, owned));
                return false;
            }
        }
        true
    }
}

/// Expects those numbers in order.
struct Receiver {
    me: Rank,
    from: Rank,
    next: u64,
    waits: Option<(RequestId, Owned<u64>)>,
}

impl Receiver {
    fn new(me: u32, from: u32) -> Self {
        Self { me: Rank(me), from: Rank(from), next: 0, waits: None }
    }

    /// Receives all messages that are there.
    fn go_on(&mut self, net: &mut Net) {
        let want = Want { source: Some(self.from), tag: Some(TAG) };
        let (proto, _) = net.both(self.me);
        loop {
            if self.waits.is_none() && proto.probe(FLOW, want).is_none() {
                return;
            }
            let (id, mut owned) = self.waits.take().unwrap_or_else(|| {
                let mut owned = Owned::new(vec![u64::MAX]);
                (proto.submit_recv(FLOW, want, owned.lend_in()), owned)
            });
            let Some(outcome) = proto.take(id) else {
                self.waits = Some((id, owned));
                return;
            };
            let Buffer::In(token) = outcome.buffer else { panic!("a receive gives its buffer back") };
            owned.take_back_in(token);
            assert_eq!((outcome.result.map(|s| s.bytes), owned.into_items()[0]), (Ok(8), self.next));
            self.next += 1;
        }
    }
}

/// Lets every rank pass once, and time go on; returns true if anything happened.
fn round(net: &mut Net) -> bool {
    let mut any = net.open_links(true);
    for rank in 0..net.ranks() as u32 {
        any |= net.pass(Rank(rank), 0).expect("no fault, and no more held than the cap");
    }
    any | net.world.advance().is_some()
}

fn settle(net: &mut Net) {
    assert!((0..10_000_000).any(|_| !round(net)), "it never comes to rest");
}

fn net(unexpected_bytes: u64, cells: usize) -> Net {
    let settings = Settings { eager_bytes: 4096, piece_bytes: 4096, unexpected_bytes };
    let model = Model { cells, payload: 16 << 10, ..Model::default() };
    Net::new(settings, &[model], "aggregate", Packets::Well, 1, &[64, 64])
}

#[test]
fn a_million_messages_that_no_rank_wants_stay_below_the_cap() {
    const COUNT: u64 = 1_000_000;
    let mut net = net(128 << 10, 64);
    let (mut sender, mut receiver) = (Sender::new(0, 1), Receiver::new(1, 0));
    // No rank receives: the sender comes to wait, and nothing moves any more.
    for _ in 0..100 {
        assert!(!sender.go_on(&mut net, COUNT));
        settle(&mut net);
    }
    let held = net.protos[1].holding();
    assert!(
        held.unexpected_bytes > net.protos[1].credit_window(Rank(0)) - 200,
        "the credit is used: {held:?}"
    );
    assert_eq!(held.unexpected as u64, sender.sent, "all that was sent is held or announced");
    let mut done = false;
    for n in 0..10_000_000 {
        done |= sender.go_on(&mut net, COUNT);
        let any = round(&mut net);
        if !any || n % 50 == 0 {
            receiver.go_on(&mut net);
        }
        if done && receiver.next == COUNT {
            break;
        }
    }
    settle(&mut net);
    assert_eq!((sender.sent, receiver.next), (COUNT, COUNT));
    assert_eq!(net.protos.iter().map(|p| p.holding()).collect::<Vec<_>>(), [Holding::default(); 2]);
}

#[test]
fn two_ranks_that_flood_each_other_through_full_rings_finish() {
    // Both send everything before they receive anything; it fits in the credit, but not nearly in the rings.
    const COUNT: u64 = 800;
    let mut net = net(2 * COUNT * canele_proto::credit::credit_cost(8), 2);
    let mut senders = [Sender::new(0, 1), Sender::new(1, 0)];
    let mut receivers = [Receiver::new(0, 1), Receiver::new(1, 0)];
    for _ in 0..1_000_000 {
        for (sender, receiver) in senders.iter_mut().zip(&mut receivers) {
            if sender.go_on(&mut net, COUNT) {
                receiver.go_on(&mut net);
            }
        }
        if !round(&mut net) && receivers.iter().all(|r| r.next == COUNT) {
            break;
        }
    }
    assert_eq!(receivers.map(|r| r.next), [COUNT; 2]);
}

#[test]
fn sends_that_do_not_block_flood_both_ways_beyond_the_credit() {
    const COUNT: u64 = 20_000;
    let mut net = net(4 << 10, 2);
    let mut sent = Vec::new();
    for number in 0..COUNT {
        for me in 0..2u32 {
            let mut owned = Owned::new(vec![number]);
            let (proto, rail) = net.both(Rank(me));
            let id = proto.submit_send(rail, Envelope::new(Rank(1 - me), FLOW, TAG), owned.lend_out());
            sent.push((me, id, owned));
        }
    }
    let mut receivers = [Receiver::new(0, 1), Receiver::new(1, 0)];
    for _ in 0..10_000_000 {
        receivers.iter_mut().for_each(|receiver| receiver.go_on(&mut net));
        if !round(&mut net) && receivers.iter().all(|r| r.next == COUNT) {
            break;
        }
    }
    assert_eq!(receivers.map(|r| r.next), [COUNT; 2]);
    for (me, id, mut owned) in sent {
        let outcome = net.protos[me as usize].take(id).expect("a send whose message was received has ended");
        let Buffer::Out(token) = outcome.buffer else { panic!("a send gives its buffer back") };
        owned.take_back_out(token);
    }
}

/// Returns the number of packets that two ranks send each other for a flood of `count` messages. Most come
/// before the peer receives and beyond the credit; each is received by a receive of its own.
fn packets_of_a_flood(count: u64, model: Model) -> u64 {
    let settings = Settings { eager_bytes: 4096, piece_bytes: 4096, unexpected_bytes: 128 << 10 };
    let mut net = Net::new(settings, &[model], "aggregate", Packets::Well, 1, &[64, 64]);
    let mut sent = Vec::new();
    for number in 0..count {
        let mut owned = Owned::new(vec![number]);
        let (proto, rail) = net.both(Rank(0));
        let id = proto.submit_send(rail, Envelope::new(Rank(1), FLOW, TAG), owned.lend_out());
        sent.push((id, owned));
    }
    settle(&mut net);
    let want = Want { source: Some(Rank(0)), tag: Some(TAG) };
    for number in 0..count {
        let mut owned = Owned::new(vec![u64::MAX]);
        let id = net.protos[1].submit_recv(FLOW, want, owned.lend_in());
        let outcome = loop {
            if let Some(outcome) = net.protos[1].take(id) {
                break outcome;
            }
            assert!(round(&mut net), "message {number} never comes");
        };
        let Buffer::In(token) = outcome.buffer else { panic!("a receive gives its buffer back") };
        owned.take_back_in(token);
        assert_eq!((outcome.result.map(|s| s.bytes), owned.into_items()[0]), (Ok(8), number));
    }
    settle(&mut net);
    for (id, mut owned) in sent {
        let outcome = net.protos[0].take(id).expect("a send whose message was received has ended");
        let Buffer::Out(token) = outcome.buffer else { panic!("a send gives its buffer back") };
        owned.take_back_out(token);
    }
    assert_eq!(net.protos.iter().map(|p| p.holding()).collect::<Vec<_>>(), [Holding::default(); 2]);
    net.world.events()
}

#[test]
fn a_flood_beyond_the_credit_takes_a_few_packets_for_many_messages() {
    let tcp = Model { cells: 256, payload: 1 << 20, overhead_ns: 1500, ..Model::default() };
    let [some, more] = [10_000, 20_000].map(|count| packets_of_a_flood(count, tcp));
    assert!(more < 20_000 / 2, "{more} events for 20,000 messages");
    assert!(more < some * 5 / 2, "{some} events for 10,000 messages, {more} for 20,000");
}

#[test]
fn a_rank_that_waits_until_all_has_left_looks_again_when_the_rest_is_gone_with_its_peer() {
    let mut net = net(128 << 10, 2);
    let mut sent = Vec::new();
    for number in 0..100u64 {
        let mut owned = Owned::new(vec![number]);
        let (proto, rail) = net.both(Rank(0));
        let id = proto.submit_send(rail, Envelope::new(Rank(1), FLOW, TAG), owned.lend_out());
        sent.push((id, owned));
        if number == 0 {
            settle(&mut net); // The link is open.
        }
    }
    let (proto, rail) = net.both(Rank(0));
    assert!((0..100).any(|_| !proto.pass(rail)), "a full link takes nothing more");
    assert!(!proto.is_flushed());
    proto.handle_gone(Rank(1), PeerEnd::Failed);
    assert!(proto.is_flushed() || proto.pass(rail), "who sleeps now is never woken");
    assert!(proto.is_flushed());
    for (id, mut owned) in sent {
        let Some(Outcome { buffer: Buffer::Out(token), .. }) = proto.take(id) else {
            panic!("all have ended")
        };
        owned.take_back_out(token);
    }
}

#[test]
fn memory_kept_for_reuse_does_not_outgrow_the_messages_in_it() {
    // Large messages come and are received; then short ones come into their memory.
    let mut net = net(1 << 20, 64);
    let mut ids = Vec::new();
    for len in [4000, 50].into_iter().cycle().take(20) {
        for _ in 0..60 {
            let mut owned = Owned::new(vec![0u8; len]);
            let (proto, rail) = net.both(Rank(0));
            let id = proto.submit_send(rail, Envelope::new(Rank(1), FLOW, TAG), owned.lend_out());
            ids.push((id, owned));
        }
        settle(&mut net);
        let held = net.protos[1].holding();
        assert!(held.unexpected_memory <= 2 * held.unexpected_bytes, "{held:?}");
        if len == 4000 {
            receive_bytes(&mut net, len);
        }
        for (id, mut owned) in ids.drain(..) {
            let outcome = net.protos[0].take(id).expect("an eager send ends");
            let Buffer::Out(token) = outcome.buffer else { panic!("a send gives its buffer back") };
            owned.take_back_out(token);
        }
    }
}

/// Receives all messages of a length.
fn receive_bytes(net: &mut Net, len: usize) {
    let want = Want { source: Some(Rank(0)), tag: Some(TAG) };
    let proto = &mut net.protos[1];
    let mut kept = Vec::new();
    while let Some(matched) = proto.probe_matched(FLOW, want) {
        kept.push(matched);
    }
    for matched in kept {
        let bytes = matched.status.bytes;
        let mut owned = Owned::new(vec![0u8; len]);
        let id = proto.submit_recv_matched(matched, owned.lend_in());
        let outcome = proto.take(id).expect("it is here");
        let Buffer::In(token) = outcome.buffer else { panic!("a receive gives its buffer back") };
        owned.take_back_in(token);
        assert_eq!(outcome.result.map(|s| s.bytes), Ok(bytes));
    }
}
