//! `canele info --peer R --bytes N [--remote]`: the rail and the variant of a protocol for such a message,
//! and the estimates of the others.
//!
//! Decides nothing: it calls the function that decides for messages, with the settings of this process and
//! the capabilities of the rail.

use std::process::ExitCode;

use canele_engine::choice::{Ends, Limits, Path, choose, eager_bytes};
use canele_profile::HostProfile;
use canele_rail::shm::{Shm, layout::MOST_LOCAL_RANKS};
use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{Caps, Rail};
use canele_sys::{ids::LinkId, ids::Rank, tunables::Tunables};
use serde::Serialize;
use serde_json::json;

use crate::{print, say, wrong_usage};

/// A message from rank 0.
pub struct PlannedMessage {
    /// The receiving rank.
    pub peer: u32,
    /// The size of the message in bytes.
    pub bytes: usize,
    /// True if that rank is on another host.
    pub remote: bool,
}

/// The protocols of a message.
#[derive(Debug, Serialize)]
struct ProtocolReport {
    peer: u32,
    bytes: usize,
    remote: bool,
    rail: &'static str,
    /// The largest message that is sent without a handshake.
    eager_bytes: usize,
    /// The protocol for each pair of buffers.
    choices: Vec<TakenWith>,
}

/// The protocol between two buffers.
#[derive(Debug, Serialize)]
struct TakenWith {
    buffers: &'static str,
    protocol: &'static str,
    doc: &'static str,
    estimates: Vec<Estimate>,
}

/// The estimated cost of a protocol.
#[derive(Debug, Serialize)]
struct Estimate {
    protocol: &'static str,
    /// None if it cannot carry this message.
    ns: Option<f64>,
}

/// Prints the protocols of a message, for private and region buffers.
pub fn main(message: &PlannedMessage, as_json: bool) -> ExitCode {
    let PlannedMessage { peer, remote, .. } = *message;
    if !remote && peer as usize >= MOST_LOCAL_RANKS {
        return wrong_usage(&format!(
            "--peer {peer}: a host has at most {MOST_LOCAL_RANKS} ranks, numbered from 0"
        ));
    }
    let tunables = match Tunables::from_env() {
        Ok(tunables) => tunables,
        Err(error) => return wrong_usage(&error.to_string()),
    };
    if peer == 0 {
        let text = "rank 0 to itself: matched inside the library, no rail";
        print(&if as_json { json!({ "peer": 0, "rail": null }).to_string() } else { text.into() });
        return ExitCode::SUCCESS;
    }
    let ranks = peer.saturating_add(1);
    let caps =
        if remote { Ok(Tcp::capabilities(TcpLimits::default())) } else { shared_memory(ranks, &tunables) };
    let host = match canele_profile::load() {
        Ok(loaded) => loaded.profile.host,
        Err(error) => return wrong_usage(&error.to_string()),
    };
    let caps = match caps {
        Ok(caps) => caps,
        Err(error) => {
            say(&format!("the rail shm cannot be opened: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let taken = ProtocolReport::of(message, &caps, &host, eager_bytes(tunables.eager_bytes, &host));
    print(&if as_json {
        serde_json::to_string(&taken).expect("it has no unencodable part")
    } else {
        taken.text()
    });
    ExitCode::SUCCESS
}

/// Returns the capabilities of the rail to a peer of this host. The rings' sizes, and with them the largest
/// eager message, depend on the number of ranks that share the budget.
pub fn shared_memory(ranks: u32, tunables: &Tunables) -> Result<Caps, String> {
    let (cells, payload) = (tunables.ring_cells, tunables.payload_ring_bytes);
    let rail = Shm::open(Rank(0), 0..ranks, cells, payload, tunables.inbox_bytes);
    let rail = rail.map_err(|error| error.to_string())?;
    Ok(*rail.caps(LinkId::in_memory(Rank(1))))
}

impl ProtocolReport {
    fn of(message: &PlannedMessage, caps: &Caps, host: &HostProfile, eager_bytes: usize) -> Self {
        let PlannedMessage { peer, bytes, remote } = *message;
        let buffers = [
            ("private buffers", false, false),
            ("a region and a private buffer", true, false),
            ("a private buffer and a region", false, true),
            ("region buffers", true, true),
        ];
        let choices = buffers.map(|(buffers, source, target)| {
            let choice = choose(caps, host, eager_bytes, bytes, Ends { source, target });
            let row = choice.variant.row();
            let estimate = |(protocol, ns)| Estimate { protocol, ns };
            let estimates = choice.estimates.into_iter().map(estimate).collect();
            TakenWith { buffers, protocol: row.name, doc: row.doc, estimates }
        });
        let eager_bytes = Path::nominal(caps, Limits::over(caps, host, eager_bytes)).whole_bytes();
        ProtocolReport { peer, bytes, remote, rail: caps.name, eager_bytes, choices: choices.into() }
    }

    fn text(&self) -> String {
        let ProtocolReport { peer, bytes, rail, eager_bytes, .. } = self;
        let hosts = if self.remote { "different hosts" } else { "the same host" };
        let ranks = peer.saturating_add(1);
        let mut lines = vec![
            format!("rail      {rail}: ranks 0 and {peer} are on {hosts} (a job of {ranks} ranks)"),
            format!("eager     up to {eager_bytes} bytes"),
        ];
        for TakenWith { buffers, protocol, doc, estimates } in &self.choices {
            lines.push(format!("{bytes} bytes between {buffers}: {protocol} ({doc})"));
            lines.extend(estimates.iter().map(|Estimate { protocol: other, ns }| match ns {
                Some(ns) if other == protocol => format!("    {other:<12} about {ns:.0} ns; taken"),
                Some(ns) => format!("    {other:<12} about {ns:.0} ns"),
                None => format!("    {other:<12} not for this size, these buffers and this rail"),
            }));
        }
        lines.join("\n")
    }
}
