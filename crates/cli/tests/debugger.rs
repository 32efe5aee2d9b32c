//! A debugger finds the ranks of a job through the launcher, whose command has no symbols but those for
//! debuggers.

#[path = "../../mpi-abi/tests/support/mod.rs"]
mod programs;
mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::folder::Folder;
use support::hosts::{rsh, start_on};
use support::ranks::{program, start_job};
use support::{Ended, kill, start_command, wait_until};

/// Stops at each call of `MPIR_Breakpoint`, and prints the state of the job.
const BEGIN: &str = "starti\nset var *(int *)&MPIR_being_debugged = 1\nbreak MPIR_Breakpoint\ncontinue\n";
/// Inspects the last rank again and again, until it waits for the launcher's welcome.
const SEE_LAST_WAIT: &str = "eval \"shell for i in $(seq 100); do gdb -nx -batch -p %d -ex bt 2>&1 | grep introduce && exit; sleep 0.1; done\", \
     *(int *)($rank + 16)\n";
const TELL_STATE: &str = "printf \"state %d\\n\", *(int *)&MPIR_debug_state\n";

/// Returns true if gdb is installed and may trace; otherwise the test is skipped, and fails in CI.
fn has_debugger() -> bool {
    let output = Command::new("gdb").args(["-nx", "-batch", "-ex", "starti", "-ex", "kill", "true"]).output();
    let why = match output {
        Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("not permitted") => return true,
        Ok(_) => "may not trace (ptrace) here".to_owned(),
        Err(error) => format!("cannot be started here: {error}"),
    };
    assert!(std::env::var_os("CI").is_none(), "gdb is needed in CI, where .ci/run installs it: it {why}");
    // Test output of `eprintln!` is captured, this line is not.
    let _ = writeln!(std::io::stderr(), "SKIPPED: gdb {why}");
    false
}

impl Folder {
    /// Returns gdb with the command `ranks` of the guide.
    fn gdb(&self) -> Command {
        let guide = include_str!("../../../docs/debugging.md");
        let block = guide.split("```gdb\n").nth(1).and_then(|rest| rest.split("```").next());
        let mut gdb = Command::new("gdb");
        let settings = ["-nx", "-batch", "-ex", "set pagination off", "-ex", "set confirm off"];
        gdb.args(settings).arg("-x").arg(self.file("ranks.gdb", block.expect("the guide has a script")));
        gdb
    }

    /// Returns the command in its installed form, without symbols.
    fn stripped(&self) -> PathBuf {
        let stripped = self.0.join("canele");
        let mut strip = Command::new("strip");
        strip.args(["--strip-unneeded", env!("CARGO_BIN_EXE_canele"), "-o"]).arg(&stripped);
        assert!(strip.status().expect("strip comes with the linker").success());
        stripped
    }

    /// Runs `canele run WORDS` under gdb with this script.
    fn run_under_gdb(&self, script: &str, words: &[&str]) -> Ended {
        let script = self.file("script.gdb", script);
        let mut gdb = self.gdb();
        gdb.arg("-x").arg(script).arg("--args").arg(self.stripped()).args(["run", "--timeout", "1000"]);
        start_command(gdb.args(words), b"").end()
    }
}

/// Returns the lines that begin with a word, sorted.
fn lines_of<'a>(text: &'a str, first: &str) -> Vec<&'a str> {
    let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with(first)).collect();
    lines.sort_unstable();
    lines
}

