//! Hints of communicators (MPI 5.0, §7.4.4): the values of the program, and defaults of known keys.
//!
//! The library uses one assertion: a duplicate for which all members assert `mpi_assert_no_any_tag` spreads
//! its tags over lanes. The other assertions are only stored and reported. A hint of the library's own
//! selects the lane of a duplicate.

use std::sync::Arc;

use canele_engine::WantedLane;

use super::Comm;
use crate::info::Info;
use crate::session;

/// Asserts that no receive on the communicator uses `MPI_ANY_TAG`.
const NO_ANY_TAG: &str = "mpi_assert_no_any_tag";

/// Assertions of the standard, which are false by default.
const ASSERTIONS: [&str; 5] = [
    NO_ANY_TAG,
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_start_ordering",
];

/// The kinds of memory that messages may use; a hint does not change them.
pub(crate) const MEMORY_KINDS: &str = "mpi_memory_alloc_kinds";

/// The lane of a duplicate, if ranks may have several.
pub(crate) const LANE: &str = "canele_lane";

/// The lane of a communicator, or all lanes over which its tags are spread. The key differs from [`LANE`],
/// since programs pass reported hints to their next duplicate.
const LIES_ON_LANE: &str = "canele_lies_on_lane";

/// Returns the lane for a duplicate with this info; a named lane takes precedence.
pub(super) fn wanted_lane(info: &Info) -> WantedLane {
    let asserts = |key| info.get(key).ok().flatten().is_some_and(|value| *value == *b"true");
    match lane_of_object(info) {
        WantedLane::Next if asserts(NO_ANY_TAG) => WantedLane::Each,
        wanted => wanted,
    }
}

/// Returns the lane for an object with one flow, such as a window or a file.
pub(crate) fn lane_of_object(info: &Info) -> WantedLane {
    let number = info.get(LANE).ok().flatten();
    let number = number.and_then(|number| std::str::from_utf8(&number).ok()?.trim().parse().ok());
    number.map_or(WantedLane::Next, WantedLane::Numbered)
}

/// Returns the assertions of an info with the values `true` and `false`; other keys are ignored.
fn kept(info: &Info) -> Info {
    let kept = Info::new();
    for key in ASSERTIONS {
        let value = info.get(key).ok().flatten();
        if let Some(value) = value.filter(|value| matches!(&**value, b"true" | b"false")) {
            // Keys and values are short.
            let _ = kept.set(key, value);
        }
    }
    kept
}

impl Comm {
    /// Returns all hints: the values of the program, and the defaults of other keys.
    pub fn hints(&self) -> Info {
        let hints = self.kept().info.duplicate();
        let session = self.group().session();
        let of_world = || session::memory_kinds(&self.engine.tunables().mpi_memory_alloc_kinds);
        let kinds = session.map_or_else(of_world, |session| session.memory_kinds.clone());
        let defaults = ASSERTIONS.map(|key| (key, "false")).into_iter().chain([(MEMORY_KINDS, &*kinds)]);
        self.tell_lanes(&hints);
        // The lanes were chosen when it was made, so this hint cannot change.
        if self.is_spread() {
            let _ = hints.set(NO_ANY_TAG, "true");
        }
        for (key, value) in defaults {
            if hints.get(key).is_ok_and(|set| set.is_none()) {
                // Keys and values are short.
                let _ = hints.set(key, value);
            }
        }
        hints
    }

    /// Adds the lanes of the communicator, if ranks may have several.
    pub(crate) fn tell_lanes(&self, hints: &Info) {
        if self.engine.most_lanes() > 1 {
            let numbers: Vec<_> = self.flows().map(|(lane, _)| lane.lane_number().to_string()).collect();
            // Keys and values are short.
            let _ = hints.set(LIES_ON_LANE, numbers.join(","));
        }
    }

    /// Adds hints; keys that `info` lacks keep their values.
    pub fn update_info(&self, info: &Info) {
        let mut own = self.kept();
        let all = own.info.duplicate();
        all.update(&kept(info));
        own.info = Arc::new(all);
    }

    /// Sets the hints of a new communicator.
    pub fn set_info(&self, info: &Info) {
        self.kept().info = Arc::new(kept(info));
    }
}
