//! Sizes of files, and synchronising a file with its device (MPI 5.0, §14.2.4 to §14.2.6, §14.6.1).

use canele_sys::file_lock::LockKind;
use rustix::fs::{self, FallocateFlags};
use rustix::io::{Errno, retry_on_intr};

use super::File;
use crate::{Class, Error, Result};

impl File {
    /// Returns the size of the file in bytes.
    ///
    /// # Errors
    /// Fails if the system cannot tell the size.
    pub fn size(&self) -> Result<i64> {
        let stat = retry_on_intr(|| fs::fstat(&self.descriptor));
        stat.map(|stat| stat.st_size).map_err(|errno| self.failed(errno, "look for the size of"))
    }

    /// Sets the size of the file; collective over all members.
    ///
    /// # Errors
    /// Fails on a negative size, different sizes or a file opened for reading only, or if a member died.
    pub fn set_size(&self, size: i64) -> Result<()> {
        self.begin_together("MPI_File_set_size")?;
        self.change_size("MPI_File_set_size", size, |size| {
            retry_on_intr(|| fs::ftruncate(&self.descriptor, size))
                .map_err(|errno| self.failed(errno, &format!("set the size {size} of")))
        })
    }

    /// Reserves room for this many bytes; collective over all members.
    ///
    /// # Errors
    /// Fails like [`File::set_size`], or if the disk is full.
    pub fn preallocate(&self, size: i64) -> Result<()> {
        self.begin_together("MPI_File_preallocate")?;
        self.change_size("MPI_File_preallocate", size, |size| self.reserve(size))
    }

    fn reserve(&self, size: u64) -> Result<()> {
        let failed = |errno| self.failed(errno, &format!("reserve {size} bytes of"));
        if size == 0 {
            return Ok(());
        }
        match retry_on_intr(|| fs::fallocate(&self.descriptor, FallocateFlags::empty(), 0, size)) {
            // The file system cannot reserve room; the file gets at least the size.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                let now = self.size()?;
                if now < size.cast_signed() {
                    retry_on_intr(|| fs::ftruncate(&self.descriptor, size)).map_err(failed)?;
                }
                Ok(())
            }
            other => other.map_err(failed),
        }
    }

    /// Makes the first member change the size, after all members agree on it.
    fn change_size(&self, call: &str, size: i64, change: impl FnOnce(u64) -> Result<()>) -> Result<()> {
        let own = match u64::try_from(size) {
            _ if !self.amode.writes() => Err(self.read_only(call)),
            Err(_) => Err(Error::new(Class::Argument, format!("size is {size}: it must not be negative"))),
            Ok(size) => Ok(size),
        };
        let own = self.agree_on(own, [size], "the members give different sizes")?;
        self.agree(if self.comm.rank() == 0 { change(own) } else { Ok(()) })
    }

    /// Returns the error of a call that needs write access.
    #[cold]
    pub(super) fn read_only(&self, call: &str) -> Box<Error> {
        let text = format!(
            "{} was opened with MPI_MODE_RDONLY: {call} needs MPI_MODE_WRONLY or MPI_MODE_RDWR",
            self.path.display()
        );
        Error::new(Class::ReadOnly, text)
    }

    /// Writes the data of all members to the device; collective. Later reads see earlier writes of other
    /// hosts.
    ///
    /// # Errors
    /// Fails if a device fails on any member, or a member died.
    pub fn sync(&self) -> Result<()> {
        self.begin_together("MPI_File_sync")?;
        let own = if self.amode.writes() {
            match retry_on_intr(|| fs::fsync(&self.descriptor)) {
                // A descriptor that is no file on a disk needs no synchronisation.
                Err(Errno::INVAL | Errno::ROFS) => Ok(()),
                other => other.map_err(|errno| self.failed(errno, "synchronise")),
            }
        } else {
            Ok(())
        };
        self.agree(own.and_then(|()| self.look_again()))
    }

    /// Makes a file system discard its copies of another host's data. Taking a lock has this effect.
    fn look_again(&self) -> Result<()> {
        if self.hosts.count() > 1 && self.amode.reads() {
            self.lock(LockKind::Shared, 0, 1)?;
        }
        Ok(())
    }
}
