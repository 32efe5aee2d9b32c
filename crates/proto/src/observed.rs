//! What an observer is told of every message, for a trace.
//!
//! Without an observer nothing of this is looked at where a message is short or goes at once: the states that the short paths test anyway
//! are such that, with an observer, no message may take them ([`ReceivePath::General`](crate::peer::ReceivePath), never [`SendPath::Short`](crate::peer::SendPath)). An observer is set
//! before the first link opens, so that it misses nothing.
//!
//! Of the messages from one rank to another on one flow with one tag, `Sent` at the sender and `Matched` at the receiver are told in the same
//! order: the n-th of one belongs to the n-th of the other, withdrawn ones left out. Sends of a rank are numbered from 0 in the order in which
//! `Sent` is told; a withdrawn one is named by its number, since others with the same envelope may have been sent behind it.

use canele_sys::ids::{FlowId, Rank, Tag};

use crate::Proto;
use crate::choice::{Protocol, Variant};
use crate::request::Send;

/// A message that is sent, or what leaves of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaving {
    /// The number of the send among all of this rank.
    pub number: u64,
    /// The receiver, maybe this rank.
    pub to: Rank,
    /// The flow.
    pub flow: FlowId,
    /// The tag.
    pub tag: Tag,
    /// Length of the message, or of the piece that leaves.
    pub bytes: usize,
    /// How the message travels, if that is known.
    pub variant: Option<Variant>,
    /// The number of the rail.
    pub rail: u8,
}

/// What has happened to a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageEvent {
    /// A message is sent: told before any of it can arrive. With a variant it leaves now, on this rail.
    Sent(Leaving),
    /// A message that had to wait is put on a rail, or announced; or a piece of one is.
    Departed(Leaving),
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
    /// A send was withdrawn: its message meets no receive.
    Withdrawn {
        /// The number of the send.
        number: u64,
        /// Its receiver.
        to: Rank,
        /// Its flow.
        flow: FlowId,
        /// Its tag.
        tag: Tag,
    },
}

/// What is told of every message, inside the library: it must not call it.
pub trait MessageObserver: std::marker::Send {
    /// Something has happened.
    fn notify(&mut self, event: MessageEvent);
}

/// An observer, if there is one.
#[derive(Default)]
pub(crate) struct Observer(Option<Box<Counting<dyn MessageObserver>>>);

/// An observer and the count of sends that it was told of: a rank without an observer has no room for the count.
struct Counting<O: MessageObserver + ?Sized> {
    sends: u64,
    observer: O,
}

impl Proto {
    /// Tells an observer of every message from now on, which takes the general path then.
    ///
    /// # Panics
    /// A link has opened before.
    pub fn observe_messages(&mut self, observer: impl MessageObserver + 'static) {
        assert!(self.peers.iter().all(|peer| peer.links().is_empty()), "an observer comes before links");
        self.observer = Observer(Some(Box::new(Counting { sends: 0, observer })));
    }

    /// Tells the observer, if there is one.
    #[inline(always)]
    pub(crate) fn observe(&mut self, event: impl FnOnce() -> MessageEvent) {
        self.observer.observe(event);
    }

    /// Tells the observer, if there is one, that a send was withdrawn.
    pub(crate) fn observe_withdrawal(&mut self, send: &Send) {
        let Send { number, to, flow, tag, .. } = *send;
        self.observe(|| MessageEvent::Withdrawn { number, to, flow, tag });
    }
}

impl Observer {
    /// True if there is one.
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Tells the observer, if there is one.
    #[inline(always)]
    pub fn observe(&mut self, event: impl FnOnce() -> MessageEvent) {
        if let Some(counting) = &mut self.0 {
            notify(&mut counting.observer, event());
        }
    }

    /// Tells the observer, if there is one, of a send, which is given its number here; returns the number, or 0.
    #[inline(always)]
    pub fn observe_send(&mut self, leaving: impl FnOnce(u64) -> Leaving) -> u64 {
        let Some(counting) = &mut self.0 else { return 0 };
        let number = counting.sends;
        counting.sends += 1;
        notify(&mut counting.observer, MessageEvent::Sent(leaving(number)));
        number
    }
}

#[cold]
#[inline(never)]
fn notify(observer: &mut dyn MessageObserver, event: MessageEvent) {
    observer.notify(event);
}
