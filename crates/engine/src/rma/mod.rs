//! Remote memory access: regions, puts and fences; and the requests of ranks that cannot map the memory.

mod call;
mod fences;
mod notices;
mod puts;
mod regions;
mod remote;
mod target;

use std::sync::Arc;

use canele_proto::rma::RmaTarget;
use canele_sys::ids::RegionId;

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
    confirmed_regions: Vec<RegionId>,
    /// What ranks of other hosts ask for.
    target: RmaTarget,
    /// What answers the questions of ranks of other hosts.
    am_handler: Option<Arc<dyn AmHandler>>,
}
