//! Buffers in made-up device memory: every route refuses them, and nothing accesses them.

use canele_mem::buffer::{InBuffer, OutBuffer, Owned};
use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Failure, Outcome};
use canele_proto::rma::{MemoryAddress, NewCall, PutReport, RmaFailure, RmaOrigin, RmaRequest};
use canele_proto::{Envelope, Proto, Settings};
use canele_rail::Rail;
use canele_sim::world::{Model, SimRail, World};
use canele_sys::device::{MemoryKind, MemoryKinds};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(3);
const ME: Rank = Rank(0);
const PEER: Rank = Rank(1);
const DEVICE: MemoryKind = MemoryKind::Device(3);

struct Ends {
    _world: World,
    proto: Proto,
    rail: SimRail,
}

/// Makes rank 0 with a link to its peer, or without one.
fn ends(is_linked: bool) -> Ends {
    let world = World::new(2, &[Model::default()], 1);
    let mut rail = world.rail(ME);
    let settings = Settings { eager_bytes: 4096, piece_bytes: 4096, unexpected_bytes: 1 << 20 };
    let mut proto = Proto::new(ME, 2, settings);
    if is_linked {
        let link = rail.open_link(0, PEER);
        assert_eq!(rail.caps(link).memory_kinds, MemoryKinds::HOST);
        proto.link_opened(&rail, PEER, link);
    }
    Ends { _world: world, proto, rail }
}

/// Checks that the request has failed because of the memory, and that its buffer comes back.
fn is_refused(proto: &mut Proto, request: RequestId, words: &str) {
    let Some(Outcome { result, buffer }) = proto.take(request) else { panic!("the request has not ended") };
    let failure = result.expect_err("memory that is not taken");
    assert!(matches!(failure, Failure::Memory { memory: DEVICE, .. }), "{failure}");
    assert!(failure.to_string().contains(words), "{failure}");
    let memory = match &buffer {
        Buffer::Out(buffer) => buffer.memory(),
        Buffer::In(buffer) => buffer.memory(),
        Buffer::None => panic!("a buffer comes back"),
    };
    assert_eq!(memory, DEVICE);
}

#[test]
fn sends_are_refused_by_what_would_carry_them() {
    for bytes in [0, 8, 1 << 20] {
        for (is_linked, to, words) in
            [(true, PEER, "sim does not"), (false, PEER, "to be opened"), (true, ME, "to itself")]
        {
            let Ends { mut proto, mut rail, _world } = ends(is_linked);
            let buffer = OutBuffer::of_made_up_device(3, bytes);
            let request = proto.submit_send(&mut rail, Envelope::new(to, FLOW, TAG), buffer);
            is_refused(&mut proto, request, words);
            assert!(proto.is_flushed());
        }
    }
}

#[test]
fn receives_are_refused_and_leave_the_message() {
    let Ends { mut proto, mut rail, _world } = ends(true);
    let mut memory = Owned::new(vec![7u8; 8]);
    let send = proto.submit_send(&mut rail, Envelope::new(ME, FLOW, TAG), memory.lend_out());
    let want = Want { source: None, tag: None };
    let request = proto.submit_recv(FLOW, want, InBuffer::of_made_up_device(3, 8));
    is_refused(&mut proto, request, "a receive");
    let mut into = Owned::new(vec![0u8; 8]);
    let request = proto.submit_recv(FLOW, want, into.lend_in());
    for request in [send, request] {
        match proto.take(request).expect("both have ended").buffer {
            Buffer::Out(buffer) => memory.take_back_out(buffer),
            Buffer::In(buffer) => into.take_back_in(buffer),
            Buffer::None => panic!("a buffer comes back"),
        }
    }
    assert_eq!(into.into_items(), [7; 8]);
}

#[test]
fn accesses_to_memory_of_other_ranks_are_refused() {
    let Ends { mut proto, mut rail, _world } = ends(true);
    let region = rail.create_region(64).expect("memory");
    let place = MemoryAddress { key: region.id().into(), offset: 0 };
    let mut origin = RmaOrigin::default();
    let put = NewCall {
        data: Some(OutBuffer::of_made_up_device(3, 8)),
        ..NewCall::new(PEER, RmaRequest::Put { place, len: 8, report: PutReport::Answer })
    };
    let get = NewCall {
        into: Some(InBuffer::of_made_up_device(3, 8)),
        ..NewCall::new(PEER, RmaRequest::Get { place, len: 8 })
    };
    for call in [put, get] {
        let key = origin.submit(&mut proto, &mut rail, call);
        let outcome = origin.take(key).expect("it has ended");
        let Err(RmaFailure::Failed(Failure::Memory { memory: DEVICE, .. })) = outcome.result else {
            panic!("{:?}", outcome.result)
        };
        assert!(outcome.data.is_some() || outcome.into.is_some(), "the memory comes back");
    }
    assert_eq!(origin.under_way(), 0);
}
