//! Remote memory access: regions, puts and fences; and requests to owners of memory that is not mapped here,
//! or is no region.

mod access;
mod call;
mod exposing;
mod fences;
mod notices;
mod puts;
mod regions;
mod remote;
mod target;
mod windows;

use std::sync::Arc;

use canele_proto::rma::{RmaOperations, RmaOrigin, RmaTarget};
use canele_sys::ids::RegionId;

pub use access::{Access, ElementOperation, RmaPlace, Tracked};
use fences::Fences;
use notices::NoticeHandlers;
pub(crate) use puts::PutCounts;
pub use remote::Deposit;
pub use target::AmHandler;

/// The state of a rank's remote memory access, and of other ranks' access to its memory.
#[derive(Default)]
pub(crate) struct Rma {
    /// The puts whose arrival is to be confirmed.
    pub fences: Fences,
    pub notices: NoticeHandlers,
    /// Counts of puts that took no lock.
    pub put_counts: Arc<PutCounts>,
    /// Regions of this rank that the launcher has confirmed to the thread that made them.
    confirmed_regions: Vec<(RegionId, bool)>,
    /// The requests of other ranks.
    pub target: RmaTarget,
    /// The calls of this rank to owners of memory.
    pub origin: RmaOrigin,
    /// The handler of questions of ranks of other hosts.
    am_handler: Option<Arc<dyn AmHandler>>,
    /// The operations on elements for other ranks.
    pub operations: Option<Arc<dyn RmaOperations>>,
}
