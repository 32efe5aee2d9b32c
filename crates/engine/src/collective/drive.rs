//! A blocking collective: drives a run to its end and waits where the run cannot go on.

use canele_sys::ids::{FlowId, Tag};
use canele_sys::relax;

use super::choose::{Seat, Shape};
use super::memory::Memory;
use super::reduce::Reduction;
use super::run::{Run, Stop};
use super::{State, find};
use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::patience::Next;
use crate::wait::Unmet;

/// Looks for missing messages between two passes over everything.
const LOOKS_PER_PASS: u32 = 64;
/// The same where ranks share processors and give theirs away between two looks.
const YIELDS_PER_PASS: u32 = 8;

impl Engine {
    /// Does what `shape` says with all other ranks. Lengths have been checked; `flow` is used for nothing else.
    ///
    /// # Errors
    /// A rank died, or finished without making this call; the ranks do not make the same call; the job is over.
    pub fn collective(
        &self,
        flow: FlowId,
        shape: Shape,
        reduction: Option<Reduction>,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Error> {
        let mut core = self.enter()?;
        core.check()?;
        let mut state;
        (core, state) = match core.collectives.take(flow) {
            Some(state) => (core, state),
            None => self.wait_for_turn(core, flow)?,
        };
        let (me, ranks) = (self.rank().0 as usize, self.size() as usize);
        let seat = Seat { me, ranks, crowded: core.habits.crowded };
        let State { calls, kept, scratch, missing } = &mut *state;
        let schedule = find(kept, seat, shape);
        let words = schedule.scratch_bytes.div_ceil(8);
        if scratch.len() < words {
            scratch.resize(words, 0);
        }
        *calls = calls.wrapping_add(1);
        let mut run = Run::new(flow, Tag(*calls), reduction.map(|r| r.kernel), schedule, missing);
        let mut memory = Memory { input, output, scratch: bytemuck::cast_slice_mut(scratch) };
        let (mut core, result) = match core.check_alive() {
            Ok(()) => self.drive(core, &mut run, &mut memory),
            Err(error) => (core, Err(error)),
        };
        self.give_back(&mut core, flow, state);
        result
    }

    /// Until the run is done or fails.
    #[inline]
    fn drive<'a>(
        &'a self,
        mut core: Inside<'a>,
        run: &mut Run<'_>,
        memory: &mut Memory<'_>,
    ) -> (Inside<'a>, Result<(), Error>) {
        let mut patience = core.habits.patience();
        let looks = if core.habits.crowded { YIELDS_PER_PASS } else { LOOKS_PER_PASS };
        let mut idle = 0;
        loop {
            let inner = &mut *core;
            let stop = match run.advance(&mut inner.proto, &mut inner.rails, memory) {
                Ok(stop) => stop,
                Err(error) => return (core, Err(error)),
            };
            let mut long = stop == Stop::Long;
            match stop {
                Stop::Done => return (core, Ok(())),
                Stop::Missing { moved: true } => patience.renew(),
                Stop::Missing { moved: false } => {
                    idle += 1;
                    let next = patience.next();
                    match next {
                        Next::Yield => core = self.give_way(core, &mut patience),
                        Next::Look => relax::between_looks(),
                        Next::Sleep => {}
                    }
                    long = next == Next::Sleep;
                }
                Stop::Behind => idle = looks,
                Stop::Long => {}
            }
            if idle >= looks {
                idle = 0;
                core.pass();
                if let Err(error) = core.check_alive() {
                    return (core, Err(error));
                }
                if core.contended() {
                    core = core.pause().expect("a thread of this process has been inside before");
                }
                long |= run.waits_for_gone(&core.proto);
            }
            if long {
                let result;
                (core, result) = self.finish_transfers(core, run, memory);
                if result.is_err() {
                    return (core, result);
                }
                run.finish_round(memory);
                patience.renew();
            }
        }
    }

    /// Another thread is inside a collective of this flow: waits for its end.
    #[cold]
    fn wait_for_turn<'a>(
        &'a self,
        mut core: Inside<'a>,
        flow: FlowId,
    ) -> Result<(Inside<'a>, Box<State>), Error> {
        core.collectives.waiting += 1;
        self.rouse(&core);
        match self.wait_for(core, None, |core: &mut Core| core.collectives.take(flow)) {
            Ok((mut core, state)) => {
                core.collectives.waiting -= 1;
                Ok((core, state))
            }
            Err((_, Unmet::Error(error))) => Err(error),
            Err((_, Unmet::Deadline)) => unreachable!("a wait without a deadline"),
        }
    }

    fn give_back(&self, core: &mut Inside<'_>, flow: FlowId, state: Box<State>) {
        core.collectives.put(flow, state);
        if core.collectives.waiting > 0 {
            self.rouse(core);
            core.followers.drain(..).for_each(|thread| thread.unpark());
        }
    }
}
