//! The findings of a summary as sentences, causes first.

use super::causes::{Cause, CauseKind};
use super::summary::Summary;
use super::table::time;

/// The least waiting time that is worth a sentence, as a share of the time of all ranks.
const WORTH: f64 = 0.01;
/// The most causes that get a sentence.
const MOST_CAUSES: usize = 3;
/// The most ranks that are named in a sentence.
const MOST_NAMED: usize = 8;

/// Returns the findings, one sentence each.
pub fn findings(summary: &Summary) -> Vec<String> {
    let mut findings = Vec::new();
    let all: f64 = summary.ranks.iter().map(|rank| rank.took).sum();
    let worth = summary.causes.iter().filter(|cause| cause.waited > WORTH * all);
    findings.extend(worth.take(MOST_CAUSES).map(sentence));
    let longest = summary.ranks.iter().max_by(|a, b| a.computes.total_cmp(&b.computes));
    if let Some(longest) = longest.filter(|_| summary.imbalance > 0.1) {
        findings.push(format!(
            "rank {} computes longest, {}: {:.0} % longer than the mean",
            longest.rank,
            time(longest.computes),
            100.0 * summary.imbalance
        ));
    }
    if summary.missing > 0 {
        findings.push(format!(
            "{} events found no room: set CANELE_TRACE_BYTES higher (`canele info --tunables`)",
            summary.missing
        ));
    }
    if summary.ranks.is_empty() {
        findings.push("no rank has recorded anything: none used the library".into());
    }
    findings
}

/// Describes the activity of a rank for which others wait.
pub fn what(cause: &Cause) -> String {
    let place = match &cause.site {
        Some(site) => format!("{} in {site}", cause.call),
        None => cause.call.clone(),
    };
    match cause.kind {
        CauseKind::Computes => format!("computes before {place}"),
        CauseKind::Library => format!("is in {place}"),
        CauseKind::Transfer => "has sent: its message is on its way, or not taken yet".into(),
        CauseKind::Unknown => "waits, and the trace does not say for what".into(),
    }
}

fn sentence(cause: &Cause) -> String {
    let waited = time(cause.waited);
    // The sender of a long message may itself wait until the message has arrived.
    let waits_itself =
        cause.kind == CauseKind::Transfer && cause.waiting.iter().any(|other| other.rank == cause.rank);
    let others = cause.chain.iter().map(|link| link.rank);
    let ranks: Vec<u32> = waits_itself.then_some(cause.rank).into_iter().chain(others).collect();
    let subject = match cause.kind {
        CauseKind::Computes => {
            let place = what(cause).replacen("computes", "computes longest", 1);
            format!("rank {} {place}", cause.rank)
        }
        _ => format!("rank {} {}", cause.rank, what(cause)),
    };
    if ranks.is_empty() {
        return format!("{subject}: {waited}");
    }
    let is_chain = cause.chain.iter().any(|link| link.waits_for != cause.rank);
    let waits = if ranks.len() == 1 { "waits" } else { "wait" };
    let together = if ranks.len() == 1 { "" } else { " together" };
    let through = if is_chain { format!(", through a chain: {}", chain(cause)) } else { String::new() };
    format!("{subject}; {} {waits} {waited}{together} for it{through}", named(&ranks))
}

/// Lists ranks by their numbers.
fn named(ranks: &[u32]) -> String {
    let numbers: Vec<String> = ranks.iter().take(MOST_NAMED).map(u32::to_string).collect();
    let word = if ranks.len() == 1 { "rank" } else { "ranks" };
    match ranks.len().saturating_sub(MOST_NAMED) {
        0 => format!("{word} {}", numbers.join(", ")),
        more => format!("{word} {} and {more} more", numbers.join(", ")),
    }
}

/// Lists the waiting ranks, each with the rank that it waits for, from the origin on.
pub fn chain(cause: &Cause) -> String {
    let links = cause.chain.iter().take(MOST_NAMED);
    let links: Vec<String> = links.map(|link| format!("{} for {}", link.rank, link.waits_for)).collect();
    let more = if cause.chain.len() > MOST_NAMED { ", …" } else { "" };
    format!("{}{more}", links.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::causes::{ChainLink, WaitingRank};
    use super::*;

    fn cause(links: &[(u32, u32)]) -> Cause {
        let link =
            |(rank, waits_for): &(u32, u32)| ChainLink { rank: *rank, waits_for: *waits_for, waited: 1.0 };
        Cause {
            rank: 1,
            kind: CauseKind::Computes,
            call: "MPI_Send".into(),
            site: Some("main (ring.c:12)".into()),
            waited: 1_400_000.0,
            waiting: links.iter().map(|(rank, _)| WaitingRank { rank: *rank, waited: 1.0 }).collect(),
            chain: links.iter().map(link).collect(),
        }
    }

    #[test]
    fn a_sentence_names_the_origin_the_place_and_the_chain() {
        assert_eq!(
            sentence(&cause(&[(2, 1), (3, 2), (0, 3)])),
            "rank 1 computes longest before MPI_Send in main (ring.c:12); ranks 2, 3, 0 wait 1.40 s together for it, through a chain: 2 for 1, 3 for 2, 0 for 3"
        );
        assert_eq!(
            sentence(&Cause { site: None, ..cause(&[(2, 1)]) }),
            "rank 1 computes longest before MPI_Send; rank 2 waits 1.40 s for it"
        );
    }

    #[test]
    fn a_sender_that_waits_for_its_own_message_is_named() {
        let waiting = [1, 2].map(|rank| WaitingRank { rank, waited: 700_000.0 }).into();
        let sends = Cause { kind: CauseKind::Transfer, waiting, ..cause(&[(2, 1)]) };
        assert_eq!(
            sentence(&sends),
            "rank 1 has sent: its message is on its way, or not taken yet; ranks 1, 2 wait 1.40 s together for it"
        );
    }

    #[test]
    fn many_ranks_are_counted() {
        let links: Vec<_> = (2..20).map(|rank| (rank, 1)).collect();
        assert!(sentence(&cause(&links)).contains("ranks 2, 3, 4, 5, 6, 7, 8, 9 and 10 more wait"));
    }
}
