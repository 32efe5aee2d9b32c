//! The set of processors on which a thread may run, of any size.
//!
//! Owns the system calls that read and change it. Decides nothing.

use std::io;

/// Bits of a word of a set.
const BITS: usize = u64::BITS as usize;
/// Words of the largest set that the kernel is asked about: 65,536 processors.
const MOST_WORDS: usize = 1024;

/// A set of processors, each named by the kernel's number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessorSet(Vec<u64>);

impl ProcessorSet {
    /// Returns the set of these processors.
    pub fn new(processors: &[u32]) -> ProcessorSet {
        let words = processors.iter().max().map_or(0, |most| *most as usize / BITS + 1);
        let mut set = vec![0; words];
        for &id in processors {
            set[id as usize / BITS] |= 1 << (id as usize % BITS);
        }
        ProcessorSet(set)
    }

    /// Returns the processors on which the calling thread may run.
    ///
    /// # Errors
    /// Fails as sched_getaffinity(2) does.
    pub fn of_thread() -> io::Result<ProcessorSet> {
        ProcessorSet::of(0)
    }

    /// Returns the processors on which the thread `id` may run; 0 is the calling thread.
    ///
    /// # Errors
    /// Fails as sched_getaffinity(2) does: `ESRCH` if there is no such thread.
    pub fn of(id: u32) -> io::Result<ProcessorSet> {
        let mut words = 16;
        loop {
            let mut set = vec![0_u64; words];
            // SAFETY: the kernel writes at most the given number of bytes, which `set` has.
            let result = unsafe {
                libc::sched_getaffinity(
                    id as libc::pid_t,
                    size_of_val(&*set),
                    set.as_mut_ptr().cast::<libc::cpu_set_t>(),
                )
            };
            if result == 0 {
                return Ok(ProcessorSet(set));
            }
            let error = io::Error::last_os_error();
            // The kernel has more processors than the set has bits.
            if error.raw_os_error() != Some(libc::EINVAL) || words >= MOST_WORDS {
                return Err(error);
            }
            words *= 2;
        }
    }

    /// Lets the calling thread, and threads that it starts later, run on these processors alone. Makes one
    /// system call and allocates nothing, so a new process may call it before its program starts.
    ///
    /// # Errors
    /// Fails as sched_setaffinity(2) does: `EINVAL` if this process may use none of the processors.
    pub fn bind_thread(&self) -> io::Result<()> {
        self.bind(0)
    }

    /// Lets the thread `id` run on these processors alone; 0 is the calling thread.
    ///
    /// # Errors
    /// Fails as sched_setaffinity(2) does: `ESRCH` if there is no such thread, `EPERM` if another user owns
    /// it.
    pub fn bind(&self, id: u32) -> io::Result<()> {
        let (bytes, words) = (size_of_val(&*self.0), self.0.as_ptr().cast::<libc::cpu_set_t>());
        // SAFETY: the kernel reads the given number of bytes, which the set has.
        let result = unsafe { libc::sched_setaffinity(id as libc::pid_t, bytes, words) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Returns the processors in ascending order.
    pub fn processors(&self) -> Vec<u32> {
        let bits = 0..self.0.len() * BITS;
        bits.filter(|id| self.0[id / BITS] >> (id % BITS) & 1 == 1).map(|id| id as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_they_were_made_of() {
        for processors in [&[][..], &[0], &[3, 64, 65], &[1023, 1024, 5000]] {
            assert_eq!(ProcessorSet::new(processors).processors(), processors);
        }
    }

    #[test]
    fn a_thread_may_run_where_it_is_bound() {
        std::thread::spawn(|| {
            let all = ProcessorSet::of_thread().expect("the kernel tells").processors();
            let one = ProcessorSet::new(&all[..1]);
            one.bind_thread().expect("an allowed processor");
            let now = ProcessorSet::of_thread().expect("the kernel tells");
            assert_eq!(now.processors(), one.processors());
            let id = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            ProcessorSet::new(&all).bind(id).expect("a thread of this process");
            assert_eq!(ProcessorSet::of(id).expect("the kernel tells").processors(), all);
            assert!(ProcessorSet::new(&[60_000]).bind_thread().is_err(), "there is no such processor");
        })
        .join()
        .expect("the thread ends");
    }
}
