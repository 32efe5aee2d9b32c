//! The orders that a host gets and the reports that it gives: the messages between the job and the ranks of one host.
//!
//! Owns their shape, which is the same whether both are in one process or on two machines. Ranks are numbered as in the
//! job. No descriptor is among them: descriptors stay on their host.

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
    /// Pass this on to a rank.
    Tell {
        /// Which.
        rank: u32,
        /// What.
        message: FromLauncher,
    },
    /// Pass this on to a further lane of a rank.
    TellLane {
        /// Which rank.
        rank: u32,
        /// Which of its lanes, from 1.
        number: u8,
        /// What.
        message: FromLauncher,
    },
    /// Kill a rank and listen to it no more.
    Kill {
        /// Which.
        rank: u32,
    },
    /// Let ranks join the job that were held for a debugger.
    Admit {
        /// Which; some may be of other hosts.
        ranks: Range<u32>,
    },
    /// The job has more ranks: tell those of the host, and start its own.
    Spawn {
        /// All of the new ranks.
        world: SpawnedWorld,
        /// The plans of those to be started here, in the order of their ranks.
        plans: Vec<Plan>,
    },
    /// Send a signal to all ranks.
    Signal {
        /// Its number.
        signal: i32,
    },
    /// End all processes: politely, and after `grace_ms` by force. Ends with [`Report::Empty`].
    End {
        /// Time to react to SIGTERM, in ms.
        grace_ms: u32,
    },
    /// So much of what ranks printed has been passed on.
    Room {
        /// Where they printed it.
        stream: Stream,
        /// How much.
        bytes: u32,
    },
    /// The stream that ranks print to has no reader any more.
    Shut {
        /// Where.
        stream: Stream,
    },
    /// Standard input of the ranks that get it, at most as much as they have room for; nothing: its end.
    Feed {
        /// The next of it.
        bytes: Vec<u8>,
    },
    /// Report what time it is there, at once.
    TellClock {
        /// What time it is here, in ns; comes back with the answer.
        asked_ns: u64,
    },
    /// Report what all ranks do: counters, links, what they wait for.
    Count {
        /// Comes back with the answer.
        question: u32,
        /// How long ranks may take, in ms: one that computes does not come by.
        timeout_ms: u32,
    },
}

/// A report of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// The rank's program runs.
    Started {
        /// Which.
        rank: u32,
        /// Its process.
        pid: u32,
        /// The path of the program that this runs.
        executable: Vec<u8>,
    },
    /// The rank's program could not be started.
    NotStarted {
        /// Which.
        rank: u32,
        /// The job's exit status then.
        status: u8,
        /// Which program.
        name: String,
        /// Why.
        why: String,
    },
    /// The rank said something that concerns the job.
    Said {
        /// Which.
        rank: u32,
        /// What.
        message: ToLauncher,
    },
    /// A further lane of the rank said something that concerns other hosts.
    SaidOnLane {
        /// Which rank.
        rank: u32,
        /// Which of its lanes, from 1.
        number: u8,
        /// What.
        message: ToLauncher,
    },
    /// The rank broke the rules and is being killed.
    Broke {
        /// Which.
        rank: u32,
        /// How, as a text that follows its name.
        how: String,
    },
    /// The rank printed whole lines, or one whose end did not come.
    Printed {
        /// Which.
        rank: u32,
        /// Where.
        stream: Stream,
        /// What.
        bytes: Vec<u8>,
    },
    /// The host's ranks that get standard input took so much of it, all of them.
    Fed {
        /// How much.
        bytes: u32,
    },
    /// They take no more of it.
    Full,
    /// The rank's process has ended; all that it said and printed was told before.
    Exited {
        /// Which.
        rank: u32,
        /// How.
        exit: Exit,
    },
    /// Answer to [`Order::Count`].
    Counted {
        /// As asked.
        question: u32,
        /// Of each of the host's ranks, in order.
        counts: Vec<Counts>,
    },
    /// Answer to [`Order::TellClock`].
    Clock {
        /// As asked.
        asked_ns: u64,
        /// What time it is, in ns of the host's monotonic clock.
        at_ns: u64,
    },
    /// The next of the events that a rank has recorded, told after the end of all processes.
    Recorded {
        /// Which rank.
        rank: u32,
        /// Whole records, as [`LogReader::read`](canele_trace::LogReader::read) gives them.
        records: Vec<u8>,
    },
    /// That was all of this rank.
    RecordedAll {
        /// Which rank.
        rank: u32,
        /// Events that found no room.
        missing: u64,
    },
    /// The supervisor of the ranks was killed; so are they.
    SupervisorDied {
        /// Its process.
        pid: u32,
    },
    /// The ranks of the host were not started, or cannot join the job: why, as a whole sentence.
    Failed {
        /// The job's exit status then.
        status: u8,
        /// Why.
        text: String,
    },
    /// Last word, said for it: nothing is heard any more of its host.
    Lost {
        /// Why.
        why: String,
    },
    /// What the remote shell printed to its standard error.
    Remarked {
        /// Whole lines, or one whose end did not come.
        bytes: Vec<u8>,
    },
    /// Last word: no process of the host is left but these, which cannot be killed.
    Empty {
        /// Their process ids.
        left: Vec<u32>,
    },
}

/// The counters and links of one rank, and what it does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Of after the question, or its last.
    pub current: bool,
    /// By name; empty before the rank has initialised.
    pub counters: Vec<(String, u64)>,
    /// Of after the question; none if the rank did not come by, or has none any more.
    pub links: Option<Links>,
    /// What its threads wait for, as it last told.
    pub waits: Option<Waits>,
    /// Where the calls of the thread lie that told, innermost first; of a rank that did not come by, where it computes.
    pub calls: Vec<CodePlace>,
    /// What the system says of its process.
    pub process: Option<ProcessState>,
}
