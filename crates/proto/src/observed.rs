//! Events of every message for an observer, such as a trace.
//!
//! Without an observer the short paths pay nothing for it: they test states that with an observer let no
//! message take them ([`ReceivePath::General`](crate::peer::ReceivePath), never
//! [`SendPath::Short`](crate::peer::SendPath)). An observer is set before the first link opens, so that it
//! misses no event.
//!
//! Events of the messages from one rank to another on one flow with one tag come in the same order at both
//! ends. The n-th `Sent` at the sender belongs to the n-th `Matched` at the receiver, withdrawn ones left
//! out. Sends of a rank are numbered from 0 in the order of their `Sent`. A withdrawn one is named by its
//! number, since others with the same envelope may have been sent behind it.

use canele_sys::ids::{FlowId, Rank, Tag};

use crate::Proto;
use crate::choice::{Protocol, Variant};
use crate::request::Send;

/// A message that is sent, or a part of it that leaves.
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
    /// The way in which the message travels, if that is known.
    pub variant: Option<Variant>,
    /// The number of the rail.
    pub rail: u8,
}

/// An event of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageEvent {
    /// A message is sent: this comes before any of it can arrive. With a variant it leaves now, on this rail.
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
    /// A matched message has come.
    Completed {
        /// Its sender.
        from: Rank,
        /// Its tag.
        tag: Tag,
        /// Its length.
        bytes: usize,
        /// The protocol by which it came.
        protocol: Protocol,
    },
    /// This rank chose the way of a message that was announced, or leaves in several packets.
    Chosen {
        /// The other end.
        peer: Rank,
        /// Its length.
        bytes: usize,
        /// The way in which it travels.
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

/// A receiver of the events of all messages, inside the library. It must not call the library.
pub trait MessageObserver: std::marker::Send {
    /// Handles an event.
    fn notify(&mut self, event: MessageEvent);
}

/// An observer, if there is one.
#[derive(Default)]
pub(crate) struct Observer(Option<Box<Counting<dyn MessageObserver>>>);

/// An observer and its count of sends: a rank without an observer has no room for the count.
struct Counting<O: MessageObserver + ?Sized> {
    sends: u64,
    observer: O,
}

impl Proto {
    /// Sets an observer of every message from now on. All messages then take the general path.
    ///
    /// # Panics
    /// A link has opened before.
    pub fn observe_messages(&mut self, observer: impl MessageObserver + 'static) {
        assert!(self.peers.iter().all(|peer| peer.links().is_empty()), "an observer comes before links");
        self.observer = Observer(Some(Box::new(Counting { sends: 0, observer })));
    }

    /// Sends the event to the observer, if there is one.
    #[inline(always)]
    pub(crate) fn observe(&mut self, event: impl FnOnce() -> MessageEvent) {
        self.observer.observe(event);
    }

    /// Informs the observer, if there is one, that a send was withdrawn.
    pub(crate) fn observe_withdrawal(&mut self, send: &Send) {
        let Send { number, to, flow, tag, .. } = *send;
        self.observe(|| MessageEvent::Withdrawn { number, to, flow, tag });
    }
}

impl Observer {
    /// Returns true if there is an observer.
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// Sends the event to the observer, if there is one.
    #[inline(always)]
    pub fn observe(&mut self, event: impl FnOnce() -> MessageEvent) {
        if let Some(counting) = &mut self.0 {
            notify(&mut counting.observer, event());
        }
    }

    /// Numbers a send and informs the observer of it, if there is one; returns the number, or 0.
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
