//! Sessions of performance variables and their handles: each handle counts from its own start, independent of
//! others.

use std::collections::BTreeMap;

use canele_sys::counters::Counter;

use super::{CounterClass, CounterReading, MARKS, PerformanceVariable, performances};
use crate::tools::{Reason, ToolError, ToolResult, at};

/// A variable as one tool sees it.
#[derive(Debug)]
struct Handle {
    variable: PerformanceVariable,
    is_started: bool,
    /// For a growing counter, the count up to `base`; for a high-water mark, the highest level.
    value: u64,
    /// For a growing counter, its value when the handle was started or last read.
    base: u64,
}

/// All sessions of a process. Numbers of sessions and handles are never reused.
#[derive(Debug)]
pub struct PerformanceSessions {
    sessions: BTreeMap<usize, BTreeMap<usize, Handle>>,
    next: usize,
}

/// A selection of handles of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handles {
    /// The one with this number.
    One(usize),
    /// All handles that support the operation.
    All,
}

impl Handle {
    fn counter(&self) -> Counter {
        self.variable.0.counter
    }

    fn is_mark(&self) -> bool {
        self.variable.class() == CounterClass::HighWatermark
    }

    /// Returns the handle's value now.
    fn value(&self, reading: &CounterReading) -> u64 {
        match self.variable.is_continuous() {
            true => reading.of_counter(self.counter()),
            false if self.is_mark() || !self.is_started => self.value,
            false => self.value.wrapping_add(reading.of_counter(self.counter()).wrapping_sub(self.base)),
        }
    }

    /// Updates a high-water mark with the highest level since the previous reading.
    fn note_peaks(&mut self, reading: &CounterReading) {
        if let Some(mark) = self.variable.mark()
            && self.is_started
        {
            self.value = self.value.max(reading.peaks[mark]);
        }
    }

    fn start(&mut self, reading: &CounterReading) {
        if !std::mem::replace(&mut self.is_started, true) {
            self.begin_at(self.value.max(self.first(reading)), reading);
        }
    }

    fn stop(&mut self, reading: &CounterReading) {
        self.value = self.value(reading);
        self.is_started = false;
    }

    /// Sets the value from which it counts.
    fn begin_at(&mut self, value: u64, reading: &CounterReading) {
        self.value = value;
        self.base = reading.of_counter(self.counter());
    }

    /// Returns the value with which a handle starts: the current level for a high-water mark, otherwise 0.
    fn first(&self, reading: &CounterReading) -> u64 {
        self.variable.mark().map_or(0, |mark| reading.of_counter(MARKS[mark].1))
    }

    fn reset(&mut self, reading: &CounterReading) {
        self.begin_at(self.first(reading), reading);
    }
}

impl Default for PerformanceSessions {
    fn default() -> Self {
        Self::new()
    }
}

