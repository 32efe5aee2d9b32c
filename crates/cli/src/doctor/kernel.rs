//! The operations between ranks that the kernel, and filters of system calls, allow. Tries them with
//! processes of its own.

use canele_sys::bounded_read::read_kernel;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};

use canele_sys::membarrier::{self, Fencing};
use canele_sys::process_memory::{Proof, allow_siblings, can_read};
use canele_sys::tunables::Tunables;

use super::finding::{Finding, ok, remark};

/// The subcommand that plays a rank's part.
const PEER: &str = "doctor-peer";

/// Returns all findings.
pub fn examine(tunables: &Tunables) -> Vec<Finding> {
    vec![version(&rustix::system::uname().release().to_string_lossy()), fences(), single_copy(tunables)]
}

fn version(release: &str) -> Finding {
    let what = "kernel";
    let mut numbers = release.split(['.', '-', '+']).map_while(|part| part.parse::<u32>().ok());
    let known = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match known < (5, 14) {
        true => remark(
            what,
            format!("Linux {release}"),
            "before 5.14 each link in memory keeps a descriptor: raise the limit of open files for many ranks",
        ),
        false => ok(what, format!("Linux {release}")),
    }
}

fn fences() -> Finding {
    let what = "membarrier";
    match membarrier::register() {
        Fencing::Asymmetric => ok(what, "works: short messages need no fence"),
        Fencing::Fences => remark(
            what,
            format!("is refused{}", filtered()),
            "each short message costs a fence more: permit membarrier(2) in the container's seccomp profile",
        ),
    }
}

/// Returns the finding on whether a rank can read the memory of another one.
fn single_copy(tunables: &Tunables) -> Finding {
    let what = "single copy";
    if tunables.single_copy == "never" {
        return ok(what, "is switched off (CANELE_SINGLE_COPY=never): long messages are copied twice");
    }
    if peers_read_each_other().unwrap_or(false) {
        return ok(what, "ranks can read long messages from their sender's memory (process_vm_readv)");
    }
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let (value, remedy) = match scope.trim() {
        "2" | "3" => (
            format!("ranks cannot read each other's memory: kernel.yama.ptrace_scope is {}", scope.trim()),
            "long messages are copied twice: `sysctl kernel.yama.ptrace_scope=1` is enough for one copy",
        ),
        _ => (
            format!("ranks cannot read each other's memory{}", filtered()),
            "long messages are copied twice: permit process_vm_readv(2) in the container (`--cap-add SYS_PTRACE`)",
        ),
    };
    remark(what, value, remedy)
}

/// Tries a read between two processes whose parent is this one, as a launcher is the parent of ranks.
fn peers_read_each_other() -> Option<bool> {
    let executable = std::env::current_exe().ok()?;
    let peer = || {
        let mut command = Command::new(&executable);
        command.arg(PEER).stderr(Stdio::null());
        command
    };
    let mut shown = peer().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut proof = String::new();
    let read = shown.stdout.take().map(|out| BufReader::new(out).read_line(&mut proof));
    let status =
        read?.ok().and_then(|_| peer().args(proof.split_whitespace()).stdin(Stdio::null()).status().ok());
    // The end of its input ends the process.
    drop(shown.stdin.take());
    let _ = shown.wait();
    Some(status?.success())
}

/// Runs a process whose memory is read (without words), or one that tries to read that memory.
pub fn peer_main(words: &[u64]) -> ExitCode {
    if let [pid, address, word] = *words {
        let proof = Proof { pid: pid as u32, address, word };
        return if can_read(&proof) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    allow_siblings();
    // The word stays there until the process ends.
    let word: &'static u64 = Box::leak(Box::new(0x0063_616e_656c_e900 ^ u64::from(std::process::id()) << 8));
    let Proof { pid, address, word } = Proof::own(word);
    let mut out = std::io::stdout();
    let told = writeln!(out, "{pid} {address} {word}").and_then(|()| out.flush());
    let ended = told.and_then(|()| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns a note about a filter of system calls, if there is one.
fn filtered() -> &'static str {
    let status = read_kernel("/proc/self/status").unwrap_or_default();
    match status.lines().any(|line| line.trim_end() == "Seccomp:\t2") {
        true => " (a seccomp filter is in place)",
        false => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn old_kernels_are_known() {
        for (release, level) in [
            ("6.18.5", Level::Ok),
            ("5.14.0-rc1", Level::Ok),
            ("5.10.0-28-amd64", Level::Remark),
            ("4.18.0-553.el8.x86_64", Level::Remark),
        ] {
            assert_eq!(version(release).level, level, "{release}");
        }
    }
}
