//! Files that are revoked, and how a file is closed whose members may have died.
//!
//! Accesses of one member go on when others die: the file is the system's. Those of all members raise an error at a death, as other
//! collectives do.

use super::File;
use crate::awaited;
use crate::{Class, Error, Result};

impl File {
    /// Revokes the file: all members learn of it, and what they do or wait for with it raises [`Class::Revoked`], but for closing it.
    ///
    /// # Errors
    /// In a forked child; the job is over.
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

    /// Waits until all members that live have begun to close the file, and what this one has started has ended.
    ///
    /// # Errors
    /// A split collective call is under way, and the file is not revoked; where the job ends with a rank, it died.
    pub(super) fn await_closing(&self) -> Result<()> {
        if self.check_revoked().is_err() {
            let split = self.state().split.take();
            // It was told of when the file was revoked.
            split.map(|split| awaited::finish(self.comm.engine(), split.into_request()));
        }
        self.check_no_split("MPI_File_close")?;
        self.queue.finish(self.comm.engine())?;
        self.await_members()
    }

    /// Waits until all members that live have come to this point of closing the file.
    ///
    /// # Errors
    /// Where the job ends with a rank, it died.
    pub(super) fn await_members(&self) -> Result<()> {
        match self.comm.await_members("MPI_File_close") {
            Err(error) if error.class == Class::Revoked => Ok(()),
            other => other,
        }
    }

    /// True if no member of a lower rank lives.
    ///
    /// # Errors
    /// In a forked child.
    pub(super) fn is_first_alive(&self) -> Result<bool> {
        let failed = self.comm.failed()?;
        let before = &self.group().members()[..self.comm.rank()];
        Ok(before.iter().all(|member| failed.rank_of(*member).is_some()))
    }
}
