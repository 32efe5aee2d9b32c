//! Registrations of tools for events, their callbacks, and the calls of the callbacks.
//!
//! One thread at a time calls the callbacks, at the end of a call of the program and without any lock. A
//! registration that is freed during the calls gets no further event. Its last callback runs after the
//! current event.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use canele_engine::{Engine, EventListener, ProtoEvent};
use canele_sys::atomic::{AtomicBool, AtomicU32, Ordering};
use canele_sys::clock::monotonic_ns;

use super::ring::EventRing;
use super::{Raised, TABLE};
use crate::tools::{Reason, ToolError, ToolResult, at};

/// The safety level of a callback, in rising order (MPI 5.0, table 15.5). A callback at level 0 may call any
/// function of MPI; at level 1 only some of the tools interface. Level 2 also allows calls by several
/// threads; level 3 also allows interruption of any code.
pub type Safety = usize;

/// The number of levels of [`Safety`].
pub const LEVELS: usize = 4;

/// A callback for events, called with the number of an event and the required safety level.
pub type Callback = Arc<dyn Fn(usize, Safety) + Send + Sync>;
/// A callback for dropped events, called with their number since the last call and the required safety level.
/// It also gets the state of the callback at that level.
pub type Dropped = Arc<dyn Fn(u64, Safety, usize) + Send + Sync>;
/// A callback after the last event of a freed registration, called with the required safety level.
pub type Freed = Box<dyn FnOnce(Safety) + Send>;

/// An event that is being reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instance {
    /// The number by which callbacks name the event.
    number: usize,
    /// The event.
    pub event: Raised,
}

/// The registration of a tool.
struct Registration {
    kind: usize,
    /// The first event that it gets.
    since: u64,
    /// The callback of each safety level, and its state.
    callbacks: [Option<(Callback, usize)>; LEVELS],
    on_dropped: Option<Dropped>,
    /// Number of events that it missed and will not get.
    dropped: u64,
}

impl Registration {
    /// Returns the callback with the lowest sufficient safety level.
    fn callback(&self, needed: Safety) -> Option<&(Callback, usize)> {
        self.callbacks.iter().skip(needed).flatten().next()
    }

    fn is_heard(&self) -> bool {
        self.callbacks.iter().any(Option::is_some)
    }
}

struct RegistrationsState {
    registrations: BTreeMap<usize, Registration>,
    /// The next number of a registration or reported event; numbers are never reused.
    next: usize,
    /// The thread that calls callbacks.
    teller: Option<ThreadId>,
    told: Option<Instance>,
    /// Callbacks of registrations that were freed while a thread reports events.
    freed: Vec<Freed>,
}

/// The events of a process.
pub struct ToolEvents {
    state: Mutex<RegistrationsState>,
    /// Notified when a thread ends reporting.
    ended: Condvar,
    ring: Mutex<EventRing>,
    /// True if the ring holds events or has dropped some.
    pending: AtomicBool,
    /// A bit for each kind with a callback.
    heard: AtomicU32,
    /// True if the engine reports events.
    attached: AtomicBool,
}

