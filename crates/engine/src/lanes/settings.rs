//! Settings of all lanes of a rank, also of those that are opened later.

use std::sync::{Arc, MutexGuard, PoisonError};

use canele_control::ControlError;
use canele_proto::rma::RmaOperations;
use canele_proto::strategy::Strategy;
use canele_proto::{EventListener, ProtoEvent};
use canele_sys::tunables::Tunables;

use crate::Error;
use crate::core::Core;
use crate::engine::Engine;
use crate::survivors::FailureHook;

/// Makes a listener for events of the lane of this number.
type MakeListener = Box<dyn Fn(u8) -> Box<dyn EventListener> + Send>;
/// Makes one of several strategies that decide alike.
type MakeStrategy = Box<dyn Fn() -> Box<dyn Strategy> + Send>;
/// Returns the operations on elements of memory that the lane of this number exposes.
type GiveOperations = Box<dyn Fn(u8) -> Arc<dyn RmaOperations> + Send>;

/// The settings since the start.
#[derive(Default)]
pub(super) struct LaneSettings {
    listener: Option<MakeListener>,
    strategy: Option<MakeStrategy>,
    /// The way in which threads wait.
    waits: Option<Tunables>,
    failure_hook: Option<FailureHook>,
    rma_operations: Option<GiveOperations>,
}

/// A listener for events of a further lane; the first one reports deaths.
struct LaneListener<L>(L);

impl<L: EventListener> EventListener for LaneListener<L> {
    fn notify(&mut self, event: ProtoEvent) {
        if !matches!(event, ProtoEvent::RankDied { .. }) {
            self.0.notify(event);
        }
    }
}

impl Engine {
    /// Sets the listener for events of all lanes of this rank from now on, or removes it.
    ///
    /// # Errors
    /// `Forked`.
    pub fn set_listener<L>(&self, listener: Option<L>) -> Result<(), Error>
    where
        L: EventListener + Clone + 'static,
    {
        let make = listener.map(|listener| -> MakeListener {
            Box::new(move |lane| match lane {
                0 => Box::new(listener.clone()),
                _ => Box::new(LaneListener(listener.clone())),
            })
        });
        self.change_settings(|settings| settings.listener = make, apply_listener)
    }

    /// Plans the packets of all lanes of this rank by strategies that `make` returns, from now on. It must
    /// not call the library.
    ///
    /// # Errors
    /// `Forked`.
    pub fn set_strategy(&self, make: impl Fn() -> Box<dyn Strategy> + Send + 'static) -> Result<(), Error> {
        self.change_settings(|settings| settings.strategy = Some(Box::new(make)), apply_strategy)
    }

    /// Sets the way in which threads of this rank wait from now on.
    ///
    /// # Errors
    /// `Forked`.
    pub fn set_waits(&self, tunables: &Tunables) -> Result<(), Error> {
        self.change_settings(|settings| settings.waits = Some(tunables.clone()), apply_waits)
    }

    /// Sets the function that is called whenever a group was revoked, by this rank or another one, or a rank
    /// has died. It must not call the library.
    ///
    /// # Errors
    /// `Forked`.
    pub fn set_failure_hook(&self, hook: FailureHook) -> Result<(), Error> {
        self.change_settings(|settings| settings.failure_hook = Some(hook), apply_failure_hook)
    }

    /// Sets the operations on elements of memory that is exposed here: `give` returns them for the lane of a
    /// number.
    ///
    /// # Errors
    /// Another library of the process has set some; `Forked`.
    pub fn set_rma_operations(
        &self,
        give: impl Fn(u8) -> Arc<dyn RmaOperations> + Send + 'static,
    ) -> Result<(), Error> {
        let mut is_first = true;
        let change = |settings: &mut LaneSettings| match &mut settings.rma_operations {
            Some(_) => is_first = false,
            none => *none = Some(Box::new(give)),
        };
        self.change_settings(change, apply_rma_operations)?;
        if is_first { Ok(()) } else { Err(ControlError::JoinedAlready.into()) }
    }

    /// Changes the settings, and applies them to the lanes that are open. No lane is opened meanwhile that
    /// would miss it.
    fn change_settings(
        &self,
        change: impl FnOnce(&mut LaneSettings),
        apply: fn(&mut Core, &LaneSettings),
    ) -> Result<(), Error> {
        let _opening = self.first().lanes.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let mut settings = self.settings();
        change(&mut settings);
        let mut lanes = self.all_lanes().iter().map(|lane| self.numbered_lane(lane));
        lanes.try_for_each(|lane| {
            apply(&mut *lane.lock()?, &settings);
            Ok(())
        })
    }

    /// Applies all settings to a lane that is being opened.
    pub(super) fn apply_settings(&self, core: &mut Core) {
        let settings = self.settings();
        let all = [apply_listener, apply_strategy, apply_waits, apply_failure_hook, apply_rma_operations];
        all.iter().for_each(|apply| apply(core, &settings));
    }

    fn settings(&self) -> MutexGuard<'_, LaneSettings> {
        self.first().lanes.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn apply_listener(core: &mut Core, settings: &LaneSettings) {
    core.lane.proto.set_listener(settings.listener.as_ref().map(|make| make(core.lane.number)));
}

fn apply_strategy(core: &mut Core, settings: &LaneSettings) {
    if let Some(make) = &settings.strategy {
        core.lane.proto.set_strategy(make());
    }
}

fn apply_waits(core: &mut Core, settings: &LaneSettings) {
    if let Some(tunables) = &settings.waits {
        core.lane.wait_policy.set(tunables);
    }
}

fn apply_failure_hook(core: &mut Core, settings: &LaneSettings) {
    core.survivors.failure_hook = settings.failure_hook.clone();
}

fn apply_rma_operations(core: &mut Core, settings: &LaneSettings) {
    core.rma.operations = settings.rma_operations.as_ref().map(|give| give(core.lane.number));
}
