//! The processor on which the calling thread runs, asked without a system call.
//!
//! The C library reads the number from the area that the kernel keeps current for restartable sequences, so the question
//! costs a few instructions and may stand in a loop that waits. The answer can be old as soon as it is given.

/// The number of the processor on which the calling thread runs, if the system tells it.
#[inline]
pub fn current() -> Option<u32> {
    // SAFETY: `sched_getcpu` takes no argument and touches no memory of the caller.
    u32::try_from(unsafe { libc::sched_getcpu() }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::ProcessorSet;

    #[test]
    fn a_bound_thread_runs_where_it_is_bound() {
        std::thread::spawn(|| {
            let all = ProcessorSet::of_thread().expect("the kernel tells");
            for id in all.processors() {
                ProcessorSet::new(&[id]).bind_thread().expect("an allowed processor");
                assert_eq!(current(), Some(id));
            }
        })
        .join()
        .expect("the thread ends");
    }
}
