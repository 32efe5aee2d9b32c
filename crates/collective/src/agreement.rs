//! Agreements on a new flow, during which no rank waits: members find a pair that is free everywhere, and all
//! take it.
//!
//! ```text
//!   free here ──(conjunction)──▶ free everywhere: take one ──(conjunction)──▶ all could: agreed; else again
//! ```
//!
//! Owns the progress of one agreement. Its conjunctions advance with any pass, as other collectives do,
//! whatever the program waits for. They share one tag, drawn at the start: each begins after the one before,
//! and messages with one tag keep their order.
//!
//! Between two groups a conjunction gives each group the result of the other group alone, so it is made
//! twice. The second time each member gives the first result and its own words, and both groups get the same
//! result.

use std::sync::Arc;

use canele_mem::buffer::Divided;
use canele_sys::ids::{FlowId, Tag};

use crate::Error;
use crate::buffers::{Buffers, CollectiveBuffer};
use crate::pairs::{FIRST_PAIR, Pairs, WINDOW, WINDOW_PAIRS, Words};
use crate::reduce::{Kernel, Reduction};
use crate::request::CollectiveRequest;
use crate::schedule::Schedule;
use crate::spec::{Operation, Shape};

/// The number of free pairs among which one is chosen; it is four times as large in each further round. So
/// agreements that run at the same time on different flows seldom choose the same pair. This holds for any
/// number of agreements, even if ranks advance them in different orders.
const CHOICES: usize = 16;

/// An agreement under way.
pub struct Agreement {
    name: (FlowId, Tag),
    schedule: Arc<Schedule>,
    is_between: bool,
    /// The first pair of the window that members look at.
    first: u32,
    round: u32,
    /// The pair that all are asked about, and true if it was free here.
    taken: Option<(u32, bool)>,
    /// Between two groups: the words of this rank, until those of the other group are known.
    said: Option<Words>,
}

/// The step after a conjunction.
pub enum Next {
    /// Another conjunction.
    Request(Box<CollectiveRequest>),
    /// All have taken this flow and the one after it.
    Agreed(FlowId),
}

impl Agreement {
    /// Begins to agree on a flow that is new on all members, with the messages of one call; returns the first
    /// conjunction too. `schedule` is of [`Agreement::shape`]; `is_between` is true if the members are two
    /// groups.
    ///
    /// # Errors
    /// All flows are in use.
    pub fn begin(
        name: (FlowId, Tag),
        schedule: Arc<Schedule>,
        is_between: bool,
        pairs: &Pairs,
    ) -> Result<(Self, CollectiveRequest), Error> {
        let (first, round) = (FIRST_PAIR, 0);
        let mut agreement = Self { name, schedule, is_between, first, round, taken: None, said: None };
        let request = agreement.ask(pairs)?;
        Ok((agreement, request))
    }

    /// Returns the shape of a conjunction.
    pub fn shape() -> Shape {
        Shape { element: 8, ..Shape::new(Operation::Allreduce, size_of::<Words>()) }
    }

    /// Returns the tag of its call.
    pub fn tag(&self) -> Tag {
        self.name.1
    }

    /// Begins the conjunction that finds the pairs that are free everywhere.
    fn ask(&mut self, pairs: &Pairs) -> Result<CollectiveRequest, Error> {
        let free = pairs.window(self.first)?;
        Ok(self.conjunction(free))
    }

    fn conjunction(&mut self, words: Words) -> CollectiveRequest {
        self.said = self.is_between.then_some(words);
        self.request(words)
    }

    fn request(&self, words: Words) -> CollectiveRequest {
        Self::conjunction_of(self.name, self.schedule.clone(), words)
    }

    /// Makes a conjunction of words of all members, with the messages of one call: `schedule` is of
    /// [`Agreement::shape`].
    pub fn conjunction_of(name: (FlowId, Tag), schedule: Arc<Schedule>, words: Words) -> CollectiveRequest {
        let own = |bytes: &[u8]| CollectiveBuffer::Own(Box::new(Divided::from(bytes)));
        let buffers =
            Buffers { input: own(bytemuck::bytes_of(&words)), output: own(&[0; size_of::<Words>()]) };
        let and = Reduction::from(conjunction as Kernel);
        CollectiveRequest::of(schedule, name, Some(and), buffers)
    }

    /// Continues after a conjunction that has ended with these bytes.
    ///
    /// # Errors
    /// All flows are in use.
    pub fn next(&mut self, pairs: &mut Pairs, agreed: &[u8]) -> Result<Next, Error> {
        let mut words: Words = [0; WINDOW];
        bytemuck::bytes_of_mut(&mut words).copy_from_slice(agreed);
        if let Some(said) = self.said.take() {
            words.iter_mut().zip(said).for_each(|(theirs, mine)| *theirs &= mine);
            return Ok(Next::Request(Box::new(self.request(words))));
        }
        match self.taken {
            None => self.take(pairs, &words).map(|request| Next::Request(Box::new(request))),
            Some((pair, true)) if words[0] == 1 => Ok(Next::Agreed(FlowId(2 * pair))),
            Some(_) => {
                self.give_up(pairs);
                self.round += 1;
                self.ask(pairs).map(|request| Next::Request(Box::new(request)))
            }
        }
    }

    /// Takes one of the pairs that are free everywhere, the same on all members, and begins to ask whether
    /// all could.
    fn take(&mut self, pairs: &mut Pairs, window: &Words) -> Result<CollectiveRequest, Error> {
        let begin = self.first / WINDOW_PAIRS * WINDOW_PAIRS;
        let Some(pair) = self.choice(begin, window) else {
            self.first = begin + WINDOW_PAIRS;
            return self.ask(pairs);
        };
        let taken = pairs.take(pair);
        self.taken = Some((pair, taken));
        let mut words = [0; WINDOW];
        words[0] = u64::from(taken);
        Ok(self.conjunction(words))
    }

    fn choice(&self, begin: u32, window: &Words) -> Option<u32> {
        let is_free = |n: &u32| window[(n / u64::BITS) as usize] >> (n % u64::BITS) & 1 != 0;
        let most = CHOICES << (2 * self.round).min(WINDOW_PAIRS.ilog2());
        let free: Vec<u32> = (0..WINDOW_PAIRS).filter(is_free).take(most).collect();
        // The numbers are equal on all members; those of other agreements lie apart, and differ in every
        // round.
        let (FlowId(flow), Tag(tag)) = self.name;
        let mixed = (flow / 2)
            .wrapping_add(tag.wrapping_mul(5))
            .wrapping_add(1)
            .wrapping_mul(0x9e37_79b9 ^ self.round.wrapping_mul(0x85eb_ca6b));
        let n = if self.round == 0 { 0 } else { (mixed >> 16) as usize % free.len().max(1) };
        free.get(n).map(|n| begin + n)
    }

    /// Returns the flows that this rank has taken and that are not agreed on yet.
    pub fn taken_flows(&self) -> impl Iterator<Item = FlowId> {
        let pair = self.taken.and_then(|(pair, taken)| taken.then_some(pair));
        pair.into_iter().flat_map(|pair| [FlowId(2 * pair), FlowId(2 * pair + 1)])
    }

    /// Gives back the pair that it has taken.
    pub fn give_up(&mut self, pairs: &mut Pairs) {
        if let Some((pair, true)) = self.taken.take() {
            pairs.free(pair);
        }
    }
}

/// Combines words by their conjunction.
pub fn conjunction(into: &mut [u8], from: &[u8], _: bool) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a &= b);
}
