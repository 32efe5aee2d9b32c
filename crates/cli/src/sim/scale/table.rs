//! The table, in Markdown: a line for each case, printed as soon as it is known.

use super::case::ScaleRow;

/// Returns the names of the columns.
pub fn head() -> String {
    let columns = [
        "network",
        "operation",
        "ranks",
        "on each host",
        "virtual µs",
        "× model",
        "messages",
        "packets between hosts",
        "events",
        "events/s",
        "state bytes per rank: idle",
        "after",
        "simulated network",
        "wall s",
    ];
    format!("| {} |\n|---|---|{}", columns.join(" | "), "---:|".repeat(columns.len() - 2))
}

/// Returns the line of one case.
pub fn line(row: &ScaleRow) -> String {
    let bytes = |count: Option<u64>| count.map_or("-".into(), |count| count.to_string());
    format!(
        "| {} | {} | {} | {} | {:.1} | {:.2} | {} | {} | {} | {:.2} M | {} | {} | {} | {:.2} |",
        row.network,
        row.operation,
        row.ranks,
        row.per_host,
        row.virtual_ns as f64 / 1e3,
        row.virtual_ns as f64 / row.model_ns as f64,
        row.messages,
        row.between,
        row.events,
        row.events as f64 / row.wall_s / 1e6,
        bytes(row.idle_bytes),
        bytes(row.state_bytes),
        bytes(row.net_bytes),
        row.wall_s,
    )
}
