//! Communicators whose messages are spread over the members' lanes by tag. All members have asserted at
//! creation that no receive uses `MPI_ANY_TAG` (MPI 5.0, §7.4.4, `mpi_assert_no_any_tag`). So messages with
//! different tags need no order, and threads that use different tags do not contend.
//!
//! Collectives, partitioned messages and objects made from such a communicator use the first of its lanes.

use std::sync::Arc;

use canele_engine::{Engine, FlowId, Tag};

use super::Comm;
use crate::point::From;
use crate::{Class, Error, Result};

/// A flow and its lane on this rank.
pub(crate) struct LaneFlow {
    pub lane: Arc<Engine>,
    pub flow: FlowId,
}

impl Comm {
    /// Returns true if messages are spread over several lanes.
    #[inline(always)]
    pub fn is_spread(&self) -> bool {
        !self.further.is_empty()
    }

    /// Returns the lane and flow of messages with this tag.
    #[inline(always)]
    pub(crate) fn flow_of(&self, tag: Tag) -> (&Arc<Engine>, FlowId) {
        if self.is_spread() { self.spread_flow_of(tag) } else { (&self.engine, self.flow) }
    }

    /// Returns the lane and flow of the messages that a receive accepts.
    #[inline(always)]
    pub(crate) fn flow_for(&self, from: From) -> (&Arc<Engine>, FlowId) {
        match from.tag {
            Some(tag) => self.flow_of(tag),
            None => (&self.engine, self.flow),
        }
    }

    #[inline(never)]
    fn spread_flow_of(&self, tag: Tag) -> (&Arc<Engine>, FlowId) {
        self.flow_at(self.place_of(tag)).expect("tags lie where there are flows")
    }

    /// Returns the index of the flow of messages with this tag.
    #[inline(always)]
    pub fn place_of(&self, tag: Tag) -> usize {
        place_of(tag, self.further.len() + 1)
    }

    /// Returns the flow with this index, and its lane.
    #[inline(always)]
    pub fn flow_at(&self, place: usize) -> Option<(&Arc<Engine>, FlowId)> {
        match place.checked_sub(1) {
            None => Some((&self.engine, self.flow)),
            Some(at) => self.further.get(at).map(|further| (&further.lane, further.flow)),
        }
    }

    /// Returns all flows of messages in order, each with its lane.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (&Arc<Engine>, FlowId)> {
        let further = self.further.iter().map(|further| (&further.lane, further.flow));
        std::iter::once((&self.engine, self.flow)).chain(further)
    }

    /// Fails if no receive may use `MPI_ANY_TAG`.
    ///
    /// # Errors
    /// Fails if all members have asserted it.
    #[inline(always)]
    pub fn check_any_tag(&self) -> Result<()> {
        if self.is_spread() { Err(asserted()) } else { Ok(()) }
    }
}

#[cold]
fn asserted() -> Box<Error> {
    let text = "tag is MPI_ANY_TAG, but all members have asserted mpi_assert_no_any_tag where comm was made: name the tag, or do not assert it";
    Error::new(Class::Tag, text)
}

/// Returns the index of the flow for a tag. Consecutive tags use different flows. So do most tags that differ
/// by a power of two, since their sums of hexadecimal digits differ.
#[inline(always)]
fn place_of(Tag(tag): Tag, flows: usize) -> usize {
    let sums =
        tag.wrapping_add(tag >> 4).wrapping_add(tag >> 8).wrapping_add(tag >> 12).wrapping_add(tag >> 16);
    // The remainder by 16 comes first, since dividing a small number is faster.
    ((sums % 16) as u8 % flows as u8).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_threads_lie_on_different_flows() {
        for flows in [2, 3, 4, 8, 16] {
            for step in [1, 16, 256, 4096, 1 << 16] {
                let mut places: Vec<_> =
                    (0..flows as u32).map(|thread| place_of(Tag(thread * step), flows)).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len(), flows, "{flows} flows, tags with {step} between them");
            }
            let mut on = vec![0; flows];
            (0..16).for_each(|thread| on[place_of(Tag(thread * 1000), flows)] += 1);
            assert!(on.iter().all(|tags| *tags <= 16 / flows + 3), "{flows} flows: {on:?}");
        }
    }
}
