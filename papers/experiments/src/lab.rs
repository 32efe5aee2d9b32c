//! Runs benchmarks, jobs of example programs and of C programs, and comparisons with other MPI
//! implementations.

use std::ffi::OsStr;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use canele_launch::installation::example_program;
use canele_sys::bounded_read::{self, MOST_DATA, MOST_SETTINGS};
use canele_sys::command_output;
use indicatif::ProgressBar;
use serde::Deserialize;
use serde_json::Value;

use super::compared::Compared;
use crate::PaperError;

/// Runs programs for experiments.
pub struct Lab {
    /// True for few sizes and rounds.
    pub quick: bool,
    canele: PathBuf,
    peers: Option<PathBuf>,
    scratch: Scratch,
    bar: ProgressBar,
}

/// The reason why an experiment has no result.
#[derive(Debug)]
pub enum Trouble {
    /// This machine lacks a program; the text names it and says how to get it.
    Missing(String),
    /// The experiment failed.
    Failed(PaperError),
}

impl<E: Into<PaperError>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The output of `canele bench --json`.
#[derive(Deserialize)]
pub struct Benched {
    pub rows: Vec<BenchRow>,
    pub limits: Value,
}

/// The fields of a benchmark's row that experiments read; each row has the fields that apply.
#[derive(Deserialize)]
pub struct BenchRow {
    pub bytes: Option<usize>,
    /// The median over the rounds.
    pub median_ns: Option<f64>,
    /// 10⁹ bytes per second, at the median.
    pub gbytes_per_s: Option<f64>,
    pub operation: Option<String>,
    pub strategy: Option<String>,
    pub flows: Option<u32>,
    /// Packs per message, or pages requested at once.
    pub packs: Option<u32>,
    /// Its time as a multiple of the strategy `fifo`'s, median over the rounds.
    pub ratio_to_fifo: Option<f64>,
}

/// Variables of a job's environment.
pub type Settings<'a> = &'a [(&'a str, &'a str)];

/// The rail of jobs on two hosts.
const LOOPBACK: Settings<'static> = &[("CANELE_RAILS", "lo")];

impl Lab {
    /// # Errors
    /// There is no folder for temporary files.
    pub fn new(quick: bool, peers: Option<PathBuf>, bar: ProgressBar) -> Result<Self, PaperError> {
        Ok(Self { quick, canele: std::env::current_exe()?, peers, scratch: Scratch::new()?, bar })
    }

    /// Returns one of two values: for a quick run, or for a whole one.
    pub fn pick<T>(&self, quick: T, whole: T) -> T {
        if self.quick { quick } else { whole }
    }

    /// Shows the running part of an experiment.
    pub fn tell(&self, part: &str) {
        let name = self.bar.message();
        let name = name.split(':').next().unwrap_or_default().to_string();
        self.bar.set_message(format!("{name}: {part}"));
    }

    /// Returns a path for a temporary file of this name.
    pub fn temporary(&self, name: &str) -> PathBuf {
        self.scratch.0.join(name)
    }

    /// Runs `canele bench WORDS` within the machine.
    pub fn bench(&self, words: &str, settings: Settings<'_>) -> Result<Benched, Trouble> {
        self.bench_with(words, &[], settings)
    }

    /// Runs `canele bench WORDS` between two hosts, which both are this machine: the ranks use TCP on the
    /// loopback network.
    pub fn bench_over_tcp(&self, words: &str) -> Result<Benched, Trouble> {
        let place = self.two_hosts()?;
        self.bench_with(words, &place.each_ref().map(String::as_str), LOOPBACK)
    }

    /// Returns options for a job on two hosts.
    fn two_hosts(&self) -> Result<[String; 4], Trouble> {
        const SCRIPT: &str =
            "# A remote shell onto this machine: sh FILE HOST COMMAND…\nshift\nexec \"$@\"\n";
        let shell = self.temporary("shell");
        std::fs::write(&shell, SCRIPT)?;
        Ok(["--hosts".into(), "a:1,b:1".into(), "--rsh".into(), format!("sh {}", shell.display())])
    }

