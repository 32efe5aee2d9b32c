//! The plan of a start: the part of a job's description that the launcher hands to the supervisor.
//!
//! Owns the description and its encoding into a memory file (a command line can exceed a socket message).

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use canele_control::{RankPlace, RankSet};
use canele_sys::sealed;
use serde::{Deserialize, Serialize};

use super::binding::Binding;
use super::host_ranks::Report;
use super::input::InputTo;
use super::refused::refused_memory;

/// The longest plan in bytes, far above the command lines that the system allows.
const MAX_PLAN: u64 = 1 << 30;
/// The end of a name of a script in Python.
const PYTHON: &str = ".py";

/// One program of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The number of ranks that run it, at least 1.
    pub ranks: u32,
    /// The name and the arguments of the program; not empty.
    pub command: Vec<OsString>,
}

/// The data needed to start any rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The programs of the job; ranks are numbered through them in order.
    pub programs: Vec<Program>,
    /// The ranks to be started here.
    pub here: RankSet,
    /// Variables to set, beyond those for the rank's place.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory in which the ranks start; `None`: that of their supervisor.
    pub directory: Option<PathBuf>,
    /// The processors of each rank.
    pub binding: Binding,
    /// True if each rank's first line on standard error reports its processors.
    pub report_bindings: bool,
    /// The ranks that get the launcher's standard input; spawned ranks get none.
    pub input: InputTo,
    /// True if a debugger attaches to the ranks first: none joins the job before
    /// [`Order::Admit`](crate::host_ranks::Order::Admit).
    pub is_held: bool,
    /// The place of spawned ranks in their job, for a plan of spawned ranks. The ranks to be started here run
    /// the plan's one program.
    pub spawned: Option<SpawnedPlace>,
}

/// The place in their job of spawned ranks of one host, which have consecutive numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnedPlace {
    /// The number of their program among those that were spawned together.
    pub app: u32,
    /// The number of ranks that the job has with them.
    pub size: u32,
    /// The number of the first of them on its host.
    pub local_rank: u32,
    /// The number of ranks that the host has with those that were spawned together.
    pub local_size: u32,
    /// Directories that are searched for the program first, with `:` between them; empty: none.
    pub path: OsString,
}

impl Plan {
    /// Returns the number of ranks. Saturates, so that an invalid sum is still too large to start.
    pub fn size(&self) -> u32 {
        self.programs.iter().fold(0, |sum, program| sum.saturating_add(program.ranks))
    }

    /// Returns true if every rank to be started here has a program.
    pub fn is_sound(&self) -> bool {
        let complete = self.programs.iter().all(|program| program.ranks > 0 && !program.command.is_empty());
        let last = self.here.len().checked_sub(1).and_then(|last| self.here.rank(last));
        complete && self.here.is_sound() && last.is_none_or(|last| last - self.first_of_all() < self.size())
    }

    /// Returns the program that `rank` runs.
    pub fn program(&self, rank: u32) -> &Program {
        &self.programs[self.program_number(rank)]
    }

    /// Returns the number of that program among those of the job.
    pub fn program_number(&self, rank: u32) -> usize {
        let mut first = self.first_of_all();
        let runs = |program: &Program| {
            first += program.ranks;
            rank < first
        };
        self.programs.iter().position(runs).expect("the rank is below the plan's size")
    }

    /// Returns the first rank that runs one of the programs.
    fn first_of_all(&self) -> u32 {
        self.spawned.as_ref().and_then(|_| self.here.first()).unwrap_or_default()
    }

    /// Returns the number of its program that `rank` gets.
    pub fn app(&self, rank: u32) -> u32 {
        self.spawned.as_ref().map_or_else(|| self.program_number(rank) as u32, |place| place.app)
    }

    /// Returns the number of `rank` among those to be started here.
    fn number(&self, rank: u32) -> u32 {
        self.here.place(rank).expect("the rank is to be started here")
    }

    /// Returns the place in the job that the process of `rank` gets. The rank must be one to be started here.
    pub fn place(&self, rank: u32) -> RankPlace {
        let number = self.number(rank);
        match &self.spawned {
            None => RankPlace { rank, size: self.size(), local_rank: number, local_size: self.here.len() },
            Some(place) => RankPlace {
                rank,
                size: place.size,
                local_rank: place.local_rank + number,
                local_size: place.local_size,
            },
        }
    }

    /// Looks for the program of spawned ranks in the directories that were named for it. It is called on the
    /// host of the ranks.
    pub fn find_program(&mut self) {
        let Some(place) = self.spawned.as_ref().filter(|place| !place.path.is_empty()) else { return };
        for program in &mut self.programs {
            let found =
                std::env::split_paths(&place.path).map(|directory| directory.join(&program.command[0]));
            if let Some(found) = found.into_iter().find(|file| file.is_file()) {
                program.command[0] = found.into();
            }
        }
    }

    /// Returns true if `rank` is the last of the spawned ranks of this plan, which are started in order.
    pub fn is_last(&self, rank: u32) -> bool {
        self.spawned.is_some() && self.here.iter().last() == Some(rank)
    }

