//! Hosts asked about themselves and about each other, without a job: what `canele doctor` knows of other machines.
//!
//! ```text
//!   canele doctor ── ProbeRequest, Attempts ──▶ ┌──────────────┐ ──▶ canele doctor-host (h0) ──┐ connects to every address
//!                 ◀── ProbeAnswer, Outcomes ─── │ remote shell │                               ▼ of the rails they share
//!                                          └──────────────┘ ──▶ canele doctor-host (h1)
//! ```
//! A message is a line of JSON behind a mark, so a shell may print anything before it. A host listens for as long as it is asked, and gives
//! each peer that connects its identity and nothing else: an address that leads elsewhere is known as such.

mod answering;
mod shells;
mod survey;

use std::net::SocketAddr;

use canele_rail::tcp::interfaces::Interface;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub use answering::answer;
pub use survey::{ProbeFailure, ProbedHost, ProbedLink, ProbedPart, ProbedRail, Survey, survey};

/// What a message begins with.
const MARK: &str = "canele-doctor ";
/// The subcommand that answers.
pub const SUBCOMMAND: &str = "doctor-host";

/// What a host is asked first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProbeRequest {
    /// How many ranks it would have.
    pub ranks: u32,
    /// How many ranks would run on other hosts.
    pub elsewhere: u32,
    /// The variables `CANELE_…` that its ranks would have.
    pub settings: Vec<(String, String)>,
}

/// What a host says of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProbeAnswer {
    /// The version of its messages.
    pub version: u32,
    /// The release of its command.
    pub release: String,
    /// Drawn by the host, which sends it to each peer that connects.
    pub identity: u64,
    /// Its interfaces that are up.
    pub interfaces: Vec<Interface>,
    /// Where it listens.
    pub listening: Vec<SocketAddr>,
    /// What its command found there, as the caller of [`answer`] has it.
    pub report: serde_json::Value,
}

/// Addresses that a host is to connect to.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Attempts(Vec<SocketAddr>);

/// What became of each attempt, in their order: an identity and the microseconds until it came, or why none came.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Outcomes(Vec<Result<(u64, u64), String>>);

/// A message as a line, without its end.
fn line(message: &impl Serialize) -> String {
    // Nothing here has keys that are no text.
    format!("{MARK}{}", serde_json::to_string(message).unwrap_or_default())
}

/// The message at the end of a line, if there is one.
fn message<T: DeserializeOwned>(line: &str) -> Option<Result<T, String>> {
    let (_, text) = line.trim_end().split_once(MARK)?;
    Some(serde_json::from_str(text).map_err(|error| error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_line_among_others() {
        let written = line(&Attempts(vec!["[fd77::1]:7".parse().unwrap()]));
        assert!(!written.contains('\n'));
        let Some(Ok(Attempts(read))) = message(&format!("no line\u{7f}{written}\r\n")) else {
            panic!("{written}")
        };
        assert_eq!(read, ["[fd77::1]:7".parse().unwrap()]);
        assert!(message::<Attempts>("Welcome to h0").is_none());
        assert!(message::<Attempts>("canele-doctor nonsense").unwrap().is_err());
    }
}