    fn bench_with(&self, words: &str, place: &[&str], settings: Settings<'_>) -> Result<Benched, Trouble> {
        self.tell(&format!("bench {words}"));
        let rounds = self.pick(["--rounds", "2"], ["--rounds", "11"]);
        let mut command = Command::new(&self.canele);
        command.arg("bench").args(words.split(' ')).args(place).args(rounds).arg("--json");
        let text = output(command.envs(settings.iter().copied()), &format!("canele bench {words}"))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Runs a job of a program beside this command; returns its output.
    pub fn job(
        &self,
        ranks: u32,
        options: &[&str],
        program: &Path,
        words: &[&str],
    ) -> Result<String, Trouble> {
        let words = words.iter().map(OsStr::new).collect::<Vec<_>>();
        let what = format!("{} on {ranks} ranks", program.file_name().unwrap_or_default().to_string_lossy());
        self.tell(&what);
        let mut command = Command::new(&self.canele);
        command.args(["run", "-n", &ranks.to_string()]).args(options).arg(program).args(words);
        output(&mut command, &what)
    }

    /// Returns the JSON object that an example program prints on two hosts.
    pub fn example_over_tcp(&self, name: &str, words: &[&str]) -> Result<Value, Trouble> {
        self.tell(&format!("{name} on two hosts"));
        let mut command = Command::new(&self.canele);
        command.args(["run", "-n", "2"]).args(self.two_hosts()?).arg(self.beside(name)?).args(words);
        let text = output(command.args(["--json", "--quiet"]).envs(LOOPBACK.iter().copied()), name)?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Returns the JSON object that an example program prints with `--json`.
    pub fn example(&self, ranks: u32, options: &[&str], name: &str, words: &str) -> Result<Value, Trouble> {
        let words: Vec<_> =
            words.split(' ').filter(|word| !word.is_empty()).chain(["--json", "--quiet"]).collect();
        let text = self.job(ranks, options, &self.beside(name)?, &words)?;
        Ok(serde_json::from_str(&text).map_err(|error| format!("{name} --json printed {text:?}: {error}"))?)
    }

    /// Returns the path of an example program.
    pub fn beside(&self, name: &str) -> Result<PathBuf, Trouble> {
        let package = name.split('-').next().unwrap_or(name);
        let how =
            |_| format!("the program {name}: build it with `cargo build --release -p canele-{package}`");
        example_program(name).map_err(|path| Trouble::Missing(how(path)))
    }

    /// Runs this command as the program of a job, and returns its JSON object: see [`super::rank`].
    pub fn own_ranks(&self, options: &[&str], words: &[&str]) -> Result<Value, Trouble> {
        let words: Vec<_> = std::iter::once("paper-rank").chain(words.iter().copied()).collect();
        Ok(serde_json::from_str(&self.job(2, options, &self.canele, &words)?)?)
    }

    /// Compiles a C program that uses MPI.
    pub fn compile(&self, name: &str, source: &str) -> Result<PathBuf, Trouble> {
        let (from, to) = (self.temporary(&format!("{name}.c")), self.temporary(name));
        std::fs::write(&from, source)?;
        if quiet(Command::new("cc").arg("--version")).is_err() {
            return Err(Trouble::Missing("a C compiler: install the package gcc".into()));
        }
        let mut command = Command::new(&self.canele);
        output(command.args(["cc", "-O2", "-o"]).arg(&to).arg(&from), &format!("canele cc {name}.c"))?;
        Ok(to)
    }

    /// Returns the system calls of a job of two ranks by name, both ranks together.
    pub fn system_calls(
        &self,
        options: &[&str],
        program: &Path,
        words: &[&str],
    ) -> Result<Vec<(String, u64)>, Trouble> {
        if !quiet(Command::new("strace").args(["-o", "/dev/null", "true"]))
            .is_ok_and(|status| status.success())
        {
            return Err(Trouble::Missing(
                "strace, and the right to trace: install the package strace".into(),
            ));
        }
        let file = self.temporary("strace").to_string_lossy().into_owned();
        // Each rank has its own tracer; the launcher is not traced.
        let shell = "exec strace -f -c -o \"$0.$$\" \"$@\"";
        let program = program.to_string_lossy();
        let traced: Vec<_> =
            ["-c", shell, &file, &program].into_iter().chain(words.iter().copied()).collect();
        self.job(2, options, Path::new("sh"), &traced)?;
        let mut calls = Vec::new();
        for entry in std::fs::read_dir(&self.scratch.0)? {
            let path = entry?.path();
            if path.to_string_lossy().starts_with(&format!("{file}.")) {
                calls.extend(counted(&bounded_read::read_text(&path, MOST_SETTINGS)?));
                std::fs::remove_file(path)?;
            }
        }
        Ok(calls)
    }

    /// Returns the figures of other MPI implementations and of Canelé, measured in turn by `bench/peers`.
    pub fn compare(&self, programs: &str, words: &[&str]) -> Result<Compared, Trouble> {
        let Some(peers) = &self.peers else {
            return Err(Trouble::Missing("other MPI implementations: give `--peers bench/peers`".into()));
        };
        self.tell(&format!("peers, {programs}"));
        let file = self.temporary("peers.json");
        let mut command = Command::new(peers);
        command.args(["--programs", programs, "--json"]).arg(&file).args(words);
        command.args(if self.quick { &["--quick", "--rounds", "1"][..] } else { &["--rounds", "5"][..] });
        output(command.arg("--canele").arg(&self.canele), &format!("the comparison of {programs}"))?;
        Ok(serde_json::from_slice(&bounded_read::read(file, MOST_DATA)?)?)
    }
}

/// Reads the lines of `strace -c`: names of calls and their numbers.
fn counted(text: &str) -> Vec<(String, u64)> {
    let line = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let calls = words.get(3)?.parse().ok()?;
        let name = *words.last()?;
        (words.len() >= 5 && name != "total").then(|| (name.to_string(), calls))
    };
    text.lines().filter_map(line).collect()
}

/// Runs a command and drops its output.
pub fn quiet(command: &mut Command) -> std::io::Result<ExitStatus> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()
}

/// Returns the output of a command; an error has its standard error.
fn output(command: &mut Command, what: &str) -> Result<String, Trouble> {
    let output = command_output::output(command.stdin(Stdio::null()), MOST_DATA)
        .map_err(|error| format!("{what}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = said.trim().lines().collect();
        let last = lines[lines.len().saturating_sub(8)..].join("\n");
        return Err(format!("{what}: {}: {last}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A private folder, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, PaperError> {
        let name = format!("canele-paper-{:016x}", RandomState::new().build_hasher().finish());
        let path = std::env::temp_dir().join(name);
        // Programs in it are run, so no other user may have made it or may write to it.
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| format!("cannot make the folder {}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If it cannot be removed, the system removes it later.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_strace_is_read() {
        let text = "% time     seconds  usecs/call     calls    errors syscall\n------ ----------- ----------- --------- --------- ----------------\n \
                    60.00    0.000010           1         7         2 futex\n 40.00    0.000000           0         3           mmap\n\
                    ------ ----------- ----------- --------- --------- ----------------\n100.00    0.000010           1        10         2 total\n";
        assert_eq!(counted(text), [("futex".to_string(), 7), ("mmap".to_string(), 3)]);
    }
}
