//! Jobs on several hosts: on this machine through a remote shell of the tests' own, and in network namespaces.

#![allow(dead_code, reason = "each test file uses its part")]

use std::io::Write;
use std::process::{Command, Output};

use canele_sys::atomic::{AtomicU32, Ordering};

use super::{Ended, Run, start_command, start_with};

/// Returns the remote shell that does `how` (see the script).
pub fn rsh(how: &str) -> String {
    format!("bash {}/tests/support/shell {how}", env!("CARGO_MANIFEST_DIR"))
}

/// Starts `canele run --hosts HOSTS OPTIONS COMMAND` through the remote shell that does `how`.
pub fn start_on(how: &str, hosts: &str, options: &[&str], command: &[&str]) -> Run {
    start_on_with(how, hosts, options, command, &[], b"")
}

pub fn start_on_with(
    how: &str,
    hosts: &str,
    options: &[&str],
    command: &[&str],
    variables: &[(&str, &str)],
    input: &[u8],
) -> Run {
    let rsh = rsh(how);
    // If the test gives up, the job ends too, later.
    let first = ["run", "--timeout", "1000", "--hosts", hosts, "--rsh", &rsh];
    start_with(&[&first, options, command].concat(), variables, input)
}

/// Runs `sh -c SCRIPT` on these hosts to its end.
pub fn shell_on(hosts: &str, options: &[&str], script: &str) -> Ended {
    start_on("plain", hosts, options, &["sh", "-c", script]).end()
}

/// Returns the processes of `run` of this short name on a host that is this machine.
pub fn on_host(run: &Run, host: &str, program: &str) -> Vec<u32> {
    let entry = format!("TEST_HOST={host}");
    let mut found = run.processes();
    found.retain(|pid| {
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        // A shell that got the host as an argument has it among its words.
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let has = |bytes: &[u8], entry: &str| bytes.split(|byte| *byte == 0).any(|e| e == entry.as_bytes());
        name.trim_end() == program && (has(&environment, &entry) || has(&words, host))
    });
    found
}

/// Waits until there are `count` such processes, and returns them.
pub fn wait_on_host(run: &Run, host: &str, count: usize, program: &str) -> Vec<u32> {
    let mut found = Vec::new();
    super::wait_until(&format!("{count} processes {program} on {host}"), || {
        found = on_host(run, host, program);
        found.len() == count
    });
    found
}

/// Two hosts in network namespaces, removed when dropped.
pub struct Cluster {
    pub name: String,
}

/// The script that makes the namespaces.
pub const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/cluster");

impl Cluster {
    /// Makes a cluster. Prints a line and returns `None` if namespaces cannot be made.
    pub fn up() -> Option<Cluster> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !rustix::process::geteuid().is_root() || Command::new("ip").arg("-V").output().is_err() {
            // Test output of `eprintln!` is captured, this line is not.
            let _ = writeln!(std::io::stderr(), "SKIPPED: network namespaces need root and iproute2");
            return None;
        }
        let name = format!("test{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let cluster = Cluster { name };
        let output = cluster.does(&["up"]);
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            let _ = writeln!(std::io::stderr(), "SKIPPED: network namespaces cannot be made here: {why}");
            return None;
        }
        Some(cluster)
    }

    /// Runs the script on this instance.
    pub fn does(&self, words: &[&str]) -> Output {
        Command::new(SCRIPT).args(words).env("CLUSTER", &self.name).output().unwrap()
    }

    /// Returns the output of a shell command on a host.
    pub fn prints(&self, host: &str, command: &str) -> String {
        let output = self.does(&["rsh", host, command]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Returns the processes on a host.
    pub fn processes(&self, host: &str) -> Vec<u32> {
        let output =
            Command::new("ip").args(["netns", "pids", &format!("{}-{host}", self.name)]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().map(|pid| pid.trim().parse().unwrap()).collect()
    }

    /// Returns the command of the remote shell for these hosts.
    pub fn remote_shell(&self) -> String {
        format!("{SCRIPT} rsh")
    }

    /// Starts `canele run PLACE OPTIONS COMMAND` on one of the hosts.
    pub fn start_within(&self, host: &str, place: &[&str], options: &[&str], command: &[&str]) -> Run {
        let mut run = Command::new("ip");
        run.args(["netns", "exec", &format!("{}-{host}", self.name), env!("CARGO_BIN_EXE_canele"), "run"]);
        run.args(["--timeout", "1000"]).args(place).args(options).args(command);
        start_command(run.env("CLUSTER", &self.name), b"")
    }

    /// Starts `canele run --hosts HOSTS OPTIONS COMMAND` on it.
    pub fn start(&self, hosts: &str, options: &[&str], command: &[&str]) -> Run {
        self.start_by(["--hosts", hosts], options, command)
    }

    /// Starts a job like `start`, but another option names the hosts.
    pub fn start_by(&self, place: [&str; 2], options: &[&str], command: &[&str]) -> Run {
        let rsh = self.remote_shell();
        let first = ["run", "--timeout", "1000", place[0], place[1], "--rsh", &rsh];
        start_with(&[&first, options, command].concat(), &[("CLUSTER", &self.name)], b"")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.does(&["down"]);
    }
}