impl Default for ToolEvents {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolEvents {
    /// Makes an empty state.
    pub const fn new() -> Self {
        let state = RegistrationsState {
            registrations: BTreeMap::new(),
            next: 0x10,
            teller: None,
            told: None,
            freed: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            ended: Condvar::new(),
            ring: Mutex::new(EventRing::new()),
            pending: AtomicBool::new(false),
            heard: AtomicU32::new(0),
            attached: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, RegistrationsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self) -> MutexGuard<'_, EventRing> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers for events of a kind; returns the number of the registration.
    ///
    /// # Errors
    /// Fails if there is no such kind.
    pub fn register(&self, index: i32) -> ToolResult<usize> {
        at(&TABLE, index, "event_index")?;
        let (mut state, since) = (self.state(), self.ring().next());
        state.next += 1;
        let number = state.next;
        let registration = Registration {
            kind: index as usize,
            since,
            callbacks: [const { None }; LEVELS],
            on_dropped: None,
            dropped: 0,
        };
        state.registrations.insert(number, registration);
        Ok(number)
    }

    /// Sets or removes the callback of a registration at a safety level, with its state.
    ///
    /// # Errors
    /// Fails if there is no such registration.
    pub fn set_callback(
        &self,
        registration: usize,
        safety: Safety,
        callback: Option<(Callback, usize)>,
    ) -> ToolResult<()> {
        let (mut state, next) = (self.state(), self.ring().next());
        let found = state.find(registration)?;
        if !found.is_heard() {
            // Events raised before the registration were not stored.
            found.since = next;
        }
        found.callbacks[safety] = callback;
        self.set_heard(&state);
        Ok(())
    }

    /// Sets or removes the callback for dropped events.
    ///
    /// # Errors
    /// Fails if there is no such registration.
    pub fn set_dropped_handler(&self, registration: usize, handler: Option<Dropped>) -> ToolResult<()> {
        self.state().find(registration)?.on_dropped = handler;
        Ok(())
    }

    /// Checks that a registration exists.
    ///
    /// # Errors
    /// Fails if there is no such registration.
    pub fn check(&self, registration: usize) -> ToolResult<()> {
        self.state().find(registration).map(drop)
    }

    /// Frees a registration; `freed` is called after its last event, perhaps at once.
    ///
    /// # Errors
    /// Fails if there is no such registration.
    pub fn free(&self, registration: usize, freed: Option<Freed>, needed: Safety) -> ToolResult<()> {
        let mut state = self.state();
        state.find(registration)?;
        state.registrations.remove(&registration);
        self.set_heard(&state);
        if state.teller.is_some() {
            state.freed.extend(freed);
            return Ok(());
        }
        drop(state);
        freed.into_iter().for_each(|freed| freed(needed));
        Ok(())
    }

    /// Frees all registrations, and waits until other threads have ended reporting.
    pub fn clear(&self) {
        let mut state = self.state();
        state.registrations.clear();
        self.set_heard(&state);
        let me = std::thread::current().id();
        while state.teller.is_some_and(|teller| teller != me) {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the event with this number, while it is being reported.
    ///
    /// # Errors
    /// Fails if no such event is being reported.
    pub fn told(&self, number: usize) -> ToolResult<Instance> {
        self.state().told.filter(|told| told.number == number).ok_or_else(|| {
            let text =
                format!("event_instance is {number:#x}: an event can be asked while its function is called");
            ToolError::new(Reason::InvalidHandle, text)
        })
    }

    fn set_heard(&self, state: &RegistrationsState) {
        let heard = state.registrations.values().filter(|one| one.is_heard());
        // Relaxed: an event raised at the same time may be stored or not.
        self.heard.store(heard.fold(0, |bits, one| bits | 1 << one.kind), Ordering::Relaxed);
    }

    /// Has an engine report events, if any callback needs them and the engine does not report yet.
    ///
    /// # Errors
    /// Fails if this thread is inside the library, and in a forked child.
    pub fn attach(&'static self, engine: &Engine) -> ToolResult<()> {
        if self.heard.load(Ordering::Relaxed) == 0 || self.attached.load(Ordering::Relaxed) {
            return Ok(());
        }
        let not_accessible = |text: String| ToolError::new(Reason::NotAccessible, text);
        if engine.is_inside() {
            return Err(not_accessible(
                "a function that the library calls registers for no events".to_owned(),
            ));
        }
        engine.set_listener(Some(self)).map_err(|error| not_accessible(error.to_string()))?;
        // Relaxed: attaching twice does no harm.
        self.attached.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Stores an event, if its kind has a callback.
    fn raise(&self, event: ProtoEvent) {
        let (kind, values) = Raised::of(event);
        if self.heard.load(Ordering::Relaxed) & 1 << kind != 0 {
            self.ring().push(Raised { kind, at_ns: monotonic_ns(), values });
            // Relaxed: the flag is a hint; the ring has a lock.
            self.pending.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if events wait to be reported.
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed)
    }

    /// Reports all events, by callbacks of at least this safety level. Does nothing while a thread reports,
    /// which may be this one.
    #[cold]
    pub fn tell(&self, needed: Safety) {
        let mut state = self.state();
        if state.teller.is_some() {
            return;
        }
        state.teller = Some(std::thread::current().id());
        drop(state);
        // Cleared first, so that later events set the flag again.
        self.pending.store(false, Ordering::Relaxed);
        loop {
            // The ring has a lock of its own, since an engine raises events under its lock.
            let next = self.ring().pop();
            let Some((number, event)) = next else { break };
            self.tell_one(number, event, needed);
            self.call_freed(needed);
        }
        self.tell_dropped(needed);
        self.end_telling(needed);
    }

    fn tell_one(&self, number: u64, event: Raised, needed: Safety) {
        let mut state = self.state();
        state.next += 1;
        let instance = Instance { number: state.next, event };
        state.told = Some(instance);
        let told = |one: &Registration| one.kind == event.kind && one.since <= number && one.is_heard();
        let registrations: Vec<usize> =
            state.registrations.iter().filter(|(_, one)| told(one)).map(|(number, _)| *number).collect();
        for registration in registrations {
            // An earlier callback may have freed it.
            let Some(found) = state.registrations.get_mut(&registration) else { continue };
            let Some((callback, _)) = found.callback(needed).cloned() else {
                found.dropped += 1;
                continue;
            };
            drop(state);
            callback(instance.number, needed);
            state = self.state();
        }
        state.told = None;
    }

    /// Reports the number of dropped events.
    fn tell_dropped(&self, needed: Safety) {
        let dropped = self.ring().take_dropped();
        let mut state = self.state();
        let mut calls = Vec::new();
        for one in state.registrations.values_mut().filter(|one| one.is_heard()) {
            one.dropped += dropped[one.kind];
            if let Some(handler) = one.on_dropped.clone().filter(|_| one.dropped > 0) {
                let any = || one.callbacks.iter().flatten().next();
                let state = one.callback(needed).or_else(any).map_or(0, |(_, state)| *state);
                calls.push((handler, std::mem::take(&mut one.dropped), state));
            }
        }
        drop(state);
        calls.into_iter().for_each(|(handler, count, state)| handler(count, needed, state));
    }

    fn call_freed(&self, needed: Safety) {
        let freed = std::mem::take(&mut self.state().freed);
        freed.into_iter().for_each(|freed| freed(needed));
    }

    fn end_telling(&self, needed: Safety) {
        loop {
            self.call_freed(needed);
            let mut state = self.state();
            if state.freed.is_empty() {
                state.teller = None;
                self.ended.notify_all();
                return;
            }
        }
    }
}

impl RegistrationsState {
    fn find(&mut self, registration: usize) -> ToolResult<&mut Registration> {
        self.registrations.get_mut(&registration).ok_or_else(|| {
            let text = format!("event_registration is {registration:#x}: it was freed, or never made");
            ToolError::new(Reason::InvalidHandle, text)
        })
    }
}

impl EventListener for &'static ToolEvents {
    fn notify(&mut self, event: ProtoEvent) {
        self.raise(event);
    }
}

#[cfg(test)]
mod tests;
