//! The asking side of `canele info --job` and `canele why`: gets the report of a launcher.
//!
//! Owns the trust in the answer, which is none: abstract names belong to the first process that binds them. So the process at the
//! other end is checked, sizes are bounded, and texts lose what a terminal would obey.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;

use canele_sys::ids::LinkId;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, UCred, connect, socket_with,
    sockopt::{Timeout, set_socket_timeout, socket_peercred},
};
use rustix::process::getuid;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::query::{JobReport, address};

/// How long the launcher may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// The longest line of an answer in bytes: that of the job, with the rails of all its hosts, or that of a rank, with its links.
const MOST_LINE: u64 = 64 << 20;
/// The largest answer in bytes: the line of the job, and for each of its ranks so much.
const MOST_FOR_RANK: u64 = 16 << 10;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// No process listens there.
    #[error("process {0} is no launcher of a running job on this host")]
    NoLauncher(u32),
    /// The launcher closed the connection without an answer.
    #[error("the job of process {0} belongs to another user, or has just ended")]
    Refused(u32),
    /// Another process listens under the launcher's name.
    #[error(
        "process {found} of user {user} answers for process {asked}: it is no launcher of yours, so its answer is not read"
    )]
    Impostor {
        /// The launcher that was asked.
        asked: u32,
        /// The process that listens.
        found: i32,
        /// Its user.
        user: u32,
    },
    /// The answer is not a report.
    #[error("the launcher {0} answers in another version's way: {1}")]
    Unreadable(u32, String),
    /// The system refused, or the launcher took too long.
    #[error("the launcher {0} does not answer: {1}")]
    System(u32, io::Error),
}

/// Asks the launcher `pid` about its job.
///
/// # Errors
/// [`QueryError`].
pub fn query_job(pid: u32) -> Result<JobReport, QueryError> {
    read(BufReader::new(ask(pid)?)).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => QueryError::Refused(pid),
        io::ErrorKind::InvalidData => QueryError::Unreadable(pid, error.to_string()),
        _ => QueryError::System(pid, error),
    })
}

fn ask(pid: u32) -> Result<File, QueryError> {
    let system = |error: io::Error| match error.kind() {
        io::ErrorKind::ConnectionRefused => QueryError::NoLauncher(pid),
        _ => QueryError::System(pid, error),
    };
    let connected = || -> io::Result<_> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_TIME))?;
        set_socket_timeout(&socket, Timeout::Send, Some(ANSWER_TIME))?;
        connect(&socket, &address(pid)?)?;
        let peer = socket_peercred(&socket)?;
        Ok((socket, peer))
    };
    let (socket, peer) = connected().map_err(system)?;
    if !is_trusted(&peer, pid, getuid().as_raw()) {
        let (found, user) = (peer.pid.as_raw_nonzero().get(), peer.uid.as_raw());
        return Err(QueryError::Impostor { asked: pid, found, user });
    }
    Ok(File::from(socket))
}

