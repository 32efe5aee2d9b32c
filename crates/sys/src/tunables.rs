//! The tunables: one table gives each its name, type, default, unit, range and meaning. Everything else (the
//! typed struct, the environment, the output of `canele info --tunables`) follows from it.
//!
//! A tunable `ring_cells` is set by the environment variable `CANELE_RING_CELLS`. An unknown variable
//! `CANELE_…`, or a value out of range, is an error: a typing mistake must not quietly measure something
//! else.
//!
//! This module never reads the environment twice, and never adjusts a value that was asked for.

mod error;
mod value;

pub use error::TunableError;
pub use value::{Allowed, Wait};

use std::ffi::OsStr;
use value::{Allowed::*, KIB, MIB, Value};

use crate::port_range::PortRange;

/// Turns the table below into the struct, its defaults, its rows and its assignment by name.
macro_rules! tunables {
    ($($field:ident: $type:ty = $default:expr, $unit:literal, $allowed:expr, $doc:literal;)*) => {
        /// The settings of one process, read once at its start.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Tunables {
            $(#[doc = concat!($doc, ".")] pub $field: $type,)*
        }

        impl Default for Tunables {
            fn default() -> Tunables {
                Tunables { $($field: $default,)* }
            }
        }

        impl Tunables {
            /// Returns the table, one row per tunable, in its order.
            pub fn table() -> impl Iterator<Item = TunableRow> {
                [$(TunableRow {
                    name: stringify!($field),
                    default: <$type as Value>::write(&$default),
                    unit: $unit,
                    allowed: $allowed,
                    doc: $doc,
                },)*].into_iter()
            }

            /// Returns the value of the tunable called `name`, as the environment would write it.
            pub fn value(&self, name: &str) -> Option<String> {
                match name {
                    $(stringify!($field) => Some(self.$field.write()),)*
                    _ => None,
                }
            }

            /// Sets the tunable called `name`; none if `text` is not an allowed value.
            fn set(&mut self, name: &str, allowed: &Allowed, text: &str) -> Option<()> {
                match name {
                    $(stringify!($field) => self.$field = Value::read(text, allowed)?,)*
                    _ => return None,
                }
                Some(())
            }
        }
    };
}

/// The algorithms of collectives; the first, the default, leaves the choice to estimates.
pub const COLLECTIVE_ALGORITHMS: &[&str] = &[
    "auto",
    "flat",
    "tree",
    "doubling",
    "burst",
    "ring",
    "pairwise",
    "bruck",
    "halving",
    "shared-buffer",
    "shared-at-root",
    "slices",
    "leaders",
    "lanes",
];

/// The strategies that come with the library; the first is the default.
pub const STRATEGIES: &[&str] = &["aggregate", "fifo", "priority", "split"];

/// The initial error handlers of an MPI program's communicators; the first is the default.
pub const MPI_ERRHANDLERS: &[&str] = &["fatal", "abort", "return"];

/// The treatment of programs of another MPI; the first is the default.
pub const FOREIGN: &[&str] = &["refuse", "allow"];

/// The use of single copies for long messages, from the sender's memory to the receiver's; the first is the
/// default.
pub const SINGLE_COPY: &[&str] = &["auto", "never", "always", "both"];

