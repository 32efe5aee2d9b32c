//! Opening, closing and deleting files (MPI 5.0, §14.2.1 to §14.2.3).
//!
//! The first member creates the file before the other members open it. A failure on one member is a failure
//! on all members.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use canele_engine::WantedLane;
use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::agree::hash;
use super::hints::Hints;
use super::hosts::Hosts;
use super::shared_pointer::SharedPointer;
use super::view::View;
use super::workers::Workers;
use super::{Amode, File, FileState, fault};
use crate::comm::Comm;
use crate::comm::hints::lane_of_object;
use crate::errhandler::Errhandler;
use crate::info::Info;
use crate::{Class, Error, Result, fail};

impl File {
    /// Opens a file; collective over the members of a communicator. `amode` may be an error, which is
    /// reported to all members.
    ///
    /// # Errors
    /// Fails if any member cannot open the file, if names or modes differ, if a member died, or on an
    /// intercommunicator.
    pub fn open(
        comm: &Comm,
        name: &[u8],
        amode: Result<Amode>,
        info: Option<&Info>,
        errhandler: Arc<Errhandler>,
    ) -> Result<Arc<Self>> {
        if comm.is_inter() {
            fail!(Communicator, "comm is an intercommunicator: a file is opened by one group");
        }
        comm.check_call("MPI_File_open")?;
        let name = without_file_system(name);
        let comm = comm.twin(info.map_or(WantedLane::Next, lane_of_object))?;
        comm.set_errhandler(errhandler);
        let path = Path::new(OsStr::from_bytes(name)).to_owned();
        let amode = amode.and_then(|amode| if name.is_empty() { Err(no_name()) } else { Ok(amode) });
        let numbers = [amode.as_ref().map_or(0, |amode| amode.number()), hash(name)];
        let amode = comm.agree_on(amode, numbers, "the file names or the access modes differ")?;
        let hints = comm.agree_on_hints(Hints::default(), info)?;
        let is_first = comm.rank() == 0;
        let opened = |first: bool| open_here(&path, amode, first, hints.file_perm, comm.rank());
        let first = comm.agree(if is_first { opened(true).map(Some) } else { Ok(None) })?;
        let descriptor = comm.agree(match first {
            Some(descriptor) => Ok(descriptor),
            None => opened(false),
        })?;
        let shared_pointer = SharedPointer::new(&comm)?;
        let hosts = Hosts::of(&comm);
        let host = hosts.members_here(&comm)?;
        if hosts.count() > 1 {
            comm.engine.revoke_with(host.flow(), comm.flow())?;
        }
        let state = FileState {
            view: Arc::new(View::bytes()),
            position: 0,
            atomic: false,
            hints: Arc::new(hints),
            split: None,
            exchange: None,
        };
        let queue = Workers::new(1);
        let (state, locking) = (Mutex::new(state), Mutex::new(()));
        let file = Self { comm, host, hosts, descriptor, locking, path, amode, state, shared_pointer, queue };
        if amode.bits().append {
            // The members agree on one size, since the file may grow meanwhile.
            let mut size = [file.agree(file.size())? as u64];
            file.comm.broadcast(0, bytemuck::cast_slice_mut(&mut size))?;
            file.state().position = size[0].cast_signed();
            file.reset_shared(size[0])?;
        }
        Ok(Arc::new(file))
    }

    /// Closes the file; collective over the live members.
    ///
    /// # Errors
    /// Fails if a member cannot close or delete the file, or died in a job that ends with a rank.
    pub fn close(&self) -> Result<()> {
        self.await_closing()?;
        self.shared_pointer.free(&self.comm)?;
        let exchange = self.state().exchange.take();
        exchange.map_or(Ok(()), |exchange| exchange.free(self))?;
        if !self.amode.bits().delete_on_close {
            return Ok(());
        }
        let removed = match self.is_first_alive()? {
            true => remove(&self.path, self.comm.rank()),
            false => Ok(()),
        };
        match self.agree(removed) {
            Err(error) if matches!(error.class, Class::ProcFailed | Class::Revoked) => self.await_members(),
            other => other,
        }
    }
}

/// Prefixes that name a file system, as in ROMIO. Both file systems are accessed by system calls.
const FILE_SYSTEMS: [&[u8]; 2] = [b"ufs:", b"nfs:"];

/// Returns the file name without the prefix of its file system.
fn without_file_system(name: &[u8]) -> &[u8] {
    FILE_SYSTEMS.iter().find_map(|prefix| name.strip_prefix(*prefix)).unwrap_or(name)
}

fn no_name() -> Box<Error> {
    Error::new(Class::BadFile, "filename is empty")
}

/// Opens the file on this member; the first member creates it.
fn open_here(path: &Path, amode: Amode, first: bool, perm: u32, rank: usize) -> Result<OwnedFd> {
    let bits = amode.bits();
    let mut flags = match (amode.reads(), amode.writes()) {
        (true, true) => OFlags::RDWR,
        (false, true) => OFlags::WRONLY,
        _ => OFlags::RDONLY,
    };
    flags |= OFlags::CLOEXEC;
    if first && bits.create {
        flags |= OFlags::CREATE;
    }
    if first && bits.create && bits.exclusive {
        flags |= OFlags::EXCL;
    }
    let mode = Mode::from_raw_mode(perm);
    let opened = retry_on_intr(|| fs::open(path, flags, mode)).and_then(|descriptor| {
        match FileType::from_raw_mode(fs::fstat(&descriptor)?.st_mode) {
            FileType::Directory => Err(Errno::ISDIR),
            _ => Ok(descriptor),
        }
    });
    opened.map_err(|errno| fault::failed(errno, "open", path, rank))
}

/// Deletes a file by its name.
///
/// # Errors
/// Fails if the file does not exist or cannot be deleted.
pub fn delete(name: &[u8], rank: usize) -> Result<()> {
    let name = without_file_system(name);
    if name.is_empty() {
        return Err(no_name());
    }
    remove(Path::new(OsStr::from_bytes(name)), rank)
}

fn remove(path: &Path, rank: usize) -> Result<()> {
    retry_on_intr(|| fs::unlink(path)).map_err(|errno| fault::failed(errno, "delete", path, rank))
}
