//! New flows: all members agree on a number that none of them uses, and may give it back.
//!
//! Flow numbers are pairs: of the users' messages, and of their collectives. Owns which are used by this rank. A number is
//! proposed if it is free everywhere, taken, and kept only if nobody's other thread took it meanwhile.

use canele_sys::ids::{FlowId, Tag};

use super::State;
use super::form::{Operation, Shape};
use super::reduce::{Kernel, Reduction};
use super::team::Team;
use crate::Error;
use crate::engine::Engine;

/// Below this pair they are the library's.
pub(crate) const FIRST_PAIR: u32 = 4;
const PAIRS: u32 = canele_proto::MAX_FLOWS / 2;

/// Words of as many pairs are looked at together.
pub(super) const WINDOW: usize = 8;
pub(super) const WINDOW_PAIRS: u32 = WINDOW as u32 * u64::BITS;

/// Which pairs are free here, a bit each.
pub(crate) struct Pairs(Box<[u64]>);

impl Default for Pairs {
    fn default() -> Self {
        let mut free = vec![u64::MAX; (PAIRS / u64::BITS) as usize];
        free[0] <<= FIRST_PAIR;
        Self(free.into())
    }
}

impl Pairs {
    /// Whether it was free; now it is not.
    pub(super) fn take(&mut self, pair: u32) -> bool {
        let (word, bit) = (&mut self.0[(pair / u64::BITS) as usize], 1 << (pair % u64::BITS));
        let is_free = *word & bit != 0;
        *word &= !bit;
        is_free
    }

    pub(super) fn free(&mut self, pair: u32) {
        self.0[(pair / u64::BITS) as usize] |= 1 << (pair % u64::BITS);
    }

    /// Of the pairs from `first` on, in the window of [`WINDOW`] words that it lies in, a bit for each that is free here: what
    /// members agree on by their conjunction.
    ///
    /// # Errors
    /// There is no such pair.
    pub(super) fn window(&self, first: u32) -> Result<[u64; WINDOW], Error> {
        if first >= PAIRS {
            return Err(all_used());
        }
        let begin = (first / WINDOW_PAIRS) as usize * WINDOW;
        let mut free = [0; WINDOW];
        for (n, word) in free.iter_mut().enumerate() {
            let below = first.saturating_sub((begin + n) as u32 * u64::BITS);
            let from_first = u64::MAX.checked_shl(below).unwrap_or(0);
            *word = self.0[begin + n] & from_first;
        }
        Ok(free)
    }
}

impl Engine {
    /// A flow that is new on all members of the flow of collectives `parent`, which all call this. The flow after it is
    /// the one of its collectives; it has no team yet.
    ///
    /// # Errors
    /// As [`Engine::collective`]; all flows are in use.
    pub fn create_flow(&self, parent: FlowId) -> Result<FlowId, Error> {
        self.agree(|shape, and, mine, agreed| self.collective(parent, shape, Some(and), mine, agreed))
    }

    /// The same among the members of any team, which alone call it, with messages on `flow` that have the tags from `tag`
    /// on: usually two.
    ///
    /// # Errors
    /// As [`Engine::create_flow`].
    pub fn agree_among(&self, team: &Team, (flow, tag): (FlowId, Tag)) -> Result<FlowId, Error> {
        let mut calls = State::new(None, tag).calls;
        self.agree(|shape, and, mine, agreed| {
            self.collective_among(team, (flow, calls.next()), shape, Some(and), mine, agreed)
        })
    }

    /// Gives a flow and that of its collectives back, with all that nobody has received there. No operation is under way
    /// on either, nor will be.
    ///
    /// # Errors
    /// `Forked`; the job is over.
    pub fn free_flow(&self, flow: FlowId) -> Result<(), Error> {
        self.drop_team(FlowId(flow.0 | 1))?;
        let mut core = self.enter()?;
        core.proto.drop_flow(flow);
        core.pairs.free(flow.0 / 2);
        Ok(())
    }

