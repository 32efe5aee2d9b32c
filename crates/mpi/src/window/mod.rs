//! Windows: memory that the members of a communicator open to each other (MPI 5.0, chapter 12).
//!
//! A window owns a duplicate of its communicator, what it has of this process's memory, and how the memory of every member is reached:
//!
//! ```text
//!   put, get, accumulate ──▶ epoch: is it permitted ──▶ target: rank, displacement ──▶ place
//!        place in memory that is mapped here ──▶ copies and the processor's atomic operations, done on return
//!        place of another host, or in memory of a program ──▶ a request that the owner's library serves
//!
//!   fence: all served, then a barrier       start, post, complete, wait: empty messages on the window's flow
//!   lock: words of the control region of the host, whose waiters are told by empty messages
//! ```
//!
//! The duplicate lies on a lane as any other one, and requests, messages and fences of the window go over that lane. Regions belong to the first lane.

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

/// How a window got its memory (MPI 5.0, §12.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavor {
    /// The program had it.
    Create,
    /// The window allocated it.
    Allocate,
    /// The program attaches it.
    Dynamic,
    /// The window allocated it, to be shared by loads and stores.
    Shared,
}

/// Messages of a window's flow.
mod tag {
    use super::Tag;

    /// The sender exposes its part to the receiver.
    pub const POST: Tag = Tag(1);
    /// The sender has completed its accesses to the receiver's part.
    pub const COMPLETE: Tag = Tag(2);
    /// A lock may be free that the receiver waits for.
    pub const LOCK: Tag = Tag(3);
}

/// A window.
pub struct Win {
    /// Of the members, for this window alone.
    comm: Arc<Comm>,
    flavor: Flavor,
    targets: Box<[WinTarget]>,
    /// What permits accesses to all targets.
    epoch: AtomicU8,
    epochs: Mutex<Epochs>,
    /// Targets that are locked one by one.
    locks: AtomicUsize,
    control: Arc<Control>,
    /// This process among those that change elements.
    excluding: Excluding,
    /// True if all members share this host, whose words are their locks; otherwise the owner's library keeps each lock.
    shares_host: bool,
    /// Accesses were made since the last flush that owners serve.
    is_served: AtomicBool,
    /// Programs reach it by loads and stores of their own.
    is_shared: AtomicBool,
    /// Flushes, which look at the network now and then.
    flushes: AtomicU32,
    /// The part of this process.
    part: OwnPart,
    /// Memory that was attached to a dynamic window, by its address.
    attached: RwLock<BTreeMap<usize, Arc<RegionMemory>>>,
    kept: Mutex<WinSettings>,
    attributes: Attributes,
}

/// The part of a window that this process has.
struct OwnPart {
    /// Where it begins, 0 for none.
    address: usize,
    /// Numbers that the program reads through their addresses.
    size: AtomicU64,
    unit: AtomicU32,
    /// Regions that were made for the window by this process.
    regions: Vec<Arc<Region>>,
    /// Pieces of other regions that it took for the window.
    pieces: Vec<ArenaPiece>,
    /// True once no member accesses the window any more.
    is_unused: AtomicBool,
    /// Under which it is served to others.
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

    /// Returns the window's own communicator of its members: its handler is told of the window's errors, its number is the window's, and
    /// it is revoked with the window.
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

    /// Returns how it got its memory.
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

    /// Returns where the part of this process begins, 0 if it has none.
    pub fn address(&self) -> usize {
        self.part.address
    }

    /// Returns the bytes of the part of this process.
    pub fn size(&self) -> &AtomicU64 {
        &self.part.size
    }

    /// Returns the bytes of a unit of displacements in the part of this process.
    pub fn unit(&self) -> &AtomicU32 {
        &self.part.unit
    }

    /// Returns its name, empty if it was given none.
    pub fn name(&self) -> String {
        self.kept().name.clone()
    }

    /// Gives it a name.
    pub fn set_name(&self, name: &str) {
        name.clone_into(&mut self.kept().name);
    }

    /// Returns its attributes.
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

/// Returns the windows that are served to others on the lane of a window's own communicator.
fn served_beside(own: &Comm) -> &LaneWindows {
    own.shared.served.of_lane(own.engine.lane_number())
}

impl Drop for Win {
    fn drop(&mut self) {
        // After the end of the job nothing is left to be given back.
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
