//! Exchange through a launcher of another system: the ranks' numbers, and values that one rank puts and the
//! others get.
//!
//! Owns the choice of the protocol by the environment's variables, and of the ranks that use it. Tests need
//! no launcher.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use canele_sys::pmix::{Pmix, PmixError};
use canele_sys::printable;

use super::JoinError;
use super::pmi::Pmi;
use super::step::Step;
use super::ticket::Ticket;

/// The key under which the ticket is put.
const KEY: &str = "canele-join";
const KEY_PMIX: &std::ffi::CStr = c"canele-join";

const PMIX: &str = "PMIx";

/// The time in which a launcher passes on a message. When a launcher kills a process, it loses text that it
/// has not read.
const UNTIL_READ: Duration = Duration::from_millis(100);
/// The time in which a launcher kills this process after it was asked to end all processes.
const UNTIL_KILLED: Duration = Duration::from_secs(5);

/// The ranks that are clients of their launcher.
#[derive(Debug)]
pub(super) enum Clients {
    /// All ranks.
    All(Exchange),
    /// The first rank of each node of a step of Slurm.
    FirstOfNode(Step),
}

impl Clients {
    /// Returns the clients of the launcher that the environment names; `None` if it names none that has
    /// started several ranks.
    ///
    /// # Errors
    /// Fails with a [`JoinError`].
    pub fn find(get: &impl Fn(&str) -> Option<String>) -> Result<Option<Clients>, JoinError> {
        // The innermost launcher is used: a launcher of a single process may have started another launcher.
        let says = |name: &str, count: &str| get(name).is_some_and(|value| value.trim() == count);
        if !says("PMI_SIZE", "1")
            && let Some(pmi) = Pmi::open(get)?
        {
            return Ok(Some(Clients::All(Exchange::Pmi(pmi))));
        }
        let speaks_pmix = get("PMIX_RANK").is_some() && get("PMIX_NAMESPACE").is_some();
        if speaks_pmix && !says("OMPI_COMM_WORLD_SIZE", "1") {
            let clients = match Step::of(get) {
                Some(step) => Clients::FirstOfNode(step),
                None => Clients::All(open_pmix(get)?),
            };
            return Ok(Some(clients));
        }
        refuse_several(get).map(|()| None)
    }
}

/// This process as a client of its launcher.
#[derive(Debug)]
pub enum Exchange {
    /// PMI-1, which Hydra and Slurm's plugin `pmi2` speak.
    Pmi(Pmi),
    /// PMIx, which Slurm's plugin `pmix`, PRRTE and Open MPI speak.
    Pmix(Box<Pmix>),
}

impl Exchange {
    /// Returns this process's number.
    pub fn rank(&self) -> u32 {
        match self {
            Exchange::Pmi(pmi) => pmi.rank(),
            Exchange::Pmix(pmix) => pmix.rank(),
        }
    }

    /// Returns the number of processes; 1 if PMIx does not tell.
    pub fn ranks(&self) -> u32 {
        match self {
            Exchange::Pmi(pmi) => pmi.ranks(),
            Exchange::Pmix(pmix) => pmix.size().unwrap_or(1),
        }
    }

    /// Publishes the ticket of rank 0, which is this rank. Other ranks can read it once all have passed the
    /// next fence.
    ///
    /// # Errors
    /// Fails with a [`JoinError`].
    pub fn put_ticket(&mut self, ticket: &Ticket) -> Result<(), JoinError> {
        let value = ticket.to_string();
        match self {
            Exchange::Pmi(pmi) => pmi.put(KEY, &value),
            Exchange::Pmix(pmix) => {
                let value = std::ffi::CString::new(value).expect("a ticket has no zero");
                pmix.put(KEY_PMIX, &value).map_err(of_pmix)
            }
        }
    }

    /// Waits until all processes have called `fence`.
    ///
    /// # Errors
    /// Fails with a [`JoinError`].
    pub fn fence(&mut self) -> Result<(), JoinError> {
        match self {
            Exchange::Pmi(pmi) => pmi.fence(),
            Exchange::Pmix(pmix) => pmix.fence().map_err(of_pmix),
        }
    }

    /// Returns the ticket that rank 0 has put.
    ///
    /// # Errors
    /// Fails with a [`JoinError`].
    pub fn get_ticket(&mut self) -> Result<Ticket, JoinError> {
        let (protocol, word) = match self {
            Exchange::Pmi(pmi) => (super::pmi::PROTOCOL, pmi.get(KEY)?),
            Exchange::Pmix(pmix) => (PMIX, pmix.get(0, KEY_PMIX).map_err(of_pmix)?),
        };
        let what = || "what rank 0 has put makes no sense".into();
        word.parse().map_err(|()| JoinError::Exchange { protocol, what: what() })
    }

