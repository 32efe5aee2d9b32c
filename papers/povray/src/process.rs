//! The POV-Ray processes of one rank.
//!
//! POV-Ray 3.7 writes a picture only when it is rendered completely, with black pixels outside of the
//! requested rows. So each slice has its own process. Its rows are passed on as soon as the last one is
//! written, a third of a second before the process ends. A thread for each process reads the output.
//!
//! Owns the processes, which it kills and collects at its end. Never communicates.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::child;
use crate::error::PovrayError;
use crate::outcome::{Outcome, explain, open_complaints, own_words};
use crate::ppm::read_rows;
use crate::rendering::Rendering;
use crate::slices::Slice;

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
    /// Makes an empty set of processes.
    pub fn new(rendering: Rendering) -> Self {
        let idle = IdleTime { rendering: 0, since: Instant::now(), total: Duration::ZERO };
        Self { rendering, running: Vec::new(), idle: Arc::new(Mutex::new(idle)) }
    }

    /// Starts POV-Ray on a slice; another thread calls `tell` once. The calling thread must live as long as
    /// the process.
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
                    // Its later output and its status no longer matter.
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
                lock(&self.idle).end();
                return Err(PovrayError::Start(error));
            }
        }
        Ok(())
    }

    /// Starts POV-Ray. Standard error goes to a file in memory with a fixed size, which is read once POV-Ray
    /// has ended; further output is refused.
    fn spawn(&self, slice: &Slice) -> io::Result<(Child, ChildStdout, File)> {
        let complaints = open_complaints()?;
        let mut command = child::command(&self.rendering.povray)?;
        command.args(self.rendering.options(slice)).stdout(Stdio::piped()).stderr(complaints.try_clone()?);
        command.stdin(self.rendering.open_scene()?).current_dir(self.rendering.folder());
        let mut child = command.spawn()?;
        let output = child.stdout.take().ok_or_else(|| io::Error::other("no standard output"))?;
        Ok((child, output, complaints))
    }

    /// Kills all running processes, and waits for their threads; returns the time in which no process
    /// rendered.
    pub fn stop(&mut self) -> Duration {
        let waited = lock(&self.idle).so_far();
        self.running.iter().for_each(|running| end(&running.child));
        for running in self.running.drain(..) {
            // A thread that panicked has printed its message.
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

/// The time in which a rank rendered nothing.
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

/// Locks a mutex; a thread that panicked leaves no inconsistent state here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end(child: &Mutex<Child>) {
    // If this fails, the process has ended already.
    let _ = lock(child).kill();
}

/// Reads the remaining output until the process ends, and collects the process.
fn finish(child: &Mutex<Child>, output: &mut impl Read) -> io::Result<ExitStatus> {
    io::copy(output, &mut io::sink())?;
    lock(child).wait()
}

#[cfg(test)]
mod tests {
    use super::*;

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