    /// Lets the collectives of a flow be those of a team, beginning anew.
    ///
    /// # Errors
    /// A member that the job does not have; the job is over.
    pub fn set_team(&self, flow: FlowId, team: Team) -> Result<(), Error> {
        team.members().iter().try_for_each(|rank| self.check_rank(*rank))?;
        let (mut core, mut state) = self.begin(flow)?;
        *state = State { watch: super::Watch::new(Some(team)), ..State::default() };
        self.give_back(&mut core, flow, state);
        Ok(())
    }

    /// Forgets the team of a flow, and all that nobody has received there.
    ///
    /// # Errors
    /// `Forked`; the job is over.
    pub fn drop_team(&self, flow: FlowId) -> Result<(), Error> {
        let (mut core, _) = self.begin(flow)?;
        self.give_back(&mut core, flow, Box::default());
        core.proto.drop_flow(flow);
        Ok(())
    }

    /// `all` gives everybody the conjunction of what all gave.
    fn agree(
        &self,
        mut all: impl FnMut(Shape, &Reduction, &[u8], &mut [u8]) -> Result<(), Error>,
    ) -> Result<FlowId, Error> {
        let and = Reduction::from(conjunction as Kernel);
        let mut conjunction = |mine: &[u64], agreed: &mut [u64]| {
            let shape = Shape { element: 8, ..Shape::new(Operation::Allreduce, 8 * mine.len()) };
            all(shape, &and, bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(agreed))
        };
        let mut first = FIRST_PAIR;
        loop {
            let mut agreed = [0; WINDOW];
            // Nobody is inside any more when the conjunction begins.
            let free = self.enter()?.pairs.window(first)?;
            conjunction(&free, &mut agreed)?;
            let begin = first / WINDOW_PAIRS * WINDOW_PAIRS;
            let Some(pair) = first_of(begin, &agreed) else {
                first = begin + WINDOW_PAIRS;
                continue;
            };
            let taken = self.enter()?.pairs.take(pair);
            let result = conjunction(&[u64::from(taken)], &mut agreed[..1]);
            if result.is_ok() && agreed[0] == 1 {
                return Ok(FlowId(2 * pair));
            }
            if taken {
                self.enter()?.pairs.free(pair);
            }
            result?;
            first = pair + 1;
        }
    }
}

/// The first pair of a window that begins with `begin`.
fn first_of(begin: u32, window: &[u64]) -> Option<u32> {
    let (n, word) = (0..).zip(window).find(|(_, word)| **word != 0)?;
    Some(begin + n * u64::BITS + word.trailing_zeros())
}

pub(super) fn conjunction(into: &mut [u8], from: &[u8], _: bool) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a &= b);
}

fn all_used() -> Error {
    let (given, needed) = (PAIRS as usize, PAIRS as usize + 1);
    Error::Lengths { what: "flows in use at the same time", given, needed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::Calls;

    #[test]
    fn a_pair_is_taken_once_and_can_be_had_again() {
        let mut pairs = Pairs::default();
        assert!(!pairs.take(FIRST_PAIR - 1) && pairs.take(FIRST_PAIR) && !pairs.take(FIRST_PAIR));
        assert!(pairs.take(PAIRS - 1));
        assert_eq!(first_of(0, &pairs.0), Some(FIRST_PAIR + 1));
        pairs.free(FIRST_PAIR);
        assert_eq!(first_of(512, &[0, 1 << 3]), Some(512 + 64 + 3));
        assert!(pairs.take(FIRST_PAIR));
    }

    #[test]
    fn the_highest_bits_of_a_tag_stay() {
        let mut calls = Calls(Calls::STARTED - 1);
        assert_eq!(calls.next(), Tag(0));
        let mut calls = State::new(None, Tag(u32::MAX)).calls;
        assert_eq!([calls.next(), calls.next()], [Tag(u32::MAX), Tag(Calls::FIXED)]);
    }
}
