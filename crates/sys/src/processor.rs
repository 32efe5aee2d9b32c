//! The number of the processor on which the calling thread runs, and the model of the machine's processors.
//!
//! The C library reads the number from the area that the kernel keeps current for restartable sequences. So
//! it costs a few instructions, no system call, and may stand in a loop that waits. The result can be stale
//! at once.

use std::fs::File;
use std::io::Read;

/// The number of bytes of `/proc/cpuinfo` that are read. They describe the first processor at least; a large
/// machine's file takes the kernel milliseconds.
const MOST_CPUINFO: u64 = 4096;

/// Returns the model of the first processor; none if the kernel does not tell.
pub fn model() -> Option<String> {
    let mut text = Vec::new();
    File::open("/proc/cpuinfo").ok()?.take(MOST_CPUINFO).read_to_end(&mut text).ok()?;
    model_in(&String::from_utf8_lossy(&text))
}

/// Returns the model that the text of `/proc/cpuinfo` names.
fn model_in(text: &str) -> Option<String> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let (_, model) = fields.find(|(name, _)| name.trim_end() == "model name")?;
    Some(model.trim().to_owned()).filter(|model| !model.is_empty())
}

/// Returns the number of the processor on which the calling thread runs, if the system tells it.
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
    fn the_first_model_counts() {
        let text = "processor\t: 0\nmodel\t\t: 207\nmodel name\t: Fast One: X\n\nmodel name\t: Other\n";
        assert_eq!(model_in(text).as_deref(), Some("Fast One: X"));
        assert_eq!(model_in("model name\t:\n"), None);
        assert_eq!(model_in("Features: fp asimd\n"), None);
    }

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
