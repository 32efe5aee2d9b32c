//! Verbs that are lost: their link or their peer ends before they complete. Buffers come back, nothing is
//! kept, and an error names the dead rank.

use canele_mem::buffer::MemoryAddress;
use canele_proto::peer::PeerEnd;
use canele_proto::request::Failure;
use canele_proto::rma::{
    CallEnding, ExposureKey, NewCall, PutReport, RmaFailure, RmaOrigin, RmaOutcome, RmaRequest,
};
use canele_sim::campaign::{Net, Packets};
use canele_sim::world::{Cut, When};

use super::*;

/// The number of passes after which a rank learns of a death: before its verb has ended as lost, and long
/// after.
const LATE: [usize; 2] = [0, 200];

impl Pair {
    /// Ends a rank.
    fn kill(&mut self, dead: Rank) {
        self.world.kill(dead);
    }

    /// Tells the other rank of a death.
    fn tell(&mut self, dead: Rank) {
        self.protos[1 - dead.0 as usize].handle_gone(dead, PeerEnd::Failed);
    }

    /// Opens the link of the sender to the receiver.
    fn connect(&mut self) {
        let link = self.rails[0].open_link(0, RECEIVER);
        self.protos[0].link_opened(&self.rails[0], RECEIVER, link);
        self.rails[1].accept();
    }

    /// Lets the owner of memory die while a verb of the sender is under way, which learns of it after so many
    /// passes.
    fn lose_owner(&mut self, origin: &mut RmaOrigin, late: usize) {
        assert_eq!(self.protos[0].holding().verbs, 1, "a verb was posted");
        self.kill(RECEIVER);
        let mut passes = 0;
        self.pass(|pair| {
            if passes == late {
                pair.tell(RECEIVER);
            }
            passes += 1;
            origin.go_on(&mut pair.protos[0], &mut pair.rails[0]);
        });
    }
}

/// Checks that rank 0 has nothing under way any more.
fn check_idle(pair: &Pair, origin: &RmaOrigin) {
    assert_eq!((pair.protos[0].holding(), pair.protos[0].is_idle()), (Holding::default(), true));
    assert_eq!(origin.under_way(), 0);
}

fn of_the_dead() -> RmaFailure {
    RmaFailure::Failed(Failure::PeerFailed(RECEIVER))
}

#[test]
fn a_message_whose_verb_is_lost_with_its_peer_fails_and_names_it() {
    for (in_region, survivor) in [([true, false], 1), ([false, true], 0)] {
        for late in LATE {
            let mut pair = pair(true);
            let requests = pair.submit(in_region);
            let dead = Rank(1 - survivor as u32);
            let mut passes_since = None;
            pair.pass(|pair| {
                let has_verb = pair.protos[survivor].holding().verbs > 0;
                if has_verb && passes_since.is_none() {
                    pair.kill(dead);
                    passes_since = Some(0);
                }
                let Some(passes) = &mut passes_since else { return };
                if *passes == late {
                    assert_eq!(has_verb, late == 0);
                    pair.tell(dead);
                }
                *passes += 1;
            });
            assert!(passes_since.is_some_and(|passes| passes > late), "a verb was posted, and lost");
            let outcome = pair.protos[survivor].take(requests[survivor]).expect("it has ended");
            // A sender that learns of the death too late has sent the message in pieces.
            let is_sent = survivor == 0 && late > 0 && outcome.result.is_ok();
            let is_named = matches!(outcome.result, Err(Failure::PeerFailed(rank)) if rank == dead);
            assert!(is_named || is_sent, "{:?}", outcome.result);
            match outcome.buffer {
                Buffer::Out(buffer) => pair.owned[0].take_back_out(buffer),
                Buffer::In(buffer) => pair.owned[1].take_back_in(buffer),
                Buffer::None => panic!("a buffer comes back"),
            }
            assert_eq!(pair.protos[survivor].holding(), Holding::default());
            assert!(pair.protos[survivor].is_idle());
        }
    }
}

#[test]
fn a_call_whose_verb_is_lost_with_its_owner_fails_and_names_it() {
    let place = |pair: &Pair| MemoryAddress::start(pair.regions[1].id());
    let len = LEN as u64;
    let calls: [&dyn Fn(MemoryAddress) -> RmaRequest; 4] = [
        &|place| RmaRequest::Put { place, len, report: PutReport::Answer },
        &|place| RmaRequest::Get { place, len },
        &|place| RmaRequest::Add { place, n: 1 },
        &|place| RmaRequest::Swap { place, expected: 0, new: 1 },
    ];
    for (call, late) in calls.into_iter().flat_map(|call| LATE.map(|late| (call, late))) {
        let (mut pair, mut origin) = (pair_over(Model::default(), true), RmaOrigin::default());
        pair.connect();
        let rma_request = call(place(&pair));
        let (mut data, mut into) = (Owned::new(message()), Owned::new(vec![3u8; LEN]));
        let new = NewCall {
            data: Some(data.lend_out()),
            into: Some(into.lend_in()),
            ..NewCall::new(RECEIVER, rma_request)
        };
        let key = origin.submit(&mut pair.protos[0], &mut pair.rails[0], new);
        pair.lose_owner(&mut origin, late);
        let RmaOutcome { owner, result, data: out, into: room } = origin.take(key).expect("it has ended");
        assert_eq!((owner, result), (RECEIVER, Err(of_the_dead())), "{rma_request:?}");
        data.take_back_out(out.expect("the data comes back"));
        into.take_back_in(room.expect("the room comes back"));
        assert!(data.bytes() == message(), "{rma_request:?}");
        assert!(into.bytes() == [3; LEN], "{rma_request:?}");
        check_idle(&pair, &origin);
    }
}

