//! What is to be started: the part of a job's description that the launcher hands to the keeper.
//!
//! Owns the description and its encoding into a memory file (a command line can exceed a socket message).

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

/// One program of the job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// How many ranks run it, at least 1.
    pub ranks: u32,
    /// Its name and arguments; not empty.
    pub command: Vec<OsString>,
}

/// All that is needed to start any rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The programs; ranks are numbered through them in order.
    pub programs: Vec<Program>,
    /// Variables to set, beyond those that say the rank's place.
    pub environment: Vec<(OsString, OsString)>,
    /// Where the ranks start; `None`: where the launcher was started.
    pub directory: Option<PathBuf>,
    /// Processors to bind ranks to, in turn; empty: no binding.
    pub processors: Vec<u32>,
}

impl Plan {
    /// Number of ranks. Saturates, so that a nonsensical sum is still too large to start.
    pub fn size(&self) -> u32 {
        self.programs.iter().fold(0, |sum, program| sum.saturating_add(program.ranks))
    }

    /// The program that `rank` runs.
    pub fn program(&self, rank: u32) -> &Program {
        let mut first = 0;
        self.programs
            .iter()
            .find(|program| {
                first += program.ranks;
                rank < first
            })
            .expect("the rank is below the plan's size")
    }

    /// The processor that `rank` is bound to.
    pub fn processor(&self, rank: u32) -> Option<u32> {
        let count = self.processors.len();
        (count > 0).then(|| self.processors[rank as usize % count])
    }

    /// Writes the plan into a new memory file.
    ///
    /// # Errors
    /// As memfd_create(2) and write(2).
    pub fn write(&self) -> io::Result<OwnedFd> {
        let bytes = postcard::to_stdvec(self).map_err(io::Error::other)?;
        let mut file = File::from(memfd_create("canele-plan", MemfdFlags::CLOEXEC)?);
        file.write_all(&bytes)?;
        file.rewind()?;
        Ok(file.into())
    }

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// As read(2); `InvalidData` if it is no plan.
    pub fn read(fd: OwnedFd) -> io::Result<Plan> {
        let mut bytes = Vec::new();
        File::from(fd).read_to_end(&mut bytes)?;
        postcard::from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// As on the command line: `-n 1 ./master : -n 3 ./worker --fast`.
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
            environment: vec![("K".into(), "V".into())],
            directory: Some("/tmp".into()),
            processors: vec![4, 6],
        };
        let back = Plan::read(plan.write().unwrap()).unwrap();
        assert_eq!(back, plan);
        assert_eq!(back.size(), 4);
        assert_eq!(back.program(0).command[0], "a");
        assert_eq!(back.program(1).command[0], "b");
        assert_eq!(back.program(3).command[0], "b");
        assert_eq!([0, 1, 2].map(|rank| back.processor(rank)), [Some(4), Some(6), Some(4)]);
    }
}
