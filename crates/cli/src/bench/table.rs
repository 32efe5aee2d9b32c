//! The table for people: aligned columns with units, and each figure's limits beside it. Empty columns are
//! left out.

use super::case::{Figure, Limit};
use super::report::{Beside, Line, Report};
use canele_chart::size;

/// Distance of quartiles above which rounds are marked.
const WIDE_SPREAD: f64 = 0.10;

/// The limits in the order of their columns.
const LIMITS: [&str; 9] =
    ["line", "cells", "flags", "copy1", "copy2", "stream", "socket", "socket stream", "socket window"];

/// Returns the whole table, with the machine's measurements and a note if a figure is marked.
pub fn table(report: &Report) -> String {
    let columns: Vec<(String, Vec<String>)> =
        columns(report).into_iter().filter(|(_, cells)| cells.iter().any(|cell| !cell.is_empty())).collect();
    let mut text = format!("canele bench {}\n\n", report.bench);
    for row in 0..=report.lines.len() {
        let mut line = String::new();
        for (head, cells) in &columns {
            let width = cells.iter().chain([head]).map(|cell| cell.chars().count()).max().unwrap_or(0);
            let cell = if row == 0 { head } else { &cells[row - 1] };
            // Words are aligned to the left, figures to the right.
            let words =
                matches!(head.as_str(), "operation" | "buffers" | "protocol" | "strategy" | "carried");
            line += &if words { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text + &notes(report)
}

fn columns(report: &Report) -> Vec<(String, Vec<String>)> {
    let column = |head: &str, cell: &dyn Fn(&Line) -> String| {
        (head.to_owned(), report.lines.iter().map(cell).collect::<Vec<_>>())
    };
    let shown = |figure: Option<f64>| figure.map(time).unwrap_or_default();
    let mut columns = vec![
        column("operation", &|line| line.row.operation.clone().unwrap_or_default()),
        column("strategy", &|line| line.row.strategy.clone().unwrap_or_default()),
        column("flows", &|line| line.row.flows.map(|count| count.to_string()).unwrap_or_default()),
        column("packs", &|line| line.row.packs.map(|count| count.to_string()).unwrap_or_default()),
        column("bytes", &|line| line.row.bytes.map(size).unwrap_or_default()),
        column("ranks", &|line| line.row.ranks.to_string()),
        column("threads", &|line| line.row.threads.map(|count| count.to_string()).unwrap_or_default()),
        column("buffers", &|line| line.row.buffers.map(buffers).unwrap_or_default()),
        column("protocol", &|line| line.row.protocol.clone().unwrap_or_default()),
        column("median", &|line| shown(line.row.median_ns)),
        column("min", &|line| shown(line.row.min_ns)),
        column("p99", &|line| shown(line.row.p99_ns)),
        column("longest", &|line| shown(line.row.longest_ns)),
        column("to fifo", &|line| share(line.row.ratio_to_fifo)),
        column("of sockets", &|line| share(line.row.ratio_to_sockets)),
        column("streams GB/s", &|line| share(line.row.streams_gbytes_per_s)),
        column("carried", &|line| carried(line)),
        column("GB/s", &|line| line.row.gbytes_per_s.map(|rate| format!("{rate:.2}")).unwrap_or_default()),
        column("M msg/s", &|line| {
            line.row.messages_per_s.map(|r| format!("{:.2}", r / 1e6)).unwrap_or_default()
        }),
        column("processor", &|line| line.row.processor_share.map(percent).unwrap_or_default()),
        column("spread", &|line| spread(line.spread)),
    ];
    for name in LIMITS {
        let find = |line: &Line| line.beside.iter().find(|beside| beside.limit.to_string() == name).cloned();
        columns.push(column(name, &|line| find(line).map(|beside| bare(line, &beside)).unwrap_or_default()));
        columns
            .push(column("ratio", &|line| find(line).map(|b| format!("{:.2}", b.ratio)).unwrap_or_default()));
    }
    columns
}

fn share(figure: Option<f64>) -> String {
    figure.map(|figure| format!("{figure:.3}")).unwrap_or_default()
}

/// Returns the share of each network in percent of all.
fn carried(line: &Line) -> String {
    let all: u64 = line.row.rail_bytes.values().sum();
    let part = |(rail, bytes): (&String, &u64)| format!("{rail} {:.0} %", 100.0 * *bytes as f64 / all as f64);
    line.row.rail_bytes.iter().map(part).collect::<Vec<_>>().join(" ")
}

/// Returns a limit in the unit of the figure beside it.
fn bare(line: &Line, beside: &Beside) -> String {
    match (line.figure, beside.limit) {
        (Figure::Rate, _) => format!("{:.1} M/s", 1e3 / beside.median_ns),
        (Figure::Bandwidth, Limit::Copy1(bytes) | Limit::Copy2(bytes) | Limit::Stream(bytes))
        | (Figure::Bandwidth, Limit::Socket(bytes) | Limit::SocketStream(bytes)) => {
            format!("{:.2} GB/s", bytes as f64 / beside.median_ns)
        }
        _ => time(beside.median_ns),
    }
}

fn notes(report: &Report) -> String {
    let mut text = String::from("\n");
    let of = |wanted: Limit| report.limits.iter().find(|(limit, _)| *limit == wanted).map(|(_, ns)| *ns);
    let mut bare = Vec::new();
    bare.extend(of(Limit::Line).map(|ns| format!("line {}", time(ns))));
    bare.extend(of(Limit::Cells).map(|ns| format!("cells {:.1} M/s", 1e3 / ns)));
    let most = report.lines.iter().map(|line| line.row.ranks).max().unwrap_or(0);
    bare.extend(of(Limit::Flags).map(|ns| format!("flags {} ({most} ranks)", time(ns))));
    let rails = report.lines.first().and_then(|line| line.row.rails.as_ref());
    match rails {
        Some(rails) if report.limits.is_empty() => text += &format!("Rails: {}. ", rails.join(", ")),
        None if report.limits.is_empty() => {}
        Some(rails) => {
            let small = of(Limit::Socket(8)).map(|ns| format!(", {} for 8 bytes one way", time(ns)));
            let small = small.unwrap_or_default();
            text += &format!(
                "Rails: {}. Limits: plain sockets over {}{small}, both ends polling. Ratio: ",
                rails.join(", "),
                rails[0]
            );
        }
        None => text += &format!("This machine: {}. Ratio: ", bare.join(", ")),
    }
    text += if report.limits.is_empty() {
        "No limits were measured.\n"
    } else if report.lines.iter().any(|line| matches!(line.figure, Figure::Bandwidth | Figure::Rate)) {
        "times in limits (1.00 is the limit, more is slower); rates as a share of the limit.\n"
    } else {
        "our time in limits, median of paired rounds (1.00 is the limit).\n"
    };
    if report.lines.iter().any(|line| line.spread > WIDE_SPREAD) {
        text += "! the rounds spread by more than 10 %: judge by the ratio, or repeat on a quiet machine.\n";
    }
    text
}

/// Returns a duration with a unit that keeps it short.
pub fn time(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.1} ns"),
        ..1e6 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{:.2} ms", ns / 1e6),
    }
}

/// Returns a duration for a label of an axis, where figures are round.
pub fn axis_time(ns: f64) -> String {
    // The small increase prevents the axis' own rounding from printing 1000 ns for 1 µs.
    let text = time(ns * (1.0 + 1e-9));
    let (figure, unit) = text.split_once(' ').unwrap_or((&text, ""));
    format!("{} {unit}", figure.trim_end_matches('0').trim_end_matches('.'))
}

fn buffers(buffers: super::case::Buffers) -> String {
    format!("{buffers:?}").to_lowercase()
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

fn spread(spread: f64) -> String {
    let mark = if spread > WIDE_SPREAD { "!" } else { " " };
    format!("{:.0} %{mark}", spread * 100.0)
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::latency;
    use super::*;

    #[test]
    fn the_table_shows_figures_with_their_limits() {
        let expected = "\
canele bench latency

bytes  ranks  buffers  protocol   median      min      p99   GB/s  spread     line  ratio    copy1  ratio   stream  ratio
    0      2  private  short     80.0 ns  70.0 ns  90.0 ns          25 %!  70.0 ns   1.00
   1K      2  private  eager    128.0 ns  128.0 ns  256.0 ns   8.00  100 %!                    64.0 ns   2.00
   1M      2  private  eager     40.00 µs  40.00 µs  40.00 µs  26.21    0 %                                        20.00 µs   2.00
";
        let squeeze = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let text = table(&latency());
        let (rows, notes) = text.split_at(text.find("\nThis machine").unwrap());
        assert_eq!(squeeze(rows), squeeze(expected));
        assert!(notes.contains("line 70.0 ns, cells 200.0 M/s, flags 5.40 µs (2 ranks)"), "{notes}");
        assert!(notes.contains("! the rounds spread"), "{notes}");
    }

    #[test]
    fn columns_are_aligned_and_none_is_empty() {
        let text = table(&latency());
        let rows: Vec<Vec<char>> = text.lines().skip(2).take(4).map(|row| row.chars().collect()).collect();
        // The column "median" ends where its figures end.
        let head: String = rows[0].iter().collect();
        let end = head.find("median").unwrap() + "median".len();
        assert!(rows[1..].iter().all(|row| row[end - 1] == 's' && row[end] == ' '), "{text}");
        assert!(!text.contains("threads") && !text.contains("copy2"), "{text}");
    }

    #[test]
    fn units_keep_figures_short() {
        assert_eq!(
            [time(61.94), time(999.0), time(12_345.0), time(4.2e7)],
            ["61.9 ns", "999.0 ns", "12.35 µs", "42.00 ms"]
        );
        assert_eq!(
            [size(0), size(48), size(4096), size(1 << 20), size(1500)],
            ["0", "48", "4K", "1M", "1500"]
        );
    }
}