    /// Returns the processors that `rank` is bound to.
    pub fn processors(&self, rank: u32) -> Option<&[u32]> {
        self.binding.of(self.number(rank))
    }

    /// Returns the report on a rank that the system did not start, with this error.
    pub fn not_started(&self, rank: u32, errno: i32, reason: &str) -> Report {
        let name = self.program(rank).command[0].to_string_lossy().into_owned();
        let (status, why) = self.why_not(&name, io::Error::from_raw_os_error(errno).kind(), errno);
        Report::NotStarted { rank, status, name, why: format!("{why} ({reason})") }
    }

    fn why_not(&self, name: &str, kind: io::ErrorKind, errno: i32) -> (u8, String) {
        let directory = self.directory.clone().unwrap_or_default();
        let status_and_text = match kind {
            io::ErrorKind::NotFound if !directory.as_os_str().is_empty() && !directory.is_dir() => {
                return (
                    127,
                    format!("the directory {} is not there, --wd chooses another", directory.display()),
                );
            }
            io::ErrorKind::NotFound if name.contains('/') && directory.join(name).exists() => {
                (127, "the file is there, but not the interpreter it names")
            }
            io::ErrorKind::NotFound if !name.contains('/') && directory.join(name).is_file() => {
                let where_it_is = match name.ends_with(PYTHON) {
                    true => format!("the one in this directory runs as `python3 {name}`"),
                    false => format!("the file in this directory is ./{name}"),
                };
                return (127, format!("not found on the PATH; {where_it_is}"));
            }
            io::ErrorKind::PermissionDenied if name.ends_with(PYTHON) => {
                return (126, format!("not executable; a script runs as `python3 {name}`"));
            }
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => (127, "not found"),
            io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory => (126, "not executable"),
            _ if errno == rustix::io::Errno::NOEXEC.raw_os_error() => (126, "not executable"),
            _ => (1, "the system refused"),
        };
        (status_and_text.0, status_and_text.1.to_owned())
    }

    /// Writes the plan into a sealed file.
    ///
    /// # Errors
    /// Fails as memfd_create(2) and write(2) do.
    pub fn write(&self) -> io::Result<OwnedFd> {
        let bytes = postcard::to_stdvec(self).map_err(io::Error::other)?;
        sealed::write("canele-plan", &bytes).map_err(refused_memory)
    }

    /// Reads a plan that [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// Fails as read(2) does; with `InvalidData` if it is no plan.
    pub fn read(fd: OwnedFd) -> io::Result<Plan> {
        let bytes = sealed::read(fd, MAX_PLAN)?;
        postcard::from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// Formats the plan as on the command line: `-n 1 ./master : -n 3 ./worker --fast`.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, program) in self.programs.iter().enumerate() {
            write!(f, "{}-n {}", if index == 0 { "" } else { " : " }, program.ranks)?;
            for word in &program.command {
                write!(f, " {}", word.to_string_lossy())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_its_file_and_numbers_ranks_through_the_programs() {
        let program =
            |ranks, name: &str| Program { ranks, command: vec![name.into(), "x".repeat(100_000).into()] };
        let plan = Plan {
            programs: vec![program(1, "a"), program(3, "b")],
            here: RankSet::from(1..4),
            environment: vec![("K".into(), "V".into())],
            directory: Some("/tmp".into()),
            binding: Binding::default(),
            report_bindings: true,
            input: Default::default(),
            is_held: false,
            spawned: None,
        };
        let back = Plan::read(plan.write().unwrap()).unwrap();
        assert_eq!(back, plan);
        assert_eq!(back.size(), 4);
        assert_eq!(back.program(0).command[0], "a");
        assert_eq!(back.program(1).command[0], "b");
        assert_eq!(back.program(3).command[0], "b");
        assert_eq!(back.here, RankSet::from(1..4));
        assert_eq!(back.place(3), RankPlace { rank: 3, size: 4, local_rank: 2, local_size: 3 });
        let scattered = Plan { here: [0, 3].into_iter().collect(), ..back };
        assert!(scattered.is_sound());
        assert_eq!(scattered.place(3), RankPlace { rank: 3, size: 4, local_rank: 1, local_size: 2 });
        assert!(!Plan { here: [0, 4].into_iter().collect(), ..scattered }.is_sound());
    }

    #[test]
    fn spawned_ranks_run_one_program_and_stand_behind_those_of_their_host() {
        let place = SpawnedPlace { app: 2, size: 9, local_rank: 3, local_size: 6, path: "/none:/bin".into() };
        let mut plan = Plan {
            programs: vec![Program { ranks: 2, command: vec!["sh".into()] }],
            here: RankSet::from(7..9),
            environment: Vec::new(),
            directory: None,
            binding: Binding::default(),
            report_bindings: false,
            input: Default::default(),
            is_held: false,
            spawned: Some(place),
        };
        assert!(plan.is_sound());
        assert_eq!((plan.app(8), plan.program(8).ranks), (2, 2));
        assert_eq!(plan.place(8), RankPlace { rank: 8, size: 9, local_rank: 4, local_size: 6 });
        plan.find_program();
        assert_eq!(plan.program(7).command[0], "/bin/sh");
    }
}
