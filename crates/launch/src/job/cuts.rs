//! Ranks that were cut off from others because they broke the rules. Owns what is told of it, to whom.

use canele_control::{FromLauncher, OnFailure, RankEnd};

use super::Job;

/// A rank found that another one broke the rules of rail or protocol, and accepts nothing more from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Who found it.
    pub by: u32,
    /// Who broke the rules.
    pub of: u32,
    /// How.
    pub what: String,
}

impl Cut {
    pub(super) fn message(&self) -> FromLauncher {
        FromLauncher::CutOff { by: self.by, of: self.of, what: self.what.clone() }
    }
}

impl Job {
    /// The next cut that was not taken yet.
    pub fn take_cut(&mut self) -> Option<Cut> {
        let cut = self.cuts.get(self.cuts_taken).cloned()?;
        self.cuts_taken += 1;
        Some(cut)
    }

    /// Tells all ranks that are in the library, so that no rank waits for a message that cannot come; not if the job ends anyway. Several lanes of a
    /// rank may cut the same one off; the others of its lanes learn that it is gone for them, too.
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