impl PerformanceSessions {
    /// Makes an empty table.
    pub const fn new() -> Self {
        // Smaller numbers are constants of the interface.
        Self { sessions: BTreeMap::new(), next: 0x10 }
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// Makes a session; returns its number.
    pub fn create(&mut self) -> usize {
        let session = self.number();
        self.sessions.insert(session, BTreeMap::new());
        session
    }

    /// Frees a session and all its handles.
    ///
    /// # Errors
    /// Fails if there is no such session.
    pub fn free(&mut self, session: usize) -> ToolResult<()> {
        self.sessions.remove(&session).map(drop).ok_or_else(|| no_session(session))
    }

    /// Frees all sessions.
    pub fn clear(&mut self) {
        self.sessions.clear();
    }

    /// Makes a handle of a variable and returns its number. The handle is stopped unless the variable always
    /// counts.
    ///
    /// # Errors
    /// Fails if there is no such session or variable.
    pub fn allocate(&mut self, session: usize, index: i32) -> ToolResult<usize> {
        let variable = *at(performances(), index, "pvar_index")?;
        let number = self.number();
        let handles = self.sessions.get_mut(&session).ok_or_else(|| no_session(session))?;
        let is_started = variable.is_continuous();
        handles.insert(number, Handle { variable, is_started, value: 0, base: 0 });
        Ok(number)
    }

    /// Frees a handle.
    ///
    /// # Errors
    /// Fails if there is no such session or handle.
    pub fn release(&mut self, session: usize, handle: usize) -> ToolResult<()> {
        let handles = self.sessions.get_mut(&session).ok_or_else(|| no_session(session))?;
        handles.remove(&handle).map(drop).ok_or_else(|| no_handle(handle))
    }

    /// Starts handles.
    ///
    /// # Errors
    /// Fails if there is no such session or handle, or if the variable always counts.
    pub fn start(&mut self, session: usize, handles: Handles, reading: &CounterReading) -> ToolResult<()> {
        self.each(session, handles, Reason::NoStartStop, reading, |handle| handle.start(reading))
    }

    /// Stops handles.
    ///
    /// # Errors
    /// Fails like [`Self::start`].
    pub fn stop(&mut self, session: usize, handles: Handles, reading: &CounterReading) -> ToolResult<()> {
        self.each(session, handles, Reason::NoStartStop, reading, |handle| handle.stop(reading))
    }

    /// Resets handles.
    ///
    /// # Errors
    /// Fails if there is no such session or handle, or if the variable can be neither written nor reset.
    pub fn reset(&mut self, session: usize, handles: Handles, reading: &CounterReading) -> ToolResult<()> {
        self.each(session, handles, Reason::NoWrite, reading, |handle| handle.reset(reading))
    }

    /// Sets the value of a handle.
    ///
    /// # Errors
    /// Fails like [`Self::reset`].
    pub fn write(
        &mut self,
        session: usize,
        handle: usize,
        value: u64,
        reading: &CounterReading,
    ) -> ToolResult<()> {
        let one = Handles::One(handle);
        self.each(session, one, Reason::NoWrite, reading, |handle| handle.begin_at(value, reading))
    }

    /// Returns the value of a handle.
    ///
    /// # Errors
    /// Fails if there is no such session or handle.
    pub fn read(&mut self, session: usize, handle: usize, reading: &CounterReading) -> ToolResult<u64> {
        self.note_peaks(reading);
        Ok(self.one(session, handle)?.value(reading))
    }

    /// Returns the value of a handle and resets it.
    ///
    /// # Errors
    /// Fails like [`Self::reset`].
    pub fn read_and_reset(
        &mut self,
        session: usize,
        handle: usize,
        reading: &CounterReading,
    ) -> ToolResult<u64> {
        let mut value = 0;
        let one = Handles::One(handle);
        self.each(session, one, Reason::NoWrite, reading, |handle| {
            value = handle.value(reading);
            handle.reset(reading);
        })?;
        Ok(value)
    }

    /// Updates the high-water marks of all handles, since the next reading does not contain these peaks.
    fn note_peaks(&mut self, reading: &CounterReading) {
        self.sessions
            .values_mut()
            .flat_map(BTreeMap::values_mut)
            .for_each(|handle| handle.note_peaks(reading));
    }

    fn one(&mut self, session: usize, handle: usize) -> ToolResult<&mut Handle> {
        let handles = self.sessions.get_mut(&session).ok_or_else(|| no_session(session))?;
        handles.get_mut(&handle).ok_or_else(|| no_handle(handle))
    }

    /// Changes one handle, which fails for a variable that always counts, or all that support it.
    fn each(
        &mut self,
        session: usize,
        handles: Handles,
        refused: Reason,
        reading: &CounterReading,
        mut change: impl FnMut(&mut Handle),
    ) -> ToolResult<()> {
        self.note_peaks(reading);
        match handles {
            Handles::One(handle) => {
                let handle = self.one(session, handle)?;
                if handle.variable.is_continuous() {
                    let text = format!("{} is always as the library has it", handle.variable.name());
                    return Err(ToolError::new(refused, text));
                }
                change(handle);
            }
            Handles::All => {
                let handles = self.sessions.get_mut(&session).ok_or_else(|| no_session(session))?;
                handles.values_mut().filter(|handle| !handle.variable.is_continuous()).for_each(change);
            }
        }
        Ok(())
    }
}

fn no_session(session: usize) -> ToolError {
    let text = format!("session is {session:#x}: it was freed, or never made");
    ToolError::new(Reason::InvalidSession, text)
}

fn no_handle(handle: usize) -> ToolError {
    let text = format!("handle is {handle:#x}: it was freed, or never made, or belongs to another session");
    ToolError::new(Reason::InvalidHandle, text)
}

#[cfg(test)]
mod tests {
    use canele_sys::atomic::AtomicU64;
    use canele_sys::counters::Counters;

    use super::*;

    /// Returns a reading of counters with these values.
    fn reading(set: &[(Counter, u64)], peaks: [u64; 2]) -> CounterReading {
        let slots: Vec<AtomicU64> = (0..Counter::COUNT).map(|_| AtomicU64::new(0)).collect();
        let counters = Counters::new(&slots);
        set.iter().for_each(|(counter, value)| counters.add(*counter, *value));
        CounterReading { counters: Some(counters.snapshot()), peaks }
    }

