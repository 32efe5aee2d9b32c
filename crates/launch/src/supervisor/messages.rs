//! Messages between the launcher, or an agent, and its supervisor.

use canele_secure::BeatKey;
use serde::{Deserialize, Serialize};

use crate::failure::Exit;

/// A request of the launcher.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToSupervisor {
    /// The first message; one descriptor, the plan.
    Begin,
    /// Further processes; one descriptor, their plan.
    Add,
    /// Start one of the plans' processes. The descriptors are standard input, output and error, and the
    /// control socket if it is a rank.
    Start {
        /// The number of the process in the plans, each once.
        number: u32,
    },
    /// Send a signal to the process groups of all running processes.
    Signal {
        /// The number of the signal.
        signal: i32,
    },
    /// Kill one process.
    Kill {
        /// The number of the process.
        number: u32,
    },
    /// Send beats on a stream of the process that started this one while that process is stopped; one
    /// descriptor, the stream.
    StartBeats {
        /// The number of the stream.
        number: u32,
        /// The interval in ms.
        every_ms: u32,
        /// The key that proves the beats.
        key: BeatKey,
    },
    /// The stream of `StartBeats` is closed.
    StopBeats {
        /// The number of the stream.
        number: u32,
    },
    /// The sender ends next, and has reported why: the supervisor reports nothing about it.
    Leave,
    /// End all processes: politely, and after `grace_ms` by force. The answer is `Empty`.
    End {
        /// The time to react to SIGTERM, in ms.
        grace_ms: u32,
    },
}

/// A message of the supervisor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromSupervisor {
    /// The program runs.
    Started {
        /// The number of the process.
        number: u32,
        /// The process id.
        pid: u32,
    },
    /// The program could not be started.
    NotStarted {
        /// The number of the process.
        number: u32,
        /// The system's error number, or 0.
        errno: i32,
        /// The error in words.
        reason: String,
    },
    /// The process has ended.
    Exited {
        /// The number of the process.
        number: u32,
        /// The way in which it ended.
        exit: Exit,
    },
    /// The last message: no process is left but these, which cannot be killed.
    Empty {
        /// The ids of these processes.
        left: Vec<u32>,
    },
}
