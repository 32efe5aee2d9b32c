//! What a launcher of another system offers its ranks: their numbers, and values that one of them puts and the others get.
//!
//! Owns the choice of the protocol by the environment's variables. Tested without a launcher.

use std::path::PathBuf;

use canele_sys::pmix::{Pmix, PmixError};

use super::JoinError;
use super::pmi::Pmi;

/// Under which the ticket is put.
const KEY: &str = "canele-join";
const KEY_PMIX: &std::ffi::CStr = c"canele-join";

const PMIX: &str = "PMIx";

/// This process as a client of its launcher.
#[derive(Debug)]
pub enum Exchange {
    /// PMI-1, as Hydra and Slurm's plugin `pmi2` speak it.
    Pmi(Pmi),
    /// PMIx, of Slurm's plugin `pmix`, PRRTE and Open MPI.
    Pmix(Box<Pmix>),
}

impl Exchange {
    /// The launcher that the environment names; `None` if it names none that has started several ranks.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn open(get: &impl Fn(&str) -> Option<String>) -> Result<Option<Exchange>, JoinError> {
        // The innermost launcher counts: one of a single process may have started another.
        let says = |name: &str, count: &str| get(name).is_some_and(|value| value.trim() == count);
        if !says("PMI_SIZE", "1")
            && let Some(pmi) = Pmi::open(get)?
        {
            return Ok(Some(Exchange::Pmi(pmi)));
        }
        let speaks_pmix = get("PMIX_RANK").is_some() && get("PMIX_NAMESPACE").is_some();
        if speaks_pmix && !says("OMPI_COMM_WORLD_SIZE", "1") {
            let pmix = Pmix::init(&pmix_folders(get)).map_err(of_pmix)?;
            return Ok(Some(Exchange::Pmix(Box::new(pmix))));
        }
        refuse_several(get).map(|()| None)
    }

    /// This process's number.
    pub fn rank(&self) -> u32 {
        match self {
            Exchange::Pmi(pmi) => pmi.rank(),
            Exchange::Pmix(pmix) => pmix.rank(),
        }
    }

    /// How many processes there are; 1 if PMIx does not say.
    pub fn ranks(&self) -> u32 {
        match self {
            Exchange::Pmi(pmi) => pmi.ranks(),
            Exchange::Pmix(pmix) => pmix.size().unwrap_or(1),
        }
    }

    /// Lets others read a value once all have passed the next fence.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn put(&mut self, value: &str) -> Result<(), JoinError> {
        match self {
            Exchange::Pmi(pmi) => pmi.put(KEY, value),
            Exchange::Pmix(pmix) => {
                let value = std::ffi::CString::new(value).expect("a ticket has no zero");
                pmix.put(KEY_PMIX, &value).map_err(of_pmix)
            }
        }
    }

    /// Waits until all processes have come here.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn fence(&mut self) -> Result<(), JoinError> {
        match self {
            Exchange::Pmi(pmi) => pmi.fence(),
            Exchange::Pmix(pmix) => pmix.fence().map_err(of_pmix),
        }
    }

    /// What `rank` has put.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn get(&mut self, rank: u32) -> Result<String, JoinError> {
        match self {
            Exchange::Pmi(pmi) => pmi.get(KEY),
            Exchange::Pmix(pmix) => pmix.get(rank, KEY_PMIX).map_err(of_pmix),
        }
    }

    /// Nothing more is exchanged: from now on the launcher knows this process by its exit status alone.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn finish(self) -> Result<(), JoinError> {
        match self {
            Exchange::Pmi(pmi) => pmi.finish(),
            Exchange::Pmix(pmix) => pmix.finalize().map_err(of_pmix),
        }
    }

    /// That something came through it which makes no sense.
    pub fn nonsense(&self, what: &str) -> JoinError {
        let protocol = match self {
            Exchange::Pmi(_) => super::pmi::PROTOCOL,
            Exchange::Pmix(_) => PMIX,
        };
        JoinError::Exchange { protocol, what: format!("{what} makes no sense") }
    }
}

fn of_pmix(error: PmixError) -> JoinError {
    JoinError::Exchange { protocol: PMIX, what: error.to_string() }
}

/// Where a launcher that has a library of PMIx of its own, as Open MPI's wheel, may have it: it sets these variables for its clients.
fn pmix_folders(get: &impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let prefixes = ["PMIX_PREFIX", "PRTE_PREFIX", "OPAL_PREFIX"].iter().filter_map(|name| get(name));
    let folders =
        |prefix: String| ["lib", "lib/openmpi", "lib64"].map(|folder| PathBuf::from(&prefix).join(folder));
    prefixes.filter(|prefix| !prefix.is_empty()).flat_map(folders).collect()
}

/// Refuses to be N times "rank 0 of 1" under a launcher that offers nothing.
fn refuse_several(get: &impl Fn(&str) -> Option<String>) -> Result<(), JoinError> {
    const SRUN: &str = "start the program with `srun --mpi=pmi2`, `srun --mpi=pmix`, or `canele run`";
    const OTHER: &str = "start the program with `canele run -n N …`";
    // Number from which the variable says "more than one rank": a count of 2, or a rank of 1. A batch script has SLURM_NTASKS and is one
    // process.
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

    fn open(variables: &[(&str, &str)]) -> Result<Option<Exchange>, JoinError> {
        Exchange::open(&|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
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
