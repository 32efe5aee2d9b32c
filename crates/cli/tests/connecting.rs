//! The cost of a connection in shared memory for a rank: system calls for each link, and no descriptor that
//! stays open.
//!
//! The test counts and never measures times. It needs `strace`, and prints a line if `strace` is missing or
//! forbidden.

mod support;

use std::io::Write;
use std::process::Command;

use support::ranks::example;

/// System calls that make a link. Waiting takes other calls, whose number depends on the load of the machine.
const OF_LINKS: &str = "mmap,munmap,madvise,fallocate,fstat,fcntl,close,sendmsg,dup,socketpair";
/// The most of these calls for a link in one direction, by both ranks and the launcher, including the end of
/// the link.
const MOST_FOR_LINK: u64 = 14;

/// Returns the reason why `strace` cannot count here, if there is one.
fn why_not() -> Option<String> {
    match Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("strace fails here: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Some(format!("there is no strace: {error}")),
    }
}

/// Returns the calls of a whole job of so many connected ranks, launcher included.
fn calls(ranks: u64) -> u64 {
    let file = std::env::temp_dir().join(format!("canele-connecting-{}-{ranks}", std::process::id()));
    let trace = format!("trace={OF_LINKS}");
    let canele = env!("CARGO_BIN_EXE_canele");
    let output = Command::new("strace")
        .args(["-f", "-c", "-U", "calls,name", "-e", &trace, "-o"])
        .arg(&file)
        .args([canele, "run", "-n"])
        .args([&ranks.to_string(), &example("connect_all")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(file).unwrap();
    let total = table.lines().find_map(|line| line.trim_end().strip_suffix("total"));
    total.expect("a line with the sum").trim().parse().unwrap()
}

#[test]
fn each_further_link_costs_a_few_system_calls() {
    if let Some(why) = why_not() {
        // Test output of `eprintln!` is captured, this line is not.
        return writeln!(std::io::stderr(), "SKIPPED: {why}").unwrap();
    }
    let links = |ranks: u64| ranks * (ranks - 1);
    let [few, many] = [8, 40];
    let (with_few, with_many) = (calls(few), calls(many));
    // The calls of a rank without links follow from the small job, whose links are counted as part of its
    // ranks.
    let for_ranks = with_few * many / few;
    let for_links = with_many.saturating_sub(for_ranks) / (links(many) - links(few) * many / few);
    assert!(for_links <= MOST_FOR_LINK, "{for_links} calls for a link: {with_few}, then {with_many}");
}
