//! Page-based distributed shared memory: an address space of pages that live on *page servers* and are cached by *clients*
//! (the application of NewMadeleine's first experiment; Brunet, RenPar 2006).
//!
//! All ranks of a job make an [`AddressSpace`]. Its first ranks serve pages until every client has said
//! goodbye; the others are [`Client`]s. A client [`map`](Client::map)s a range of pages as items of a type,
//! reads and writes them page by page, and writes changed pages back. A missing page is a *fault*: the client
//! requests it from a server and keeps it. Requests for many pages are outstanding at once
//! ([`Client::prefetch`]), so that the library's scheduler can combine them.
//!
//! ```
//! use canele_dsm::{AddressSpace, DsmError, Settings};
//!
//! # fn main() -> Result<(), DsmError> {
//! let job = canele::Job::start()?;
//! let space = AddressSpace::new(job.world().duplicate()?, Settings { pages: 8, ..Settings::default() })?;
//! space.run(|client| {
//!     let counters = client.map::<u64>(3..4)?;
//!     client.write(&counters, 0)?[5] += 1; // a fault; no other client writes the page until it is written back
//!     client.barrier()?; // changes go home, all clients meet, copies are dropped
//!     assert_eq!(client.read(&counters, 0)?[5], u64::from(space.clients().end - space.clients().start));
//!     Ok::<(), DsmError>(())
//! })?;
//! # Ok(job.finish()?)
//! # }
//! ```
//!
//! # Consistency
//!
//! Release consistency, with one writer per page at a time and a home per page:
//!
//! 1. Write access is exclusive. From [`Client::write`] until [`Client::write_back`] or [`Client::release`] one client has it,
//!    and begins with what its predecessor wrote back: a change made under write access is never lost.
//! 2. A read copy is what the home had when the page was fetched. It does not change until [`Client::acquire`] drops it.
//! 3. [`Client::barrier`] is a release, a meeting of all clients, and an acquire: behind it each client reads what any client
//!    wrote before it.
//!
//! So programs read the values of one memory if their conflicting accesses are ordered by barriers or made
//! under write access. Clients may wait for each other's write access only in ascending order of pages
//! ([`DsmError::Held`]): no two of them can wait in a circle.
//!
//! # Messages
//!
//! Requests and answers are packed of segments, as in the paper; `wire` lists them. No value in them is
//! trusted: page numbers, lengths, senders and access rights are checked at both ends.
#![forbid(unsafe_code)]

use std::process::ExitCode;

mod access;
pub mod arguments;
mod cache;
pub mod client;
pub mod error;
mod fetch;
pub mod mapping;
pub mod placement;
pub mod program;
pub mod server;
pub mod space;
pub mod traffic;
mod wire;

pub use arguments::Arguments;
pub use cache::Access;
pub use client::Client;
pub use error::DsmError;
pub use fetch::FetchTimes;
pub use mapping::Mapping;
pub use placement::Placement;
pub use server::{Served, Server};
pub use space::{AddressSpace, Settings};
pub use traffic::Traffic;

/// Runs the program `dsm`.
pub fn main() -> ExitCode {
    canele_show::program::main("dsm", |arguments: &Arguments, job| program::run(arguments, job))
}
