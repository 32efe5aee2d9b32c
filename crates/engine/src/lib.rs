//! The engine: makes protocols and rails callable, with progress, waiting, threads, connecting and failure.
//!
//! ```text
//!   caller ──▶ Engine ──lock──▶ Core { Lane { protocols, rails, waiters }, connections, membership, … }
//!                 │
//!                 └─ waits: looks (Core::pass) ──▶ yields ──▶ sleeps until a packet, notice or thread
//! ```
//! An [`Engine`] may be shared by threads. One of them at a time holds its lock (`canele_sys::biased_lock`),
//! and among the waiting threads one makes progress for all.
#![forbid(unsafe_code)]

pub mod collective;
mod connect;
mod core;
mod engine;
mod error;
#[cfg(test)]
mod fixture;
mod lane;
mod lanes;
mod membership;
mod p2p;
mod pass;
mod rma;
mod stats;
mod survivors;
mod traced;
mod users;

pub use canele_collective::survivors::Decision;
pub use canele_control::join::find_command_by;
pub use canele_mem::exposed::{Exposed, ExposedElements};
pub use canele_proto::rma::{
    Applied, AttachError, ElementsOrigin, ExposureKey, Refusal, RmaLockKind, RmaOperations, Tell,
};
pub use engine::Engine;
pub use error::Error;
pub use lanes::{LaneSet, WantedLane};
pub use membership::Connection;
pub use p2p::completions::Completions;
pub use p2p::deferred::{
    DEFERRED_BITS, DEFERRED_SLOTS, Deferral, DeferredEnd, DeferredHandles, DeferredRecv, DeferredSource,
    FIRST_DEFERRED, SubmittedRecv,
};
pub use p2p::follow_ups::{FollowUp, PassWork, Submit};
pub use p2p::pending::{Completion, NotStarted, Pending, Started};
pub use p2p::view::EngineView;
pub use rma::{Access, AmHandler, Deposit, ElementOperation, RmaPlace, Tracked};
pub use survivors::{FailureHook, FailureKind};

pub use canele_control::{JobRank, MOST_LANES, PortName, SpawnProgram};
pub use canele_mem::window::Window;
pub use canele_proto::backlog;
pub use canele_proto::peer::PeerEnd;
pub use canele_proto::request::Buffer;
pub use canele_proto::request::{Failure, Mode, PointToPoint, Status};
pub use canele_proto::strategy;
pub use canele_proto::{
    Envelope, EventListener, Matched, Moved, Notice, PeerIndex, ProtoEvent, Receives, Room, ShortAddress,
    ShortSent, Traffic, choice, matching::Want,
};
pub use canele_rail::{FetchOp, MAX_INLINE};
pub use canele_rail::{Region, RegionMemory};
pub use canele_sys::ids::{FlowId, Rank, RegionId, Tag};
pub use canele_trace as trace;
