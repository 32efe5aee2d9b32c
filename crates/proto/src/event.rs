//! Events for a tool that listens to the protocols.
//!
//! Owns the events. Without a listener an event costs one look at a word. Events come from unusual cases; a
//! message that finds its receive and fits into one packet raises none.

use canele_sys::ids::{FlowId, Rank, Tag};

use crate::Proto;
use crate::choice::Variant;
use crate::peer::PeerEnd;

/// An event of the protocols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProtoEvent {
    /// A message came that no receive had asked for.
    UnexpectedArrived {
        /// Its sender.
        from: Rank,
        /// Its flow.
        flow: FlowId,
        /// Its tag.
        tag: Tag,
        /// Its length.
        bytes: u64,
    },
    /// A link to a peer was lost.
    RailLost {
        /// The peer.
        peer: Rank,
        /// The number of the rail that it was on.
        rail: u8,
    },
    /// A peer died, or counts as dead.
    RankDied {
        /// The peer.
        peer: Rank,
        /// The way in which it ended.
        how: PeerEnd,
    },
    /// This rank chose the way of a message that does not fit into one packet, or must wait for its receive.
    ProtocolChosen {
        /// The other end.
        peer: Rank,
        /// Its length.
        bytes: u64,
        /// The way in which it travels.
        variant: Variant,
        /// True if this rank sends it.
        is_sender: bool,
    },
}

/// A receiver of events inside the library. It must not call the library.
pub trait EventListener: Send {
    /// Handles an event.
    fn notify(&mut self, event: ProtoEvent);
}

/// A listener, if there is one.
#[derive(Default)]
pub(crate) struct Listener(Option<Box<dyn EventListener>>);

impl Proto {
    /// Sets the listener for events from now on, or removes it.
    pub fn set_listener(&mut self, listener: Option<Box<dyn EventListener>>) {
        self.listener = Listener(listener);
    }

    /// Sends the event to the listener, if there is one.
    #[inline(always)]
    pub(crate) fn tell(&mut self, event: impl FnOnce() -> ProtoEvent) {
        if let Some(listener) = &mut self.listener.0 {
            notify(&mut **listener, event());
        }
    }
}

#[cold]
#[inline(never)]
fn notify(listener: &mut dyn EventListener, event: ProtoEvent) {
    listener.notify(event);
}