/// True for a process of the asking user or of root. Root may ask about the jobs of others, but no process other than the one asked.
fn is_trusted(peer: &UCred, asked: u32, own: u32) -> bool {
    let user = peer.uid.as_raw();
    user == own || user == 0 || own == 0 && peer.pid.as_raw_nonzero().get() as u32 == asked
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Reads an answer. `UnexpectedEof` if there is none, `InvalidData` if it is none.
fn read(mut answer: impl BufRead) -> io::Result<JobReport> {
    let (job, length) = line(&mut answer, MOST_LINE)?;
    let mut report: JobReport = job.ok_or(io::ErrorKind::UnexpectedEof)?;
    report.ranks.clear();
    let size = report.size;
    if size > LinkId::MOST_RANKS {
        return Err(invalid(format!("with {size} ranks")));
    }
    let mut left = (MOST_LINE - length).saturating_add(u64::from(size) * MOST_FOR_RANK);
    while report.ranks.len() < size as usize {
        let (rank, length) = line(&mut answer, left.min(MOST_LINE))?;
        left -= length;
        let rank = rank.ok_or_else(|| invalid(format!("with {} ranks of {size}", report.ranks.len())))?;
        report.ranks.push(rank);
    }
    Ok(report)
}

/// The next line, without what a terminal would obey, and its length; nothing behind the last one.
fn line<T: DeserializeOwned>(answer: &mut impl BufRead, most: u64) -> io::Result<(Option<T>, u64)> {
    let mut bytes = Vec::new();
    let length = answer.take(most + 1).read_until(b'\n', &mut bytes)? as u64;
    if length > most {
        return Err(invalid(format!("with a line of more than {most} bytes")));
    }
    if length == 0 {
        return Ok((None, 0));
    }
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
    let value = serde_json::from_value(printable(value)).map_err(|error| invalid(error.to_string()))?;
    Ok((Some(value), length))
}

/// The same value with texts that a terminal only shows.
fn printable(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(printable_text(&text)),
        Value::Array(values) => Value::Array(values.into_iter().map(printable).collect()),
        Value::Object(map) => Value::Object(
            map.into_iter().map(|(key, value)| (printable_text(&key), printable(value))).collect(),
        ),
        other => other,
    }
}

/// Control characters, and those that change the direction of writing, become the replacement character.
fn printable_text(text: &str) -> String {
    let obeyed = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if obeyed(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Gid, Pid, Uid};

    fn peer(pid: i32, user: u32) -> UCred {
        UCred { pid: Pid::from_raw(pid).unwrap(), uid: Uid::from_raw(user), gid: Gid::from_raw(user) }
    }

    #[test]
    fn only_the_own_user_and_root_answer_and_to_root_the_process_that_was_asked() {
        assert!(is_trusted(&peer(7, 1000), 7, 1000));
        assert!(is_trusted(&peer(7, 0), 7, 1000));
        assert!(!is_trusted(&peer(7, 1001), 7, 1000));
        assert!(is_trusted(&peer(7, 1001), 7, 0));
        assert!(!is_trusted(&peer(8, 1001), 7, 0));
    }

    fn answer(size: u32, command: &str) -> Vec<u8> {
        let (rails, ranks) = (Vec::new(), Vec::new());
        let (job, version, command) = (7, "1".into(), command.into());
        let report = JobReport { job, version, command, size, seconds: 1.0, rails, ranks };
        [serde_json::to_vec(&report).unwrap(), b"\n".to_vec()].concat()
    }

    /// The line of a rank that says `doing`.
    fn rank(rank: u32, doing: &str) -> Vec<u8> {
        let rank = serde_json::json!({
            "rank": rank, "host": "h", "pid": 7, "state": "running", "doing": doing, "current": true, "counters": {},
        });
        format!("{rank}\n").into_bytes()
    }

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        let report = read(&*answer(0, "\u{1b}[2Jclear\nrow\u{9b}1m \u{202e}x")).unwrap();
        assert_eq!(report.command, "\u{fffd}[2Jclear\u{fffd}row\u{fffd}1m \u{fffd}x");
    }

    #[test]
    fn sizes_are_bounded() {
        let refused = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(refused(&answer(1, "a")).contains("0 ranks of 1"));
        assert!(read(&*answer(u32::MAX, "a")).is_err());
        assert!(refused(&vec![b' '; MOST_LINE as usize + 1]).contains("more than"));
        let doing = "x".repeat(MOST_LINE as usize);
        assert!(refused(&[answer(2, "a"), rank(0, &doing)].concat()).contains("more than"));
        assert_eq!(read(&b""[..]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_job_of_many_ranks_is_read_by_the_line() {
        let doing = "receiving ".repeat(100);
        let lines: Vec<u8> = (0..70_000).flat_map(|number| rank(number, &doing)).collect();
        assert!(lines.len() as u64 > MOST_LINE);
        let report = read(&*[answer(70_000, "a"), lines].concat()).unwrap();
        assert_eq!((report.ranks.len(), report.ranks[69_999].rank), (70_000, 69_999));
    }
}
