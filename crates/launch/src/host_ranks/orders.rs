//! Orders to a host and reports from it: the messages between the job and the ranks of one host.
//!
//! Owns their shape, which is the same in one process and between two machines. Ranks have the job's numbers.
//! No descriptor is among them: descriptors stay on their host.

use std::ops::Range;

use canele_control::{FromLauncher, Links, SpawnedWorld, ToLauncher, Waits};
use serde::{Deserialize, Serialize};

use super::outside::{CodePlace, ProcessState};
use crate::events::Stream;
use crate::failure::Exit;
use crate::plan::Plan;

/// An order to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Pass a message on to a rank.
    Tell {
        /// The rank.
        rank: u32,
        /// The message.
        message: FromLauncher,
    },
    /// Pass a message on to a further lane of a rank.
    TellLane {
        /// The rank.
        rank: u32,
        /// The number of the lane, from 1.
        number: u8,
        /// The message.
        message: FromLauncher,
    },
    /// Kill a rank and read its messages no more.
    Kill {
        /// The rank.
        rank: u32,
    },
    /// Let ranks join the job that were held for a debugger.
    Admit {
        /// The ranks; some may be of other hosts.
        ranks: Range<u32>,
    },
    /// The job has more ranks: tell those of the host, and start the host's new ones.
    Spawn {
        /// All of the new ranks.
        world: SpawnedWorld,
        /// The plans of those to be started here, in the order of their ranks.
        plans: Vec<Plan>,
    },
    /// Send a signal to all ranks.
    Signal {
        /// The number of the signal.
        signal: i32,
    },
    /// End all processes: politely, and after `grace_ms` by force. [`Report::Empty`] follows at the end.
    End {
        /// The time to react to SIGTERM, in ms.
        grace_ms: u32,
    },
    /// Bytes that ranks have printed were passed on.
    Room {
        /// The stream that they were printed to.
        stream: Stream,
        /// The number of bytes.
        bytes: u32,
    },
    /// A stream that ranks print to has no reader any more.
    Shut {
        /// The stream.
        stream: Stream,
    },
    /// Standard input for the ranks that get it, at most as much as they have room for; no bytes mean its
    /// end.
    Feed {
        /// The next bytes.
        bytes: Vec<u8>,
    },
    /// Report the host's clock at once.
    TellClock {
        /// The launcher's clock, in ns; the answer repeats it.
        asked_ns: u64,
    },
    /// Report the state of all ranks: counters, links, waits.
    Count {
        /// The number of the request, which the answer repeats.
        question: u32,
        /// The time that ranks have, in ms: a rank that computes does not answer.
        timeout_ms: u32,
        /// True if the report has the places in the code. Finding them stops a rank that computes for a moment.
        has_places: bool,
    },
}

/// A report of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The rank's program runs.
    Started {
        /// The rank.
        rank: u32,
        /// The process id.
        pid: u32,
        /// The path of the program that it runs.
        executable: Vec<u8>,
    },
    /// The rank's program could not be started.
    NotStarted {
        /// The rank.
        rank: u32,
        /// The job's exit status in this case.
        status: u8,
        /// The name of the program.
        name: String,
        /// The reason.
        why: String,
    },
    /// The rank sent a message that concerns the job.
    Said {
        /// The rank.
        rank: u32,
        /// The message.
        message: ToLauncher,
    },
    /// A further lane of the rank sent a message that concerns other hosts.
    SaidOnLane {
        /// The rank.
        rank: u32,
        /// The number of the lane, from 1.
        number: u8,
        /// The message.
        message: ToLauncher,
    },
    /// The rank broke the rules and is being killed.
    Broke {
        /// The rank.
        rank: u32,
        /// The violation, as a text that follows its name.
        how: String,
    },
    /// The rank printed whole lines, or a line whose end did not come.
    Printed {
        /// The rank.
        rank: u32,
        /// The stream.
        stream: Stream,
        /// The printed bytes.
        bytes: Vec<u8>,
    },
    /// All ranks of the host that get standard input have taken these bytes of it.
    Fed {
        /// The number of bytes.
        bytes: u32,
    },
    /// Those ranks take no more of it.
    Full,
    /// The rank's process has ended; all its messages and output were reported before.
    Exited {
        /// The rank.
        rank: u32,
        /// The way in which it ended.
        exit: Exit,
    },
    /// Answers [`Order::Count`].
    Counted {
        /// The number of the request.
        question: u32,
        /// The counts of each of the host's ranks, in order.
        counts: Vec<Counts>,
    },
    /// Answers [`Order::TellClock`].
    Clock {
        /// The launcher's clock from the order.
        asked_ns: u64,
        /// The time in ns of the host's monotonic clock.
        at_ns: u64,
    },
    /// The next events that a rank has recorded, reported after the end of all processes.
    Recorded {
        /// The rank.
        rank: u32,
        /// Whole records, as [`LogReader::read`](canele_trace::LogReader::read) gives them.
        records: Vec<u8>,
    },
    /// All events of this rank were reported.
    RecordedAll {
        /// The rank.
        rank: u32,
        /// The number of events that found no room.
        missing: u64,
    },
    /// The supervisor of the ranks was killed, and the ranks with it.
    SupervisorDied {
        /// The process id.
        pid: u32,
    },
    /// The ranks of the host were not started, or cannot join the job.
    Failed {
        /// The job's exit status in this case.
        status: u8,
        /// The reason, as a whole sentence.
        text: String,
    },
    /// The last report, made in the host's place: the host is no longer heard from.
    Lost {
        /// The reason.
        why: String,
    },
    /// The remote shell printed to its standard error.
    Remarked {
        /// Whole lines, or a line whose end did not come.
        bytes: Vec<u8>,
    },
    /// The last report: no process of the host is left but these, which cannot be killed.
    Empty {
        /// The ids of these processes.
        left: Vec<u32>,
    },
}

/// The counters, links and state of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// True if the counters are newer than the request, or the rank's last ones.
    pub current: bool,
    /// The counters by name; empty before the rank has initialised.
    pub counters: Vec<(String, u64)>,
    /// The number of its lanes that are in use, the first one included.
    pub lanes: u32,
    /// The links, newer than the request; none if the rank did not answer, or has none any more.
    pub links: Option<Links>,
    /// The waits of its threads, as it last reported them.
    pub waits: Option<Waits>,
    /// The code places of the reporting thread's calls, innermost first; for a rank that did not answer, the
    /// place where it computes.
    pub calls: Vec<CodePlace>,
    /// The system's data of its process.
    pub process: Option<ProcessState>,
}
