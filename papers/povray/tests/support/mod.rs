//! Jobs of the render farm, with the real POV-Ray or with a script in its place that blocks or dies.
#![allow(dead_code, reason = "each test uses its part")]

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

#[path = "../../../../crates/canele/tests/launch/mod.rs"]
pub mod launch;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_povray-farm");
/// The environment variable that marks the processes of one test.
const MARK: &str = "POVRAY_FARM_TEST";
/// A limit that only a failing test reaches.
const LONGEST_WAIT: Duration = Duration::from_secs(100);

/// Options of a picture that POV-Ray renders fast.
pub const SMALL: [&str; 8] = ["--width", "64", "--height", "48", "--slice-rows", "10", "--antialias", "1"];

/// Returns the path of POV-Ray. Without it it returns none, and fails in CI.
pub fn povray() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("povray")).find(|file| file.is_file());
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "povray is needed in CI, where .ci/run installs it");
        // Test output of `eprintln!` is captured, this line is not.
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no povray here");
    }
    found
}

/// An empty folder of one test.
pub struct Folder {
    pub path: PathBuf,
    name: &'static str,
}

impl Folder {
    pub fn new(name: &'static str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("povray").join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self { path, name }
    }

    pub fn file(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// Puts a shell script in POV-Ray's place. In the script `povray` is the real program, and `$FOLDER` this
    /// folder.
    pub fn replace_povray(&self, script: &str) {
        let real = povray().map_or("false".into(), |path| path.display().to_string());
        let text = format!(
            "#!/bin/sh\nFOLDER='{}'\npovray() {{ exec {real} \"$@\"; }}\n{script}\n",
            self.path.display()
        );
        std::fs::write(self.path.join("povray"), text).unwrap();
        std::fs::set_permissions(self.path.join("povray"), PermissionsExt::from_mode(0o755)).unwrap();
    }

    /// Returns the command of the farm on so many ranks; 0 is without the launcher. Its picture is
    /// [`Folder::picture`].
    pub fn command(&self, ranks: usize, options: &[&str], arguments: &[&str]) -> Command {
        let mut command = match ranks {
            0 => Command::new(PROGRAM),
            _ => launch::command(),
        };
        if ranks > 0 {
            command.args(["run", "--timeout", "120", "-n", &ranks.to_string()]).args(options).arg(PROGRAM);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.path.clone()].into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).unwrap()).env(MARK, self.mark());
        command.args(arguments).args(["--output", &self.file("picture.png")]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, ranks: usize, arguments: &[&str]) -> Output {
        self.command(ranks, &[], arguments).output().unwrap()
    }

    pub fn picture(&self) -> Vec<u8> {
        std::fs::read(self.path.join("picture.png")).unwrap_or_default()
    }

    fn mark(&self) -> String {
        format!("{}-{}", self.name, std::process::id())
    }

    /// Returns the numbers and arguments of processes that have the mark of this test, and belong to this
    /// rank if one is named.
    pub fn processes(&self, rank: Option<usize>) -> Vec<(u32, String)> {
        let mut wanted = vec![format!("{MARK}={}", self.mark())];
        wanted.extend(rank.map(|rank| format!("CANELE_RANK={rank}")));
        let numbers = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let text = |pid: u32, file: &str| {
            let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', "\n")
        };
        let is_wanted = |pid: &u32| {
            let environment = text(*pid, "environ");
            wanted.iter().all(|word| environment.lines().any(|line| line == word))
        };
        numbers.filter(is_wanted).map(|pid| (pid, text(pid, "cmdline"))).collect()
    }

    /// Waits until a rank runs `count` programs whose arguments contain `word`, and returns their numbers.
    pub fn wait_for(&self, rank: usize, word: &str, count: usize) -> Vec<u32> {
        let mut found = Vec::new();
        wait_until(&format!("{count} x {word} of rank {rank}"), || {
            let all = self.processes(Some(rank)).into_iter();
            found = all.filter(|(_, arguments)| arguments.contains(word)).map(|(pid, _)| pid).collect();
            found.len() == count
        });
        found
    }

    /// Returns the number of a rank's own process.
    pub fn pid(&self, rank: usize) -> u32 {
        let all = self.processes(Some(rank)).into_iter();
        let mut own =
            all.filter(|(_, arguments)| arguments.starts_with(PROGRAM) && !arguments.contains("--become"));
        own.next().expect("the rank runs").0
    }

    pub fn wait_for_the_end_of_all(&self) {
        wait_until("the end of all processes", || self.processes(None).is_empty());
    }
}

pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONGEST_WAIT, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn kill(pid: u32) {
    let status = Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(status.success(), "kill {pid}");
}

/// Waits for the end of a started job; returns its status and its standard error.
pub fn end(job: Child) -> (Option<i32>, String) {
    let ended = job.wait_with_output().unwrap();
    (ended.status.code(), text(&ended.stderr))
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
