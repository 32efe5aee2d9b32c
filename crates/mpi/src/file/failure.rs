//! Revoked files, and closing a file whose members may have died.
//!
//! Independent accesses continue when other members die, since the system holds the file. Collective accesses
//! raise an error at a death, like other collectives.

use super::File;
use crate::awaited;
use crate::{Class, Error, Result};

impl File {
    /// Revokes the file on all members. Later and pending operations raise [`Class::Revoked`], except closing
    /// it.
    ///
    /// # Errors
    /// Fails in a forked child, or if the job is over.
    pub fn revoke(&self) -> Result<()> {
        self.comm.revoke()
    }

    /// Fails if the file is revoked.
    pub(super) fn check_revoked(&self) -> Result<()> {
        match self.comm.check_revoked() {
            Err(error) if error.class == Class::Revoked => Err(Error::new(
                Class::Revoked,
                "the file was revoked: close it, and open it with the processes that are left",
            )),
            other => other,
        }
    }

    /// Waits until all live members have begun to close the file, and until the accesses of this member have
    /// ended.
    ///
    /// # Errors
    /// Fails while a split collective call is under way on a file that is not revoked. Fails if a member died
    /// in a job that ends with a rank.
    pub(super) fn await_closing(&self) -> Result<()> {
        if self.check_revoked().is_err() {
            let split = self.state().split.take();
            // The revocation has already reported the error of the split access.
            split.map(|split| awaited::finish(self.comm.engine(), split.into_request()));
        }
        self.check_no_split("MPI_File_close")?;
        self.queue.finish(self.comm.engine())?;
        self.await_members()
    }

    /// Waits until all live members reach this point of closing the file.
    ///
    /// # Errors
    /// Fails if a member died in a job that ends with a rank.
    pub(super) fn await_members(&self) -> Result<()> {
        match self.comm.await_members("MPI_File_close") {
            Err(error) if error.class == Class::Revoked => Ok(()),
            other => other,
        }
    }

    /// Returns true if no member of a lower rank is alive.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub(super) fn is_first_alive(&self) -> Result<bool> {
        let failed = self.comm.failed()?;
        let before = &self.group().members()[..self.comm.rank()];
        Ok(before.iter().all(|member| failed.rank_of(*member).is_some()))
    }
}
