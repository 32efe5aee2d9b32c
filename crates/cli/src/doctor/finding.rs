//! What was found: one fact about a machine, how it is judged, and what to do about it. Decides nothing.

use serde::{Deserialize, Serialize};

/// How a finding is judged; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Jobs run, slower or with less than the machine could give, or something is there that misleads.
    Remark,
    /// Jobs do not run, or not all of them.
    Problem,
}

impl Level {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Remark => "remark",
            Level::Problem => "PROBLEM",
        }
    }
}

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How it is judged.
    pub level: Level,
    /// What was looked at.
    pub what: String,
    /// What was found.
    pub value: String,
    /// What to do about it; nothing where it is as it should be.
    pub remedy: String,
}

/// As it should be.
pub fn ok(what: &str, value: impl Into<String>) -> Finding {
    finding(Level::Ok, what, value, "")
}

/// Worth knowing, with what to do.
pub fn remark(what: &str, value: impl Into<String>, remedy: impl Into<String>) -> Finding {
    finding(Level::Remark, what, value, remedy)
}

/// Wrong, with what to do.
pub fn problem(what: &str, value: impl Into<String>, remedy: impl Into<String>) -> Finding {
    finding(Level::Problem, what, value, remedy)
}

/// A fact that is judged so.
pub fn finding(level: Level, what: &str, value: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { level, what: what.into(), value: value.into(), remedy: remedy.into() }
}

/// What was found of one machine, or of several among each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Of what: machines by name, `between hosts`.
    pub of: Vec<String>,
    /// What was found.
    pub findings: Vec<Finding>,
}
