//! Counts comparisons of keys, so that tests can check the cost of a look-up.

use std::cell::Cell;
use std::cmp::Ordering;

thread_local! {
    static COMPARISONS: Cell<u64> = const { Cell::new(0) };
}

/// Returns the number of comparisons of keys in this thread.
pub fn comparisons() -> u64 {
    COMPARISONS.get()
}

/// A key whose comparisons are counted.
#[derive(Clone, Copy, Debug)]
pub struct Counted(pub u32);

impl Ord for Counted {
    fn cmp(&self, other: &Self) -> Ordering {
        COMPARISONS.set(COMPARISONS.get() + 1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Counted {}
