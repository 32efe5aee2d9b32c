//! Agreements on a new flow that nobody waits inside of: which pairs are free everywhere, and could all take the one chosen?
//!
//! ```text
//!   free here ──(conjunction)──▶ free everywhere: take one ──(conjunction)──▶ all could: agreed; else once more
//! ```
//!
//! Owns how far one has come. Its conjunctions go on with any pass, as other collectives do, whatever the program waits for.
//! They share one tag, drawn at the start: each begins after the one before, and messages with one tag keep their order.
//!
//! Between two groups a conjunction gives each group the other's alone, so it is made twice: the second time everybody says
//! what the first gave and its own, and both groups have the same.

use std::sync::Arc;

use canele_sys::buffer::Divided;
use canele_sys::ids::{FlowId, Tag};

use super::call::Manner;
use super::flows::{FIRST_PAIR, WINDOW, WINDOW_PAIRS, conjunction};
use super::form::{Form, Operation, Shape};
use super::lasting::{Buffers, Place};
use super::part::Part;
use super::reduce::{Kernel, Reduction};
use super::schedule::Schedule;
use crate::Error;
use crate::core::Core;
use crate::engine::Engine;
use crate::requests::Pending;

/// A bit for each pair of a window.
type Words = [u64; WINDOW];

/// The pair is one of so many that are free: agreements at the same time, in another order on other ranks, seldom choose
/// the same one.
const CHOICES: u32 = 16;

/// One that is under way.
pub(super) struct Agreement {
    name: (FlowId, Tag),
    schedule: Arc<Schedule>,
    is_between: bool,
    /// The window of pairs that is looked at begins here.
    first: u32,
    round: u32,
    /// The pair that all are asked about, and whether it was free here.
    taken: Option<(u32, bool)>,
    /// Between two groups: what this rank said, until the other group's is known.
    said: Option<Words>,
}

/// What follows a conjunction.
pub(super) enum Next {
    /// Another one.
    Part(Box<Part>),
    /// All have taken this flow and the one after it.
    Agreed(FlowId),
}

impl Engine {
    /// Starts to agree on a flow that is new on all members of the flow of collectives `parent`, as [`Engine::create_flow`];
    /// the end's [`flow`](crate::Ended::flow) is its number. It counts as one non-blocking collective.
    ///
    /// # Errors
    /// As [`Engine::start_collective`]; all flows are in use.
    pub fn start_agreement(&self, parent: FlowId) -> Result<Pending, Error> {
        let (mut core, mut state) = self.begin(parent)?;
        let shape = Shape { element: 8, ..Shape::new(Operation::Allreduce, size_of::<Words>()) };
        let schedule = self.schedule(&core, &mut state, &Form::Even(shape), Manner::Started);
        let started = schedule.and_then(|schedule| {
            let mut agreement = Agreement {
                name: (parent, state.started.next()),
                schedule,
                is_between: state.watch.is_between(),
                first: FIRST_PAIR,
                round: 0,
                taken: None,
                said: None,
            };
            Ok((agreement.ask(&core)?, agreement))
        });
        let watch = state.watch.clone();
        self.give_back(&mut core, parent, state);
        let (part, agreement) = started?;
        let tag = agreement.name.1;
        Ok(self.run_on(core, part, tag, watch, Some(agreement)))
    }
}

impl Agreement {
    /// Begins to find out which pairs are free everywhere.
    fn ask(&mut self, core: &Core) -> Result<Part, Error> {
        let free = core.pairs.window(self.first)?;
        Ok(self.conjunction(free))
    }

    fn conjunction(&mut self, words: Words) -> Part {
        self.said = self.is_between.then_some(words);
        self.part(words)
    }

    fn part(&self, words: Words) -> Part {
        let own = |bytes: &[u8]| Place::Own(Box::new(Divided::from(bytes)));
        let buffers =
            Buffers { input: own(bytemuck::bytes_of(&words)), output: own(&[0; size_of::<Words>()]) };
        let and = Reduction::from(conjunction as Kernel);
        Part::of(self.schedule.clone(), self.name, Some(and), buffers)
    }

    /// A conjunction has ended with these bytes.
    ///
    /// # Errors
    /// All flows are in use.
    pub fn next(&mut self, core: &mut Core, agreed: &[u8]) -> Result<Next, Error> {
        let mut words: Words = [0; WINDOW];
        bytemuck::bytes_of_mut(&mut words).copy_from_slice(agreed);
        if let Some(said) = self.said.take() {
            words.iter_mut().zip(said).for_each(|(theirs, mine)| *theirs &= mine);
            return Ok(Next::Part(Box::new(self.part(words))));
        }
        match self.taken {
            None => self.take(core, &words).map(|part| Next::Part(Box::new(part))),
            Some((pair, true)) if words[0] == 1 => Ok(Next::Agreed(FlowId(2 * pair))),
            Some(_) => {
                self.give_up(core);
                self.round += 1;
                self.ask(core).map(|part| Next::Part(Box::new(part)))
            }
        }
    }

    /// Takes one of the pairs that are free everywhere, the same on all members, and begins to ask whether all could.
    fn take(&mut self, core: &mut Core, window: &Words) -> Result<Part, Error> {
        let begin = self.first / WINDOW_PAIRS * WINDOW_PAIRS;
        let Some(pair) = self.choice(begin, window) else {
            self.first = begin + WINDOW_PAIRS;
            return self.ask(core);
        };
        let taken = core.pairs.take(pair);
        self.taken = Some((pair, taken));
        let mut words = [0; WINDOW];
        words[0] = u64::from(taken);
        Ok(self.conjunction(words))
    }

    fn choice(&self, begin: u32, window: &Words) -> Option<u32> {
        let is_free = |n: &u32| window[(n / u64::BITS) as usize] >> (n % u64::BITS) & 1 != 0;
        let free: Vec<u32> = (0..WINDOW_PAIRS).filter(is_free).take(CHOICES as usize).collect();
        // The same numbers on all members; those of other agreements lie apart, and in every round elsewhere.
        let (FlowId(flow), Tag(tag)) = self.name;
        let mixed = (flow / 2)
            .wrapping_add(tag.wrapping_mul(5))
            .wrapping_add(1)
            .wrapping_mul(0x9e37_79b9 ^ self.round.wrapping_mul(0x85eb_ca6b));
        let n = if self.round == 0 { 0 } else { (mixed >> 16) as usize % free.len().max(1) };
        free.get(n).map(|n| begin + n)
    }

    /// Gives back what was taken.
    pub fn give_up(&mut self, core: &mut Core) {
        if let Some((pair, true)) = self.taken.take() {
            core.pairs.free(pair);
        }
    }
}
