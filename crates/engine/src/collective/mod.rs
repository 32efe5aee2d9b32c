//! Collectives: what the members of a flow do together.
//!
//! ```text
//!   form ──choose──▶ schedule (kept for the next time) ──▶ Run::advance: short messages straight to and from the rail
//!                                                           └─▶ transfers: what is long, or has to be slept for
//! ```
//! A collective is a schedule (`schedule`) that a run (`run`) carries out step by step; whoever drives it waits, not the
//! run itself: a blocking call (`call`, `drive`), or a part (`part`) that each pass takes further (`under_way`). Each call has a
//! number, equal on all members because all make the same calls in the same order, which is its messages' tag: messages
//! of two calls never mix, and any number of them may be under way.
//!
//! Where ranks share processors, long data is not sent but shown: on boards (`boards`), in memory that all members can read.
//! Messages say that it is there.
//!
//! Members are all ranks of the job or a team of them (`team`). A rank that died fails the collective on every other
//! member, and every later one on the flow: each waiter looks for deaths, because the launcher tells everybody. Nothing is
//! retried and no rank is left out.
//!
//! What this module never does: decide by what arrives first. See `choose`.

mod agreement;
mod boards;
mod build;
mod call;
mod choose;
mod drive;
mod flows;
mod form;
mod kept;
mod lasting;
mod memory;
mod part;
mod reduce;
mod run;
mod schedule;
mod team;
#[cfg(test)]
mod tests;
mod transfers;
mod under_way;

pub(crate) use flows::Pairs;
pub use form::{Block, Form, Operation, Plan, Root, Shape, Uneven};
pub use lasting::{Buffers, Place};
pub use part::{Part, Step};
pub use reduce::{Kernel, Number, Op, Reduction, SharedKernel};
pub use team::Team;

use canele_sys::buffer::Divided;
use canele_sys::ids::{FlowId, Tag};

use crate::Error;
use boards::Held;
use choose::Seat;
use kept::Kept;
use schedule::Schedule;
use team::Watch;
use under_way::UnderWay;

/// What is kept of each flow's collectives.
#[derive(Default)]
pub(crate) struct Collectives {
    flows: Vec<Slot>,
    /// Threads that wait for another thread's collective on the same flow.
    waiting: usize,
    /// Ranks share processors; equal on all ranks.
    crowded: bool,
    /// Boards that no call uses.
    boards: Vec<Held>,
    /// Those that nobody waits inside of.
    pub under_way: UnderWay,
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
struct State {
    calls: Calls,
    /// Of those that are started, not waited inside of: programs count the two apart.
    started: Calls,
    /// Those of calls that wait inside, and of those that do not.
    kept: Kept,
    kept_started: Kept,
    scratch: Divided,
    /// Receives of the current round whose message has not come: `Run::missing`, kept for its memory.
    missing: Vec<u32>,
    watch: Watch,
}

/// The number of the last call. The two highest bits never change: they say whose tags these are.
#[derive(Clone, Copy, Default)]
struct Calls(u32);

impl Calls {
    /// With the highest, tags are somebody else's; with the other one, of collectives that are started.
    const FIXED: u32 = 3 << 30;
    const STARTED: u32 = 1 << 30;

    /// The next call's tag.
    #[inline(always)]
    fn next(&mut self) -> Tag {
        self.0 = self.0 & Self::FIXED | self.0.wrapping_add(1) & !Self::FIXED;
        Tag(self.0)
    }

    /// Those whose first has this tag.
    fn from(first: Tag) -> Self {
        Self(first.0 & Self::FIXED | first.0.wrapping_sub(1) & !Self::FIXED)
    }
}

impl State {
    /// Of a team whose first call has this tag.
    fn new(team: Option<Team>, first: Tag) -> Self {
        Self {
            calls: Calls::from(first),
            started: Calls(Calls::STARTED),
            kept: Kept::default(),
            kept_started: Kept::default(),
            scratch: Divided::default(),
            missing: Vec::new(),
            watch: Watch::new(team),
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new(None, Tag(0))
    }
}

/// A schedule made for somebody's seat.
fn made(seat: Seat, team: Option<&Team>, form: &Form<'_>) -> Result<Schedule, Error> {
    let members = team.map(Team::members);
    match form {
        Form::Even(shape) => choose::schedule(seat, members, *shape),
        Form::Uneven(uneven) => choose::uneven(seat, members, *uneven),
    }
}

impl Collectives {
    /// `crowded` is equal on all ranks.
    pub fn new(crowded: bool) -> Self {
        Self { crowded, ..Self::default() }
    }

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
