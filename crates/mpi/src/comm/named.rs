//! Flows for communicators made without another one. The program distinguishes concurrent calls by strings.
//!
//! A string does not fit into a tag, so messages have its hash as their tag. The first exchange compares a
//! longer digest of the string and the members. Calls whose hashes collide fail instead of matching each
//! other.

use std::hash::Hasher;

use canele_engine::collective::{Kernel, Operation, Reduction, Shape};
use canele_engine::{Engine, FlowId, JobRank, Tag};
use rustc_hash::FxHasher;

use super::agree::{names_of, some_members, team_of};
use crate::group::Group;
use crate::world::NO_COMM;
use crate::{Result, fail};

/// The name of a call.
pub(super) struct Name<'a> {
    name: &'a str,
    /// The kind of object made under that name, since one name may serve several objects.
    of: &'static str,
}

impl<'a> Name<'a> {
    /// Makes a name of the program's string and the kind of object.
    pub fn new(name: &'a str, of: &'static str) -> Self {
        Self { name, of }
    }

    /// Agrees on a flow that is new for all members of a group; collective over them.
    ///
    /// # Errors
    /// Fails if a member died, or if a concurrent call has another string with the same hash.
    pub fn agree(&self, engine: &Engine, group: &Group) -> Result<FlowId> {
        let (team, tag) = (team_of(group, engine.rank()), self.tag());
        let mine = self.digest(&names_of(engine, group)?);
        // The conjunctions of the digest and of its complement are complements only if all members have the
        // same digest.
        let words = [mine[0], mine[1], !mine[0], !mine[1]];
        let mut all = [0_u64; 4];
        let shape = Shape { element: 8, ..Shape::new(Operation::Allreduce, size_of_val(&words)) };
        let (input, output) = (bytemuck::cast_slice(&words), bytemuck::cast_slice_mut(&mut all));
        let and = Reduction::from(conjunction as Kernel);
        engine.collective_among(&team, (NO_COMM, tag), shape, Some(&and), input, output)?;
        if all != words {
            fail!(
                Argument,
                "stringtag is {:?}: at the same time a member of the group makes a communicator with another string or of other \
                 members, and both strings have the same hash; choose another string",
                self.name
            );
        }
        Ok(engine.agree_among(&team, (NO_COMM, tag))?)
    }

    /// Returns the tag of its messages.
    fn tag(&self) -> Tag {
        some_members((self.hash(&[0]) >> 34) as u32)
    }

    fn digest(&self, members: &[JobRank]) -> [u64; 2] {
        let words = |name: &JobRank| [name.job as u32, (name.job >> 32) as u32, name.rank];
        let members: &[u32] = &members.iter().flat_map(words).collect::<Vec<_>>();
        [1, 2].map(|seed| self.hash(&[&[seed], members].concat()))
    }

    /// Returns a hash of these words followed by the name.
    fn hash(&self, words: &[u32]) -> u64 {
        let mut hasher = FxHasher::default();
        words.iter().for_each(|word| hasher.write_u32(*word));
        hasher.write(self.name.as_bytes());
        hasher.write(self.of.as_bytes());
        hasher.finish()
    }
}

/// Combines words by bitwise and.
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
