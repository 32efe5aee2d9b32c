//! Hints of communicators (MPI 5.0, §7.4.4): those that the program gave, and the defaults of those that the library knows.
//!
//! Of the assertions the library makes use of one: the tags of a duplicate of which all members assert `mpi_assert_no_any_tag` are spread over lanes. The
//! others it keeps and tells. A hint of its own names the lane of a duplicate.

use std::sync::Arc;

use canele_engine::WantedLane;

use super::Comm;
use crate::info::Info;
use crate::session;

/// No receive on the communicator takes messages of any tag.
const NO_ANY_TAG: &str = "mpi_assert_no_any_tag";

/// Assertions of the standard, which are not made at first.
const ASSERTIONS: [&str; 5] = [
    NO_ANY_TAG,
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_start_ordering",
];

/// The kinds of memory that messages may lie in, which a hint does not change.
pub(crate) const MEMORY_KINDS: &str = "mpi_memory_alloc_kinds";

/// The number of the lane that a duplicate is to lie on, where ranks may have several.
pub(crate) const LANE: &str = "canele_lane";

/// The number of the lane that a communicator lies on, or those of all lanes that its tags are spread over. It is another key, for a program gives what it is told to its next duplicate, which is not meant
/// to lie there.
const LIES_ON_LANE: &str = "canele_lies_on_lane";

/// The lane that a duplicate with this info is to lie on. One that it names comes before others.
pub(super) fn wanted_lane(info: &Info) -> WantedLane {
    let asserts = |key| info.get(key).ok().flatten().is_some_and(|value| *value == *b"true");
    match lane_of_object(info) {
        WantedLane::Next if asserts(NO_ANY_TAG) => WantedLane::Each,
        wanted => wanted,
    }
}

/// The lane that an object with one flow of its own, as a window or a file, is to lie on with this info.
pub(crate) fn lane_of_object(info: &Info) -> WantedLane {
    let number = info.get(LANE).ok().flatten();
    let number = number.and_then(|number| std::str::from_utf8(&number).ok()?.trim().parse().ok());
    number.map_or(WantedLane::Next, WantedLane::Numbered)
}

/// What is kept of an info: assertions, whose values are `true` and `false`. All else is ignored.
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
    /// All hints: those that the program gave, and the defaults of the others.
    pub fn hints(&self) -> Info {
        let hints = self.kept().info.duplicate();
        let session = self.group().session();
        let of_world = || session::memory_kinds(&self.engine.tunables().mpi_memory_alloc_kinds);
        let kinds = session.map_or_else(of_world, |session| session.memory_kinds.clone());
        let defaults = ASSERTIONS.map(|key| (key, "false")).into_iter().chain([(MEMORY_KINDS, &*kinds)]);
        self.tell_lanes(&hints);
        // Where messages lie was decided when it was made.
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

    /// Adds the lanes that it lies on, where ranks may have several.
    pub(crate) fn tell_lanes(&self, hints: &Info) {
        if self.engine.most_lanes() > 1 {
            let numbers: Vec<_> = self.flows().map(|(lane, _)| lane.lane_number().to_string()).collect();
            // Keys and values are short.
            let _ = hints.set(LIES_ON_LANE, numbers.join(","));
        }
    }

    /// Adds hints; those that `info` does not name stay.
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
