//! The time of day, which people read in labels and names of files. No wait depends on it.
#![allow(clippy::disallowed_types, reason = "it is shown, and its jumps with it")]

use std::fmt;
use std::time::SystemTime;

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOfDay(SystemTime);

impl TimeOfDay {
    /// Returns the present time by this machine's clock.
    pub fn now() -> TimeOfDay {
        TimeOfDay(SystemTime::now())
    }

    /// Returns the seconds since the beginning of 1970, in UTC.
    pub fn seconds(self) -> u64 {
        self.0.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
    }
}

/// Formats the time as RFC 3339 does, in UTC and with milliseconds.
impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_rfc3339_millis(self.0).fmt(f)
    }
}
