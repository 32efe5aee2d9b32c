//! Performance variables (MPI 5.0, §15.3.7): the counters of the rank.
//!
//! Counts, sums, times and high-water marks are read through handles, each of which begins when it is
//! started. Levels and sizes are read directly. A handle costs nothing while the program runs: a read
//! compares it with the counters.

mod session;

use canele_engine::Engine;
use canele_sys::counters::{Counter, CounterRow, Snapshot};

use super::{Reason, ToolError, ToolResult, Verbosity};

pub use session::{Handles, PerformanceSessions};

pub use canele_sys::counters::CounterClass;

/// A performance variable.
#[derive(Clone, Copy, Debug)]
pub struct PerformanceVariable(&'static CounterRow);

/// Returns all performance variables, in the order of the counters.
pub fn performances() -> &'static [PerformanceVariable] {
    static ALL: std::sync::LazyLock<Vec<PerformanceVariable>> =
        std::sync::LazyLock::new(|| Counter::TABLE.iter().map(PerformanceVariable).collect());
    &ALL
}

/// The high-water marks that a handle can reset, in the order in which the engine reports them, with their
/// levels.
const MARKS: [(Counter, Counter); 2] =
    [(Counter::UnexpectedMost, Counter::UnexpectedHeld), (Counter::CreditMost, Counter::CreditHeld)];

impl PerformanceVariable {
    /// Returns the variable's name, that of the counter.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// Returns the variable's unit and meaning.
    pub fn description(&self) -> String {
        format!("{} {}", self.0.unit, self.0.doc)
    }

    /// Returns the variable's class.
    pub fn class(&self) -> CounterClass {
        self.0.class
    }

    /// Returns the variable's audience.
    pub fn verbosity(&self) -> Verbosity {
        match self.class() {
            CounterClass::HighWatermark | CounterClass::Timer => Verbosity::UserBasic,
            CounterClass::Count | CounterClass::Sum => Verbosity::UserDetail,
            CounterClass::Level | CounterClass::Size => Verbosity::TunerDetail,
        }
    }

    /// Returns true if the variable always counts and cannot be started, stopped, written or reset.
    pub fn is_continuous(&self) -> bool {
        match self.class() {
            CounterClass::Level | CounterClass::Size => true,
            CounterClass::HighWatermark => self.mark().is_none(),
            CounterClass::Count | CounterClass::Sum | CounterClass::Timer => false,
        }
    }

    /// Returns the index in [`MARKS`] of a high-water mark that a handle can reset.
    fn mark(&self) -> Option<usize> {
        MARKS.iter().position(|(mark, _)| *mark == self.0.counter)
    }
}

/// Returns the index of a variable by name and class.
///
/// # Errors
/// Fails if no variable of this class has the name.
pub fn performance_index(name: &str, class: Option<CounterClass>) -> ToolResult<i32> {
    let found = performances().iter().position(|one| one.name() == name && Some(one.class()) == class);
    found.map(|index| index as i32).ok_or_else(|| super::unknown(name))
}

/// The values of the counters at one moment.
#[derive(Clone, Debug)]
pub struct CounterReading {
    /// All counters; none before the rank has joined its job.
    counters: Option<Snapshot>,
    /// The highest levels since the previous reading, in the order of the marks.
    peaks: [u64; 2],
}

impl CounterReading {
    /// Reads the counters of an engine; without an engine all values are 0.
    ///
    /// # Errors
    /// Fails if this thread is inside the library, and in a forked child.
    pub fn of(engine: Option<&Engine>) -> ToolResult<Self> {
        let Some(engine) = engine else { return Ok(Self { counters: None, peaks: [0; 2] }) };
        if engine.is_inside() {
            let text = "a function that the library calls reads no variables";
            return Err(ToolError::new(Reason::NotAccessible, text));
        }
        let not_accessible =
            |error: canele_engine::Error| ToolError::new(Reason::NotAccessible, error.to_string());
        let counters = engine.counters().map_err(not_accessible)?;
        let peaks = engine.take_peaks().map_err(not_accessible)?;
        Ok(Self { counters: Some(counters), peaks })
    }

    fn of_counter(&self, counter: Counter) -> u64 {
        self.counters.as_ref().map_or(0, |counters| counters[counter])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_is_a_variable_of_its_name() {
        for (index, (one, row)) in performances().iter().zip(Counter::TABLE).enumerate() {
            assert_eq!(one.name(), row.name);
            assert_eq!(performance_index(row.name, Some(row.class)), Ok(index as i32));
        }
        let wrong = performance_index("copies", Some(CounterClass::Level)).map_err(|error| error.reason);
        assert_eq!(wrong, Err(Reason::InvalidName));
        assert_eq!(performance_index("copies", None).map_err(|error| error.reason), Err(Reason::InvalidName));
    }

    #[test]
    fn the_marks_are_high_water_marks_of_levels() {
        for (mark, level) in MARKS {
            assert_eq!(Counter::TABLE[mark as usize].class, CounterClass::HighWatermark);
            assert_eq!(Counter::TABLE[level as usize].class, CounterClass::Level);
        }
        let continuous = |counter: Counter| performances()[counter as usize].is_continuous();
        assert!(continuous(Counter::Deepest) && continuous(Counter::CreditTotal));
        assert!(!continuous(Counter::CreditMost) && !continuous(Counter::TimeWaited));
    }
}
