//! Several receives from one source on one flow, which take their messages one after the other straight from
//! the link.
//!
//! The flow, the peer and its link are looked up once for all of them. Everything else is as in
//! [`receive`](crate::receive).

use canele_mem::window::Window;
use canele_rail::{FullRail, Header, TakeIf};
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::peer::ReceivePath;
use crate::wire::Kind;
use crate::{Moved, Proto};

/// Receives from one source on one flow, in their order.
pub trait Receives {
    /// True if all are of messages of at most [`MAX_INLINE`](canele_rail::MAX_INLINE) bytes.
    const SHORT: bool;
    /// Receives the bytes and returns true if the next receive wants a message with this tag and these bytes.
    fn accept(&mut self, tag: Tag, bytes: Window<'_>) -> bool;
}

impl Proto {
    /// Lets receives take their messages, as long as the next one wants the oldest packet of the source's
    /// link. Only over a link that gives packets in few instructions.
    #[inline(always)]
    pub fn receive_run<R: FullRail, M: Receives>(
        &mut self,
        rail: &mut R,
        (source, flow): (Rank, FlowId),
        receives: &mut M,
    ) {
        if !self.is_quiet(flow) {
            return;
        }
        let Some(peer) = self.peers.known_mut(source) else { return };
        let ReceivePath::Short(link) = peer.receive_path() else { return };
        let mut run = Run { flow, receives, messages: 0, bytes: 0, eager: Moved::default() };
        match M::SHORT {
            true => rail.take_short_run(link, &mut run),
            false => rail.take_run(link, &mut run),
        }
        let Run { messages, bytes, eager, .. } = run;
        let messages = u64::from(messages);
        let short = Moved { messages: messages - eager.messages, bytes: bytes - eager.bytes };
        let is_due = peer.credit.consumed_run(messages, bytes);
        self.traffic.received_run(short, eager);
        if is_due {
            self.list(source);
        }
    }
}

/// Receives, and counts of their messages.
struct Run<'a, M> {
    flow: FlowId,
    receives: &'a mut M,
    /// The number of messages, and their bytes.
    messages: u32,
    bytes: u64,
    /// The messages with a bulk among them.
    eager: Moved,
}

impl<M: Receives> TakeIf for Run<'_, M> {
    #[inline(always)]
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool {
        let is_eager = !bulk.is_empty();
        let (kind, bytes) = if is_eager { (Kind::Eager, bulk) } else { (Kind::Short, inline) };
        if header.kind != kind as u8 || header.flow != self.flow.0 {
            return false;
        }
        if !self.receives.accept(Tag(header.tag), bytes) {
            return false;
        }
        self.messages += 1;
        self.bytes += bytes.len() as u64;
        if is_eager {
            self.eager.add(bytes.len());
        }
        true
    }
}
