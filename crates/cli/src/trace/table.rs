//! A summary as text for people: first the findings, then the tables.

use std::fmt::Write;

use canele_launch::amount;

use super::findings::{chain, findings, what};
use super::summary::{RankSummary, Summary};

/// The most rows of a table that are printed.
const MOST_ROWS: usize = 20;
/// The most causes that are printed.
const MOST_CAUSES: usize = 10;
/// The most ranks for which the bytes between ranks are printed as a square.
const MOST_SQUARE: usize = 16;
/// The longest bar of a histogram, in characters.
const BAR: f64 = 40.0;

/// Returns the text.
pub fn text(summary: &Summary) -> String {
    let mut text = format!("{}: {} ranks, {}\n", summary.command, summary.ranks.len(), time(summary.took));
    for finding in findings(summary) {
        line(&mut text, &format!("* {finding}"));
    }
    causes(&mut text, summary);
    ranks(&mut text, summary);
    calls(&mut text, summary);
    operations(&mut text, summary);
    late_senders(&mut text, summary);
    sizes(&mut text, summary);
    protocols(&mut text, summary);
    pairs(&mut text, summary);
    text.trim_end().to_owned()
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{}", line.trim_end()).expect("a string grows");
}

fn causes(text: &mut String, summary: &Summary) {
    if summary.causes.is_empty() {
        return;
    }
    line(
        text,
        "\n    waited  rank  what it does that others wait for                          which rank waits for which",
    );
    for cause in summary.causes.iter().take(MOST_CAUSES) {
        let (waited, what) = (time(cause.waited), what(cause));
        line(text, &format!("{waited:>10} {:>5}  {what:<58}  {}", cause.rank, chain(cause)));
    }
    if summary.causes.len() > MOST_CAUSES {
        line(text, &format!("and {} smaller ones: --json has all", summary.causes.len() - MOST_CAUSES));
    }
}

fn ranks(text: &mut String, summary: &Summary) {
    let share = |part: f64, rank: &RankSummary| if rank.took > 0.0 { 100.0 * part / rank.took } else { 0.0 };
    line(text, "\nrank      time    computes        inside         waits      sent  messages  host");
    for rank in summary.ranks.iter().take(MOST_ROWS) {
        let part = |part: f64| format!("{} {:>3.0} %", time(part), share(part, rank));
        line(
            text,
            &format!(
                "{:>4} {:>9} {:>14} {:>14} {:>14} {:>9} {:>8}  {}",
                rank.rank,
                time(rank.took),
                part(rank.computes),
                part(rank.inside),
                part(rank.waits),
                amount(rank.bytes_sent),
                rank.messages_sent,
                rank.host
            ),
        );
    }
    left_out(text, summary.ranks.len());
}

fn left_out(text: &mut String, rows: usize) {
    if rows > MOST_ROWS {
        line(text, &format!("and {} more: --json has all", rows - MOST_ROWS));
    }
}

fn calls(text: &mut String, summary: &Summary) {
    if summary.calls.is_empty() {
        return;
    }
    line(text, "\ncall                          calls  time of all  longest on rank");
    for call in summary.calls.iter().take(MOST_ROWS) {
        let (took, longest) = (time(call.took), time(call.longest));
        line(
            text,
            &format!("{:<28} {:>6} {took:>12} {longest:>10} {:>5}", call.name, call.calls, call.longest_on),
        );
    }
    left_out(text, summary.calls.len());
}

fn operations(text: &mut String, summary: &Summary) {
    if summary.operations.is_empty() {
        return;
    }
    line(text, "\noperation                     count      bytes  under way, of all ranks");
    for operation in summary.operations.iter().take(MOST_ROWS) {
        let under_way = operation.took.map_or(String::new(), time);
        let name = format!("{} ({})", operation.name, operation.kind);
        line(
            text,
            &format!("{name:<27} {:>7} {:>10}  {under_way:>12}", operation.count, amount(operation.bytes)),
        );
    }
    left_out(text, summary.operations.len());
}

fn late_senders(text: &mut String, summary: &Summary) {
    if summary.late_senders.is_empty() {
        return;
    }
    line(text, "\nlate sender  receiver  messages     waited");
    for late in summary.late_senders.iter().take(MOST_ROWS) {
        let waited = time(late.waited);
        line(text, &format!("{:>11} {:>9} {:>9} {waited:>10}", late.sender, late.receiver, late.messages));
    }
    left_out(text, summary.late_senders.len());
}

fn sizes(text: &mut String, summary: &Summary) {
    let most = summary.sizes.iter().map(|size| size.messages).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    line(text, "\nmessages up to     number      bytes");
    for size in &summary.sizes {
        let bar = "#".repeat((BAR * size.messages as f64 / most as f64).ceil() as usize);
        let up_to = if size.up_to == u64::MAX { "more".into() } else { amount(size.up_to) };
        line(text, &format!("{up_to:>14} {:>10} {:>10}  {bar}", size.messages, amount(size.bytes)));
    }
}

fn protocols(text: &mut String, summary: &Summary) {
    if summary.protocols.is_empty() {
        return;
    }
    line(text, "\nprotocol         messages      bytes");
    for protocol in &summary.protocols {
        line(
            text,
            &format!("{:<14} {:>10} {:>10}", protocol.protocol, protocol.messages, amount(protocol.bytes)),
        );
    }
    let rails: Vec<_> = summary
        .rails
        .iter()
        .map(|rail| match rail.rail {
            0 => format!("memory {}", amount(rail.bytes)),
            number => format!("rail {number} {}", amount(rail.bytes)),
        })
        .collect();
    if !rails.is_empty() {
        line(text, &format!("by rail: {}", rails.join(", ")));
    }
}

fn pairs(text: &mut String, summary: &Summary) {
    let numbers: Vec<u32> = summary.ranks.iter().map(|rank| rank.rank).collect();
    if summary.pairs.is_empty() {
        return;
    }
    if numbers.len() > MOST_SQUARE {
        line(text, "\nfrom      to  messages      bytes");
        let mut pairs: Vec<_> = summary.pairs.iter().collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.bytes));
        for pair in pairs.iter().take(MOST_ROWS) {
            line(
                text,
                &format!("{:>4} {:>7} {:>9} {:>10}", pair.from, pair.to, pair.messages, amount(pair.bytes)),
            );
        }
        return left_out(text, pairs.len());
    }
    let heads: String = numbers.iter().map(|to| format!("{to:>10}")).collect();
    line(text, &format!("\nfrom \\ to{heads}"));
    for from in &numbers {
        let cell = |to: &u32| {
            let pair = summary.pairs.iter().find(|pair| (pair.from, pair.to) == (*from, *to));
            format!("{:>10}", pair.map_or_else(|| ".".into(), |pair| amount(pair.bytes)))
        };
        line(text, &format!("{from:>9}{}", numbers.iter().map(cell).collect::<String>()));
    }
}

/// Formats microseconds with a unit.
pub fn time(us: f64) -> String {
    match us {
        ..1e3 => format!("{us:.1} µs"),
        ..1e6 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}