/// Returns the name of this host in jobs without named hosts.
fn own_host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the table that gdb reads of a running launcher, once it has `ranks` lines.
fn table_of(launcher: u32, ranks: usize) -> Vec<String> {
    let (folder, mut table) = (Folder::new(&format!("gdb-table-{launcher}")), Vec::new());
    wait_until("the table", || {
        let output = folder.gdb().args(["-p", &launcher.to_string(), "-ex", "ranks"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        table = lines_of(&text, "rank ").into_iter().map(str::to_owned).collect();
        table.len() == ranks
    });
    table
}

#[test]
fn ranks_wait_for_a_debugger_that_has_started_the_launcher() {
    if !has_debugger() {
        return;
    }
    let (folder, rsh) = (Folder::new("gdb-started"), rsh("plain"));
    let own = own_host();
    let of_hosts = ["--hosts", "h0:2,h1:1", "--rsh", &rsh];
    for (options, hosts) in [(&["-n", "3"][..], [&*own; 3]), (&of_hosts, ["h0", "h0", "h1"])] {
        let script = [BEGIN, TELL_STATE, "ranks\n", SEE_LAST_WAIT, "continue\n"].concat();
        let job = "echo pid $CANELE_RANK $$; exec \"$@\"";
        let words = ["sh", "-c", job, "sh", &program(), "exchange", "1"];
        let ended = folder.run_under_gdb(&script, &[options, &words].concat());
        assert_eq!(lines_of(&ended.out, "state"), ["state 1"], "{ended:?}");
        let (table, told) = (lines_of(&ended.out, "rank "), lines_of(&ended.out, "pid "));
        assert_eq!((table.len(), told.len()), (3, 3), "{ended:?}");
        for ((line, told), (rank, host)) in table.iter().zip(told).zip((0..).zip(hosts)) {
            let pid = told.strip_prefix(&format!("pid {rank} ")).expect(told);
            assert!(line.starts_with(&format!("rank {rank}: {host} /")), "{ended:?}");
            assert_eq!(line.rsplit(' ').next(), Some(pid), "{ended:?}");
        }
        assert!(ended.out.contains("introduce"), "the rank has not waited: {ended:?}");
        assert_eq!(ended.out.matches(" rounds, lost []").count(), 3, "{ended:?}");
        assert!(ended.out.contains("exited normally"), "{ended:?}");
    }
}

#[test]
fn a_debugger_that_attaches_to_a_running_launcher_finds_all_ranks() {
    if !has_debugger() {
        return;
    }
    let path = std::fs::canonicalize(program()).unwrap();
    let line = |rank: u32, host: &str, pid: u32| format!("rank {rank}: {host} {} {pid}", path.display());
    let job = start_job(&["-n", "3"], &["hanging", "cycle"], &[]);
    let ranks: Vec<u32> = (0..3).map(|rank| job.wait_for_rank(rank)).collect();
    let own = own_host();
    let expected: Vec<String> = (0..).zip(ranks).map(|(rank, pid)| line(rank, &own, pid)).collect();
    assert_eq!(table_of(job.run.pid(), 3), expected);
    kill("TERM", job.run.pid());
    assert_eq!(job.end().code(), Some(143));

    let run = start_on("plain", "h0:1,h1:1", &[], &[&program(), "hanging", "cycle"]);
    let [h0, h1] = ["h0", "h1"].map(|host| support::hosts::wait_on_host(&run, host, 1, "fault")[0]);
    assert_eq!(table_of(run.pid(), 2), [line(0, "h0", h0), line(1, "h1", h1)]);
    kill("TERM", run.pid());
    run.end();
}

#[test]
fn ranks_that_are_spawned_wait_too_and_join_the_table() {
    if !has_debugger() {
        return;
    }
    let families = programs::compiled("families", &[programs::folder("programs/faults/families.c")]);
    let path = format!("LD_LIBRARY_PATH={}", programs::library().display());
    // The program spawns two ranks three times; after the first time gdb no longer stops.
    let script = [BEGIN, "continue\nranks\n", SEE_LAST_WAIT, "delete\ncontinue\n"].concat();
    let words = ["-n", "1", "--env", &path, families.to_str().expect("a path of text"), "later"];
    let ended = Folder::new("gdb-spawned").run_under_gdb(&script, &words);
    let program = format!("{} {} ", own_host(), std::fs::canonicalize(&families).unwrap().display());
    let pid =
        |(rank, line): (u32, &&str)| line.strip_prefix(&format!("rank {rank}: {program}"))?.parse().ok();
    let pids: Vec<Option<u32>> = (0..).zip(&lines_of(&ended.out, "rank ")).map(pid).collect();
    assert!(
        matches!(pids[..], [Some(parent), Some(one), Some(other)] if parent != one && one != other),
        "{ended:?}"
    );
    assert!(ended.out.contains("introduce"), "the rank has not waited: {ended:?}");
    assert!(ended.out.contains("exited normally"), "{ended:?}");
}

#[test]
fn a_debugger_learns_why_a_job_is_aborted() {
    if !has_debugger() {
        return;
    }
    let tell = format!("{TELL_STATE}printf \"text %s\\n\", *(char **)&MPIR_debug_abort_string\n");
    let script = format!("{BEGIN}continue\n{tell}continue\n");
    let ended = Folder::new("gdb-aborted").run_under_gdb(&script, &["-n", "1", "sh", "-c", "exit 3"]);
    assert_eq!(lines_of(&ended.out, "state"), ["state 2"], "{ended:?}");
    let text = lines_of(&ended.out, "text ")[0];
    assert!(text.starts_with("text rank 0 exited with status 3"), "{ended:?}");
    assert!(ended.out.contains("exited with code 03"), "{ended:?}");
}

#[test]
fn the_command_exports_nothing_but_what_debuggers_look_for() {
    let folder = Folder::new("gdb-exports");
    let names = exported(&folder.stripped());
    let wanted = [
        "MPIR_Breakpoint",
        "MPIR_being_debugged",
        "MPIR_debug_state",
        "MPIR_proctable",
        "MPIR_proctable_size",
    ];
    assert!(wanted.iter().all(|name| names.iter().any(|other| other == name)), "{names:?}");
    // Libraries of the system refer to some of its names.
    let others = names.iter().filter(|name| !name.starts_with("MPIR_") && !name.contains('@'));
    assert_eq!(others.count(), 0, "{names:?}");
}

/// Returns the names that an executable defines for others.
fn exported(program: &Path) -> Vec<String> {
    let output = Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(program).output();
    let text = String::from_utf8(output.expect("nm comes with the linker").stdout).unwrap();
    text.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
}
