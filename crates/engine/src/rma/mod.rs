//! Remote memory access: regions, puts and fences; and requests to owners of memory that is not mapped here, or is no region.

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

/// What a rank keeps for remote memory access, its own and that of others to its memory.
#[derive(Default)]
pub(crate) struct Rma {
    /// The puts whose arrival is to be confirmed.
    pub fences: Fences,
    pub notices: NoticeHandlers,
    /// Puts that took no lock.
    pub put_counts: Arc<PutCounts>,
    /// Regions of this rank that the launcher has confirmed to the thread that made them.
    confirmed_regions: Vec<(RegionId, bool)>,
    /// What other ranks ask for.
    pub target: RmaTarget,
    /// What this rank asks owners of memory for.
    pub origin: RmaOrigin,
    /// What answers the questions of ranks of other hosts.
    am_handler: Option<Arc<dyn AmHandler>>,
    /// What carries out operations on elements for other ranks.
    pub operations: Option<Arc<dyn RmaOperations>>,
}
