//! One rank's part in a collective, on any protocols and any rail, for whoever drives many ranks: it owns its memory, goes on
//! when asked, and never waits.
//!
//! The algorithm is the one that [`Engine`](crate::Engine) takes. What cannot go straight to the rail becomes requests, as
//! there, on copies of the memory.

use canele_proto::Proto;
use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Mode, Outcome};
use canele_rail::Rail;
use canele_sys::buffer::Owned;
use canele_sys::ids::{FlowId, RequestId, Tag};

use super::choose::{self, Seat, Shape};
use super::memory::Memory;
use super::reduce::{Kernel, Reduction};
use super::run::{Place, Run, Stop, check_length};
use super::schedule::{Schedule, Transfer};
use crate::Error;

/// A collective as one rank sees it.
pub struct Part {
    flow: FlowId,
    tag: Tag,
    kernel: Option<Kernel>,
    schedule: Schedule,
    place: Place,
    missing: Vec<u32>,
    input: Vec<u8>,
    output: Vec<u8>,
    scratch: Vec<u64>,
    /// What is left of the round, while it is under way.
    pending: Vec<Pending>,
}

/// A transfer under way, on memory of its own.
struct Pending {
    id: RequestId,
    memory: Owned<u8>,
    /// What a receive is for.
    receive: Option<Transfer>,
}

/// How far a part has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It has come to its end.
    Done,
    /// It goes on after a pass that did something.
    Waiting,
}

impl Part {
    /// The part of the rank whose protocols `proto` are, one of many on processors of their own. `call` is another one
    /// for each collective of a flow, the same on all ranks.
    pub fn new(
        proto: &Proto,
        (flow, call): (FlowId, u32),
        shape: Shape,
        reduction: Option<Reduction>,
        input: Vec<u8>,
        output: Vec<u8>,
    ) -> Self {
        let seat = Seat { me: proto.me().0 as usize, ranks: proto.ranks(), crowded: false };
        let schedule = choose::schedule(seat, shape);
        let scratch = vec![0; schedule.scratch_bytes.div_ceil(8)];
        let (tag, kernel, mut missing) = (Tag(call), reduction.map(|r| r.kernel), Vec::new());
        let place = Run::new(flow, tag, kernel, &schedule, &mut missing).place();
        Self { flow, tag, kernel, schedule, place, missing, input, output, scratch, pending: Vec::new() }
    }

    /// What this rank has got, once all is done.
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// Goes on as far as it can.
    ///
    /// # Errors
    /// A peer died; the ranks do not make the same call.
    pub fn advance<R: Rail>(&mut self, proto: &mut Proto, rail: &mut R) -> Result<Step, Error> {
        let Self { flow, tag, kernel, schedule, place, missing, input, output, scratch, pending } = self;
        let mut run = Run::resume(*flow, *tag, *kernel, schedule, *place, missing);
        let mut memory = Memory { input, output, scratch: bytemuck::cast_slice_mut(scratch) };
        let step = loop {
            if !pending.is_empty() {
                if !pending.iter().all(|one| proto.is_done(one.id)) {
                    break Step::Waiting;
                }
                take_all(proto, &mut memory, pending)?;
                run.finish_round(&mut memory);
            }
            match run.advance(proto, rail, &mut memory)? {
                Stop::Done => break Step::Done,
                Stop::Missing { .. } | Stop::Behind => break Step::Waiting,
                Stop::Long => submit(&run, proto, rail, &mut memory, pending),
            }
        };
        *place = run.place();
        Ok(step)
    }
}

/// Does what is left of the round with requests.
fn submit<R: Rail>(
    run: &Run<'_>,
    proto: &mut Proto,
    rail: &mut R,
    memory: &mut Memory<'_>,
    pending: &mut Vec<Pending>,
) {
    let (sends, receives) = run.left();
    for receive in receives {
        let want = Want { source: Some(receive.peer), tag: Some(run.tag) };
        let mut memory = Owned::new(vec![0; receive.span.len]);
        let id = proto.submit_recv(run.flow, want, memory.lend_in());
        pending.push(Pending { id, memory, receive: Some(receive) });
    }
    for send in sends {
        let mut memory = Owned::new(memory.read(send.span).to_vec());
        let buffer = memory.lend_out();
        let id = proto.submit_send(rail, send.peer, run.flow, run.tag, Mode::Standard, buffer);
        pending.push(Pending { id, memory, receive: None });
    }
}

/// All have ended: what came goes where it belongs.
fn take_all(proto: &mut Proto, memory: &mut Memory<'_>, pending: &mut Vec<Pending>) -> Result<(), Error> {
    for mut one in pending.drain(..) {
        let Some(Outcome { result, buffer }) = proto.take(one.id) else { continue };
        match buffer {
            Buffer::Out(buffer) => one.memory.take_back_out(buffer),
            Buffer::In(buffer) => one.memory.take_back_in(buffer),
            Buffer::None => {}
        }
        let status = result?;
        if let Some(receive) = one.receive {
            check_length(status.bytes, &receive)?;
            memory.write(receive.span).copy_from_slice(one.memory.bytes());
        }
    }
    Ok(())
}
