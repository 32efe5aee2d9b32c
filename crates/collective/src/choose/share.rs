//! Amounts of work, and the time that they take on processors.

/// An amount of work, of the busiest rank and of all.
#[derive(Clone, Copy, Default)]
pub(super) struct Share {
    pub(super) busiest: f64,
    pub(super) all: f64,
}

impl Share {
    /// Returns the work of `ranks` ranks that do `of_one` each.
    pub(super) fn each(ranks: f64, of_one: f64) -> Self {
        Self { busiest: of_one, all: ranks * of_one }
    }

    /// Returns this work times a factor.
    pub(super) fn times(self, times: f64) -> Self {
        Self { busiest: times * self.busiest, all: times * self.all }
    }

    /// Returns the time on so many processors, in units of the work.
    pub(super) fn on(self, processors: f64) -> f64 {
        self.crowded_on(processors, 1.0, 0.0)
    }

    /// Returns the time if all of it but `own` takes `crowding` times as long while all processors do it at
    /// once.
    pub(super) fn crowded_on(self, processors: f64, crowding: f64, own: f64) -> f64 {
        self.busiest.max((own + (self.all - own) * crowding) / processors)
    }
}
