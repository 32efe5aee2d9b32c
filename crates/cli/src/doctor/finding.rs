//! A finding: one fact about a machine, its level, and a remedy. Decides nothing.

use serde::{Deserialize, Serialize};

/// The level of a finding; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The fact causes no problem.
    Ok,
    /// Jobs run, but slower or with less than the machine offers; or the fact misleads users.
    Remark,
    /// Jobs do not run, or some of them do not.
    Problem,
}

impl Level {
    /// Returns the word for the level.
    pub fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Remark => "remark",
            Level::Problem => "PROBLEM",
        }
    }
}

/// One fact about a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The level of the finding.
    pub level: Level,
    /// The subject.
    pub what: String,
    /// The value found.
    pub value: String,
    /// The remedy; empty for level `Ok`.
    pub remedy: String,
}

/// Makes a finding without a remark.
pub fn ok(what: &str, value: impl Into<String>) -> Finding {
    finding(Level::Ok, what, value, "")
}

/// Makes a finding that is worth knowing, with a remedy.
pub fn remark(what: &str, value: impl Into<String>, remedy: impl Into<String>) -> Finding {
    finding(Level::Remark, what, value, remedy)
}

/// Makes a finding of a problem, with a remedy.
pub fn problem(what: &str, value: impl Into<String>, remedy: impl Into<String>) -> Finding {
    finding(Level::Problem, what, value, remedy)
}

/// Makes a finding of this level.
pub fn finding(level: Level, what: &str, value: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { level, what: what.into(), value: value.into(), remedy: remedy.into() }
}

/// The findings about one machine, or between several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// The subject: machines by name, or `between hosts`.
    pub of: Vec<String>,
    /// The findings.
    pub findings: Vec<Finding>,
}
