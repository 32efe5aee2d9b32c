//! Large messages over a network with verbs that maps no memory: a verb moves them if one end's memory lies
//! in a region.

mod lost;

use std::sync::Arc;

use canele_mem::buffer::Owned;
use canele_proto::choice::Protocol;
use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Outcome};
use canele_proto::{Envelope, Holding, Proto, Settings};
use canele_rail::{Region, Rma};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

const LEN: usize = 100_000;
const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(3);
const SENDER: Rank = Rank(0);
const RECEIVER: Rank = Rank(1);

/// Two ranks, each with a region of [`LEN`] bytes.
struct Pair {
    world: World,
    protos: [Proto; 2],
    rails: [SimRail; 2],
    regions: [Arc<Region>; 2],
    /// Their private memory.
    owned: [Owned<u8>; 2],
}

/// Makes a pair whose regions are registered at the network, or are not.
fn pair(is_registered: bool) -> Pair {
    pair_over(Model { recoverable: true, ..Model::default() }, is_registered)
}

/// Makes such a pair over a network of these links, with verbs.
fn pair_over(model: Model, is_registered: bool) -> Pair {
    let model = Model { maps_regions: false, verbs: true, ..model };
    let world = World::new(2, &[model], 1);
    let mut rails = [world.rail(SENDER), world.rail(RECEIVER)];
    let settings = Settings { eager_bytes: 4096, piece_bytes: 4096, unexpected_bytes: 1 << 20 };
    let protos = [SENDER, RECEIVER].map(|rank| Proto::new(rank, 2, settings));
    let regions = [0, 1].map(|n| {
        let rail: &mut SimRail = &mut rails[n];
        let region = rail.create_region(LEN).expect("memory");
        if is_registered {
            rail.register_region(&region).expect("room");
        }
        region
    });
    Pair { world, protos, rails, regions, owned: [message(), vec![0; LEN]].map(Owned::new) }
}

impl Pair {
    /// Submits a message of [`LEN`] bytes and its receive. `in_region` says which of the two buffers lie in
    /// regions.
    fn submit(&mut self, in_region: [bool; 2]) -> [RequestId; 2] {
        self.regions[0].window(0, LEN).expect("all of it").write(0, &message());
        let data = match in_region[0] {
            true => self.regions[0].out_buffer(0, LEN).expect("all of it"),
            false => self.owned[0].lend_out(),
        };
        let into = match in_region[1] {
            true => self.regions[1].in_buffer(0, LEN).expect("all of it"),
            false => self.owned[1].lend_in(),
        };
        let want = Want { source: Some(SENDER), tag: Some(TAG) };
        let receive = self.protos[1].submit_recv(FLOW, want, into);
        let send = self.protos[0].submit_send(&mut self.rails[0], Envelope::new(RECEIVER, FLOW, TAG), data);
        [send, receive]
    }

    /// Lets both ranks pass until nothing is under way. `between` is called after each pair of passes.
    fn pass(&mut self, mut between: impl FnMut(&mut Self)) {
        for _ in 0..300 {
            for n in 0..2 {
                self.rails[n].accept();
                self.protos[n].pass(&mut self.rails[n]);
                if let Some(peer) = self.protos[n].take_wanted() {
                    let link = self.rails[n].open_link(0, peer);
                    self.protos[n].link_opened(&self.rails[n], peer, link);
                }
            }
            between(self);
            self.world.advance();
        }
    }

    /// Takes the outcomes of a send and its receive. The received bytes must be the message.
    fn take(&mut self, [send, receive]: [RequestId; 2]) {
        let Some(Outcome { result: Ok(_), buffer: Buffer::Out(out) }) = self.protos[0].take(send) else {
            panic!("the send has not ended well")
        };
        let Some(Outcome { result: Ok(status), buffer: Buffer::In(into) }) = self.protos[1].take(receive)
        else {
            panic!("the receive has not ended well")
        };
        assert_eq!(status.bytes, LEN);
        if out.place().is_none() {
            self.owned[0].take_back_out(out);
        }
        if into.place().is_some() {
            let mut bytes = vec![0; LEN];
            self.regions[1].window(0, LEN).expect("all of it").read(0, &mut bytes);
            assert!(bytes == message());
        } else {
            self.owned[1].take_back_in(into);
            assert!(self.owned[1].bytes() == message());
        }
        for proto in &self.protos {
            assert_eq!((proto.holding(), proto.is_idle()), (Holding::default(), true));
        }
    }

    /// Returns the number of messages of each protocol that rank 0 sent and rank 1 received.
    fn counts(&self, protocol: Protocol) -> [u64; 2] {
        let [sender, receiver] = [0, 1].map(|n| &self.protos[n].traffic);
        [sender.sent[protocol as usize].messages, receiver.received[protocol as usize].messages]
    }
}

/// Returns the bytes that are sent.
fn message() -> Vec<u8> {
    (0..LEN).map(|n| (n * 7 % 251) as u8).collect()
}

#[test]
fn one_verb_moves_a_message_of_which_an_end_lies_in_a_region() {
    for in_region in [[true, false], [false, true], [true, true]] {
        let mut pair = pair(true);
        let requests = pair.submit(in_region);
        pair.pass(|_| ());
        pair.take(requests);
        assert_eq!(pair.counts(Protocol::Direct), [1, 1], "{in_region:?}");
        assert_eq!(pair.counts(Protocol::Streamed), [0, 0]);
        // The passive end copies nothing.
        let copies = [0, 1].map(|n| pair.protos[n].traffic.copies);
        assert_eq!(copies, if in_region[0] { [0, 1] } else { [1, 0] });
    }
}

#[test]
fn a_message_between_private_buffers_goes_in_pieces() {
    let mut pair = pair(true);
    let requests = pair.submit([false, false]);
    pair.pass(|_| ());
    pair.take(requests);
    assert_eq!(
        [Protocol::Direct, Protocol::Streamed].map(|protocol| pair.counts(protocol)),
        [[0, 0], [1, 1]]
    );
}

#[test]
fn a_message_whose_verb_is_refused_goes_in_pieces() {
    for in_region in [[true, false], [false, true]] {
        let mut pair = pair(false);
        let requests = pair.submit(in_region);
        pair.pass(|_| ());
        pair.take(requests);
        assert_eq!(pair.counts(Protocol::Direct), [0, 0], "{in_region:?}");
        assert_eq!(pair.counts(Protocol::Streamed), [1, 1]);
    }
}
