//! Messages that are exchanged or started again and again must not allocate. One process sends to itself.

use std::sync::Arc;

use canele_mem::buffer::RawMut;
use canele_mpi::awaited::Awaited;
use canele_mpi::datatype::{Basic, Datatype};
use canele_mpi::point::{From, Handing, Target};
use canele_mpi::request::{Request, RequestProgress};
use canele_mpi::{Comm, Data, Elements, ElementsMut, Errhandler, Mode, Rank, Tag, World};
use canele_sys::tunables::Tunables;

const MESSAGES: usize = 100;
const TO: Target = Target { rank: Rank(0), tag: Tag(1) };
const FROM: From = From { source: Some(Rank(0)), tag: Some(Tag(1)) };

/// Returns memory that is never freed.
fn memory(bytes: usize) -> RawMut {
    RawMut::of(vec![7; bytes].leak(), 0)
}

fn end(comm: &Comm, request: &mut Request) {
    while request.advance_outside(comm.engine()).unwrap() == RequestProgress::UnderWay {
        let mut awaited = Awaited::default();
        awaited.add(request);
        awaited.wait(comm.engine()).unwrap();
    }
    request.take().unwrap().unwrap();
}

/// Counts the allocations of `MESSAGES` calls of `f`, after as many to warm up.
fn allocations(mut f: impl FnMut()) -> u64 {
    (0..MESSAGES).for_each(|_| f());
    allocation_counter::measure(|| (0..MESSAGES).for_each(|_| f())).count_total
}

#[test]
fn persistent_messages_and_exchanges_allocate_nothing() {
    let world = World::start(&Arc::new(Errhandler::Return), &Tunables::default(), || {}).unwrap();
    let comm = &world.own;
    let of = Datatype::basic(Basic::Byte);
    for len in [8, 1000] {
        let elements = ElementsMut { raw: memory(len), count: len, of: of.clone() };
        let mut receive = comm.recv_init(Some(FROM), elements);
        let elements = Elements { raw: memory(len).into_raw(), count: len, of: of.clone() };
        let mut send = comm.send_init(Some(TO), Handing::Lent(Mode::Standard), elements);
        let started = allocations(|| {
            receive.start().unwrap();
            send.start().unwrap();
            end(comm, &mut send);
            end(comm, &mut receive);
        });
        assert_eq!(started, 0, "persistent messages of {len} bytes");
        let (raw, mut places) = (memory(len).into_raw(), Vec::new());
        places.resize_with(2 * MESSAGES, || memory(len));
        let exchanged = allocations(|| {
            let into = Data { raw: places.pop().unwrap(), count: len, of };
            comm.exchange(Some(TO), Data { raw, count: len, of }, Some(FROM), into).unwrap();
        });
        assert_eq!(exchanged, 0, "exchanges of {len} bytes");
    }
}

#[test]
fn an_allocation_would_be_counted() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new([1u8; 100])))), MESSAGES as u64);
}
