//! Jobs on several hosts: an agent on each, started through a remote shell.
//!
//! ```text
//!   canele run ── orders, beats ──▶ ┌──────────────┐ standard input   ┌──────────────┐
//!      │       ◀── reports, beats ─ │ remote shell │ ◀──────────────▶ │ canele agent │── host: supervisor, ranks …
//!   supervisor of the shells ──────────▶└──────────────┘ standard output  └──────────────┘
//! ```
//! Nothing else connects the two: whatever lets the remote shell through is enough, and only who may use the shell can
//! start an agent. The job and its key travel there too, sealed, never on a command line or in an environment.
//!
//! Either side that hears nothing of the other for a while, or whose stream ends, gives the other up; an agent then ends its
//! ranks. A process that is only stopped is not given up: its supervisor sends beats in its place.

mod agent;
mod agent_loop;
mod agents;
mod chunks;
mod frames;
mod greeting;
mod heartbeat;
mod hosts_key;
mod rails;
mod shell;

#[cfg(test)]
pub(crate) use agent::tests::task as sample_task;
pub use agent_loop::{serve_host, serve_joined};
pub use agents::Agents;
pub use chunks::stand_in_beat;
pub use frames::{Inflow, Outflow, Read};
pub use greeting::{Connection, FLIGHT, GREETING, MAGIC, PREAMBLE, Version};
pub use rails::{HostRail, agree};
pub use shell::{RemoteShell, as_typed, ended, last_lines};

use canele_control::JobInfo;
use canele_rail::tcp::interfaces::Interface;
use serde::{Deserialize, Serialize};

use super::binding::BindPolicy;
use super::host_ranks::{Order, Report};
use super::plan::Plan;

/// What an agent is told first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// The number of its host.
    pub host: u32,
    /// What to start.
    pub plan: Plan,
    /// The job; `processors` is the agent's to say.
    pub info: JobInfo,
    /// How ranks are bound to processors.
    pub bind: BindPolicy,
    /// For how long, in ms, either side may be silent.
    pub silence_ms: u32,
}

/// What an agent is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToAgent {
    /// First, and once.
    Begin(Box<Task>),
    /// Instead of the former: the job that its ranks want to join does not come about.
    Refuse {
        /// Why.
        why: String,
    },
    /// For its host.
    Order(Order),
}

/// What an agent tells after its preamble.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromAgent {
    /// First: the interfaces of its host.
    Interfaces(Vec<Interface>),
    /// Second, of a job that another launcher has started.
    Joining {
        /// The name of its host.
        name: String,
    },
    /// A rank has come to join its job.
    Joined {
        /// Which.
        rank: u32,
        /// How many processors the ranks may use that have come there.
        processors: u32,
    },
    /// A rank that had come has ended, before the job began.
    Left {
        /// Which.
        rank: u32,
    },
    /// Of its host.
    Report(Report),
}
