//! The data of ranks on a further lane, which starts without links, regions and inboxes.

use std::io;

use super::LocalRanks;

impl LocalRanks {
    /// Returns the data of these ranks on a further lane, on which they share the memory account.
    ///
    /// # Errors
    /// Fails if the job's description cannot be written.
    pub fn of_lane(&self) -> io::Result<LocalRanks> {
        let mut of_lane = LocalRanks::new(self.info.clone(), self.ranks.clone())?;
        of_lane.account.clone_from(&self.account);
        for (own, rank) in of_lane.all.iter_mut().zip(&self.all) {
            own.ended = rank.ended;
        }
        Ok(of_lane)
    }
}
