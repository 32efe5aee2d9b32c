//! Waits of ranks and conclusions, in words.

use std::collections::BTreeMap;
use std::time::Duration;

use canele_control::{ThreadWait, UnexpectedMessage, WaitCollective, WaitMessage, WaitOperation};

use super::activity::Activity;
use super::code::CallSite;
use super::conclusion::WaitFinding;
use crate::job_report::RankReport;
use crate::wording::{amount, rank_list};

/// The most ranks of a cycle that are named.
const MOST_NAMED: usize = 8;

/// The names that the program gave to flows.
#[derive(Debug, Default)]
pub struct FlowNames(BTreeMap<u32, String>);

impl FlowNames {
    /// Collects the names that ranks have reported.
    pub fn of<'a>(ranks: impl Iterator<Item = &'a RankReport>) -> Self {
        let told = ranks.filter_map(|rank| rank.waits.as_ref()).flat_map(|waits| &waits.names);
        Self(told.cloned().collect())
    }

    fn name(&self, flow: u32) -> String {
        self.0.get(&flow).cloned().unwrap_or_else(|| format!("flow {flow}"))
    }
}

fn verb(ranks: &[u32], one: &str, many: &str) -> String {
    format!("{} {}", rank_list(ranks), if ranks.len() == 1 { one } else { many })
}

fn time(ns: u64) -> String {
    format!("{:.1} s", Duration::from_nanos(ns).as_secs_f64())
}

impl FlowNames {
    /// Describes a message: `from rank 1, tag 7, MPI_COMM_WORLD, room for 8 B`.
    fn message(&self, message: &WaitMessage, direction: &str, size: Option<&str>) -> String {
        let peer = message.peer.map_or("any rank".into(), |peer| format!("rank {peer}"));
        let tag = message.tag.map_or("any tag".into(), |tag| format!("tag {tag}"));
        let flow = message.flow.map_or(String::new(), |flow| format!(", {}", self.name(flow)));
        let size = size.map_or(String::new(), |words| format!(", {words}{}", amount(message.bytes)));
        let moving = if message.moving { "; its data moves" } else { "" };
        format!("{direction} {peer}, {tag}{flow}{size}{moving}")
    }

    /// Describes a collective: `barrier 3 on MPI_COMM_WORLD`.
    fn collective(&self, collective: &WaitCollective) -> String {
        let WaitCollective { operation, call, flow, started, .. } = collective;
        let started = if *started { "started " } else { "" };
        format!("{started}{operation} {call} on {}", self.name(*flow))
    }

    fn operation(&self, operation: &WaitOperation, call: Option<&str>) -> String {
        let or = |word: &str| call.unwrap_or(word).to_owned();
        match operation {
            WaitOperation::Receive(message) => {
                format!("{} {}", or("receive"), self.message(message, "from", Some("room for ")))
            }
            WaitOperation::Send(message) => {
                let unwanted = if message.moving { "" } else { "; no receive for it" };
                format!("{} {}{unwanted}", or("send"), self.message(message, "to", Some("")))
            }
            WaitOperation::Probe(message) => {
                format!("{} {}", or("probe"), self.message(message, "from", None))
            }
            WaitOperation::Collective(collective) => {
                let call = call.map_or(String::new(), |call| format!("{call}: "));
                let missing = match &collective.peers[..] {
                    [] => String::new(),
                    peers if collective.peers_left_out > 0 => {
                        format!("; waits for {} and {} more", rank_list(peers), collective.peers_left_out)
                    }
                    peers => format!("; waits for {}", rank_list(&sorted(peers))),
                };
                format!("{call}{}{missing}", self.collective(collective))
            }
            WaitOperation::Other { what, peer } => {
                let call = call.map_or(String::new(), |call| format!("{call}: "));
                let peer = peer.map_or(String::new(), |peer| format!(" (rank {peer})"));
                format!("{call}waits for {what}{peer}")
            }
            WaitOperation::Library => "makes progress for the program".into(),
        }
    }

