//! Ends every process below this one, even in other process groups, other sessions, or as orphans.
//!
//! Relies on this process being a sub-reaper, so that an orphaned descendant becomes its child instead of
//! leaving. Owns nothing; reads parents from `/proc`. Never touches processes that are not below this one.

use canele_sys::bounded_read::read_kernel;
use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};

/// The number of kills after which a process that still exists counts as one that cannot be ended.
const ROUNDS: u32 = 100;

/// A process's parent and start, from `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// The start time in clock ticks since boot.
    started: u64,
}

fn parse(text: &str) -> Option<Stat> {
    // The command in parentheses may itself contain anything, `)` and blanks too: the last one ends it.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.parse().ok()?;
    Some(Stat { parent, started })
}

/// Returns the processes below this one that started no earlier than `since` (see [`started`]). It includes
/// ended processes that are not reaped yet, because a process whose first thread has ended looks the same.
pub fn below(since: u64) -> Vec<Pid> {
    let mut children: HashMap<u32, Vec<(u32, Stat)>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process may end meanwhile.
        let Some(stat) = read_kernel(entry.path().join("stat")).ok().as_deref().and_then(parse) else {
            continue;
        };
        children.entry(stat.parent).or_default().push((pid, stat));
    }
    let mut found = Vec::new();
    let mut parents = vec![std::process::id()];
    while let Some(parent) = parents.pop() {
        for (pid, stat) in children.remove(&parent).unwrap_or_default() {
            if stat.started < since {
                continue;
            }
            parents.push(pid);
            found.extend(Pid::from_raw(pid as i32));
        }
    }
    found
}

/// Returns the start of `pid`, in clock ticks since boot; 0 if it does not exist.
pub fn started(pid: u32) -> u64 {
    read_kernel(format!("/proc/{pid}/stat")).ok().as_deref().and_then(parse).map_or(0, |stat| stat.started)
}

/// Sends `signal` to every process below this one. Returns their number.
pub fn signal_all(signal: Signal, since: u64) -> usize {
    let found = below(since);
    for &pid in &found {
        // The process may have ended meanwhile, which is the purpose.
        let _ = kill_process(pid, signal);
    }
    found.len()
}

/// Reaps one ended child. `Ok(None)`: none has ended. `Err(NoChildren)`: none is left.
pub fn reap() -> Result<Option<(Pid, WaitStatus)>, NoChildren> {
    match wait(WaitOptions::NOHANG) {
        Ok(ended) => Ok(ended),
        Err(rustix::io::Errno::CHILD) => Err(NoChildren),
        Err(_) => Ok(None),
    }
}

/// The error that this process has no child, and therefore, as a sub-reaper, no descendant.
#[derive(Debug, PartialEq, Eq)]
pub struct NoChildren;

/// Kills every process below this one and reaps it, repeatedly until none is left. Returns those that could
/// not be ended. It gives up only after `timeout` *and* many kills: time alone also passes while this process
/// gets no processor.
pub fn kill_all(since: u64, timeout: Duration) -> Vec<Pid> {
    let deadline = Instant::now() + timeout;
    let mut rounds = 0_u32;
    loop {
        if reap_all() == Err(NoChildren) {
            return Vec::new();
        }
        if signal_all(Signal::KILL, since) == 0 {
            return Vec::new();
        }
        rounds += 1;
        if rounds > ROUNDS && Instant::now() >= deadline {
            return below(since);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn reap_all() -> Result<(), NoChildren> {
    while reap()?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_whose_name_is_no_text_is_found() {
        use std::io::{Read, Write};
        use std::process::{Command, Stdio};
        // The name is \xff\xfe.
        let script = "printf '\\377\\376' > /proc/self/comm; echo; read line";
        let mut shell = Command::new("bash");
        let mut child =
            shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        assert!(below(0).contains(&pid));
        assert_ne!(started(child.id()), 0);
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn stat_lines_with_hostile_names_are_understood() {
        let rest = "S 17 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1000 200 18446744073709551615";
        for name in ["sh", "a) Z 99 (b", "))((", "x y z"] {
            let stat = parse(&format!("42 ({name}) {rest}")).unwrap();
            assert_eq!(stat, Stat { parent: 17, started: 987_654 });
        }
        assert!(parse("").is_none() && parse("1 (x").is_none() && parse("1 (x) S 2").is_none());
    }

    #[test]
    fn a_child_is_found_and_an_older_one_is_left_out() {
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(below(0).contains(&pid));
        let after = started(child.id()) + 1;
        assert!(!below(after).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!below(0).contains(&pid));
    }
}
