//! What is set for all lanes of a rank at once, also for those that are opened later.

use std::sync::{MutexGuard, PoisonError};

use canele_proto::strategy::Strategy;
use canele_proto::{EventListener, ProtoEvent};
use canele_sys::tunables::Tunables;

use crate::Error;
use crate::engine::{Engine, Locked};

/// Makes one of several listeners that tell the same.
type MakeListener = Box<dyn Fn() -> Box<dyn EventListener> + Send>;
/// Makes one of several strategies that decide alike.
type MakeStrategy = Box<dyn Fn() -> Box<dyn Strategy> + Send>;

/// What was set since the start.
#[derive(Default)]
pub(super) struct LaneSettings {
    /// Makes what is told of events of a further lane.
    listener: Option<MakeListener>,
    strategy: Option<MakeStrategy>,
    /// How threads wait.
    waits: Option<Tunables>,
}

/// Tells of what happens on a further lane; of a death the first one tells.
struct LaneListener<L>(L);

impl<L: EventListener> EventListener for LaneListener<L> {
    fn notify(&mut self, event: ProtoEvent) {
        if !matches!(event, ProtoEvent::RankDied { .. }) {
            self.0.notify(event);
        }
    }
}

impl Engine {
    /// Tells a listener of events of all lanes of this rank from now on, or none; this is the first one.
    ///
    /// # Errors
    /// `Forked`.
    pub fn set_listener<L>(&self, listener: Option<L>) -> Result<(), Error>
    where
        L: EventListener + Clone + 'static,
    {
        let of_first = listener.clone().map(|listener| Box::new(listener) as Box<dyn EventListener>);
        let make = listener
            .map(|listener| -> MakeListener { Box::new(move || Box::new(LaneListener(listener.clone()))) });
        self.change_settings(
            |settings| settings.listener = make,
            |core, settings| {
                core.lane.proto.set_listener(settings.listener.as_ref().map(|make| make()));
            },
        )?;
        self.lock()?.lane.proto.set_listener(of_first);
        Ok(())
    }

    /// Plans what waits for peers on all lanes of this rank by strategies that `make` gives, from now on; this is the first one.
    ///
    /// # Errors
    /// `Forked`.
    pub fn set_strategy(&self, make: impl Fn() -> Box<dyn Strategy> + Send + 'static) -> Result<(), Error> {
        self.lock()?.lane.proto.set_strategy(make());
        self.change_settings(|settings| settings.strategy = Some(Box::new(make)), apply_strategy)
    }

    /// Threads of this rank wait from now on as these settings say; this is its first lane.
    ///
    /// # Errors
    /// `Forked`.
    pub fn set_waits(&self, tunables: &Tunables) -> Result<(), Error> {
        self.lock()?.lane.wait_policy.set(tunables);
        self.change_settings(|settings| settings.waits = Some(tunables.clone()), apply_waits)
    }

    /// Changes what is set, and applies it to the further lanes that are open. No lane is opened meanwhile that would miss it.
    fn change_settings(
        &self,
        change: impl FnOnce(&mut LaneSettings),
        apply: impl Fn(&mut Locked<'_>, &LaneSettings),
    ) -> Result<(), Error> {
        let _opening = self.lanes.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let mut settings = self.settings();
        change(&mut settings);
        for lane in self.further_lanes() {
            apply(&mut lane.lock()?, &settings);
        }
        Ok(())
    }

    /// Applies all that was set to a lane that is being opened; this is the first one.
    pub(super) fn apply_settings(&self, core: &mut Locked<'_>) {
        let settings = self.settings();
        core.lane.proto.set_listener(settings.listener.as_ref().map(|make| make()));
        apply_strategy(core, &settings);
        apply_waits(core, &settings);
    }

    fn settings(&self) -> MutexGuard<'_, LaneSettings> {
        self.lanes.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn apply_strategy(core: &mut Locked<'_>, settings: &LaneSettings) {
    if let Some(make) = &settings.strategy {
        core.lane.proto.set_strategy(make());
    }
}

fn apply_waits(core: &mut Locked<'_>, settings: &LaneSettings) {
    if let Some(tunables) = &settings.waits {
        core.lane.wait_policy.set(tunables);
    }
}