    /// Describes the wait of a thread.
    pub fn wait(&self, wait: &ThreadWait, call: Option<&str>) -> String {
        let time = time(wait.waited_ns);
        if let ([one], 0) = (&wait.operations[..], wait.left_out) {
            return format!("{}; for {time}", self.operation(one, call));
        }
        let all = wait.operations.len() + wait.left_out as usize;
        let some = wait.operations.iter().take(3).map(|one| self.operation(one, None));
        let some: Vec<_> = some.collect();
        let more = if all > some.len() { " | …" } else { "" };
        let call = call.map_or(String::new(), |call| format!("{call}: "));
        format!("{call}any of {all} operations ({}{more}); for {time}", some.join(" | "))
    }

    /// Describes the activity of a rank.
    pub fn activity(&self, activity: Activity<'_>, site: &CallSite) -> String {
        match activity {
            Activity::Starting => "is being started".into(),
            Activity::Finished => "has finished".into(),
            Activity::Ended => "has ended".into(),
            Activity::Stopped => "is stopped by a signal".into(),
            Activity::Waits(wait) => self.wait(wait, site.call.as_deref()),
            Activity::Calls => match &site.call {
                Some(call) => format!("does not wait: calls {call}"),
                None => "does not wait: calls the library".into(),
            },
            Activity::Computes => "computes outside of the library".into(),
            Activity::Sleeps("") => "sleeps outside of the library".into(),
            Activity::Sleeps(place) => format!("sleeps outside of the library, in the kernel's {place}"),
            Activity::Unknown => "nothing is known of its process".into(),
        }
    }

    /// Describes an unexpected message.
    pub fn unexpected(&self, message: &UnexpectedMessage) -> String {
        let UnexpectedMessage { source, flow, tag, bytes: size } = message;
        format!("from rank {source}, tag {tag}, {}, {}", self.name(*flow), amount(*size))
    }

    /// Describes a finding in a sentence; `does` describes the activity of a rank.
    pub fn finding(&self, finding: &WaitFinding, does: impl Fn(u32) -> String) -> String {
        match finding {
            WaitFinding::OtherTag { rank, wanted, has } => {
                let tag = wanted.tag.map_or("any tag".into(), |tag| format!("tag {tag}"));
                let flow = self.name(has.flow);
                format!(
                    "rank {rank} waits for a message from rank {} with {tag} on {flow}, and has one with tag {}: it was sent with another tag",
                    has.source, has.tag
                )
            }
            WaitFinding::OtherFlow { rank, wanted, has } => {
                let wanted = wanted.flow.map_or("another one".into(), |flow| self.name(flow));
                format!(
                    "rank {rank} waits for a message from rank {} with tag {} on {wanted}, and has one on {}: it was sent on another communicator or flow",
                    has.source,
                    has.tag,
                    self.name(has.flow)
                )
            }
            WaitFinding::OtherCollective { one: (one, first), other: (other, second) } => format!(
                "the ranks do not make the same call: {} in {}, {} in {}",
                verb(first, "is", "are"),
                self.collective(one),
                verb(second, "is", "are"),
                self.collective(other)
            ),
            WaitFinding::OtherOrder { one: (one, first), other: (other, second) } => format!(
                "collectives are called in different order: rank {one} is in {}, rank {other} in {}",
                self.collective(first),
                self.collective(second)
            ),
            WaitFinding::Cycle { ranks } => match &ranks[..] {
                [one] => format!("rank {one} waits for itself"),
                [one, other] => format!("ranks {one} and {other} wait for each other"),
                ranks => {
                    let shown: Vec<_> = ranks.iter().take(MOST_NAMED).map(u32::to_string).collect();
                    let more = if ranks.len() > MOST_NAMED { " → …" } else { "" };
                    format!(
                        "{} ranks wait for each other in a cycle: {}{more} → {}",
                        ranks.len(),
                        shown.join(" → "),
                        ranks[0]
                    )
                }
            },
            WaitFinding::Gone { rank, peer } => {
                format!("rank {rank} waits for rank {peer}, which {}", does(*peer))
            }
            WaitFinding::Finalizing { rank, by } => {
                format!(
                    "rank {rank} has called MPI_Finalize, and {} for it",
                    verb(by, "still waits", "still wait")
                )
            }
            WaitFinding::Absent { collective, inside, absent } => {
                let inside = verb(inside, "is", "are");
                let first = absent.iter().take(3).map(|rank| format!("rank {rank}: {}", does(*rank)));
                format!(
                    "{inside} in {}, {} not ({})",
                    self.collective(collective),
                    verb(absent, "is", "are"),
                    first.collect::<Vec<_>>().join("; ")
                )
            }
            WaitFinding::NoSenderLeft { ranks } => {
                format!(
                    "{} for a message from any rank, and no rank is left that could send one",
                    verb(ranks, "waits", "wait")
                )
            }
            WaitFinding::Stuck { ranks } => format!("{} for each other", verb(ranks, "waits", "wait")),
            WaitFinding::Awaited { rank, by } => {
                format!("{} for rank {rank}, which does not wait: {}", verb(by, "waits", "wait"), does(*rank))
            }
        }
    }
}

