//! Files (MPI 5.0, chapter 14): data that the ranks of a communicator read and write together.
//!
//! ```text
//!   call ──▶ Access: view, first byte of the stream, memory ──▶ independent: preadv, pwritev, sieving
//!              │                                            └▶ collective: exchange through memory shared on a host,
//!              │                                                 and through messages between hosts
//!              └─ non-blocking: on a thread of the library, which completes a request
//! ```
//! A file has a communicator of its own; its error handler and number are those of the file. Each member has
//! its own descriptor. A [`View`] defines the bytes that a member sees, and positions count its etypes.
//! Members of a collective call exchange their errors (`agree`), so that no member waits for one that failed.

mod access;
mod access_buffer;
mod agree;
mod amode;
mod conversion;
mod datarep;
mod exchange;
mod extents;
mod failure;
mod fault;
mod hints;
mod hosts;
mod independent;
mod lock;
mod open;
mod operation;
mod position;
mod runs;
mod shared_pointer;
mod shipping;
mod sieved;
mod size;
mod split;
mod together;
mod view;
mod windows;
mod workers;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use access::{AccessPosition, Call};
pub use access_buffer::AccessBuffer;
pub use amode::{Amode, AmodeBits};
pub use conversion::{DecodedData, EncodedData};
pub use datarep::{Datarep, Representation};
pub use open::delete;
pub use position::Whence;
pub use split::SplitCall;
pub use view::View;

use crate::comm::Comm;
use crate::group::Group;
use crate::info::Info;
use crate::{Error, Result, fail};
use exchange::FileExchange;
use hints::Hints;
use hosts::Hosts;
use shared_pointer::SharedPointer;
use split::Split;
pub(crate) use workers::Workers;

/// An open file.
pub struct File {
    /// The communicator of the members; its error handler and number are those of the file.
    comm: Arc<Comm>,
    /// The communicator of the members on this host.
    host: Arc<Comm>,
    hosts: Hosts,
    descriptor: OwnedFd,
    /// Held by the thread that holds locks on ranges.
    locking: Mutex<()>,
    path: PathBuf,
    amode: Amode,
    state: Mutex<FileState>,
    shared_pointer: SharedPointer,
    /// Carries out collective calls on a thread of the library, in order.
    queue: Arc<Workers>,
}

/// The mutable state of an open file.
struct FileState {
    view: Arc<View>,
    /// The individual file pointer, in etypes.
    position: i64,
    atomic: bool,
    hints: Arc<Hints>,
    split: Option<Split>,
    /// Memory for collective accesses, made at the first one.
    exchange: Option<Arc<FileExchange>>,
}

impl File {
    fn state(&self) -> MutexGuard<'_, FileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the communicator of its members, with its error handler and number.
    pub fn comm(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// Returns the group of its members.
    pub fn group(&self) -> &Arc<Group> {
        self.comm.group()
    }

    /// Returns the file's access mode.
    pub fn amode(&self) -> Amode {
        self.amode
    }

    /// Returns the file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the hints in use.
    pub fn info(&self) -> Info {
        let hints = self.state().hints.clone();
        let info = hints.info(&self.path, self.hosts.aggregators(hints.cb_nodes).len());
        self.comm.tell_lanes(&info);
        info
    }

    /// Changes hints; collective over all members.
    ///
    /// # Errors
    /// Fails if a member died.
    pub fn set_info(&self, info: Option<&Info>) -> Result<()> {
        self.begin_together("MPI_File_set_info")?;
        let hints = self.agree_on_hints(info)?;
        self.state().hints = Arc::new(hints);
        Ok(())
    }

    /// Returns the view of this member.
    pub fn view(&self) -> Arc<View> {
        self.state().view.clone()
    }

    /// Sets the view of this member and resets all file pointers; collective over all members. Without a
    /// displacement the view begins at the shared file pointer, as a sequential file needs.
    ///
    /// # Errors
    /// Fails on an invalid view of any member, on different etype sizes or representations, or if a member
    /// died.
    pub fn set_view(
        &self,
        displacement: Option<i64>,
        make: impl FnOnce(i64) -> Result<View>,
        info: Option<&Info>,
    ) -> Result<()> {
        self.begin_together("MPI_File_set_view")?;
        let sequential = self.amode.bits().sequential;
        let displacement = match displacement {
            None if !sequential => Err(Error::new(
                crate::Class::Argument,
                "disp is MPI_DISPLACEMENT_CURRENT, which is for files opened with MPI_MODE_SEQUENTIAL",
            )),
            Some(_) if sequential => Err(Error::new(
                crate::Class::Argument,
                "disp must be MPI_DISPLACEMENT_CURRENT: the file was opened with MPI_MODE_SEQUENTIAL",
            )),
            Some(displacement) => Ok(displacement),
            None => self.shared_place(),
        };
        let made = displacement.and_then(make);
        let numbers = made.as_ref().map_or([0; 2], |view| {
            [view.etype_bytes() as i64, agree::hash(view.datarep().name().as_bytes())]
        });
        let made = self.agree_on(
            made,
            numbers,
            "the etypes have different sizes, or the data representations differ",
        )?;
        let hints = self.agree_on_hints(info)?;
        let mut state = self.state();
        state.view = Arc::new(made);
        state.position = 0;
        state.hints = Arc::new(hints);
        drop(state);
        self.reset_shared(0)
    }

    /// Returns true if the file is in atomic mode.
    pub fn is_atomic(&self) -> bool {
        self.state().atomic
    }

    /// Sets atomic mode; collective over all members.
    ///
    /// # Errors
    /// Fails if members give different flags, or a member died.
    pub fn set_atomic(&self, atomic: bool) -> Result<()> {
        self.begin_together("MPI_File_set_atomicity")?;
        self.agree_on(Ok(()), [i64::from(atomic), 0], "the members give different flags")?;
        self.state().atomic = atomic;
        Ok(())
    }

    /// Begins a collective call; waits for the calls that were started before.
    ///
    /// # Errors
    /// Fails if a split collective call is under way or the file is revoked, and in a forked child.
    fn begin_together(&self, call: &str) -> Result<()> {
        self.check_no_split(call)?;
        self.queue.finish(self.comm.engine())?;
        self.check_revoked()
    }

    /// Fails while a split collective call is under way.
    fn check_no_split(&self, call: &str) -> Result<()> {
        match &self.state().split {
            Some(split) => {
                fail!(Other, "{} has begun on the file: end it before {call}", split.call().begin_name())
            }
            None => Ok(()),
        }
    }

    /// Returns the error of a failed system call; `what` names the operation.
    #[cold]
    fn failed(&self, errno: rustix::io::Errno, what: &str) -> Box<Error> {
        fault::failed(errno, what, &self.path, self.comm.rank())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.queue.close();
    }
}
