//! An answer while it arrives: lines of JSON, the job's and one for each rank.
//!
//! Owns the bounds on a line and on the whole answer; no number in the answer changes them. Never reads:
//! callers give it bytes. Control characters in texts are replaced.

use canele_sys::printable;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::job_report::{JobReport, RankReport};
use crate::query::Busy;

/// The limits on an answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerLimits {
    /// The most bytes of a line: that of the job, with the rails of all its hosts, or that of a rank, with
    /// its links.
    pub line: usize,
    /// The most bytes of the answer.
    pub bytes: usize,
    /// The most ranks of the job.
    pub ranks: u32,
}

/// The most rails of a job, and the most bytes of a host's name: tables are as wide as the longest.
const MOST_RAILS: usize = 255;
const MOST_NAME: usize = 255;

/// The reason why an answer is not read further.
#[derive(Debug, PartialEq, Eq)]
pub enum AnswerError {
    /// The answer was empty.
    Empty,
    /// The launcher answers other requests, and has no place for this one.
    Busy,
    /// The answer is no report, for this reason.
    Unreadable(String),
    /// The answer is longer than this number of bytes.
    TooLong(usize),
}

/// Reads a launcher's answer piece by piece.
#[derive(Debug)]
pub struct AnswerReader {
    limits: AnswerLimits,
    taken: usize,
    /// The start of the next line.
    rest: Vec<u8>,
    report: Option<JobReport>,
}

impl AnswerReader {
    /// Returns a reader that has read nothing.
    pub fn new(limits: AnswerLimits) -> AnswerReader {
        AnswerReader { limits, taken: 0, rest: Vec::new(), report: None }
    }

    /// Adds received bytes; returns the report once it is whole.
    ///
    /// # Errors
    /// Fails with an [`AnswerError`].
    pub fn add(&mut self, bytes: &[u8]) -> Result<Option<JobReport>, AnswerError> {
        self.taken += bytes.len();
        if self.taken > self.limits.bytes {
            return Err(AnswerError::TooLong(self.limits.bytes));
        }
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.rest.len() + part.len() > self.limits.line {
                return Err(AnswerError::TooLong(self.limits.line));
            }
            self.rest.extend_from_slice(part);
            if self.rest.ends_with(b"\n") {
                let line = std::mem::take(&mut self.rest);
                self.add_line(&line)?;
                if let Some(report) = self.report.take_if(|report| report.ranks.len() >= report.size as usize)
                {
                    return Ok(Some(report));
                }
            }
        }
        Ok(None)
    }

    fn add_line(&mut self, line: &[u8]) -> Result<(), AnswerError> {
        match &mut self.report {
            Some(report) => {
                let rank: RankReport = parse(line)?;
                let in_order = report.ranks.last().is_none_or(|last| last.rank < rank.rank);
                if !in_order || rank.host.len() > MOST_NAME {
                    return Err(AnswerError::Unreadable(format!("with rank {}", rank.rank)));
                }
                report.ranks.push(rank);
            }
            None if parse::<Busy>(line).is_ok() => return Err(AnswerError::Busy),
            None => {
                let mut report: JobReport = parse(line)?;
                report.ranks.clear();
                if report.size > self.limits.ranks || report.rails.len() > MOST_RAILS {
                    let (ranks, rails) = (report.size, report.rails.len());
                    return Err(AnswerError::Unreadable(format!("with {ranks} ranks and {rails} rails")));
                }
                self.report = Some(report);
            }
        }
        Ok(())
    }

    /// Returns the reason why an answer that ends here is invalid.
    pub fn ended(&self) -> AnswerError {
        match &self.report {
            Some(report) => {
                let (came, size) = (report.ranks.len(), report.size);
                AnswerError::Unreadable(format!("with {came} ranks of {size}"))
            }
            None if self.taken == 0 => AnswerError::Empty,
            None => AnswerError::Unreadable("it ends within its first line".into()),
        }
    }
}

fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T, AnswerError> {
    let unreadable =
        |error: serde_json::Error| AnswerError::Unreadable(printable::line(&error.to_string()).into_owned());
    let value: Value = serde_json::from_slice(line).map_err(unreadable)?;
    serde_json::from_value(printable_value(value)).map_err(unreadable)
}

/// Returns the value, its texts without characters that a terminal obeys.
fn printable_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(printable::line(&text).into_owned()),
        Value::Array(values) => Value::Array(values.into_iter().map(printable_value).collect()),
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(key, value)| (printable::line(&key).into_owned(), printable_value(value)))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use canele_sys::ids::LinkId;

    use super::*;

    const LIMITS: AnswerLimits = AnswerLimits { line: 1 << 20, bytes: 2 << 20, ranks: LinkId::MOST_RANKS };

    fn answer(size: u32, command: &str) -> Vec<u8> {
        let (version, command) = ("1".into(), command.into());
        let report = JobReport { job: 7, version, command, size, seconds: 1.0, ..JobReport::default() };
        [serde_json::to_vec(&report).unwrap(), b"\n".to_vec()].concat()
    }

    /// Returns the line of a rank whose activity is `doing`.
    fn rank(rank: u32, doing: &str) -> Vec<u8> {
        let rank = serde_json::json!({
            "rank": rank, "host": "h", "pid": 7, "state": "running", "doing": doing, "current": true, "counters": {},
        });
        format!("{rank}\n").into_bytes()
    }

    /// Returns the report of an answer that comes in pieces of `piece` bytes.
    fn read(bytes: &[u8], piece: usize, limits: AnswerLimits) -> Result<JobReport, AnswerError> {
        let mut answer = AnswerReader::new(limits);
        for piece in bytes.chunks(piece) {
            if let Some(report) = answer.add(piece)? {
                return Ok(report);
            }
        }
        Err(answer.ended())
    }

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        let report = read(&answer(0, "\u{1b}[2Jclear\nrow\u{9b}1m \u{202e}x"), 3, LIMITS).unwrap();
        assert_eq!(report.command, "\u{fffd}[2Jclear\u{fffd}row\u{fffd}1m \u{fffd}x");
    }

    #[test]
    fn bounds_do_not_come_from_the_answer() {
        let refused = |bytes: &[u8]| read(bytes, 4096, LIMITS).unwrap_err();
        assert_eq!(refused(&answer(1, "a")), AnswerError::Unreadable("with 0 ranks of 1".into()));
        assert!(matches!(refused(&answer(u32::MAX, "a")), AnswerError::Unreadable(_)));
        assert_eq!(refused(&vec![b' '; LIMITS.line + 1]), AnswerError::TooLong(LIMITS.line));
        let long = "x".repeat(LIMITS.line);
        assert_eq!(refused(&[answer(2, "a"), rank(0, &long)].concat()), AnswerError::TooLong(LIMITS.line));
        let many: Vec<u8> = (0..3000).flat_map(|number| rank(number, &"x".repeat(1000))).collect();
        let flood = [answer(LinkId::MOST_RANKS, "a"), many].concat();
        assert_eq!(refused(&flood), AnswerError::TooLong(LIMITS.bytes));
        assert_eq!(refused(b""), AnswerError::Empty);
        assert_eq!(refused(b"{\"busy\":16}\n"), AnswerError::Busy);
    }

    #[test]
    fn a_job_of_many_ranks_is_read_by_the_line() {
        let lines: Vec<u8> = (0..2000).flat_map(|number| rank(number, "receiving")).collect();
        let report = read(&[answer(2000, "a"), lines].concat(), 1000, LIMITS).unwrap();
        assert_eq!((report.ranks.len(), report.ranks[1999].rank), (2000, 1999));
    }
}