fn sorted(ranks: &[u32]) -> Vec<u32> {
    let mut ranks = ranks.to_vec();
    ranks.sort_unstable();
    ranks
}

/// Describes the place of a rank in its program: `exchange (ring.c:12)`.
pub fn place(site: &CallSite) -> Option<String> {
    let function = site.function.clone();
    let line = site.file.as_ref().map(|file| {
        let name = file.rsplit('/').next().unwrap_or(file);
        site.line.map_or(name.to_owned(), |line| format!("{name}:{line}"))
    });
    match (function, line) {
        (Some(function), Some(line)) => Some(format!("{function} ({line})")),
        (function, line) => function.or(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_with_call_peer_tag_flow_size_and_time() {
        let names = FlowNames([(0, "MPI_COMM_WORLD".to_owned())].into());
        let message = WaitMessage { peer: Some(1), flow: Some(0), tag: Some(7), bytes: 8, moving: false };
        let wait = |operation| ThreadWait {
            waited_ns: 1_500_000_000,
            operations: vec![operation],
            left_out: 0,
            ends_otherwise: false,
        };
        let say = |operation, call| names.wait(&wait(operation), call);
        assert_eq!(
            say(WaitOperation::Receive(message), Some("MPI_Recv")),
            "MPI_Recv from rank 1, tag 7, MPI_COMM_WORLD, room for 8 B; for 1.5 s"
        );
        assert_eq!(
            say(WaitOperation::Send(WaitMessage { flow: Some(4), ..message }), None),
            "send to rank 1, tag 7, flow 4, 8 B; no receive for it; for 1.5 s"
        );
        let any = WaitMessage { peer: None, tag: None, ..message };
        assert_eq!(
            say(WaitOperation::Probe(any), None),
            "probe from any rank, any tag, MPI_COMM_WORLD; for 1.5 s"
        );
        let collective = WaitCollective {
            operation: "barrier".into(),
            flow: 0,
            call: 3,
            peers: vec![2, 1],
            ..WaitCollective::default()
        };
        assert_eq!(
            say(WaitOperation::Collective(collective), Some("MPI_Barrier")),
            "MPI_Barrier: barrier 3 on MPI_COMM_WORLD; waits for ranks 1-2; for 1.5 s"
        );
    }

    #[test]
    fn a_place_is_told_as_far_as_it_is_known() {
        let site = |function: Option<&str>, file: Option<&str>, line| CallSite {
            call: None,
            function: function.map(str::to_owned),
            file: file.map(str::to_owned),
            line,
        };
        assert_eq!(
            place(&site(Some("main"), Some("/a/ring.c"), Some(9))).as_deref(),
            Some("main (ring.c:9)")
        );
        assert_eq!(place(&site(Some("main"), None, None)).as_deref(), Some("main"));
        assert_eq!(place(&site(None, None, None)), None);
    }
}
