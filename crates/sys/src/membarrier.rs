//! Asymmetric barriers: the rare side pays for both.
//!
//! A frequent side (a sender, the owner of a biased lock) orders its store before its load with a compiler
//! fence alone. The rare side (a rank about to sleep, a thread revoking a biased lock) issues a heavy
//! barrier. This is a system call that makes every processor running a registered process execute a full
//! fence.
//!
//! ```text
//!   frequent:  store A;  Fencing::light;  load B        rare:  store B;  heavy();  load A
//!   at least one of the two sees the other's store
//! ```
//!
//! **The barrier among processes may leave out a processor.** Linux records for each processor, when it
//! switches to another memory map, if the process there has registered. An idle processor keeps the map of
//! the last process it ran. If that process registers elsewhere and then returns, the processor's record
//! stays stale. The record also stays stale when a thread ends and another thread of its process follows on
//! the processor. So nothing may depend for ever on [`heavy`]: a caller that relies on it checks again
//! ([`crate::sleep`]). [`heavy_private`] has no such gap: it compares the maps that processors run.
//!
//! This module never remembers what a peer registered. A process publishes its own registration in its
//! segment, and a pair in which either side is not registered uses [`Fencing::Fences`] on both sides.

use crate::atomic::{Ordering, compiler_fence, fence};
use std::sync::OnceLock;

/// The fence by which the frequent side orders its store before its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fencing {
    /// A compiler fence: the rare side's heavy barrier does the rest.
    Asymmetric,
    /// A full fence on each call.
    Fences,
}

impl Fencing {
    /// Issues the frequent side's fence.
    #[inline(always)]
    pub fn light(self) {
        match self {
            // SeqCst for the compiler; the processor's half pairs with `heavy` or `heavy_private`.
            Fencing::Asymmetric => compiler_fence(Ordering::SeqCst),
            // SeqCst pairs with the full fence that every heavy barrier includes.
            Fencing::Fences => fence(Ordering::SeqCst),
        }
    }

    /// Issues the rare side's barrier, towards frequent sides in other processes.
    ///
    /// # Panics
    /// Panics as [`heavy`] does.
    pub fn heavy(self) {
        match self {
            Fencing::Asymmetric => heavy(),
            // SeqCst pairs with the fence in `light`.
            Fencing::Fences => fence(Ordering::SeqCst),
        }
    }
}

static GLOBAL: OnceLock<Fencing> = OnceLock::new();
static PRIVATE: OnceLock<Fencing> = OnceLock::new();

/// Registers this process for the heavy barriers of *other* processes ([`heavy`]), once for its lifetime.
///
/// Each participating process calls it at start and tells its peers the result. `Asymmetric` allows a light
/// side in this process, provided that the heavy side's kernel barrier works too.
pub fn register() -> Fencing {
    *GLOBAL.get_or_init(kernel::register_global)
}

/// Issues the heavy barrier among all registered processes, which is also a full fence of the calling thread.
/// It may leave out a processor (see the module), so a caller that relies on it checks again a moment later.
///
/// # Panics
/// Panics if the kernel refuses the barrier after it accepted the registration (a seccomp filter installed in
/// between): continuing would lose wake-ups silently.
pub fn heavy() {
    barrier(&GLOBAL, kernel::barrier_global);
}

/// Registers this process for its own threads' heavy barriers ([`heavy_private`]), once for its lifetime.
pub fn register_private() -> Fencing {
    *PRIVATE.get_or_init(kernel::register_private)
}

/// Issues the heavy barrier among the threads of this process, which is also a full fence of the calling
/// thread.
///
/// # Panics
/// Panics as [`heavy`] does.
pub fn heavy_private() {
    barrier(&PRIVATE, kernel::barrier_private);
}

fn barrier(registered: &OnceLock<Fencing>, kernel: fn()) {
    match registered.get() {
        Some(Fencing::Asymmetric) => kernel(),
        // SeqCst pairs with the fence in `Fencing::light`.
        Some(Fencing::Fences) | None => fence(Ordering::SeqCst),
    }
}

#[cfg(not(loom))]
mod kernel {
    use super::Fencing;
    use rustix::thread::{MembarrierCommand, membarrier, membarrier_query};

    pub fn register_global() -> Fencing {
        register(MembarrierCommand::RegisterGlobalExpedited, MembarrierCommand::GlobalExpedited)
    }

    pub fn register_private() -> Fencing {
        register(MembarrierCommand::RegisterPrivateExpedited, MembarrierCommand::PrivateExpedited)
    }

