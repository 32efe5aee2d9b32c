//! Collectives in which one member passes another length than the others do: every member comes to an end, and each error names a member
//! and both lengths.

use canele_collective::{
    Algorithm, Buffers, CollectiveRequest, CollectiveSpec, Disagreement, Error, Operation, Reduction, Root,
    Schedule, Shape,
};
use canele_profile::HostProfile;
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::model::Crowd;
use crate::{Conditions, own};

const ELEMENT: usize = 16;
const KIB: usize = 1024;

/// A call in which `odd` passes `lengths[1]` bytes and the other members pass `lengths[0]`.
#[derive(Clone, Copy, Debug)]
struct DividedCall {
    operation: Operation,
    algorithm: Algorithm,
    ranks: usize,
    odd: usize,
    lengths: [usize; 2],
    oversubscribed: bool,
}

impl DividedCall {
    fn part(&self, crowd: &mut Crowd, me: usize) -> CollectiveRequest {
        let conditions = Conditions {
            host: HostProfile::OWN_CACHES,
            oversubscribed: self.oversubscribed,
            shared_buffers: true,
            forced: Some(self.algorithm),
            hosts: None,
        };
        let bytes = self.lengths[usize::from(me == self.odd)];
        let shape = Shape { element: ELEMENT, ..Shape::new(self.operation, bytes) };
        let schedule =
            Schedule::make(conditions.seat(me, self.ranks), (None, None), &CollectiveSpec::Even(shape));
        let schedule = schedule.expect("a call that can be");
        let (all, broadcast) =
            (vec![0; bytes * self.ranks], matches!(self.operation, Operation::Broadcast(_)));
        let input = if broadcast { &[][..] } else { &all };
        let buffers = Buffers { input: own(input), output: own(&all) };
        let shared_buffer =
            schedule.shared_buffer.map(|need| crowd.shared_buffer(Rank(me as u32), need.bytes));
        let reduction = Reduction::from(copy as fn(&mut [u8], &[u8], bool));
        let part = CollectiveRequest::of(schedule.into(), (FlowId(0), Tag(1)), Some(reduction), buffers);
        match shared_buffer {
            Some(shared_buffer) => part.publish_in(shared_buffer),
            None => part,
        }
    }

    fn check(&self) {
        let mut crowd = Crowd::new(self.ranks, 1);
        let mut parts: Vec<_> = (0..self.ranks).map(|me| vec![self.part(&mut crowd, me)]).collect();
        let errors = crowd.run(&mut parts);
        assert!(errors.iter().any(Option::is_some), "{self:?}: no member was told");
        for error in errors.into_iter().flatten() {
            let Error::Disagreement(Disagreement { rank, given, needed }) = error else {
                panic!("{self:?}: {error}");
            };
            let is_named = (rank.0 as usize) < self.ranks && given != needed;
            let is_odd_named = given == self.published(rank.0 as usize);
            assert!(is_named && is_odd_named, "{self:?}: {rank} gave {given}, {needed} needed");
        }
    }

    /// Of how many bytes a member says that its data is.
    fn published(&self, member: usize) -> usize {
        let blocks = if self.operation == Operation::ReduceScatter { self.ranks } else { 1 };
        blocks * self.lengths[usize::from(member == self.odd)]
    }
}

fn copy(into: &mut [u8], from: &[u8], _: bool) {
    into.copy_from_slice(from);
}

fn check_all(lengths: [usize; 2]) {
    let root = |ranks: usize| Root::At(ranks as u32 - 1);
    for ranks in [2, 4] {
        let operations = [
            (Operation::Broadcast(root(ranks)), Algorithm::SharedBuffer),
            (Operation::Reduce(root(ranks)), Algorithm::SharedBuffer),
            (Operation::Reduce(root(ranks)), Algorithm::SharedAtRoot),
            (Operation::Allreduce, Algorithm::SharedBuffer),
            (Operation::Allgather, Algorithm::SharedBuffer),
            (Operation::Alltoall, Algorithm::SharedBuffer),
            (Operation::ReduceScatter, Algorithm::SharedBuffer),
            (Operation::Scan, Algorithm::SharedBuffer),
            (Operation::Exscan, Algorithm::SharedBuffer),
        ];
        for (operation, algorithm) in operations {
            for odd in [0, ranks - 1] {
                for oversubscribed in [false, true] {
                    let call = DividedCall { operation, algorithm, ranks, odd, lengths, oversubscribed };
                    call.check();
                }
            }
        }
    }
}

#[test]
fn members_that_disagree_on_lengths_beyond_a_shared_buffer_all_end() {
    for lengths in [[1024, 2048], [700, 600]] {
        check_all(lengths.map(|kib| kib * KIB));
    }
}

#[test]
fn members_that_disagree_on_lengths_on_both_sides_of_a_shared_buffer_all_end() {
    for lengths in [[64, 1024], [1024, 64], [500, 520]] {
        check_all(lengths.map(|kib| kib * KIB));
    }
    check_all([512 * KIB, 512 * KIB + ELEMENT]);
}
