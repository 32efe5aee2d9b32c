//! Hints of windows (MPI 5.0, §12.2): the keys of the standard, and the values that are reported for them.
//!
//! The library uses `alloc_shared_noncontig` and `mpi_minimum_memory_alignment`. Accumulates are always
//! ordered and atomic, and locks always work. The other keys are only stored and reported. A hint of the
//! library's own selects the lane where the window is made.

use super::Win;
use crate::info::{ALIGNMENT, Info};

/// The keys with their default values.
const KEYS: [(&str, &str); 8] = [
    ("no_locks", "false"),
    ("accumulate_ordering", "rar,raw,war,waw"),
    ("accumulate_ops", "same_op_no_op"),
    ("same_size", "false"),
    ("same_disp_unit", "false"),
    ("mpi_accumulate_granularity", "0"),
    ("alloc_shared_noncontig", "false"),
    (ALIGNMENT, "0"),
];

/// Returns true if the value is valid for the key.
fn is_valid(key: &str, value: &[u8]) -> bool {
    let Ok(value) = std::str::from_utf8(value) else { return false };
    match key {
        "accumulate_ordering" => {
            let known = |order: &str| matches!(order.trim(), "rar" | "raw" | "war" | "waw");
            value == "none" || value.split(',').all(known)
        }
        "accumulate_ops" => matches!(value, "same_op" | "same_op_no_op"),
        "mpi_accumulate_granularity" | ALIGNMENT => value.parse::<usize>().is_ok(),
        _ => matches!(value, "true" | "false"),
    }
}

/// Returns the known keys of an info that have valid values.
pub(super) fn kept(info: &Info) -> Info {
    let kept = Info::new();
    for (key, _) in KEYS {
        let value = info.get(key).ok().flatten();
        if let Some(value) = value.filter(|value| is_valid(key, value)) {
            // Keys and values come from an info, so they are valid.
            let _ = kept.set(key, value);
        }
    }
    kept
}

/// Returns true if a key is set to `true`.
pub(super) fn is_true(info: &Info, key: &str) -> bool {
    info.get(key).ok().flatten().is_some_and(|value| *value == *b"true")
}

impl Win {
    /// Returns all hints: the program's values, and the defaults of the other keys.
    pub fn hints(&self) -> Info {
        let hints = self.kept().info.duplicate();
        for (key, value) in KEYS {
            if hints.get(key).is_ok_and(|set| set.is_none()) {
                // Keys and values are short.
                let _ = hints.set(key, value);
            }
        }
        self.comm.tell_lanes(&hints);
        hints
    }

    /// Adds hints; keys that `info` lacks keep their values.
    pub fn update_info(&self, info: &Info) {
        self.kept().info.update(&kept(info));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_keys_with_possible_values_are_kept() {
        let info = Info::new();
        for (key, value) in [
            ("no_locks", "true"),
            ("same_size", "perhaps"),
            ("accumulate_ordering", "rar, waw"),
            ("accumulate_ops", "same_op"),
            ("mpi_accumulate_granularity", "8"),
            (ALIGNMENT, "48"),
            ("mine", "true"),
        ] {
            info.set(key, value).expect("short");
        }
        let kept = kept(&info);
        assert_eq!(kept.len(), 5);
        assert!(is_true(&kept, "no_locks") && !is_true(&kept, "same_size"));
        assert_eq!(kept.alignment(), 0, "no power of two");
        info.set(ALIGNMENT, "8192").expect("short");
        assert_eq!(info.alignment(), 8192);
    }
}
