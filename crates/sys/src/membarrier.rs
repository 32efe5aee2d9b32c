//! Asymmetric barriers: the rare side pays for both.
//!
//! A frequent side (a sender, the owner of a gate) orders its store before its load with a compiler fence
//! alone; the rare side (a rank about to sleep, a thread taking a gate from its owner) issues a heavy
//! barrier, a system call which makes every processor running a registered process execute a full fence.
//!
//! ```text
//!   frequent:  store A;  Fencing::light;  load B        rare:  store B;  heavy();  load A
//!   at least one of the two sees the other's store
//! ```
//!
//! What this module never does: remember what a peer registered. A process says so in its own segment, and
//! a pair in which either side is not registered uses [`Fencing::Fences`] on both sides.

use crate::atomic::{Ordering, compiler_fence, fence};
use std::sync::OnceLock;

/// How the frequent side orders its store before its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fencing {
    /// A compiler fence: the rare side's heavy barrier does the rest.
    Asymmetric,
    /// A full fence each time.
    Fences,
}

impl Fencing {
    /// The frequent side's fence.
    #[inline(always)]
    pub fn light(self) {
        match self {
            // SeqCst for the compiler; the processor's half pairs with `heavy` or `heavy_private`.
            Fencing::Asymmetric => compiler_fence(Ordering::SeqCst),
            // SeqCst pairs with the full fence that every heavy barrier includes.
            Fencing::Fences => fence(Ordering::SeqCst),
        }
    }
}

static GLOBAL: OnceLock<Fencing> = OnceLock::new();
static PRIVATE: OnceLock<Fencing> = OnceLock::new();

/// Registers this process for the heavy barriers of *other* processes ([`heavy`]), once for its lifetime.
///
/// Each process that takes part calls it at start and tells its peers the answer: `Asymmetric` allows a
/// light side in this process, provided that the heavy side's kernel barrier works too.
pub fn register() -> Fencing {
    *GLOBAL.get_or_init(kernel::register_global)
}

/// The heavy barrier among all registered processes; always also a full fence of the calling thread.
///
/// # Panics
/// If the kernel refuses the barrier after it accepted the registration (a seccomp filter installed in
/// between): going on would lose wake-ups silently.
pub fn heavy() {
    barrier(&GLOBAL, kernel::barrier_global);
}

/// Registers this process for its own threads' heavy barriers ([`heavy_private`]), once for its lifetime.
pub fn register_private() -> Fencing {
    *PRIVATE.get_or_init(kernel::register_private)
}

/// The heavy barrier among the threads of this process; always also a full fence of the calling thread.
///
/// # Panics
/// As [`heavy`].
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

    /// Tries the barrier itself as well: a kernel or filter may offer the one without the other.
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

/// In a model every barrier is a full fence on both sides.
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