    fn copies(value: u64) -> CounterReading {
        reading(&[(Counter::Copies, value)], [0; 2])
    }

    #[test]
    fn a_handle_counts_while_it_is_started_and_others_do_not_matter() {
        let mut all = PerformanceSessions::new();
        let (a, b) = (all.create(), all.create());
        let index = Counter::Copies as i32;
        let (one, other) = (all.allocate(a, index).unwrap(), all.allocate(b, index).unwrap());
        all.start(a, Handles::One(one), &copies(100)).unwrap();
        assert_eq!(all.read(a, one, &copies(130)), Ok(30));
        all.start(b, Handles::All, &copies(130)).unwrap();
        all.stop(a, Handles::One(one), &copies(140)).unwrap();
        assert_eq!((all.read(a, one, &copies(990)), all.read(b, other, &copies(990))), (Ok(40), Ok(860)));
        all.start(a, Handles::One(one), &copies(1000)).unwrap();
        all.start(a, Handles::One(one), &copies(1005)).unwrap();
        assert_eq!(all.read_and_reset(a, one, &copies(1010)), Ok(50));
        assert_eq!(all.read(a, one, &copies(1011)), Ok(1));
        all.write(a, one, 7, &copies(1020)).unwrap();
        assert_eq!(all.read(a, one, &copies(1022)), Ok(9));
        assert_eq!(all.read(b, other, &copies(1022)), Ok(892), "no other session has changed it");
    }

    #[test]
    fn a_high_water_mark_begins_at_the_level_and_sees_every_peak() {
        let mut all = PerformanceSessions::new();
        let session = all.create();
        let index = Counter::UnexpectedMost as i32;
        let handles = [(); 2].map(|()| all.allocate(session, index).unwrap());
        let at = |level, peak| reading(&[(Counter::UnexpectedHeld, level)], [peak, 0]);
        all.start(session, Handles::One(handles[0]), &at(5, 50)).unwrap();
        assert_eq!(all.read(session, handles[0], &at(4, 5)), Ok(5), "the peak before does not count");
        all.start(session, Handles::One(handles[1]), &at(4, 9)).unwrap();
        // The peak was told once, to the handle that asked first.
        let values = handles.map(|handle| all.read(session, handle, &at(4, 4)).unwrap());
        assert_eq!(values, [9, 4]);
        assert_eq!(all.read_and_reset(session, handles[0], &at(3, 12)), Ok(12));
        assert_eq!(all.read(session, handles[1], &at(3, 3)), Ok(12));
        assert_eq!(all.read(session, handles[0], &at(3, 3)), Ok(3));
    }

    #[test]
    fn what_always_counts_is_neither_started_nor_reset() {
        let mut all = PerformanceSessions::new();
        let session = all.create();
        let level = all.allocate(session, Counter::Rail1Links as i32).unwrap();
        let now = reading(&[(Counter::Rail1Links, 3)], [0; 2]);
        assert_eq!(all.read(session, level, &now), Ok(3));
        let one = Handles::One(level);
        let reasons = [
            all.start(session, one, &now),
            all.stop(session, one, &now),
            all.reset(session, one, &now),
            all.write(session, level, 1, &now),
            all.read_and_reset(session, level, &now).map(drop),
        ]
        .map(|result| result.unwrap_err().reason);
        use Reason::{NoStartStop, NoWrite};
        assert_eq!(reasons, [NoStartStop, NoStartStop, NoWrite, NoWrite, NoWrite]);
        assert_eq!(all.reset(session, Handles::All, &now), Ok(()), "those for which it makes sense");
    }

    #[test]
    fn numbers_of_what_was_freed_name_nothing() {
        let mut all = PerformanceSessions::new();
        let (a, b) = (all.create(), all.create());
        let handle = all.allocate(a, 0).unwrap();
        let reason = |result: ToolResult<()>| result.unwrap_err().reason;
        assert_eq!(reason(all.release(b, handle)), Reason::InvalidHandle, "it is of another session");
        all.release(a, handle).unwrap();
        assert_eq!(reason(all.release(a, handle)), Reason::InvalidHandle);
        let other = all.allocate(a, 0).unwrap();
        assert_ne!(other, handle);
        all.free(a).unwrap();
        assert_eq!(reason(all.free(a)), Reason::InvalidSession);
        assert_eq!(reason(all.release(a, other)), Reason::InvalidSession);
        assert_eq!(all.allocate(b, -1).unwrap_err().reason, Reason::InvalidIndex);
        assert_eq!(all.allocate(b, Counter::COUNT as i32).unwrap_err().reason, Reason::InvalidIndex);
    }
}
