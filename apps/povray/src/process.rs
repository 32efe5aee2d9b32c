//! The POV-Ray processes of one rank.
//!
//! POV-Ray 3.7 holds a picture back until all of it is rendered, and writes it then, black where nothing was asked for. So
//! a slice is one process, and its rows are passed on as soon as the last of them is written, which is a third of a second
//! before the process ends. A thread for each process reads.
//!
//! Owns: the processes, which it kills and collects at its end. Never: communicates.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::child;
use crate::error::PovrayError;
use crate::ppm::read_rows;
use crate::rendering::{Rendering, SCENE};
use crate::slices::Slice;

/// POV-Ray's exit status after an interrupting or terminating signal.
const INTERRUPTED: i32 = 2;
/// Characters of POV-Ray's own words in an error.
const LONGEST_TEXT: usize = 1000;

/// What became of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Red, green, blue of each pixel, row after row.
    Rows(Vec<u8>),
    /// A signal ended POV-Ray before it had written the rows; the text says how.
    Killed(String),
    /// POV-Ray failed, which it would do again; the text has its own words.
    Failed(String),
}

/// Processes of this rank that render, or have rendered and are about to end. Dropping it kills them.
pub struct Processes {
    rendering: Rendering,
    running: Vec<Running>,
    idle: Arc<Mutex<IdleTime>>,
}

struct Running {
    child: Arc<Mutex<Child>>,
    reader: JoinHandle<()>,
}

impl Processes {
    /// None yet.
    pub fn new(rendering: Rendering) -> Self {
        let idle = IdleTime { rendering: 0, since: Instant::now(), total: Duration::ZERO };
        Self { rendering, running: Vec::new(), idle: Arc::new(Mutex::new(idle)) }
    }

    /// Starts POV-Ray on a slice; another thread calls `tell` once. The calling thread must live as long as the process
    /// shall.
    ///
    /// # Errors
    /// No process or thread can be started.
    pub fn start(
        &mut self,
        slice: Slice,
        tell: impl FnOnce(Outcome) + Send + 'static,
    ) -> Result<(), PovrayError> {
        self.running.retain(|running| !running.reader.is_finished());
        let (child, output, complaints) = self.spawn(&slice).map_err(PovrayError::Start)?;
        let child = Arc::new(Mutex::new(child));
        let (watched, idle, scene) = (child.clone(), self.idle.clone(), self.rendering.scene_name());
        let (width, height) = (self.rendering.width, self.rendering.height);
        lock(&self.idle).start();
        let read = move || {
            let mut output = BufReader::new(output);
            match read_rows(&mut output, width, height, slice.clone()) {
                Ok(samples) => {
                    lock(&idle).end();
                    tell(Outcome::Rows(samples));
                    // What it writes and answers now concerns no row.
                    let _ = finish(&watched, &mut output);
                }
                Err(error) => {
                    let ended = finish(&watched, &mut output);
                    lock(&idle).end();
                    tell(explain(&slice, &error, ended, || own_words(complaints, &scene)));
                }
            }
        };
        match std::thread::Builder::new().name("povray".into()).spawn(read) {
            Ok(reader) => self.running.push(Running { child, reader }),
            Err(error) => {
                end(&child);
                return Err(PovrayError::Start(error));
            }
        }
        Ok(())
    }

    /// Standard error goes to a file in memory: nobody need read it while POV-Ray runs.
    fn spawn(&self, slice: &Slice) -> io::Result<(Child, ChildStdout, File)> {
        let complaints = File::from(memfd_create("povray", MemfdFlags::CLOEXEC)?);
        let mut command = child::command(&self.rendering.povray)?;
        command.args(self.rendering.options(slice)).stdout(Stdio::piped()).stderr(complaints.try_clone()?);
        command.stdin(self.rendering.open_scene()?).current_dir(self.rendering.folder());
        let mut child = command.spawn()?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("no standard output"))?;
        Ok((child, output, complaints))
    }

    /// Kills all that still run, and waits for their threads; answers how long no process has rendered.
    pub fn stop(&mut self) -> Duration {
        let waited = lock(&self.idle).so_far();
        self.running.iter().for_each(|running| end(&running.child));
        for running in self.running.drain(..) {
            // A thread that panicked has said so.
            let _ = running.reader.join();
        }
        waited
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.stop();
    }
}

