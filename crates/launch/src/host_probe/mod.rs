//! Examination of hosts and of the connections between them, without a job: the source of what `canele
//! doctor` reports of other machines.
//!
//! ```text
//!   canele doctor ── ProbeRequest, Attempts ──▶ ┌──────────────┐ ──▶ canele doctor-host (h0)
//!                 ◀── ProbeAnswer, Outcomes ─── │ remote shell │       │ connects to every address
//!                                               │              │       ▼ of the rails that they share
//!                                               └──────────────┘ ──▶ canele doctor-host (h1)
//! ```
//! A message is a line of JSON behind a mark, so a shell may print anything before it. A host listens until
//! its input ends, and gives each peer that connects its identity and nothing else. So an address that leads
//! to another host is recognised.

mod answering;
mod shells;
mod survey;

use std::net::SocketAddr;

use canele_rail::tcp::interfaces::Interface;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub use answering::answer;
pub use survey::{ProbeFailure, ProbedHost, ProbedLink, ProbedPart, ProbedRail, Survey, survey};

/// The mark before each message.
const MARK: &str = "canele-doctor ";
/// The subcommand that answers.
pub const SUBCOMMAND: &str = "doctor-host";

/// The first request to a host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProbeRequest {
    /// The number of ranks that the host would have.
    pub ranks: u32,
    /// The number of ranks that would run on other hosts.
    pub elsewhere: u32,
    /// The variables `CANELE_…` that its ranks would have.
    pub settings: Vec<(String, String)>,
}

/// A host's answer about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProbeAnswer {
    /// The version of the host's messages.
    pub version: u32,
    /// The release of the host's `canele` command.
    pub release: String,
    /// The identity that the host draws and sends to each peer that connects.
    pub identity: u64,
    /// The interfaces of the host that are up.
    pub interfaces: Vec<Interface>,
    /// The addresses at which it listens.
    pub listening: Vec<SocketAddr>,
    /// The report of the host's command, from the `examine` of [`answer`].
    pub report: serde_json::Value,
}

/// The addresses to which a host must connect.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Attempts(Vec<SocketAddr>);

/// The outcomes of the attempts, in their order: an identity and the microseconds until it came, or the
/// reason of the failure.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Outcomes(Vec<Result<(u64, u64), String>>);

/// Returns a message as a line, without its end.
fn line(message: &impl Serialize) -> String {
    // No message has keys that are not text.
    format!("{MARK}{}", serde_json::to_string(message).unwrap_or_default())
}

/// Returns the message at the end of a line, if there is one.
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
