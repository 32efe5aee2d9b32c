//! What an observer is told of every message, for a trace.
//!
//! Without an observer nothing of this is looked at where a message is short or goes at once: the states that the short paths test anyway
//! are such that, with an observer, no message may take them ([`Peer::direct_in`](crate::peer::Peer), `at_once_bytes`). An observer is set
//! before the first link opens, so that it misses nothing.
//!
//! Of the messages from one rank to another on one flow with one tag, `Sent` at the sender and `Matched` at the receiver are told in the same
//! order: the n-th of one belongs to the n-th of the other, withdrawn ones left out.

use canele_sys::ids::{FlowId, Rank, Tag};

use crate::Proto;
use crate::choice::{Protocol, Variant};

/// What has happened to a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageEvent {
    /// A message is sent: told before any of it can arrive. With a variant it leaves now, on this rail.
    Sent {
        /// Its receiver, maybe this rank.
        to: Rank,
        /// Its flow.
        flow: FlowId,
        /// Its tag.
        tag: Tag,
        /// Its length.
        bytes: usize,
        /// How it travels, if that is known.
        variant: Option<Variant>,
        /// The number of its rail.
        rail: u8,
    },
    /// A message that had to wait is put on a rail, or announced; or a piece of one is.
    Departed {
        /// Its receiver.
        to: Rank,
        /// Its flow.
        flow: FlowId,
        /// Its tag.
        tag: Tag,
        /// Bytes that leave.
        bytes: usize,
        /// How it travels, if that is known.
        variant: Option<Variant>,
        /// The number of the rail.
        rail: u8,
    },
    /// A message has met its receive.
    Matched {
        /// Its sender, maybe this rank.
        from: Rank,
        /// Its flow.
        flow: FlowId,
        /// Its tag.
        tag: Tag,
        /// Its length.
        bytes: usize,
    },
    /// A message that has met its receive before has come.
    Completed {
        /// Its sender.
        from: Rank,
        /// Its tag.
        tag: Tag,
        /// Its length.
        bytes: usize,
        /// How it came.
        protocol: Protocol,
    },
    /// It was decided here how a message travels that was announced, or leaves in several packets.
    Chosen {
        /// The other end.
        peer: Rank,
        /// Its length.
        bytes: usize,
        /// How it travels.
        variant: Variant,
    },
    /// The last send to this rank on this flow with this tag was withdrawn.
    Withdrawn {
        /// Its receiver.
        to: Rank,
        /// Its flow.
        flow: FlowId,
        /// Its tag.
        tag: Tag,
    },
}

/// What is told of every message, inside the library: it must not call it.
pub trait MessageObserver: Send {
    /// Something has happened.
    fn notify(&mut self, event: MessageEvent);
}

/// An observer, if there is one.
pub(crate) type Observer = Option<Box<dyn MessageObserver>>;

impl Proto {
    /// Tells an observer of every message from now on, which takes the general path then.
    ///
    /// # Panics
    /// A link has opened before.
    pub fn observe_messages(&mut self, observer: Box<dyn MessageObserver>) {
        assert!(self.peers.iter().all(|peer| peer.link.is_none()), "an observer comes before links");
        self.observer = Some(observer);
        self.at_once_bytes = 0;
    }

    /// True if every message is told.
    pub fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    /// Tells the observer, if there is one.
    #[inline(always)]
    pub(crate) fn observe(&mut self, event: impl FnOnce() -> MessageEvent) {
        observe(&mut self.observer, event);
    }
}

/// Tells an observer, if there is one.
#[inline(always)]
pub(crate) fn observe(observer: &mut Observer, event: impl FnOnce() -> MessageEvent) {
    if let Some(observer) = observer {
        notify(&mut **observer, event());
    }
}

#[cold]
#[inline(never)]
fn notify(observer: &mut dyn MessageObserver, event: MessageEvent) {
    observer.notify(event);
}
