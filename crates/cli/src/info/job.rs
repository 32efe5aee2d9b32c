//! `canele info --job PID`: asks a launcher about its job and prints the answer.

use std::fs::File;
use std::io::{self, Read};
use std::process::ExitCode;
use std::time::Duration;

use rustix::net::{
    AddressFamily, SocketFlags, SocketType, connect, socket_with,
    sockopt::{Timeout, set_socket_timeout},
};

use crate::run::{JobReport, address};
use crate::say;

/// How long the launcher may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Behind the row of a rank that did not answer: it computes, was stopped, or died.
const OLD: &str = "   (counters as it last gave them: it did not come by to write new ones)";

/// What is shown beside the ranks.
pub struct Show {
    /// Their counters.
    pub counters: bool,
    /// Their rails to other hosts.
    pub rails: bool,
    /// All of it as JSON.
    pub json: bool,
}

/// Prints the job of the launcher `pid`.
pub fn main(pid: u32, show: &Show) -> ExitCode {
    let answer = match ask(pid) {
        Ok(answer) if !answer.is_empty() => answer,
        Ok(_) => {
            return fail(&format!("the job of process {pid} belongs to another user, or has just ended"));
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            return fail(&format!("process {pid} is no launcher of a running job on this host"));
        }
        Err(error) => return fail(&format!("the launcher {pid} does not answer: {error}")),
    };
    let report: JobReport = match serde_json::from_slice(&answer) {
        Ok(report) => report,
        Err(error) => return fail(&format!("the launcher {pid} answers in another version's way: {error}")),
    };
    let text = if show.json { as_json(report, show) } else { as_table(&report, show) };
    println!("{text}");
    ExitCode::SUCCESS
}

fn fail(text: &str) -> ExitCode {
    say(text);
    ExitCode::FAILURE
}

fn ask(pid: u32) -> io::Result<Vec<u8>> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    connect(&socket, &address(pid)?)?;
    let mut answer = Vec::new();
    File::from(socket).read_to_end(&mut answer)?;
    Ok(answer)
}

fn as_json(mut report: JobReport, show: &Show) -> String {
    if !show.counters && !show.rails {
        report.ranks.iter_mut().for_each(|rank| rank.counters.clear());
    }
    serde_json::to_string(&report).expect("a report has no unencodable part")
}

fn as_table(report: &JobReport, show: &Show) -> String {
    let counters = show.counters;
    let mut lines =
        vec![format!("job {}: {}, running for {:.1} s", report.job, report.command, report.seconds)];
    let first = report.ranks.first().map(|rank| rank.host.clone());
    let several = report.ranks.iter().any(|rank| Some(&rank.host) != first.as_ref());
    let longest = report.ranks.iter().map(|rank| rank.host.len()).max().unwrap_or(0).max("host".len());
    let host = |name: &str| if several { format!(" {name:<longest$}") } else { String::new() };
    lines.push(format!("{:>5}{} {:>8} {:<12} doing", "rank", host("host"), "process", "state"));
    for rank in &report.ranks {
        let pid = rank.pid.map_or("-".into(), |pid| pid.to_string());
        let doing = if rank.doing.is_empty() { "-" } else { &rank.doing };
        let old = if counters && !rank.current && !rank.counters.is_empty() { OLD } else { "" };
        let host = host(&rank.host);
        lines.push(format!("{:>5}{host} {pid:>8} {:<12} {doing}{old}", rank.rank, rank.state));
        if counters {
            for (name, value) in &rank.counters {
                lines.push(format!("{:>15} {name:<28} {value:>20}", ""));
            }
        }
        if show.rails {
            lines.extend(rails(&rank.counters));
        }
    }
    lines.join("\n")
}

/// One line for each rail to other hosts.
fn rails(counters: &serde_json::Map<String, serde_json::Value>) -> Vec<String> {
    let of = |rail: u32, name: &str| {
        counters.get(&format!("rail{rail}_{name}")).and_then(|v| v.as_u64()).unwrap_or(0)
    };
    let used = (1..=4).filter(|rail| of(*rail, "links") > 0 || of(*rail, "sent") > 0);
    let line = |rail: u32| {
        let [links, sent, speed, trip, under_way] =
            ["links", "sent", "speed", "round_trip", "under_way"].map(|name| of(rail, name));
        format!(
            "{:>9} tcp {rail}: {links} links, {sent} bytes sent, {under_way} under way, {speed} MB/s, \
             round trip {:.1} us",
            "rail",
            trip as f64 / 1e3
        )
    };
    used.map(line).collect()
}
