//! Ranks of other jobs, as handshakes know them. Owns the numbers that both jobs have for them; knows no socket.

use canele_sys::ids::Rank;

/// Ranks of another job, which this one is connected with. In a handshake with them each side is known by its number in its own job.
#[derive(Clone, Copy)]
pub struct OtherRanks {
    /// This job, and theirs, as the launchers of both know them.
    pub job: u64,
    /// See [`job`](Self::job).
    pub theirs: u64,
    /// Known to the ranks of the two jobs and to nobody else.
    pub key: [u8; 32],
    /// The first of them in their job.
    pub first: u32,
    /// How many follow each other from there.
    pub ranks: u32,
    /// The first of them as this job numbers them.
    pub here: Rank,
}

impl OtherRanks {
    /// Their number of a rank of this job's numbering, if it is one of them.
    pub fn theirs(&self, rank: Rank) -> Option<Rank> {
        let place = rank.0.checked_sub(self.here.0).filter(|place| *place < self.ranks)?;
        Some(Rank(self.first + place))
    }

    /// The reverse.
    pub(super) fn here(&self, theirs: Rank) -> Option<Rank> {
        let place = theirs.0.checked_sub(self.first).filter(|place| *place < self.ranks)?;
        Some(Rank(self.here.0 + place))
    }
}
