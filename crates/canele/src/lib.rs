//! Canelé: message passing between processes, as fast as the hardware allows.
//!
//! A *job* is a number of processes, its *ranks*, which `canele run` starts together. Ranks exchange
//! *messages* with *tags* on *flows*, put data into each other's *regions*, post to *mailboxes*, and take
//! part in *collectives*.
//!
//! ```
//! use canele::{Job, Rank, Tag};
//!
//! # fn main() -> Result<(), canele::Error> {
//! let job = Job::start()?;
//! let world = job.world();
//! let next = Rank((job.rank().0 + 1) % job.size());
//! let previous = Rank((job.rank().0 + job.size() - 1) % job.size());
//! let mut token = [0u64];
//! world.scope(|scope| {
//!     scope.irecv(previous, Tag(7), &mut token)?;
//!     scope.isend(next, Tag(7), &[42u64])?;
//!     Ok(())
//! })?;
//! assert_eq!(token, [42]);
//! job.finish()
//! # }
//! ```
//! Without a launcher the program is a job of one rank, as in the examples of this documentation.
//!
//! | purpose | item |
//! |---|---|
//! | messages that the receiver asks for by sender and tag | [`Flow`] |
//! | one stream of items between two ranks | [`Channel`] |
//! | messages of many ranks to one, which takes them in order of arrival | [`Mailbox`] |
//! | access to a peer's memory without its help | [`Region`] |
//! | one result of all ranks | collectives, such as [`Flow::allreduce`] |
//! | signals between ranks | [`Notice`]s that a put leaves; between threads of a rank: [`Semaphore`] |
//!
//! `docs/choosing.md` of the sources compares them, with an example of each. [`Request`]s of non-blocking
//! calls are futures. [`testing`] runs ranks inside `cargo test`.
//!
//! Errors name the rank and the remedy ([`Error`]). No safe call can access freed memory: a non-blocking
//! operation owns its buffer ([`Flow::isend`]) or lives in a scope ([`Flow::scope`]).
#![forbid(unsafe_code)]

mod channel;
mod collective;
mod flow;
mod job;
mod mailbox;
mod message;
mod operation;
mod pack;
mod plain;
pub mod raw;
mod region;
mod region_messages;
mod request;
mod scope;
mod semaphore;
#[doc(hidden)]
pub mod short;
pub mod strategy;
pub mod testing;

pub use channel::Channel;
pub use flow::{ANY_SOURCE, ANY_TAG, Flow, Matched, SlotWriter, Source, TagMatch};
pub use job::{Endpoint, Job};
pub use mailbox::{Mailbox, MailboxSender, PostError};
pub use message::Message;
pub use pack::{Packer, Unpacker};
pub use region::{Notice, Region, RemoteRegion};
pub use request::{Request, wait_all, wait_any, wait_some};
pub use scope::{Scope, Scoped};
pub use semaphore::Semaphore;

pub use plain::Plain;

/// The crate with the derives that make types [`Plain`].
pub use bytemuck;
pub use bytemuck::{Pod, Zeroable};
pub use canele_engine::choice::{Choice, Protocol, Variant};
pub use canele_engine::collective::{Number, Op};
pub use canele_engine::{Error, Failure, Mode, Rank, Status, Tag};
pub use canele_sys::counters::{Counter, Snapshot};

/// Compiles the examples of `docs/choosing.md` as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/choosing.md")]
struct Choosing;
