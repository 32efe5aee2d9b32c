//! Jobs of the test program `fault` (`examples/fault`), their ranks' processes, and files that a job may not
//! leave behind.

#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Ended, Run, start_with};

/// Returns the path of the program, which `cargo test` builds beside the command.
pub fn program() -> String {
    example("fault")
}

/// Returns the path of an example of this crate.
pub fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_BIN_EXE_canele")).with_file_name("examples").join(name);
    assert!(path.exists(), "{} is missing: cargo build --examples", path.display());
    path.to_str().unwrap().to_owned()
}

/// A job of `fault`, with a folder of its own for temporary files.
pub struct FaultJob {
    pub run: Run,
    folder: PathBuf,
}

/// Starts `canele run OPTIONS fault WORDS` with `variables` in its environment.
pub fn start_job(options: &[&str], words: &[&str], variables: &[(&str, &str)]) -> FaultJob {
    let program = program();
    // If the test gives up, the job ends too, later.
    let args = [&["run", "--timeout", "1000"], options, &[program.as_str()], words].concat();
    let folder = temporary_folder();
    let mut all = vec![("TMPDIR", folder.to_str().unwrap())];
    all.extend_from_slice(variables);
    FaultJob { run: start_with(&args, &all, b""), folder }
}

/// Runs such a job to its end, and checks that it succeeds and prints no error.
pub fn succeeds(options: &[&str], words: &[&str], variables: &[(&str, &str)]) -> Ended {
    let ended = start_job(options, words, variables).end();
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{options:?} {words:?}");
    ended
}

/// Returns a new empty folder.
pub fn temporary_folder() -> PathBuf {
    use canele_sys::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("canele-fault-{}-{count}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    folder
}

impl FaultJob {
    pub fn end(self) -> Ended {
        self.end_within(Duration::from_secs(60))
    }

    /// Waits for the end, and checks that no process, socket or file of the job is left.
    pub fn end_within(self, limit: Duration) -> Ended {
        let launcher = self.run.pid();
        let ended = self.run.end_within(limit);
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        let name = format!("@canele-{launcher}-");
        assert!(!sockets.lines().any(|line| line.contains(&name)), "the socket {name} is left");
        let left: Vec<_> = std::fs::read_dir(&self.folder).unwrap().flatten().map(|e| e.path()).collect();
        assert!(left.is_empty(), "files are left: {left:?}");
        std::fs::remove_dir(&self.folder).unwrap();
        let shared: Vec<_> = std::fs::read_dir("/dev/shm").into_iter().flatten().flatten().collect();
        let ours = shared.iter().filter(|entry| entry.file_name().to_string_lossy().contains("canele"));
        assert_eq!(ours.count(), 0, "files are left in /dev/shm: {shared:?}");
        ended
    }

    /// Returns the process of a rank, if its program runs.
    pub fn rank(&self, rank: u32) -> Option<u32> {
        let entry = format!("CANELE_RANK={rank}");
        self.run.processes().into_iter().find(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            name.trim_end() == "fault" && environment.split(|b| *b == 0).any(|e| e == entry.as_bytes())
        })
    }

    /// Waits until the program of a rank runs, and returns its process.
    pub fn wait_for_rank(&self, rank: u32) -> u32 {
        let mut found = None;
        super::wait_until(&format!("rank {rank}"), || {
            found = self.rank(rank);
            found.is_some()
        });
        found.unwrap()
    }
}

/// Returns a number from the environment for longer runs, for example `FAULT_KILLS=1000`.
pub fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}
