//! Agreements on a new flow, in which no rank waits: which pairs are free everywhere, and could all take the one chosen?
//!
//! ```text
//!   free here ──(conjunction)──▶ free everywhere: take one ──(conjunction)──▶ all could: agreed; else once more
//! ```
//!
//! Owns how far one has come. Its conjunctions go on with any pass, as other collectives do, whatever the program waits for.
//! They share one tag, drawn at the start: each begins after the one before, and messages with one tag keep their order.
//!
//! Between two groups a conjunction gives each group the other's alone, so it is made twice: the second time each member says
//! what the first gave and its own, and both groups have the same.

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

/// The pair is one of so many that are free, four times as many in each further round: agreements on different flows at the same time, in
/// another order on other ranks, seldom choose the same one, however many there are.
const CHOICES: usize = 16;

/// One that is under way.
pub struct Agreement {
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
pub enum Next {
    /// Another one.
    Request(Box<CollectiveRequest>),
    /// All have taken this flow and the one after it.
    Agreed(FlowId),
}

impl Agreement {
    /// Begins to agree on a flow that is new on all members, with the messages of one call; gives the first conjunction too.
    /// `schedule` is of [`Agreement::shape`]; `is_between`: the members are two groups.
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

    /// What a conjunction moves.
    pub fn shape() -> Shape {
        Shape { element: 8, ..Shape::new(Operation::Allreduce, size_of::<Words>()) }
    }

    /// The call it is.
    pub fn tag(&self) -> Tag {
        self.name.1
    }

    /// Begins to find out which pairs are free everywhere.
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

    /// A conjunction of words of all members, with the messages of one call: `schedule` is of [`Agreement::shape`].
    pub fn conjunction_of(name: (FlowId, Tag), schedule: Arc<Schedule>, words: Words) -> CollectiveRequest {
        let own = |bytes: &[u8]| CollectiveBuffer::Own(Box::new(Divided::from(bytes)));
        let buffers =
            Buffers { input: own(bytemuck::bytes_of(&words)), output: own(&[0; size_of::<Words>()]) };
        let and = Reduction::from(conjunction as Kernel);
        CollectiveRequest::of(schedule, name, Some(and), buffers)
    }

    /// A conjunction has ended with these bytes.
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

    /// Takes one of the pairs that are free everywhere, the same on all members, and begins to ask whether all could.
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
        // The same numbers on all members; those of other agreements lie apart, and in every round elsewhere.
        let (FlowId(flow), Tag(tag)) = self.name;
        let mixed = (flow / 2)
            .wrapping_add(tag.wrapping_mul(5))
            .wrapping_add(1)
            .wrapping_mul(0x9e37_79b9 ^ self.round.wrapping_mul(0x85eb_ca6b));
        let n = if self.round == 0 { 0 } else { (mixed >> 16) as usize % free.len().max(1) };
        free.get(n).map(|n| begin + n)
    }

    /// The flows that this rank has taken and that are not agreed on yet.
    pub fn taken_flows(&self) -> impl Iterator<Item = FlowId> {
        let pair = self.taken.and_then(|(pair, taken)| taken.then_some(pair));
        pair.into_iter().flat_map(|pair| [FlowId(2 * pair), FlowId(2 * pair + 1)])
    }

    /// Gives back what was taken.
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
