//! What connecting in shared memory costs a rank: system calls for each link, and no descriptor that stays.
//!
//! Counts, no times: `strace` does the counting, and where it is missing or not allowed to the test says so.

mod support;

use std::io::Write;
use std::process::Command;

use support::ranks::example;

/// System calls that making a link takes; waiting for it takes others, as many as the machine has other work.
const OF_LINKS: &str = "mmap,munmap,madvise,fallocate,fstat,fcntl,close,sendmsg,dup,socketpair";
/// As many of them a link in one direction may take in the two ranks and the launcher, its end at the end of the job included.
const MOST_FOR_LINK: u64 = 14;

/// Why `strace` cannot count here, if so.
fn why_not() -> Option<String> {
    match Command::new("strace").args(["-f", "-o", "/dev/null", "true"]).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("strace fails here: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Some(format!("there is no strace: {error}")),
    }
}

/// Calls of a whole job of so many ranks that all connect, launcher included.
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
        // Not captured, unlike what `eprintln!` prints.
        return writeln!(std::io::stderr(), "SKIPPED: {why}").unwrap();
    }
    let links = |ranks: u64| ranks * (ranks - 1);
    let [few, many] = [8, 40];
    let (with_few, with_many) = (calls(few), calls(many));
    // What a rank costs without links is known from the small job, whose links are counted as that, too.
    let for_ranks = with_few * many / few;
    let for_links = with_many.saturating_sub(for_ranks) / (links(many) - links(few) * many / few);
    assert!(for_links <= MOST_FOR_LINK, "{for_links} calls for a link: {with_few}, then {with_many}");
}
