//! Collectives: what all ranks of a flow do together.
//!
//! ```text
//!   shape ──choose──▶ schedule (kept for the next time) ──▶ Run::advance: short messages straight to and from the rail
//!                                                            └─▶ lend: what is long, or has to be slept for
//! ```
//! A collective is a schedule (`schedule`) that a run (`run`) carries out step by step; whoever drives it
//! waits, not the run itself, so that another driver could return in between. Each call has a number, equal on all ranks
//! because all make the same calls in the same order, which is its messages' tag: messages of two calls never mix.
//!
//! A rank that died fails the collective on every rank, and every later one on the flow: each waiter looks for deaths,
//! because the launcher tells everybody. Nothing is retried and no rank is left out.
//!
//! What this module never does: decide by what arrives first. See `choose`.

mod build;
mod choose;
mod drive;
mod flows;
mod lend;
mod memory;
mod part;
mod reduce;
mod run;
mod schedule;
#[cfg(test)]
mod tests;

pub use choose::{Operation, Shape};
pub(crate) use flows::FIRST_PAIR;
pub use part::{Part, Step};
pub use reduce::{Number, Op, Reduction};

use canele_sys::ids::FlowId;

use choose::Seat;
use schedule::Schedule;

/// As many schedules are kept per flow; programs repeat few shapes.
const KEPT: usize = 8;

/// What is kept of each flow's collectives.
#[derive(Default)]
pub(crate) struct Collectives {
    flows: Vec<Slot>,
    /// Threads that wait for another thread's collective on the same flow.
    waiting: usize,
}

#[derive(Default)]
enum Slot {
    #[default]
    Unused,
    Idle(Box<State>),
    /// A thread is inside a collective.
    Busy,
}

/// One flow's collectives.
#[derive(Default)]
struct State {
    /// Calls so far, modulo 2³².
    calls: u32,
    /// The schedule used last comes first.
    kept: Vec<(Shape, Schedule)>,
    /// In words, so that numbers are aligned.
    scratch: Vec<u64>,
    /// Receives of the current round whose message has not come: `Run::missing`, kept for its memory.
    missing: Vec<u32>,
}

/// The schedule of a shape, made if it is not kept; afterwards it is the first.
#[inline]
fn find(kept: &mut Vec<(Shape, Schedule)>, seat: Seat, shape: Shape) -> &Schedule {
    match kept.iter().position(|(known, _)| *known == shape) {
        Some(0) => {}
        Some(n) => kept[..=n].rotate_right(1),
        None => {
            kept.truncate(KEPT - 1);
            kept.insert(0, (shape, choose::schedule(seat, shape)));
        }
    }
    &kept[0].1
}

impl Collectives {
    /// The flow's state, unless a thread uses it.
    #[inline]
    fn take(&mut self, flow: FlowId) -> Option<Box<State>> {
        let at = flow.0 as usize;
        if at >= self.flows.len() {
            self.flows.resize_with(at + 1, Slot::default);
        }
        match std::mem::replace(&mut self.flows[at], Slot::Busy) {
            Slot::Idle(state) => Some(state),
            Slot::Unused => Some(Box::default()),
            Slot::Busy => None,
        }
    }

    #[inline]
    fn put(&mut self, flow: FlowId, state: Box<State>) {
        self.flows[flow.0 as usize] = Slot::Idle(state);
    }
}