#[test]
fn a_flush_behind_a_put_whose_verb_is_lost_with_its_owner_names_it() {
    for late in LATE {
        let (mut pair, mut origin) = (pair_over(Model::default(), true), RmaOrigin::default());
        pair.connect();
        let window = ExposureKey::new(0, 1);
        let put = RmaRequest::Put {
            place: MemoryAddress::start(window),
            len: LEN as u64,
            report: PutReport::Flush,
        };
        let new = NewCall {
            data: pair.regions[0].out_buffer(0, LEN),
            ending: CallEnding::Counted,
            ..NewCall::new(RECEIVER, put)
        };
        let (proto, rail) = (&mut pair.protos[0], &mut pair.rails[0]);
        origin.submit(proto, rail, new);
        let flush = origin.submit(proto, rail, NewCall::new(RECEIVER, RmaRequest::Flush { window }));
        pair.lose_owner(&mut origin, late);
        assert_eq!(origin.take(flush).expect("it has ended").result, Err(of_the_dead()));
        check_idle(&pair, &origin);
    }
}

#[test]
fn a_message_whose_verb_is_lost_with_its_link_goes_in_pieces() {
    let model = Model { maps_regions: false, verbs: true, recoverable: true, ..Model::default() };
    let settings = Settings { eager_bytes: 4096, piece_bytes: 4096, unexpected_bytes: 1 << 20 };
    for in_region in [[true, false], [false, true]] {
        let mut net = Net::new(settings, &[model], "aggregate", Packets::Well, 1, &[LEN; 2]);
        let mut owned = [message(), vec![0; LEN]].map(Owned::new);
        net.regions[0].window(0, LEN).expect("all of it").write(0, &message());
        let data = match in_region[0] {
            true => net.regions[0].out_buffer(0, LEN).expect("all of it"),
            false => owned[0].lend_out(),
        };
        let into = match in_region[1] {
            true => net.regions[1].in_buffer(0, LEN).expect("all of it"),
            false => owned[1].lend_in(),
        };
        let want = Want { source: Some(SENDER), tag: Some(TAG) };
        let receive = net.protos[1].submit_recv(FLOW, want, into);
        let (proto, rail) = net.both(SENDER);
        let send = proto.submit_send(rail, Envelope::new(RECEIVER, FLOW, TAG), data);
        let mut is_cut = false;
        for _ in 0..1000 {
            for rank in [SENDER, RECEIVER] {
                net.pass(rank, 1).expect("no fault");
            }
            if !is_cut && net.protos.iter().any(|proto| proto.holding().verbs > 0) {
                is_cut = true;
                let when = When::At(net.world.now_ns());
                net.cut(&[Cut { network: 0, ends: [SENDER, RECEIVER], when, notices_ns: [Some(0); 2] }]);
            }
            net.open_links(true);
            net.advance();
        }
        assert!(is_cut, "a verb was posted");
        let (Some(sent), Some(received)) = (net.protos[0].take(send), net.protos[1].take(receive)) else {
            panic!("a message is lost: {in_region:?}")
        };
        assert!(sent.result.is_ok() && received.result.is_ok_and(|status| status.bytes == LEN));
        let streamed = |proto: &Proto| proto.traffic.sent[Protocol::Streamed as usize].messages;
        assert_eq!(streamed(&net.protos[0]), 1, "the verb was lost");
        let (Buffer::Out(out), Buffer::In(into)) = (sent.buffer, received.buffer) else {
            panic!("buffers come back")
        };
        if !in_region[0] {
            owned[0].take_back_out(out);
        }
        let mut bytes = vec![0; LEN];
        if in_region[1] {
            net.regions[1].window(0, LEN).expect("all of it").read(0, &mut bytes);
        } else {
            owned[1].take_back_in(into);
            bytes.copy_from_slice(owned[1].bytes());
        }
        assert!(bytes == message());
        for proto in &net.protos {
            assert_eq!((proto.holding(), proto.is_idle()), (Holding::default(), true));
        }
    }
}
