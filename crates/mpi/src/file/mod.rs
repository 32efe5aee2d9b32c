//! Files (MPI 5.0, chapter 14): data that the ranks of a communicator read and write together.
//!
//! ```text
//!   call ──▶ Access: view, first byte of the stream, memory ──▶ independent: preadv, pwritev, sieving
//!              │                                            └▶ collective: together through memory that members of a host
//!              │                                                 share, and messages between hosts
//!              └─ non-blocking: the same on a thread of the library, which ends a request
//! ```
//! A file has a communicator of its own, whose handler and number are the file's: requests on it raise their errors there. Each member holds
//! a descriptor of its own. A [`View`] says which bytes of the file a member sees; positions count in etypes of it. Members that do
//! something together tell each other whether it failed (`agree`), so that none waits for one that gave up.

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
    /// The members; its handler and number are the file's.
    comm: Arc<Comm>,
    /// The members on this host.
    host: Arc<Comm>,
    hosts: Hosts,
    descriptor: OwnedFd,
    /// Held by the thread that holds locks on ranges.
    locking: Mutex<()>,
    path: PathBuf,
    amode: Amode,
    state: Mutex<FileState>,
    shared_pointer: SharedPointer,
    /// Collective calls that a thread of the library carries out, one after the other.
    queue: Arc<Workers>,
}

/// What changes while a file is open.
struct FileState {
    view: Arc<View>,
    /// The individual file pointer, in etypes.
    position: i64,
    atomic: bool,
    hints: Arc<Hints>,
    split: Option<Split>,
    /// Memory for collective accesses, from the first one on.
    exchange: Option<Arc<FileExchange>>,
}

impl File {
    fn state(&self) -> MutexGuard<'_, FileState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The communicator of its members, which has its handler and number.
    pub fn comm(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// Its members.
    pub fn group(&self) -> &Arc<Group> {
        self.comm.group()
    }

    /// How it was opened.
    pub fn amode(&self) -> Amode {
        self.amode
    }

    /// Its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Hints in use.
    pub fn info(&self) -> Info {
        let hints = self.state().hints.clone();
        let info = hints.info(&self.path, self.hosts.aggregators(hints.cb_nodes).len());
        self.comm.tell_lanes(&info);
        info
    }

    /// Changes hints, with all members.
    ///
    /// # Errors
    /// A member died.
    pub fn set_info(&self, info: Option<&Info>) -> Result<()> {
        self.begin_together("MPI_File_set_info")?;
        let hints = self.agree_on_hints(info)?;
        self.state().hints = Arc::new(hints);
        Ok(())
    }

    /// The view of this member.
    pub fn view(&self) -> Arc<View> {
        self.state().view.clone()
    }

    /// Gives this member another view, with all members: all pointers are at its beginning then. Nothing for the displacement: where the
    /// shared pointer stands, which a sequential file needs.
    ///
    /// # Errors
    /// A view that cannot be made, on any member; etypes of different sizes or different representations; a member died.
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

    /// Whether it is in atomic mode.
    pub fn is_atomic(&self) -> bool {
        self.state().atomic
    }

    /// Sets atomic mode, with all members.
    ///
    /// # Errors
    /// The members do not say the same; a member died.
    pub fn set_atomic(&self, atomic: bool) -> Result<()> {
        self.begin_together("MPI_File_set_atomicity")?;
        self.agree_on(Ok(()), [i64::from(atomic), 0], "the members give different flags")?;
        self.state().atomic = atomic;
        Ok(())
    }

    /// Begins a call that all members make: those that were started before have ended then.
    ///
    /// # Errors
    /// A split collective call is under way; the file is revoked; in a forked child.
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

    /// An error of the operating system; `what` says which operation failed.
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
