//! Jobs on several hosts: an agent on each, started through a remote shell.
//!
//! ```text
//!   canele run ── orders, beats ──▶ ┌──────────────┐ standard input   ┌──────────────┐
//!      │       ◀── reports, beats ─ │ remote shell │ ◀──────────────▶ │ canele agent │── site: keeper, ranks …
//!   keeper of the shells ──────────▶└──────────────┘ standard output  └──────────────┘
//! ```
//! Nothing else connects the two: whatever lets the remote shell through is enough, and only who may use the shell can
//! start an agent. The job and its key travel there too, never on a command line or in an environment.
//!
//! Either side that hears nothing of the other for a while, or whose stream ends, gives the other up; an agent then ends its
//! ranks. A process that is only stopped is not given up earlier.

mod agent;
mod agents;
mod deputy;
mod frames;
mod pulse;
mod rails;
mod shell;

pub use agents::Agents;
pub use deputy::deputise;
pub use rails::Part;
pub use shell::RemoteShell;

use canele_engine::control::JobInfo;
use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::site::{Order, Report};

/// What an agent is told first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// What to start.
    pub plan: Plan,
    /// The job; `processors` is the agent's to say.
    pub info: JobInfo,
    /// Bind each rank to a processor of its own, in turn.
    pub bind: bool,
    /// For how long, in ms, either side may be silent.
    pub silence_ms: u32,
}

/// What an agent is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum ToAgent {
    /// First, and once.
    Begin(Box<Task>),
    /// For its site.
    Order(Order),
    /// The launcher lives.
    Beat,
    /// The launcher is about to be stopped, and silent until it continues.
    Pause,
}

/// What an agent tells after its preamble.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum FromAgent {
    /// First: the interfaces of its host.
    Interfaces(rails::Found),
    /// Of its site.
    Report(Report),
    /// The agent lives.
    Beat,
}
