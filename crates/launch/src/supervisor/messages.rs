//! What the launcher, or an agent, and its supervisor say to each other.

use canele_secure::BeatKey;
use serde::{Deserialize, Serialize};

use crate::failure::Exit;

/// What the launcher asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToSupervisor {
    /// First message; one descriptor, the plan.
    Begin,
    /// One descriptor, a plan of further processes.
    Add,
    /// Start one of the plans' processes; descriptors: standard input, output and error, and the control socket if it is a
    /// rank.
    Start {
        /// As the plans number them, each once.
        number: u32,
    },
    /// Send a signal to the process groups of all that run.
    Signal {
        /// Its number.
        signal: i32,
    },
    /// Kill one of them.
    Kill {
        /// Which.
        number: u32,
    },
    /// Send beats on a stream of the process that started this one, its descriptor, while that process is stopped.
    StartBeats {
        /// Which stream.
        number: u32,
        /// How often, in ms.
        every_ms: u32,
        /// What proves the beats.
        key: BeatKey,
    },
    /// That stream is closed.
    StopBeats {
        /// Which.
        number: u32,
    },
    /// The one who sends this ends next, and has said why: nothing is to be said about it.
    Leave,
    /// End all processes: politely, and after `grace_ms` by force. Answered with `Empty`.
    End {
        /// Time to react to SIGTERM, in ms.
        grace_ms: u32,
    },
}

/// What the supervisor answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromSupervisor {
    /// The program runs.
    Started {
        /// Which.
        number: u32,
        /// Its process.
        pid: u32,
    },
    /// The program could not be started.
    NotStarted {
        /// Which.
        number: u32,
        /// The system's reason, 0 if it has no number.
        errno: i32,
        /// The same in words.
        reason: String,
    },
    /// The process has ended.
    Exited {
        /// Which.
        number: u32,
        /// How.
        exit: Exit,
    },
    /// Last message: no process is left but these, which cannot be killed.
    Empty {
        /// Their process ids.
        left: Vec<u32>,
    },
}