/// How long a rank has rendered nothing.
struct IdleTime {
    rendering: usize,
    since: Instant,
    total: Duration,
}

impl IdleTime {
    fn start(&mut self) {
        self.total = self.so_far();
        self.rendering += 1;
    }

    fn end(&mut self) {
        self.rendering -= 1;
        self.since = Instant::now();
    }

    fn so_far(&self) -> Duration {
        if self.rendering == 0 { self.total + self.since.elapsed() } else { self.total }
    }
}

/// A thread that panicked leaves nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end(child: &Mutex<Child>) {
    // It has ended already, if that fails.
    let _ = lock(child).kill();
}

/// Reads what is left, until the process ends, and collects it.
fn finish(child: &Mutex<Child>, output: &mut impl Read) -> io::Result<ExitStatus> {
    io::copy(output, &mut io::sink())?;
    lock(child).wait()
}

/// Why a slice has no rows.
fn explain(
    slice: &Slice,
    error: &io::Error,
    ended: io::Result<ExitStatus>,
    words: impl FnOnce() -> String,
) -> Outcome {
    let what = format!("POV-Ray failed on rows {} to {}", slice.start + 1, slice.end);
    let status = match ended {
        Ok(status) => status,
        Err(error) => return Outcome::Failed(format!("{what}: {error}")),
    };
    if let Some(signal) = status.signal() {
        return Outcome::Killed(format!("signal {signal} killed POV-Ray"));
    }
    match status.code().unwrap_or_default() {
        INTERRUPTED => Outcome::Killed("a signal interrupted POV-Ray".into()),
        0 => Outcome::Failed(format!("{what}: it ended well, but its picture is not right: {error}")),
        status => Outcome::Failed(format!("{what} with exit status {status}: {}", words())),
    }
}

/// What POV-Ray says of a failure, in one line.
fn own_words(mut complaints: File, scene: &str) -> String {
    let mut bytes = Vec::new();
    if let Err(error) = complaints.rewind().and_then(|()| complaints.read_to_end(&mut bytes)) {
        return format!("its words cannot be read: {error}");
    }
    cut_out(&String::from_utf8_lossy(&bytes)).replace(SCENE, scene)
}

/// What follows the last headline, which is about the failure; without any, all of it.
fn cut_out(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let first = lines.iter().rposition(|line| line.starts_with("====")).map_or(0, |headline| headline + 1);
    let words = lines[first..].join(" ");
    if words.is_empty() {
        return "it says nothing".into();
    }
    let excess = words.chars().count().saturating_sub(LONGEST_TEXT);
    words.chars().skip(excess).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_povray_says_of_a_failure_is_cut_out() {
        let text = "Version 3.7\n\n  Chris Cason\n==== [Parsing...] ====\nFile 'bad.pov' line 1: Parse Error: No matching }\n in \
                    'pigment'\nRender failed\n\n";
        assert_eq!(
            cut_out(text),
            "File 'bad.pov' line 1: Parse Error: No matching } in 'pigment' Render failed"
        );
        assert_eq!(cut_out("cannot start it\n"), "cannot start it");
        assert_eq!(cut_out("==== [Parsing...] ====\n"), "it says nothing");
        assert_eq!(cut_out(&"é".repeat(5000)).chars().count(), LONGEST_TEXT);
    }

    #[test]
    fn idle_time_passes_only_while_nothing_renders() {
        let mut idle = IdleTime { rendering: 0, since: Instant::now(), total: Duration::from_secs(5) };
        idle.start();
        idle.start();
        let total = idle.so_far();
        idle.end();
        assert_eq!(idle.so_far(), total, "one renders");
        idle.end();
        assert!(idle.so_far() >= total);
    }
}
