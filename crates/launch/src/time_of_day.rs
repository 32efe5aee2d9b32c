//! The time of day, which people read in labels and names of files. Nothing waits by it.
#![allow(clippy::disallowed_types, reason = "it is shown, and its jumps with it")]

use std::fmt;
use std::time::SystemTime;

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOfDay(SystemTime);

impl TimeOfDay {
    /// The time now, as this machine's clock has it.
    pub fn now() -> TimeOfDay {
        TimeOfDay(SystemTime::now())
    }

    /// Seconds since the beginning of 1970, in UTC.
    pub fn seconds(self) -> u64 {
        self.0.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
    }
}

/// As RFC 3339 has it, in UTC and with milliseconds.
impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_millis(self.0).fmt(f)
    }
}
