//! The launcher's report of the job to a parallel debugger: its processes and its abort.
//!
//! Owns the times of the reports; [`canele_sys::debugger`] has the symbols that the debugger reads. A
//! debugger may stop the launcher for any time meanwhile. Ranks that it attaches to are held until it resumes
//! the launcher.

use std::ops::Range;

use canele_sys::debugger::{self, DebuggedProcess};

use super::host_ranks::Order;
use super::launcher::Launcher;

impl Launcher {
    /// Shows the job to a debugger if the program of `rank` is the last of the start to run.
    pub(super) fn show_if_complete(&mut self, rank: u32) {
        let size = self.info().size;
        if rank >= size {
            return;
        }
        self.unstarted = self.unstarted.saturating_sub(1);
        if self.unstarted == 0 {
            self.show_to_debugger(0..size, self.plan.is_held);
        }
    }

    /// Shows the processes of the job to a debugger once the programs of the ranks `started` run. If these
    /// ranks are held, they join the job after that.
    ///
    /// Debuggers take the place of a process for its rank in `MPI_COMM_WORLD`, so ranks of the start that
    /// have ended keep theirs.
    pub(super) fn show_to_debugger(&mut self, started: Range<u32>, is_held: bool) {
        let info = self.job.info();
        let process = |rank: u32| {
            let member = self.job.member(rank);
            let is_shown = rank < info.size || info.is_own(rank) && member.exit.is_none();
            let pid = member.pid.filter(|_| is_shown)?;
            let host = info.hosts[info.host_of(rank)].name.as_bytes();
            Some(DebuggedProcess { host, executable: &member.executable, pid })
        };
        debugger::publish_processes((0..info.ranks()).filter_map(process));
        if is_held {
            self.tell_all(&Order::Admit { ranks: started });
        }
    }
}
