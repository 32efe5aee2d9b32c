//! The environment variables by which a launcher tells a rank its place: Canelé's own names and those of
//! other launchers.
//!
//! Owns the names and their parsing, as pure functions over a look-up. Never reads descriptors.

use std::fmt;

use crate::ControlError;

/// Names of the variables a launcher sets for each rank.
pub mod variable {
    /// The rank's number in the job.
    pub const RANK: &str = "CANELE_RANK";
    /// The number of ranks in the job.
    pub const SIZE: &str = "CANELE_SIZE";
    /// The rank's number among those of its host.
    pub const LOCAL_RANK: &str = "CANELE_LOCAL_RANK";
    /// The number of ranks on this host.
    pub const LOCAL_SIZE: &str = "CANELE_LOCAL_SIZE";
    /// The inherited descriptor of the rank's socket to its launcher.
    pub const CONTROL_FD: &str = "CANELE_CONTROL_FD";
    /// The index of the rank's program among those of the job, which were given with `:` between them.
    pub const APP: &str = "CANELE_APP";
    /// The processors to which the launcher has bound the rank, as `0-3,8`, or `none`. Programs read it; the
    /// library does not.
    pub const BIND: &str = "CANELE_BIND";
}

/// A rank's place in its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankPlace {
    /// The rank's number, below `size`.
    pub rank: u32,
    /// The number of ranks, at least 1.
    pub size: u32,
    /// The rank's number on its host, below `local_size`.
    pub local_rank: u32,
    /// The number of ranks on this host.
    pub local_size: u32,
}

impl fmt::Display for RankPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RankPlace { rank, size, local_rank, local_size } = self;
        write!(f, "rank {rank} of {size}, {local_rank} of {local_size} on its host")
    }
}

impl RankPlace {
    /// The place of a program started alone: a job of one rank.
    pub const ALONE: RankPlace = RankPlace { rank: 0, size: 1, local_rank: 0, local_size: 1 };

    /// Returns the place that a launcher gave in this process's environment, or [`ALONE`](Self::ALONE) if
    /// there is no valid one.
    pub fn from_env() -> RankPlace {
        let get = |name: &str| std::env::var(name).ok();
        Self::read(get).ok().flatten().map_or(Self::ALONE, |(place, _)| place)
    }

    /// Reads the place and the control descriptor's number through `get`, a look-up of environment variables.
    ///
    /// Returns `Ok(None)` if no launcher of Canelé has started this process.
    ///
    /// # Errors
    /// Fails for a variable that is missing or invalid.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Option<(RankPlace, i32)>, ControlError> {
        if get(variable::RANK).is_none() {
            return Ok(None);
        }
        let number = |name: &'static str| -> Result<u32, ControlError> {
            let value = get(name).unwrap_or_default();
            value.parse().map_err(|_| ControlError::Variable { name, value })
        };
        let below = |name: &'static str, value: u32, limit: u32| {
            if value < limit {
                Ok(value)
            } else {
                Err(ControlError::Variable { name, value: value.to_string() })
            }
        };
        let (size, local_size) = (number(variable::SIZE)?, number(variable::LOCAL_SIZE)?);
        let place = RankPlace {
            rank: below(variable::RANK, number(variable::RANK)?, size)?,
            size,
            local_rank: below(variable::LOCAL_RANK, number(variable::LOCAL_RANK)?, local_size)?,
            local_size,
        };
        let fd = below(variable::CONTROL_FD, number(variable::CONTROL_FD)?, i32::MAX as u32)?;
        Ok(Some((place, fd as i32)))
    }
}

/// Returns a rank's place under the names of Open MPI, Hydra and Intel MPI, which scripts look for. The
/// library does not read them if its own launcher has given the place. Rank numbers are left out for ranks of
/// another MPI, each of which is a job of its own (`is_alone`). Otherwise mpi4py would conclude that a
/// launcher of its library has started it.
pub fn foreign_names(place: RankPlace, is_alone: bool) -> Vec<(&'static str, String)> {
    let RankPlace { rank, size, local_rank, local_size } = place;
    let all = [
        ("OMPI_COMM_WORLD_RANK", rank),
        ("OMPI_COMM_WORLD_SIZE", size),
        ("OMPI_COMM_WORLD_LOCAL_RANK", local_rank),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", local_size),
        ("PMI_RANK", rank),
        ("PMI_SIZE", size),
        ("MPI_LOCALRANKID", local_rank),
        ("MPI_LOCALNRANKS", local_size),
    ];
    let is_told = |name: &str| !is_alone || !name.ends_with("WORLD_SIZE") && name != "PMI_SIZE";
    all.into_iter()
        .filter(|(name, _)| is_told(name))
        .map(|(name, number)| (name, number.to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<(RankPlace, i32)>, ControlError> {
        RankPlace::read(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
    }

    const GOOD: [(&str, &str); 5] = [
        (variable::RANK, "2"),
        (variable::SIZE, "4"),
        (variable::LOCAL_RANK, "2"),
        (variable::LOCAL_SIZE, "4"),
        (variable::CONTROL_FD, "9"),
    ];

    fn with(name: &'static str, value: &'static str) -> Vec<(&'static str, &'static str)> {
        GOOD.iter().map(|&(n, v)| (n, if n == name { value } else { v })).collect()
    }

    #[test]
    fn a_complete_environment_gives_the_place() {
        let (place, fd) = read(&GOOD).unwrap().unwrap();
        assert_eq!(fd, 9);
        assert_eq!(place, RankPlace { rank: 2, size: 4, local_rank: 2, local_size: 4 });
    }

    #[test]
    fn nonsense_is_refused_naming_the_variable() {
        for (name, value) in [
            (variable::RANK, "4"),
            (variable::RANK, "x"),
            (variable::SIZE, ""),
            (variable::LOCAL_RANK, "7"),
            (variable::CONTROL_FD, "-1"),
            (variable::CONTROL_FD, "4294967295"),
        ] {
            let text = read(&with(name, value)).unwrap_err().to_string();
            assert!(text.contains(name), "{name}={value}: {text}");
        }
    }

    #[test]
    fn ranks_that_run_alone_are_not_told_that_a_launcher_of_theirs_has_started_several() {
        let place = RankPlace { rank: 2, size: 4, local_rank: 1, local_size: 2 };
        let names = |is_alone| {
            let names = foreign_names(place, is_alone).into_iter().map(|(name, _)| name);
            names
                .filter(|name| ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_RANK"].contains(name))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(false), ["OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE"]);
        assert_eq!(names(true), ["PMI_RANK"]);
    }

    #[test]
    fn our_own_launcher_inside_a_foreign_allocation_wins() {
        let mut variables = GOOD.to_vec();
        variables.push(("SLURM_NTASKS", "8"));
        assert!(read(&variables).unwrap().is_some());
    }
}
