//! What is told of events on the lanes of a rank.

use std::sync::PoisonError;

use canele_proto::{EventListener, ProtoEvent};

use crate::Error;
use crate::engine::Engine;

/// Makes one of several listeners that tell the same.
pub(super) type MakeListener = Box<dyn Fn() -> Box<dyn EventListener> + Send>;

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
        // No lane is opened meanwhile that would miss it.
        let _opening = self.lanes.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let mut place = self.lanes.listener.lock().unwrap_or_else(PoisonError::into_inner);
        *place = make;
        for lane in self.further_lanes() {
            lane.lock()?.lane.proto.set_listener(place.as_ref().map(|make| make()));
        }
        self.lock()?.lane.proto.set_listener(of_first);
        Ok(())
    }

    /// The listener for a further lane of this rank, if there is one.
    pub(super) fn make_listener(&self) -> Option<Box<dyn EventListener>> {
        let listener = self.lanes.listener.lock().unwrap_or_else(PoisonError::into_inner);
        listener.as_ref().map(|make| make())
    }
}
