//! Windows: memory that the members of a communicator open to each other (MPI 5.0, chapter 12).
//!
//! A window owns a duplicate of its communicator, its part of this process's memory, and the access path to
//! each member's memory:
//!
//! ```text
//!   put, get, accumulate ──▶ epoch: check ──▶ target: rank, displacement ──▶ place
//!        place in memory mapped here ──▶ copies and atomic operations, complete on return
//!        other places ──▶ a request that the owner's library serves
//!
//!   fence: all served, then a barrier       start, post, complete, wait: empty messages on the window's flow
//!   lock: words of the host's control region; empty messages notify waiters
//! ```
//!
//! The duplicate uses a lane like any other communicator; requests, messages and fences of the window use
//! that lane. Regions belong to the first lane.

mod accumulate;
mod active;
mod control;
mod create;
mod elements;
mod epoch;
mod exclusion;
mod failure;
mod fencing;
mod hints;
mod lock;
mod making;
mod mapped;
mod query;
mod served;
mod target;
mod transfer;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

pub use canele_engine::RmaLockKind;
use canele_engine::{ExposureKey, FlowId, Region, RegionMemory, Tag};
use canele_sys::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::attribute::Attributes;
use crate::comm::Comm;
use crate::group::Group;
use crate::info::Info;
use crate::memory::ArenaPiece;
use crate::{Class, Error};

use control::Control;
pub use elements::{Accumulation, ElementChange, WordChange};
use epoch::Epochs;
use exclusion::Excluding;
pub use making::WinMemory;
pub use mapped::MappedTarget;
pub use query::SharedPart;
use served::LaneWindows;
pub use served::ServedWindows;
use target::WinTarget;
pub use transfer::TargetData;

/// The origin of a window's memory (MPI 5.0, §12.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavor {
    /// Memory of the program.
    Create,
    /// Memory allocated with the window.
    Allocate,
    /// Memory that the program attaches.
    Dynamic,
    /// Memory allocated with the window and shared by loads and stores.
    Shared,
}

/// The messages on a window's flow.
mod tag {
    use super::Tag;

    /// The sender exposes its part to the receiver.
    pub const POST: Tag = Tag(1);
    /// The sender has completed its accesses to the receiver's part.
    pub const COMPLETE: Tag = Tag(2);
    /// The lock that the receiver waits for may be free.
    pub const LOCK: Tag = Tag(3);
}

/// A window.
pub struct Win {
    /// The window's own communicator of its members.
    comm: Arc<Comm>,
    flavor: Flavor,
    targets: Box<[WinTarget]>,
    /// The epochs that permit accesses to all targets.
    epoch: AtomicU8,
    epochs: Mutex<Epochs>,
    /// Number of targets that are locked one by one.
    locks: AtomicUsize,
    control: Arc<Control>,
    /// The identity of this process for changes of elements.
    excluding: Excluding,
    /// True if all members share this host and lock by shared words; otherwise the owner's library keeps each
    /// lock.
    shares_host: bool,
    /// True if accesses since the last flush are served by owners.
    is_served: AtomicBool,
    /// True if programs access it by plain loads and stores.
    is_shared: AtomicBool,
    /// Counts flushes, some of which poll the network.
    flushes: AtomicU32,
    /// The part of this process.
    part: OwnPart,
    /// Memory attached to a dynamic window, by address.
    attached: RwLock<BTreeMap<usize, Arc<RegionMemory>>>,
    kept: Mutex<WinSettings>,
    attributes: Attributes,
}

/// This process's part of a window.
struct OwnPart {
    /// The address of the part; 0 for none.
    address: usize,
    /// Size and displacement unit, which the program reads by address.
    size: AtomicU64,
    unit: AtomicU32,
    /// Regions that this process made for the window.
    regions: Vec<Arc<Region>>,
    /// Pieces of other regions that it uses for the window.
    pieces: Vec<ArenaPiece>,
    /// True after no member accesses the window any more.
    is_unused: AtomicBool,
    /// The key under which it is served to others.
    key: Option<ExposureKey>,
}

/// The name and info that a program sets for a window.
struct WinSettings {
    name: String,
    info: Info,
}

impl Win {
    fn kept(&self) -> MutexGuard<'_, WinSettings> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the window's own communicator of its members. Its error handler and number are those of the
    /// window, and it is revoked with the window.
    pub fn comm(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// Returns the flow of the window's own messages.
    fn flow(&self) -> FlowId {
        self.comm.flow
    }

    /// Records an access to a member, if this process is traced.
    #[inline(always)]
    fn trace_access(&self, name: &'static str, target: &WinTarget, bytes: usize) {
        self.comm.engine.trace_access(name, target.rank, bytes, target.region.is_some());
    }

    /// Returns the origin of its memory.
    pub fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// Returns the group of its members.
    pub fn group(&self) -> &Arc<Group> {
        self.comm.group()
    }

    /// Returns the number of its members.
    pub fn members(&self) -> usize {
        self.targets.len()
    }

    /// Returns the address of this process's part; 0 if it has none.
    pub fn address(&self) -> usize {
        self.part.address
    }

    /// Returns the size of this process's part in bytes.
    pub fn size(&self) -> &AtomicU64 {
        &self.part.size
    }

    /// Returns the displacement unit of this process's part in bytes.
    pub fn unit(&self) -> &AtomicU32 {
        &self.part.unit
    }

    /// Returns the window's name; empty if it has none.
    pub fn name(&self) -> String {
        self.kept().name.clone()
    }

    /// Sets the window's name.
    pub fn set_name(&self, name: &str) {
        name.clone_into(&mut self.kept().name);
    }

    /// Returns the window's attributes.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    #[cold]
    fn no_rank(&self, rank: i64) -> Box<Error> {
        let last = self.targets.len() - 1;
        let text = format!("the rank is {rank}: it must be from 0 to {last}, or MPI_PROC_NULL");
        Error::new(Class::Rank, text)
    }
}

/// Returns the served windows on the lane of a window's own communicator.
fn served_beside(own: &Comm) -> &LaneWindows {
    own.shared.served.of_lane(own.engine.lane_number())
}

impl Drop for Win {
    fn drop(&mut self) {
        // After the end of the job this fails, and nothing is left to free.
        if let Some(key) = self.part.key {
            let _ = self.comm.engine.unexpose(key);
            served_beside(&self.comm).remove(key);
        }
        for region in &self.part.regions {
            let _ = self.comm.engine.first_lane().drop_region(region.id());
        }
        if self.part.is_unused.load(Relaxed) {
            self.part.pieces.iter().for_each(|piece| self.comm.allocated().give(piece));
        }
        for target in &self.targets {
            target.forget(&self.comm.engine);
        }
    }
}
