//! The answer to a request about a running job: what it says of the job, its rails and its ranks.
//!
//! Owns the shape of the answer. Knows nothing of the processes that ask.

use std::time::Instant;

use canele_control::{JobInfo, Links, Waits};
use serde::{Deserialize, Serialize};

use super::host_ranks::{CodePlace, Counts, ProcessState};
use super::job::Job;
use super::plan::Plan;
use super::remote::HostRail;
use super::why;

/// A report about a job.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct JobReport {
    /// The launcher's process.
    pub job: u32,
    /// The version of the `canele` command that runs it.
    pub version: String,
    /// The programs and arguments as the user gave them.
    pub command: String,
    /// The number of ranks.
    pub size: u32,
    /// The seconds since the start.
    pub seconds: f64,
    /// True if the costs by which ranks choose protocols were measured, and are none of the built-in ones.
    #[serde(default)]
    pub is_profile_measured: bool,
    /// The rails between its hosts.
    pub rails: Vec<RailReport>,
    /// The reports of the ranks in order; in an answer each is a line of its own.
    #[serde(default)]
    pub ranks: Vec<RankReport>,
}

/// A report about a rail.
#[derive(Debug, Serialize, Deserialize)]
pub struct RailReport {
    /// The number of the rail, from 1.
    pub rail: u8,
    /// The hosts that are on it.
    pub hosts: Vec<PartReport>,
}

/// A report about a host's part in a rail.
#[derive(Debug, Serialize, Deserialize)]
pub struct PartReport {
    /// The host.
    pub host: String,
    /// The interface there.
    pub interface: String,
    /// The ports of the host on the network, as the network's driver names them: addresses of TCP.
    pub addresses: Vec<String>,
}

/// A report about one rank.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RankReport {
    /// The number of the rank.
    pub rank: u32,
    /// The host of the rank.
    pub host: String,
    /// The process of the rank on that host, if started.
    pub pid: Option<u32>,
    /// `starting`, `running`, `initialised`, `finished` or `ended`.
    pub state: String,
    /// True if the rank has called `MPI_Finalize`.
    #[serde(default)]
    pub is_finalizing: bool,
    /// The activity of the rank, in words.
    pub doing: String,
    /// True if the counters are current. Otherwise they are the last ones that the rank wrote: before it
    /// slept, or at the last request.
    pub current: bool,
    /// The counters of the rank by name; empty before the rank has initialised.
    pub counters: serde_json::Map<String, serde_json::Value>,
    /// The number of the rank's lanes that are in use; 0 before the rank has initialised.
    #[serde(default)]
    pub lanes: u32,
    /// The links of the rank; none if the rank did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Links>,
    /// The waits of its threads, as it last reported them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// The code places of the reporting thread's calls, innermost first; for a rank that did not answer, the
    /// place where it computes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CodePlace>,
    /// The system's data of its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessState>,
}

impl JobReport {
    /// Returns the report of the job as it is now, with these counters of its ranks.
    pub fn new(
        plan: &Plan,
        info: &JobInfo,
        job: &Job,
        started: Instant,
        counts: &[Counts],
        parts: &[Vec<HostRail>],
    ) -> JobReport {
        let own = job.members().iter().zip(counts).zip(0..).filter(|((member, _), _)| !member.is_elsewhere);
        let ranks = own.map(|((member, counts), rank)| {
            let mut report = RankReport {
                rank,
                host: info.hosts[info.host_of(rank)].name.clone(),
                pid: member.pid,
                state: member.state().into(),
                is_finalizing: member.is_finalizing,
                doing: String::new(),
                current: counts.current,
                counters: counts
                    .counters
                    .iter()
                    .map(|(name, value)| (name.clone(), (*value).into()))
                    .collect(),
                lanes: counts.lanes,
                links: counts.links.clone(),
                waits: counts.waits.clone(),
                calls: counts.calls.clone(),
                process: counts.process.clone(),
            };
            report.doing = why::doing(&report);
            report
        });
        JobReport {
            job: std::process::id(),
            version: env!("CARGO_PKG_VERSION").into(),
            command: plan.to_string(),
            size: job.members().iter().filter(|member| !member.is_elsewhere).count() as u32,
            seconds: started.elapsed().as_secs_f64(),
            is_profile_measured: !info.profile.is_built_in(),
            rails: rails(info, parts),
            ranks: ranks.collect(),
        }
    }
}

/// Groups the hosts' parts by rail; `parts` has them by host.
fn rails(info: &JobInfo, parts: &[Vec<HostRail>]) -> Vec<RailReport> {
    let most = parts.iter().map(Vec::len).max().unwrap_or(0);
    let part = |place: usize| {
        let hosts = info.hosts.iter().zip(parts).filter_map(move |(host, parts)| {
            let HostRail { interface, ports: addresses } = parts.get(place)?.clone();
            (!addresses.is_empty()).then(|| PartReport { host: host.name.clone(), interface, addresses })
        });
        hosts.collect()
    };
    (0..most).map(|place| RailReport { rail: place as u8 + 1, hosts: part(place) }).collect()
}
