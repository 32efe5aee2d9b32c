//! A thread of another process that is stopped for a moment (ptrace(2)), to read the address of its next
//! instruction.
//!
//! The system releases all threads that a thread traces when the tracing thread ends, so a tracer that ends
//! leaves no thread stopped.

use std::io;
use std::marker::PhantomData;
use std::ptr;

use libc::{c_int, c_uint, c_void, pid_t};

/// A thread that the calling thread traces; only that thread may use it.
#[derive(Debug)]
pub struct TracedThread {
    thread: pid_t,
    /// The signal whose delivery stopped the thread; zero if no signal did.
    signal: c_int,
    /// Keeps this type on its thread: requests of threads other than the tracing one fail.
    tracer: PhantomData<*const ()>,
}

/// The state of a traced thread that was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceStop {
    /// The thread has not stopped yet.
    NotYet,
    /// The thread has stopped.
    Stopped,
    /// The thread has ended, or is not traced any more.
    Ended,
}

impl TracedThread {
    /// Asks a thread to stop, without any signal to its process.
    ///
    /// # Errors
    /// Fails if the thread does not exist, or the system does not allow tracing it.
    pub fn interrupt(thread: u32) -> io::Result<Self> {
        let traced = Self::seize(thread)?;
        request(libc::PTRACE_INTERRUPT, traced.thread, 0, ptr::null_mut())?;
        Ok(traced)
    }

    fn seize(thread: u32) -> io::Result<Self> {
        let thread = pid_t::try_from(thread).map_err(|_| io::ErrorKind::InvalidInput)?;
        request(libc::PTRACE_SEIZE, thread, 0, ptr::null_mut())?;
        Ok(Self { thread, signal: 0, tracer: PhantomData })
    }

    /// Checks without waiting if the thread has stopped.
    pub fn poll_stop(&mut self) -> TraceStop {
        // The flags select only threads that this one traces: other threads wait for their own children.
        let flags = libc::WNOHANG | libc::__WALL | libc::__WNOTHREAD;
        let mut status = 0;
        // SAFETY: the status lives across the call.
        let found = unsafe { libc::waitpid(self.thread, &mut status, flags) };
        match found {
            0 => TraceStop::NotYet,
            _ if found == self.thread && libc::WIFSTOPPED(status) => {
                // The upper half says that an event, such as the interrupt, stopped the thread and no signal
                // did.
                self.signal = if status >> 16 == 0 { libc::WSTOPSIG(status) } else { 0 };
                TraceStop::Stopped
            }
            _ => TraceStop::Ended,
        }
    }

    /// Returns the address of the next instruction of a stopped thread. None if the system or this crate does
    /// not know it.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    pub fn instruction(&self) -> Option<u64> {
        // SAFETY: all bytes zero are registers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let size = size_of_val(&registers);
        let mut vector = libc::iovec { iov_base: ptr::from_mut(&mut registers).cast(), iov_len: size };
        let place = ptr::from_mut(&mut vector).cast();
        request(libc::PTRACE_GETREGSET, self.thread, libc::NT_PRSTATUS as usize, place).ok()?;
        // A program of 32 bits has fewer registers, in another order.
        (vector.iov_len == size).then(|| next_instruction(&registers))
    }

    /// Returns none: the registers of this processor are not known here.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    pub fn instruction(&self) -> Option<u64> {
        None
    }

    /// Resumes a stopped thread; it receives the signal whose delivery stopped it.
    pub fn release(self) {
        // A thread that was killed meanwhile needs no release.
        let _ =
            request(libc::PTRACE_DETACH, self.thread, 0, ptr::without_provenance_mut(self.signal as usize));
    }
}

/// Makes one request of ptrace(2) about a thread; `data` is as ptrace(2) says for that request.
fn request(request: c_uint, thread: pid_t, address: usize, data: *mut c_void) -> io::Result<()> {
    let address = ptr::without_provenance_mut::<c_void>(address);
    // SAFETY: the requests of this module write nothing here, except for the registers that `data` leads to
    // with their length.
    let done = unsafe { libc::ptrace(request, thread, address, data) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(target_arch = "x86_64")]
fn next_instruction(registers: &libc::user_regs_struct) -> u64 {
    registers.rip
}

#[cfg(target_arch = "aarch64")]
fn next_instruction(registers: &libc::user_regs_struct) -> u64 {
    registers.pc
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    /// Waits until the thread has stopped or ended.
    fn wait_for_stop(traced: &mut TracedThread) -> TraceStop {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match traced.poll_stop() {
                TraceStop::NotYet if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
                stop => return stop,
            }
        }
    }

    #[test]
    fn a_signal_that_stops_a_traced_thread_arrives() {
        let script = "trap 'exit 7' USR1; echo ready; while :; do :; done";
        let mut shell = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut traced = TracedThread::seize(shell.id()).unwrap();
        let pid = rustix::process::Pid::from_child(&shell);
        rustix::process::kill_process(pid, rustix::process::Signal::USR1).unwrap();
        assert_eq!(wait_for_stop(&mut traced), TraceStop::Stopped);
        assert!(traced.instruction().is_some());
        traced.release();
        assert_eq!(shell.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn an_interrupted_thread_goes_on_and_one_that_ends_is_found_out() {
        let mut sleeper = Command::new("sleep").arg("100").spawn().unwrap();
        let mut traced = TracedThread::interrupt(sleeper.id()).unwrap();
        assert_eq!(wait_for_stop(&mut traced), TraceStop::Stopped);
        assert!(traced.instruction().is_some_and(|address| address != 0));
        traced.release();
        let mut traced = TracedThread::interrupt(sleeper.id()).unwrap();
        sleeper.kill().unwrap();
        while wait_for_stop(&mut traced) == TraceStop::Stopped {}
        assert_eq!(traced.poll_stop(), TraceStop::Ended);
        assert!(TracedThread::interrupt(0).is_err() && TracedThread::interrupt(u32::MAX).is_err());
        // The kill of a thread that was traced reaches the waiting parent once only.
        let _ = sleeper.wait();
    }
}
