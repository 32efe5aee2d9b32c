//! Ranks that others have cut off because they broke the rules. Owns the reports of cuts and decides which
//! ranks get them.

use canele_control::{FromLauncher, OnFailure, RankEnd};

use super::Job;

/// The report that a rank found another one breaking the rules of rail or protocol, and accepts nothing more
/// from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The rank that found it.
    pub by: u32,
    /// The rank that broke the rules.
    pub of: u32,
    /// A description of the violation.
    pub what: String,
}

impl Cut {
    pub(super) fn message(&self) -> FromLauncher {
        FromLauncher::CutOff { by: self.by, of: self.of, what: self.what.clone() }
    }
}

impl Job {
    /// Takes the next cut that was not taken yet.
    pub fn take_cut(&mut self) -> Option<Cut> {
        let cut = self.cuts.get(self.cuts_taken).cloned()?;
        self.cuts_taken += 1;
        Some(cut)
    }

    /// Informs all ranks that are in the library, so that no rank waits for a message that cannot come. It
    /// informs none if the job ends anyway. Several lanes of a rank may cut the same rank off; the rank's
    /// other lanes learn that it is gone for them, too.
    pub(super) fn handle_cut(&mut self, by: u32, of: u32, what: String) -> Result<(), String> {
        if of >= self.info.ranks() || of == by {
            return Err(format!("cut off rank {of} of {}", self.info.ranks()));
        }
        if self.cuts.iter().any(|cut| (cut.by, cut.of) == (by, of)) {
            return Ok(());
        }
        let cut = Cut { by, of, what };
        if self.info.on_failure == OnFailure::Continue {
            let all = (0..self.info.ranks()).filter(|&to| to != by && self.member(to).listens());
            for to in all.collect::<Vec<_>>() {
                self.send(to, cut.message());
            }
            if self.member(by).listens() {
                self.send(by, FromLauncher::Gone { rank: of, how: RankEnd::HostLost });
            }
        }
        self.cuts.push(cut);
        Ok(())
    }
}
