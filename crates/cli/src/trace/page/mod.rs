//! A trace as one page for a browser: timeline, causes, messages between ranks, sizes, calls. The page loads
//! no other file.
//!
//! ```text
//!   page.html ◀── page.css, decode.js, page.js
//!             ◀── the summary as JSON
//!             ◀── the events as numbers in base64 (encode.rs writes them, decode.js reads them)
//! ```

mod encode;

use serde::Serialize;

use super::causes::Cause;
use super::findings::{chain, findings, what};
use super::recorded::Trace;
use super::summary::{CallSummary, OperationSummary, PairSummary, RankSummary, SizeSummary, Summary};
use encode::{EventNames, encode};

/// The most causes, and the most pairs of ranks, on the page.
const MOST_CAUSES: usize = 30;
const MOST_PAIRS: usize = 1 << 16;

/// The rows of the tables of the page. Times are in µs.
#[derive(Serialize)]
struct PageSummary<'a> {
    command: &'a str,
    took: f64,
    findings: Vec<String>,
    causes: Vec<CauseRow>,
    ranks: &'a [RankSummary],
    calls: &'a [CallSummary],
    operations: &'a [OperationSummary],
    sizes: &'a [SizeSummary],
    pairs: &'a [PairSummary],
    /// The names and sites of events, which refer to them by index.
    names: Vec<&'a str>,
    sites: Vec<&'a str>,
}

#[derive(Serialize)]
struct CauseRow {
    waited: f64,
    rank: u32,
    what: String,
    chain: String,
}

/// Returns the page.
pub fn page(trace: &Trace, summary: &Summary) -> String {
    let mut names = EventNames::default();
    let events = encode(trace, &mut names);
    let row = |cause: &Cause| CauseRow {
        waited: cause.waited,
        rank: cause.rank,
        what: what(cause),
        chain: chain(cause),
    };
    let tables = PageSummary {
        command: &summary.command,
        took: summary.took,
        findings: findings(summary),
        causes: summary.causes.iter().take(MOST_CAUSES).map(row).collect(),
        ranks: &summary.ranks,
        calls: &summary.calls,
        operations: &summary.operations,
        sizes: &summary.sizes,
        pairs: &summary.pairs[..summary.pairs.len().min(MOST_PAIRS)],
        names: names.names(),
        sites: names.sites(),
    };
    let json = serde_json::to_string(&tables).expect("it has no unencodable part");
    // Without `<`, no text of the trace can end the script that contains it.
    let json = json.replace('<', "\\u003c");
    let parts = [
        ("/*STYLE*/", include_str!("page.css")),
        ("/*DECODE*/", include_str!("decode.js")),
        ("/*SCRIPT*/", include_str!("page.js")),
        ("/*SUMMARY*/", &json),
        ("/*EVENTS*/", &encode::base64(&events)),
    ];
    let mut page = String::new();
    let mut rest = include_str!("page.html");
    // Placeholders are searched in the template alone, so that no text of the trace is mistaken for one.
    while let Some((at, (place, text))) =
        parts.iter().filter_map(|part| Some((rest.find(part.0)?, part))).min_by_key(|(at, _)| *at)
    {
        page.push_str(&rest[..at]);
        page.push_str(text);
        rest = &rest[at + place.len()..];
    }
    page + rest
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
