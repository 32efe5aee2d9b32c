//! Events that a tool may want to be told of as they happen.
//!
//! Owns what is told. Nothing is told, and nothing costs more than a look at a word, unless there is a listener. Events come from
//! where something out of the ordinary happens; a message that finds its receive and fits into one packet raises none.

use canele_sys::ids::{FlowId, Rank, Tag};

use crate::Proto;
use crate::choice::Variant;
use crate::peer::PeerEnd;

/// Something that has happened.
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
    /// A peer will do nothing more, and has not finished.
    RankDied {
        /// The peer.
        peer: Rank,
        /// What has become of it.
        how: PeerEnd,
    },
    /// It was decided here how a message travels that does not fit into one packet, or must wait for its receive.
    ProtocolChosen {
        /// The other end.
        peer: Rank,
        /// Its length.
        bytes: u64,
        /// How it travels.
        variant: Variant,
        /// True if this rank sends it.
        is_sender: bool,
    },
}

/// What is told of events, inside the library: it must not call it.
pub trait EventListener: Send {
    /// Something has happened.
    fn notify(&mut self, event: ProtoEvent);
}

/// A listener, if there is one.
#[derive(Default)]
pub(crate) struct Listener(Option<Box<dyn EventListener>>);

impl Proto {
    /// Tells a listener of events from now on, or none.
    pub fn set_listener(&mut self, listener: Option<Box<dyn EventListener>>) {
        self.listener = Listener(listener);
    }

    /// Tells the listener, if there is one.
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
