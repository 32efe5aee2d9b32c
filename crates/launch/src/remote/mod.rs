//! Jobs on several hosts: an agent on each, started through a remote shell.
//!
//! ```text
//!   canele run ── orders, beats ──▶ ┌──────────────┐ standard input   ┌──────────────┐
//!      │       ◀── reports, beats ─ │ remote shell │ ◀──────────────▶ │ canele agent │── host: ranks …
//!   supervisor of the shells ──────▶└──────────────┘ standard output  └──────────────┘
//! ```
//! Nothing else connects the two. So every network that lets the remote shell through is enough, and only a
//! user of the shell can start an agent. The job and its key also travel through the shell, sealed, never on
//! a command line or in an environment.
//!
//! Either side gives the other up if it hears nothing of it for a while, or if the stream ends; an agent then
//! ends its ranks. A process that is only stopped is not given up: its supervisor sends beats in its place.

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
pub use shell::{RemoteShell, ShellCommand, as_typed, ended, last_lines};

use canele_control::JobInfo;
use canele_rail::tcp::interfaces::Interface;
use serde::{Deserialize, Serialize};

use super::binding::BindPolicy;
use super::host_ranks::{Order, Report};
use super::plan::Plan;

/// The task of an agent, in its first message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// The number of its host.
    pub host: u32,
    /// The plan of its ranks.
    pub plan: Plan,
    /// The job; the agent sets `processors`.
    pub info: JobInfo,
    /// The policy by which ranks are bound to processors.
    pub bind: BindPolicy,
    /// The time, in ms, for which either side may be silent.
    pub silence_ms: u32,
}

/// A message to an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToAgent {
    /// The first message, sent once.
    Begin(Box<Task>),
    /// Sent instead of `Begin`: the job that its ranks want to join cannot start.
    Refuse {
        /// The reason.
        why: String,
    },
    /// An order for its host.
    Order(Order),
}

/// A message of an agent after its preamble.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromAgent {
    /// The first message: the interfaces of its host.
    Interfaces(Vec<Interface>),
    /// The second message, in a job that another launcher has started.
    Joining {
        /// The name of its host.
        name: String,
    },
    /// A rank has come to join its job.
    Joined {
        /// The rank.
        rank: u32,
        /// The number of processors that the ranks there may use.
        processors: u32,
    },
    /// A rank that had joined has ended, before the job began.
    Left {
        /// The rank.
        rank: u32,
    },
    /// A report of its host.
    Report(Report),
}
