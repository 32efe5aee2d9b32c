//! What turns protocols and rails into something that can be called: progress, waiting, threads, connecting, failure.
//!
//! ```text
//!   caller ──▶ Engine ──gate──▶ Core { rails, protocols, control socket }
//!                 │
//!                 └─ waits: looks (Core::pass) ──▶ yields ──▶ sleeps until a packet, news or another thread
//! ```
//! An [`Engine`] may be shared by threads; one of them at a time is inside (`canele_sys::gate`), and among those that
//! wait one makes progress for all.
#![forbid(unsafe_code)]

mod anybody;
pub mod collective;
pub mod control;
mod core;
mod elsewhere;
mod engine;
mod error;
mod finish;
mod layers;
mod links;
pub mod local;
mod names;
mod network;
mod news;
mod patience;
mod rails;
mod regions;
mod requests;
mod tagged;
mod taking;
mod wait;

pub use canele_proto::errand::Tell;
pub use elsewhere::{Clerk, Deposit};
pub use engine::Engine;
pub use error::Error;
pub use requests::{Ended, Pending, Refused, Started};
pub use taking::Taking;

pub use canele_proto::request::Buffer;
pub use canele_proto::request::{Failure, Mode, Status};
pub use canele_proto::{Matched, Moved, Notice, Traffic, choice, matching::Want};
pub use canele_rail::shm::{Far, Region};
pub use canele_sys::ids::{FlowId, Rank, RegionId, Tag};
