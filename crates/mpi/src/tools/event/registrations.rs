//! Registrations: what tools want to be told of, and by which functions; and the telling.
//!
//! One thread at a time tells, at the end of a call of the program's and without any lock. A registration that is freed meanwhile is told of
//! nothing more, and its last function is called once the event that is being told has been.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use canele_engine::{Engine, EventListener, ProtoEvent};
use canele_sys::atomic::{AtomicBool, AtomicU32, Ordering};
use canele_sys::clock::monotonic_ns;

use super::ring::EventRing;
use super::{Raised, TABLE};
use crate::tools::{Reason, ToolError, ToolResult, at};

/// How careful a function of a tool is, in rising order (MPI 5.0, table 15.5): it may call anything of MPI; only some functions of the
/// tools interface; the same, and be called by several threads; the same, and interrupt any code.
pub type Safety = usize;

/// The number of levels of [`Safety`].
pub const LEVELS: usize = 4;

/// Called with the number of an event, and the level of safety that is needed.
pub type Callback = Arc<dyn Fn(usize, Safety) + Send + Sync>;
/// Called with the number of events that were dropped since the last call, the level of safety that is needed, and the state of the
/// callback of that level.
pub type Dropped = Arc<dyn Fn(u64, Safety, usize) + Send + Sync>;
/// Called once a registration is told of nothing more, with the level of safety that is needed.
pub type Freed = Box<dyn FnOnce(Safety) + Send>;

/// An event that is being told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instance {
    /// Its number, by which functions name it.
    number: usize,
    /// The event.
    pub event: Raised,
}

/// What a tool wants to be told of.
struct Registration {
    kind: usize,
    /// ToolEvents from this number on.
    since: u64,
    /// By level of safety: the function, and the state that it is called with.
    callbacks: [Option<(Callback, usize)>; LEVELS],
    on_dropped: Option<Dropped>,
    /// ToolEvents that it has not been told of and will not be.
    dropped: u64,
}

impl Registration {
    /// The least careful function that is careful enough.
    fn callback(&self, needed: Safety) -> Option<&(Callback, usize)> {
        self.callbacks.iter().skip(needed).flatten().next()
    }

    fn is_heard(&self) -> bool {
        self.callbacks.iter().any(Option::is_some)
    }
}

struct RegistrationsState {
    registrations: BTreeMap<usize, Registration>,
    /// Numbers of registrations and of events that were told; never used again.
    next: usize,
    /// The thread that tells.
    teller: Option<ThreadId>,
    told: Option<Instance>,
    /// Of registrations that were freed while a thread tells.
    freed: Vec<Freed>,
}

/// The events of a process.
pub struct ToolEvents {
    state: Mutex<RegistrationsState>,
    /// The end of telling.
    ended: Condvar,
    ring: Mutex<EventRing>,
    /// Something is in the ring, or was dropped.
    pending: AtomicBool,
    /// A bit for each kind that a function wants to be told of.
    heard: AtomicU32,
    /// The engine tells.
    attached: AtomicBool,
}

impl Default for ToolEvents {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolEvents {
    /// No events.
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

    /// Wants to be told of events of a kind; returns the number of the registration.
    ///
    /// # Errors
    /// There is no such kind.
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

    /// Sets the function that a registration is told by at a level of safety, with the state that it is called with, or takes it away.
    ///
    /// # Errors
    /// There is no such registration.
    pub fn set_callback(
        &self,
        registration: usize,
        safety: Safety,
        callback: Option<(Callback, usize)>,
    ) -> ToolResult<()> {
        let (mut state, next) = (self.state(), self.ring().next());
        let found = state.find(registration)?;
        if !found.is_heard() {
            // Events that came without a registration were not kept.
            found.since = next;
        }
        found.callbacks[safety] = callback;
        self.set_heard(&state);
        Ok(())
    }

    /// Sets the function that is told how many events were dropped, or takes it away.
    ///
    /// # Errors
    /// There is no such registration.
    pub fn set_dropped_handler(&self, registration: usize, handler: Option<Dropped>) -> ToolResult<()> {
        self.state().find(registration)?.on_dropped = handler;
        Ok(())
    }

    /// Returns an error if there is no such registration.
    ///
    /// # Errors
    /// There is none.
    pub fn check(&self, registration: usize) -> ToolResult<()> {
        self.state().find(registration).map(drop)
    }

    /// Frees a registration; `freed` is called when it is told of nothing more, perhaps now.
    ///
    /// # Errors
    /// There is no such registration.
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

    /// Frees all registrations, and waits until another thread that tells has ended.
    pub fn clear(&self) {
        let mut state = self.state();
        state.registrations.clear();
        self.set_heard(&state);
        let me = std::thread::current().id();
        while state.teller.is_some_and(|teller| teller != me) {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The event that is being told and has this number.
    ///
    /// # Errors
    /// No such event is being told.
    pub fn told(&self, number: usize) -> ToolResult<Instance> {
        self.state().told.filter(|told| told.number == number).ok_or_else(|| {
            let text =
                format!("event_instance is {number:#x}: an event can be asked while its function is called");
            ToolError::new(Reason::InvalidHandle, text)
        })
    }

    fn set_heard(&self, state: &RegistrationsState) {
        let heard = state.registrations.values().filter(|one| one.is_heard());
        // Relaxed: an event that is raised at the same time may be kept or not.
        self.heard.store(heard.fold(0, |bits, one| bits | 1 << one.kind), Ordering::Relaxed);
    }

    /// Has an engine tell, if any function wants to be told and it does not already.
    ///
    /// # Errors
    /// This thread is inside the library, or is that of a forked child.
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
        // Relaxed: twice does no harm.
        self.attached.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Keeps an event, if a function wants to be told of its kind.
    fn raise(&self, event: ProtoEvent) {
        let (kind, values) = Raised::of(event);
        if self.heard.load(Ordering::Relaxed) & 1 << kind != 0 {
            self.ring().push(Raised { kind, at_ns: monotonic_ns(), values });
            // Relaxed: a hint to look, behind a lock.
            self.pending.store(true, Ordering::Relaxed);
        }
    }

    /// True if there is something to be told.
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed)
    }

    /// Tells all that was raised, by functions of at least this safety. Does nothing while a thread tells, which may be this one.
    #[cold]
    pub fn tell(&self, needed: Safety) {
        let mut state = self.state();
        if state.teller.is_some() {
            return;
        }
        state.teller = Some(std::thread::current().id());
        drop(state);
        // First, so that what is raised from now on is looked for again.
        self.pending.store(false, Ordering::Relaxed);
        loop {
            // The ring is locked on its own: an engine raises events under its lock.
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
            // A function before may have freed it.
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

    /// Tells how many events were dropped.
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