    /// Prints a message, then asks the launcher to end all processes, since others would wait for this one.
    /// The message comes first because the launcher may kill this process. The function returns only if the
    /// launcher does not kill it.
    pub fn end_all(&self, why: &JoinError) {
        // A closed standard error changes nothing.
        let _ = writeln!(io::stderr(), "canele: {}", printable::lines(&why.to_string()));
        std::thread::sleep(UNTIL_READ);
        if self.abort(&why.to_string()).is_ok() {
            std::thread::sleep(UNTIL_KILLED);
        }
    }

    fn abort(&self, why: &str) -> Result<(), JoinError> {
        match self {
            Exchange::Pmi(pmi) => pmi.abort(),
            Exchange::Pmix(pmix) => {
                let why = std::ffi::CString::new(why).unwrap_or_default();
                pmix.abort(1, &why).map_err(of_pmix)
            }
        }
    }

    /// Ends the exchange: from now on the launcher knows this process by its exit status alone.
    ///
    /// # Errors
    /// Fails with a [`JoinError`].
    pub fn finish(self) -> Result<(), JoinError> {
        match self {
            Exchange::Pmi(pmi) => pmi.finish(),
            Exchange::Pmix(pmix) => pmix.finalize().map_err(of_pmix),
        }
    }
}

/// Introduces this process to its PMIx server.
pub(super) fn open_pmix(get: &impl Fn(&str) -> Option<String>) -> Result<Exchange, JoinError> {
    Pmix::init(&pmix_folders(get)).map(|pmix| Exchange::Pmix(Box::new(pmix))).map_err(of_pmix)
}

fn of_pmix(error: PmixError) -> JoinError {
    JoinError::Exchange { protocol: PMIX, what: error.to_string() }
}

/// Returns folders that may hold a launcher's own library of PMIx, as Open MPI's wheel has: it sets these
/// variables for its clients.
fn pmix_folders(get: &impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let prefixes = ["PMIX_PREFIX", "PRTE_PREFIX", "OPAL_PREFIX"].iter().filter_map(|name| get(name));
    let folders =
        |prefix: String| ["lib", "lib/openmpi", "lib64"].map(|folder| PathBuf::from(&prefix).join(folder));
    prefixes.filter(|prefix| !prefix.is_empty()).flat_map(folders).collect()
}

/// Refuses to start N jobs of one rank under a launcher that started several ranks and offers no exchange.
fn refuse_several(get: &impl Fn(&str) -> Option<String>) -> Result<(), JoinError> {
    const SRUN: &str = "start the program with `srun --mpi=pmi2`, `srun --mpi=pmix`, or `canele run`";
    const OTHER: &str = "start the program with `canele run -n N …`";
    // Each number is the smallest that means "more than one rank": a count of 2, or a rank of 1. A batch
    // script has SLURM_NTASKS and is one process.
    const SEVERAL: [(&str, u64, &str); 6] = [
        ("PMI_SIZE", 2, OTHER),
        ("PMI_RANK", 1, OTHER),
        ("PMIX_RANK", 1, OTHER),
        ("OMPI_COMM_WORLD_SIZE", 2, OTHER),
        ("OMPI_COMM_WORLD_RANK", 1, OTHER),
        ("SLURM_STEP_NUM_TASKS", 2, SRUN),
    ];
    for (name, at_least, remedy) in SEVERAL {
        if let Some(value) = get(name)
            && value.trim().parse::<u64>().is_ok_and(|number| number >= at_least)
        {
            return Err(JoinError::NoExchange { name, value, remedy });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(variables: &[(&str, &str)]) -> Result<Option<Clients>, JoinError> {
        Clients::find(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
    }

    #[test]
    fn a_program_alone_and_one_of_a_batch_script_are_jobs_of_one() {
        for variables in [
            &[][..],
            &[("PMI_SIZE", "1"), ("PMI_RANK", "0"), ("PMI_FD", "987654")],
            &[("SLURM_NTASKS", "8"), ("SLURM_NPROCS", "8"), ("SLURM_PROCID", "0")],
            &[("SLURM_NTASKS", "8"), ("SLURM_STEP_NUM_TASKS", "1")],
        ] {
            assert!(open(variables).unwrap().is_none(), "{variables:?}");
        }
    }

    #[test]
    fn a_launcher_of_several_that_offers_nothing_is_named_with_a_remedy() {
        for (name, value, remedy) in [
            ("PMI_SIZE", "2", "canele run"),
            ("PMIX_RANK", "3", "canele run"),
            ("OMPI_COMM_WORLD_SIZE", "4", "canele run"),
            ("SLURM_STEP_NUM_TASKS", "2", "srun --mpi=pmi2"),
        ] {
            let text = open(&[(name, value)]).unwrap_err().to_string();
            assert!(text.contains(name) && text.contains(remedy), "{text}");
        }
    }
}
