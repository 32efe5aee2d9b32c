//! `canele run`: starts the ranks of a job and looks after them until none of their processes is left.
//!
//! ```text
//!   canele run (the launcher: job, output, decisions)
//!      │ orders ▼ ▲ reports
//!     site  ── control sockets, output pipes, inboxes ────────────┐        one for each host: here, or in an agent
//!      │  messages, end-of-file when its process dies             │        behind a remote shell (`remote`)
//!   rank-keeper (sub-reaper)                                      │
//!      ├── rank 0 ── grandchildren …   (own process group) ◀──────┤
//!      └── rank 1 ── …                                     ◀──────┘
//! ```
//!
//! The ranks are children of a *keeper*, a second small process. When the launcher is killed, the keeper sees
//! its socket close and kills everything below itself: as the sub-reaper it inherits every daemonised
//! grandchild. When the keeper is killed, the ranks die of their parent-death signal and the rest falls to the
//! launcher, the next sub-reaper, which does the same. Only killing both in one instant leaves daemonised
//! grandchildren (never ranks; invariant I32). Remote shells are kept in the same way.

mod arguments;
mod descendants;
mod ending;
mod events;
mod failure;
mod hosts;
mod input;
mod job;
mod keeper;
mod kept;
mod launcher;
pub mod mpiexec;
mod output;
mod plan;
mod query;
mod remote;
mod settings;
mod signals;
mod sink;
mod site;
mod sites;
mod start;

pub use arguments::{Arguments, Bind, Place, Wait};
pub use keeper::keep;
pub use query::{JobReport, PartReport, RailReport, RankReport, address};
pub use remote::deputise;
pub use start::{main, start};