tunables! {
    // name: type = default, unit, allowed, meaning
    wait: Wait = Wait::Adaptive, "", OneOf(Wait::NAMES), "Way of waiting: spin, yield and sleep in turn (adaptive), look without end (poll), or sleep at once (sleep); a rank sleeps at once while another rank needs its processor";
    spin_ns: u64 = 100_000, "ns", Between(0, 1_000_000_000), "Time for which an adaptive wait looks before it yields, while there are at least as many processors as ranks";
    yields: u32 = 16, "times", Between(0, 1_000_000), "Number of times that an adaptive wait gives its processor away before it sleeps; in a collective, times at which no other process ran count in part";
    eager_bytes: usize = 0, "bytes", Between(0, MIB), "Largest message sent to a rank of the same host in one packet without asking first, which moves the limits of other ways in proportion; nothing: by the estimates, as canele info --peer shows; never more than a quarter of the payload ring";
    ring_cells: usize = 256, "cells", PowerOfTwo(64, 65_536), "Most cells of the ring between two ranks of a host, per direction";
    payload_ring_bytes: usize = 2 << 20, "bytes", PowerOfTwo(16 * KIB, 64 * MIB), "Most bytes of the payload ring between two ranks of a host, per direction; used from its start where ranks share processors";
    inbox_bytes: usize = 16 << 20, "bytes", Between(64 * KIB, 1024 * MIB), "Budget of a rank's inbox, shared by the rings of all its local peers";
    unexpected_bytes: usize = 64 << 20, "bytes", Between(0, 1024 * 1024 * MIB), "Most payload a rank holds for messages that no receive has asked for yet";
    message_region_bytes: usize = 16 << 10, "bytes", Between(0, 1024 * MIB), "Buffers of mailbox messages above this size lie in regions, which a peer reads without a copy in between";
    piece_bytes: usize = 64 << 10, "bytes", Between(KIB, 64 * MIB), "Largest piece of a long message put into shared memory at once; over sockets a piece takes about half a millisecond";
    single_copy: &'static str = SINGLE_COPY[0], "", OneOf(SINGLE_COPY), "Single copy of long messages between ranks of a host, from the sender's memory to the receiver's: where the kernel allows it and it is faster (auto), nowhere (never), wherever the kernel allows it by the receiver alone (always), or by both at once (both)";
    strategy: &'static str = STRATEGIES[0], "", OneOf(STRATEGIES), "Strategy that puts waiting messages into packets: all small ones together (aggregate), one by one (fifo), the most urgent first (priority), that and large messages cut so that all rails end together (split)";
    collective: &'static str = COLLECTIVE_ALGORITHMS[0], "", OneOf(COLLECTIVE_ALGORITHMS), "The algorithm that collectives of all members' equal blocks take wherever it can carry them out: the one with the smallest estimate (auto), or for measurements this one";
    rails: String = String::new(), "", Text, "Interfaces over which ranks of other hosts are reached: names or addresses with commas between, each a rail; nothing: all that are up";
    ports: PortRange = PortRange::ANY, "", Ports, "The TCP ports on which ranks, launchers and canele doctor listen for other hosts, as 50000-50999; nothing: the system chooses";
    remote_start_ms: u64 = 15_000, "ms", Between(100, 3_600_000), "Time that the remote shell of a host may take until the agent there answers";
    host_lost_ms: u64 = 8_000, "ms", Between(800, 3_600_000), "Time for which a host may be silent until its ranks count as lost";
    foreign: &'static str = FOREIGN[0], "", OneOf(FOREIGN), "Treatment of a job of several ranks whose program uses another MPI, so that each rank would be a job of its own: the job is not started, or ended (refuse), or runs (allow)";
    mpi_errhandler: &'static str = MPI_ERRHANDLERS[0], "", OneOf(MPI_ERRHANDLERS), "Treatment of errors by an MPI program's communicators at first: end the job (fatal), end the ranks of the communicator, which is the same unless the others go on (abort), or return a code (return)";
    mpi_leaks: bool = false, "", OneOf(&["0", "1"]), "1: MPI_Finalize prints the number of handles of each kind that the program has not freed";
    check: bool = false, "", OneOf(&["0", "1"]), "1: the members of a communicator compare their collective calls before each, so that calls that do not belong together end with a text that names both";
    trace_bytes: usize = 0, "bytes", Between(0, 64 * 1024 * MIB), "Memory in which a rank records its events for a trace, 32 bytes each; nothing: none is recorded; canele run --trace sets it to 64 MiB";
    mpi_memory_alloc_kinds: String = String::new(), "", Text, "Kinds of memory that an MPI program asks for, with commas between, as MPI_INFO_ENV tells; mpi and system are always supported";
    lanes: u32 = 0, "", Between(0, 16), "Number of lanes that a rank may have, by which threads that use different flows or communicators do not meet; 0: as many as it has processors, and 16 at most";
    progress_thread: bool = false, "", OneOf(&["0", "1"]), "1: a thread of the library makes progress while the program computes";
}

/// Tunables that must have the same value on all ranks of a job: sizes of rings, bytes that may be sent
/// unasked, and the size limits that decide how puts and gets to another host travel. The check of collective
/// calls and the number of lanes belong here, too.
const SHARED: [&str; 8] = [
    "check",
    "collective",
    "eager_bytes",
    "lanes",
    "ring_cells",
    "payload_ring_bytes",
    "inbox_bytes",
    "unexpected_bytes",
];

/// Tunables that only the launcher uses: a change by a rank has no effect.
const OF_LAUNCHER: [&str; 4] = ["rails", "remote_start_ms", "host_lost_ms", "foreign"];

