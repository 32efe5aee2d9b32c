//! Starts the ranks of a job and supervises them until none of their processes is left.
//!
//! [`run`] runs a [`JobSpec`] to its end in the calling process, the *launcher*. The launcher starts helpers
//! from its own executable. So the `main` of that executable calls [`supervise`] when its first argument is
//! `supervise`, [`serve_host`] when it is `agent`, [`serve_join`] when it is `join`, and [`adopt`] when it is
//! `adopt`. `canele` is such an executable.
//!
//! [`mpiexec`] translates the options of other launchers. [`query_job`] asks a launcher about its job, and
//! [`why`] explains the answer. [`installation`] finds the MPI library.
//!
//! ```text
//!   canele run (the launcher: job, output, decisions)
//!      │ orders ▼ ▲ reports
//!     host  ── control sockets, output pipes, inboxes ────────────┐  one for each host: here, or in an agent
//!      │  messages, end-of-file when its process dies             │  behind a remote shell (`remote`)
//!   rank-supervisor (sub-reaper)                                  │
//!      ├── rank 0 ── grandchildren …   (own process group) ◀──────┤
//!      └── rank 1 ── …                                     ◀──────┘
//! ```
//!
//! The ranks are children of a *supervisor*, a second small process. If the launcher is killed, the
//! supervisor sees its socket close and kills everything below itself: as the sub-reaper it inherits every
//! daemonised grandchild. If the supervisor is killed, the ranks die of their parent-death signal. The
//! launcher, the next sub-reaper, then kills the processes that are left. If both are killed in one instant,
//! daemonised grandchildren remain, and so does a rank below a shell until that shell next waits (invariant
//! I19). Remote shells are supervised in the same way.

#![forbid(unsafe_code)]

mod abstract_names;
mod allocation;
mod binding;
mod closing;
mod connected;
mod debugging;
mod descendants;
mod end_with;
mod ending;
mod events;
mod failure;
mod finalize_watch;
mod foreign;
mod given_up;
pub mod host_probe;
mod host_ranks;
mod hosts;
mod input;
pub mod installation;
mod job;
mod job_elsewhere;
mod job_hosts;
mod job_report;
mod join;
mod launcher;
mod member;
pub mod mpiexec;
mod output;
mod output_files;
mod own_line;
mod pattern;
mod plan;
mod query;
mod query_client;
mod query_name;
mod rankfile;
mod refused;
mod remote;
mod reports;
mod settings;
mod signals;
mod sink;
mod spawning;
mod spec;
mod start;
mod supervisor;
mod supervisor_handle;
mod time_of_day;
mod trace;
pub mod why;
mod wording;
mod world_graph;

pub use allocation::{Allocation, allocation};
pub use binding::{BindPolicy, BindTo, MapBy, Unit, count_units};
pub use foreign::{Mpi4py, is_mpi_library, is_own_library, mpi4py_of};
pub use host_ranks::{CodePlace, ProcessState};
pub use hosts::{
    NamedHost, RankOrder, capacity, is_here, place as place_ranks, read_file as read_host_file,
    read_list as read_host_list,
};
pub use input::InputTo;
pub use job_report::{JobReport, PartReport, RailReport, RankReport};
pub use join::{JoinRole, serve_join};
pub use output_files::OutputSpec;
pub use pattern::Pattern;
pub use plan::Program;
pub use query_client::{QueryError, RunningJobs, query_job, query_jobs};
pub use rankfile::{RankFile, read as read_rank_file};
pub use remote::{ShellCommand, serve_host};
pub use spec::{JobSpec, Placement, StartError};
pub use start::{adopt, descriptors_for, run};
pub use supervisor::supervise;
pub use time_of_day::TimeOfDay;
pub use wording::amount;