    /// Registers and tries the barrier itself: a kernel or filter may offer one without the other.
    fn register(register: MembarrierCommand, barrier: MembarrierCommand) -> Fencing {
        let offered = membarrier_query().contains_command(barrier);
        if offered && membarrier(register).is_ok() && membarrier(barrier).is_ok() {
            Fencing::Asymmetric
        } else {
            Fencing::Fences
        }
    }

    pub fn barrier_global() {
        issue(MembarrierCommand::GlobalExpedited);
    }

    pub fn barrier_private() {
        issue(MembarrierCommand::PrivateExpedited);
    }

    fn issue(command: MembarrierCommand) {
        if let Err(error) = membarrier(command) {
            panic!("membarrier was registered and is now refused ({error}): is a seccomp filter in place?");
        }
    }
}

/// Models every barrier by a full fence on both sides.
#[cfg(loom)]
mod kernel {
    use super::{Fencing, Ordering, fence};

    pub fn register_global() -> Fencing {
        Fencing::Asymmetric
    }

    pub fn register_private() -> Fencing {
        Fencing::Asymmetric
    }

    pub fn barrier_global() {
        fence(Ordering::SeqCst);
    }

    pub fn barrier_private() {
        fence(Ordering::SeqCst);
    }
}

/// Runs the test of this name in a process in which no thread of another test ends. The barrier ([`heavy`])
/// may leave out a processor on which a thread has ended.
#[cfg(all(test, not(loom)))]
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    const ALONE: &str = "TEST_IS_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return test();
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    let ended = again.args(["--exact", name]).env(ALONE, "").output().unwrap();
    let out = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && out.contains("1 passed"), "{out}");
}

/// Registers as [`register`] does and lets another process run once on each processor. Idle processors then
/// give up their old memory map, so the barrier leaves none out. Only for tests that run [`alone`].
#[cfg(all(test, not(loom)))]
pub(crate) fn register_everywhere() -> Fencing {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::process::Command;

    let fencing = register();
    let own = sched_getaffinity(None).unwrap();
    for processor in (0..CpuSet::MAX_CPU).filter(|&processor| own.is_set(processor)) {
        let mut only = CpuSet::new();
        only.set(processor);
        sched_setaffinity(None, &only).unwrap();
        assert!(Command::new("/bin/true").status().unwrap().success());
    }
    sched_setaffinity(None, &own).unwrap();
    fencing
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::atomic::{AtomicU32, hint, thread};
    use std::iter::zip;

    const ROUNDS: u32 = 20_000;

    /// Waits until the other thread has reached `round`.
    fn meet(mine: &AtomicU32, theirs: &AtomicU32, round: u32) {
        mine.store(round, Ordering::Relaxed);
        let mut looks = 0;
        while theirs.load(Ordering::Relaxed) < round {
            looks += 1;
            if looks % 1000 == 0 { thread::yield_now() } else { hint::spin_loop() }
        }
    }

    /// Lets both sides store their own word and then load the other's in each round. Returns the number of
    /// rounds in which both loads saw nothing.
    fn missed(light: impl Fn() + Sync, heavy: impl Fn()) -> usize {
        let words = || (0..ROUNDS).map(|_| AtomicU32::new(0)).collect::<Vec<_>>();
        let (frequent, rare) = (words(), words());
        let (at_frequent, at_rare) = (AtomicU32::new(0), AtomicU32::new(0));
        let run =
            |mine: &[AtomicU32], theirs: &[AtomicU32], at: (&AtomicU32, &AtomicU32), fence: &dyn Fn()| {
                let rounds = zip(mine, theirs).zip(1..);
                let seen = rounds.map(|((mine, theirs), round)| {
                    meet(at.0, at.1, round);
                    mine.store(1, Ordering::Relaxed);
                    fence();
                    theirs.load(Ordering::Relaxed)
                });
                seen.collect::<Vec<_>>()
            };
        thread::scope(|scope| {
            let seen = scope.spawn(|| run(&frequent, &rare, (&at_frequent, &at_rare), &light));
            let rare_seen = run(&rare, &frequent, (&at_rare, &at_frequent), &heavy);
            zip(seen.join().unwrap(), rare_seen).filter(|&seen| seen == (0, 0)).count()
        })
    }

    /// Runs as one test, not three: each case needs two processors to itself to detect anything.
    #[test]
    fn the_two_sides_never_miss_each_other() {
        alone("membarrier::tests::the_two_sides_never_miss_each_other", || {
            let fencing = register_private();
            assert_eq!(register_private(), fencing, "registered once");
            assert_eq!(missed(move || fencing.light(), heavy_private), 0, "threads of a process");
            let fencing = register_everywhere();
            assert_eq!(missed(move || fencing.light(), heavy), 0, "registered processes");
            let full = Fencing::Fences;
            assert_eq!(missed(move || full.light(), move || full.light()), 0, "full fences");
        });
    }
}
