//! New flows for communicators that are made without another one: the program tells calls at the same time apart by strings.
//!
//! A string does not fit into a tag. Messages have a hash of it as their tag, and the first exchange compares a longer digest of the
//! string and the members: calls whose hashes are the same by chance fail rather than agree with each other.

use std::hash::Hasher;

use canele_engine::collective::{Kernel, Operation, Reduction, Shape};
use canele_engine::{Engine, FlowId, JobRank, Tag};
use rustc_hash::FxHasher;

use super::agree::{names_of, some_members, team_of};
use crate::group::Group;
use crate::{Result, fail};

/// The flow of these messages: below those that are given out, and none of those that ranks of other hosts send RMA requests on.
const NOWHERE: FlowId = FlowId(4);

/// The name of one call.
pub(super) struct Name<'a> {
    name: &'a str,
    /// What is made under that name, of which there may be several things.
    of: &'static str,
}

impl<'a> Name<'a> {
    /// The string of the program's, and what is made under it.
    pub fn new(name: &'a str, of: &'static str) -> Self {
        Self { name, of }
    }

    /// Agrees on a flow that is new for all members of a group, who all call this.
    ///
    /// # Errors
    /// A member died; another call with the same members, or other ones, has a string with the same hash.
    pub fn agree(&self, engine: &Engine, group: &Group) -> Result<FlowId> {
        let (team, tag) = (team_of(group, engine.rank()), self.tag());
        let mine = self.digest(&names_of(engine, group)?);
        // A bit that all have set, and one that none has: together they say that all have the same.
        let words = [mine[0], mine[1], !mine[0], !mine[1]];
        let mut all = [0_u64; 4];
        let shape = Shape { element: 8, ..Shape::new(Operation::Allreduce, size_of_val(&words)) };
        let (input, output) = (bytemuck::cast_slice(&words), bytemuck::cast_slice_mut(&mut all));
        let and = Reduction::from(conjunction as Kernel);
        engine.collective_among(&team, (NOWHERE, tag), shape, Some(&and), input, output)?;
        if all != words {
            fail!(
                Argument,
                "stringtag is {:?}: at the same time a member of the group makes a communicator with another string or of other \
                 members, and both strings have the same hash; choose another string",
                self.name
            );
        }
        Ok(engine.agree_among(&team, (NOWHERE, tag))?)
    }

    /// The tag of its messages.
    fn tag(&self) -> Tag {
        some_members((self.hash(&[0]) >> 34) as u32)
    }

    fn digest(&self, members: &[JobRank]) -> [u64; 2] {
        let words = |name: &JobRank| [name.job as u32, (name.job >> 32) as u32, name.rank];
        let members: &[u32] = &members.iter().flat_map(words).collect::<Vec<_>>();
        [1, 2].map(|seed| self.hash(&[&[seed], members].concat()))
    }

    /// A hash of it that begins with these words.
    fn hash(&self, words: &[u32]) -> u64 {
        let mut hasher = FxHasher::default();
        words.iter().for_each(|word| hasher.write_u32(*word));
        hasher.write(self.name.as_bytes());
        hasher.write(self.of.as_bytes());
        hasher.finish()
    }
}

/// Combines words by their conjunction.
fn conjunction(into: &mut [u8], from: &[u8], _: bool) {
    into.iter_mut().zip(from).for_each(|(a, b)| *a &= b);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_with_one_tag_have_different_digests() {
        let mut seen = std::collections::HashMap::new();
        let same = (0..1_000_000)
            .find_map(|n| Some((n, seen.insert(Name::new(&format!("name {n}"), "").tag(), n)?)));
        let (one, other) = same.expect("a million of 2^30 tags are not all different");
        // The pair that a test in C uses.
        assert_eq!((one, other), (38519, 21771));
        let members = [0, 1].map(|rank| JobRank { job: 1, rank });
        let digests = [one, other].map(|n| Name::new(&format!("name {n}"), "").digest(&members));
        assert_ne!(digests[0], digests[1]);
    }
}