/// Tunables that a rank can follow when they change after its start.
const CHANGEABLE: [&str; 5] = ["wait", "spin_ns", "yields", "strategy", "mpi_leaks"];

/// The time until which a rank can change a tunable by a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settable {
    /// Never: only the launcher's environment counts.
    Never,
    /// Until the rank joins its job.
    BeforeStart,
    /// At any time.
    Always,
}

/// Variables that the launcher sets for its ranks or reads itself: known, but not tunables.
pub const LAUNCHER_VARIABLES: [&str; 9] = [
    "CANELE_RANK",
    "CANELE_SIZE",
    "CANELE_LOCAL_RANK",
    "CANELE_LOCAL_SIZE",
    "CANELE_CONTROL_FD",
    "CANELE_APP",
    "CANELE_BIND",
    "CANELE_ON_FAILURE",
    "CANELE_PROFILE",
];

/// Variables that tell the compiler wrappers the compiler and the ABI: known, but not tunables.
pub const COMPILER_VARIABLES: [&str; 4] = ["CANELE_CC", "CANELE_CXX", "CANELE_FC", "CANELE_ABI"];

const PREFIX: &str = "CANELE_";

/// The table's row for one tunable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunableRow {
    /// Its name, as in [`Tunables`].
    pub name: &'static str,
    /// Its default, as the environment would write it.
    pub default: String,
    /// The unit of its value, or nothing.
    pub unit: &'static str,
    /// The values that it may have.
    pub allowed: Allowed,
    /// The meaning.
    pub doc: &'static str,
}

impl TunableRow {
    /// Returns true if all ranks of a job must have the same value.
    pub fn is_shared(&self) -> bool {
        SHARED.contains(&self.name)
    }

    /// Returns the time until which a rank can change it.
    pub fn settable(&self) -> Settable {
        match self.name {
            name if OF_LAUNCHER.contains(&name) => Settable::Never,
            name if CHANGEABLE.contains(&name) => Settable::Always,
            _ => Settable::BeforeStart,
        }
    }

    /// Returns the environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.to_ascii_uppercase())
    }
}

impl Tunables {
    /// Returns the variables that must have the same value on all ranks of a job, with their values.
    pub fn shared(&self) -> Vec<(String, String)> {
        let rows = Tunables::table().filter(|row| SHARED.contains(&row.name));
        rows.map(|row| (row.variable(), self.value(row.name).unwrap_or_default())).collect()
    }

    /// Returns the defaults, changed by the variables of this process's environment.
    ///
    /// # Errors
    /// Fails with the first variable that is unknown or out of range.
    pub fn from_env() -> Result<Tunables, TunableError> {
        Tunables::from_pairs(std::env::vars_os())
    }

    /// Returns the defaults, changed by `pairs` of variable and value; those not called `CANELE_…` are
    /// ignored.
    ///
    /// # Errors
    /// Fails as [`Tunables::from_env`] does.
    pub fn from_pairs<K: AsRef<OsStr>, V: AsRef<OsStr>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Tunables, TunableError> {
        let mut tunables = Tunables::default();
        for (variable, value) in pairs {
            let variable = variable.as_ref().to_string_lossy();
            if variable.starts_with(PREFIX) && !is_of_others(&variable) {
                tunables.assign(&variable, &value.as_ref().to_string_lossy())?;
            }
        }
        Ok(tunables)
    }

    /// Sets the tunable of the environment variable `variable` to the value written as `value`.
    ///
    /// # Errors
    /// Fails if the variable is unknown, or the value is out of range.
    pub fn assign(&mut self, variable: &str, value: &str) -> Result<(), TunableError> {
        let row = Tunables::table().find(|row| row.variable() == variable);
        let row = row.ok_or_else(|| error::unknown(variable))?;
        if self.set(row.name, &row.allowed, value).is_some() {
            return Ok(());
        }
        let (variable, value) = (variable.to_owned(), value.to_owned());
        Err(TunableError::Value { variable, value, unit: row.unit, allowed: row.allowed })
    }
}

/// Returns true if a variable is known to the launcher or the compiler wrappers.
fn is_of_others(variable: &str) -> bool {
    LAUNCHER_VARIABLES.contains(&variable) || COMPILER_VARIABLES.contains(&variable)
}

#[cfg(test)]
mod tests;
