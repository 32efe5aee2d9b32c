//! The identity of a rank toward ranks of other hosts: its job, and other jobs that are connected with it.

use canele_sys::ids::Rank;

/// The job a rank belongs to, and its place in it.
#[derive(Clone, Copy)]
pub struct Member {
    /// This rank.
    pub me: Rank,
    /// The number of ranks of the job.
    pub ranks: u32,
    /// The job.
    pub job: u64,
    /// The key that the ranks of the job share and no other process knows.
    pub key: [u8; 32],
}

/// Ranks of another job that is connected with this one. In a handshake each side is known by its number in
/// its own job.
#[derive(Clone, Copy)]
pub struct OtherRanks {
    /// This job, as the launchers of both jobs know it.
    pub job: u64,
    /// The other job, as the launchers of both jobs know it.
    pub theirs: u64,
    /// The key that the ranks of the two jobs share and no other process knows.
    pub key: [u8; 32],
    /// The first of these ranks, by its number in the other job.
    pub first: u32,
    /// The number of these ranks; their numbers are consecutive.
    pub ranks: u32,
    /// The first of these ranks, by its number in this job.
    pub here: Rank,
}

impl OtherRanks {
    /// Returns the number in the other job of a rank of this job's numbering, if it is one of these.
    pub fn theirs(&self, rank: Rank) -> Option<Rank> {
        let place = rank.0.checked_sub(self.here.0).filter(|place| *place < self.ranks)?;
        Some(Rank(self.first + place))
    }

    /// Returns the number in this job of a rank of the other job, if it is one of these.
    pub(crate) fn here(&self, theirs: Rank) -> Option<Rank> {
        let place = theirs.0.checked_sub(self.first).filter(|place| *place < self.ranks)?;
        Some(Rank(self.here.0 + place))
    }
}
