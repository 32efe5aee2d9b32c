//! The rail contract, and the drivers that implement it.
//!
//! A *rail* is one opened instance of a kind of network; a *link* is its connection to one peer. A rail moves *packets*:
//! a 16-byte [`Header`], up to [`MAX_INLINE`] bytes beside it, and optionally a larger *bulk*. It knows
//! neither messages nor matching nor users. It has one owner (`&mut self`), calls no callback, holds no lock
//! and starts no thread.
//!
//! ```text
//!   claim ──▶ fill the slot ──▶ commit        poll ──▶ read the packet ──▶ release
//! ```
//! A claim without a commit holds no room. A packet that is polled and not released is polled again.
//!
//! The contract is [`Rail`], the methods to move packets, and a trait for each optional capability. The
//! defaults of these traits say that a rail does not have it. [`OneSided`] is memory of peers that is mapped
//! here. [`PeerCopy`] copies from and to the memory of a peer's process. [`Rma`] has verbs that the network
//! carries out. [`Recoverable`] has links that can be lost. [`FastPath`] has short cuts, with defaults made
//! of [`Rail`]'s methods. [`FullRail`] combines all of them.
#![deny(missing_docs)]

mod caps;
pub mod conformance;
mod error;
mod fast_path;
mod member;
mod network;
mod one_sided;
mod packet;
mod peer_copy;
mod rail;
mod recoverable;
mod region;
mod regions;
mod rma;
pub mod set;
pub mod shm;
pub mod tcp;
mod unacked;

pub use caps::{Caps, Distance, LinkTraits, Speed};
pub use error::{Busy, ConnectError, Corrupt, OpenError};
pub use fast_path::{FastPath, TakeIf, TryPost, TryTake};
pub use member::{Member, OtherRanks};
pub use network::{Driver, LinkReport, MAX_ADDRESS, Network, Totals, Unreachable};
pub use one_sided::{CHUNK_COUNTERS, OneSided, Reach};
pub use packet::{Class, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Packet, Slot, on_slice};
pub use peer_copy::{CopyingEnds, PeerCopy};
pub use rail::{Armed, FullRail, Rail};
pub use recoverable::Recoverable;
pub use region::{Region, RegionMemory, UnmappedRegion};
pub use regions::{Mapped, Regions, WantedRegion};
pub use rma::{FetchOp, Rma, Verb, VerbCompletion, VerbError, Verbs};
pub use set::Set;
pub use shm::fetch::both_ends_from;
pub use shm::{StatsPage, Waker};
pub use unacked::{Bulk, Lost, Unacked, UnackedPacket};
