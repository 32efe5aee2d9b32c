//! Slots: functions of the program for which C passes no state.

use core::ffi::c_void;
use std::sync::OnceLock;

use super::Function;

/// Largest number of different functions of a kind in a program.
pub const SLOTS: usize = 64;

/// The functions in the slots of a kind, by address. A function keeps its slot, so the program may make any
/// number of objects of it.
pub struct Slots([OnceLock<usize>; SLOTS]);

impl Slots {
    pub const fn new() -> Self {
        Self([const { OnceLock::new() }; SLOTS])
    }

    /// Returns the slot of a function; none if all slots hold other functions.
    pub fn of(&self, function: Function) -> Option<usize> {
        let new = function.expose_provenance();
        self.0.iter().position(|slot| *slot.get_or_init(|| new) == new)
    }

    /// Returns the function in a slot.
    pub fn get(&self, slot: usize) -> *const c_void {
        core::ptr::with_exposed_provenance(self.0[slot].get().copied().unwrap_or(0))
    }
}

/// Makes an array of the instances of a function with a constant parameter, one for each slot.
macro_rules! instances {
    ($function:ident as $of:ty) => {
        instances!(@tens $function, $of; 0 8 16 24 32 40 48 56)
    };
    (@tens $function:ident, $of:ty; $($first:literal)*) => {
        [$(
            $function::<{ $first }> as $of, $function::<{ $first + 1 }>, $function::<{ $first + 2 }>, $function::<{ $first + 3 }>,
            $function::<{ $first + 4 }>, $function::<{ $first + 5 }>, $function::<{ $first + 6 }>, $function::<{ $first + 7 }>,
        )*]
    };
}
pub(super) use instances;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_keeps_its_slot_until_all_have_others() {
        let slots = Slots::new();
        let function = |n: usize| core::ptr::without_provenance::<c_void>(n + 1);
        let all: Vec<_> = (0..SLOTS).map(|n| slots.of(function(n))).collect();
        assert_eq!(all, (0..SLOTS).map(Some).collect::<Vec<_>>());
        assert_eq!(slots.of(function(7)), Some(7));
        assert_eq!(slots.get(7).addr(), 8);
        assert_eq!(slots.of(function(SLOTS)), None);
    }
}
