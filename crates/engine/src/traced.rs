//! The events that a rank records for a trace: its messages, waits and collectives.
//!
//! Owns the conversion into events ([`canele_trace`]). Without a trace a short message that goes at once pays
//! nothing for it: the protocols take no short path while they have an observer.

use std::sync::Arc;

use canele_collective::CollectiveSpec;
use canele_proto::choice::{Protocol, Variant};
use canele_proto::{Leaving, MessageEvent, MessageObserver, Notice};
use canele_sys::ids::{FlowId, Rank, Tag};
use canele_trace::{AccessRoute, Event, EventKind, MessageVariant, NO_RANK, NO_TAG, Span, Tracer, WaitKind};

use crate::core::Core;
use crate::engine::Engine;
use crate::lane::awaited::Awaited;
use crate::p2p::pending::{Pending, PendingKind};

/// Records the events of messages.
pub(crate) struct MessageRecorder(pub Arc<Tracer>);

impl MessageObserver for MessageRecorder {
    fn notify(&mut self, event: MessageEvent) {
        self.0.record(event_of(event));
    }
}

fn event_of(event: MessageEvent) -> Event {
    match event {
        MessageEvent::Sent(leaving) => leaving_event(EventKind::Sent, leaving),
        MessageEvent::Departed(leaving) => leaving_event(EventKind::Departed, leaving),
        MessageEvent::Matched { from, flow, tag, bytes } => {
            message(EventKind::Matched, from, flow, tag, bytes)
        }
        MessageEvent::Completed { from, tag, bytes, protocol } => {
            let variant = match protocol {
                Protocol::Short => Variant::Short,
                Protocol::Eager => Variant::Eager,
                Protocol::Streamed => Variant::Streamed,
                Protocol::Direct => Variant::DirectRead,
            };
            let variant = number_of(Some(variant));
            Event { variant, ..message(EventKind::Completed, from, FlowId(0), tag, bytes) }
        }
        MessageEvent::Chosen { peer, bytes, variant } => {
            let variant = number_of(Some(variant));
            Event { variant, tag: NO_TAG, ..message(EventKind::Chosen, peer, FlowId(0), Tag(0), bytes) }
        }
        // Its bytes are the number of the send.
        MessageEvent::Withdrawn { number, to, flow, tag } => {
            Event { bytes: number, ..message(EventKind::Withdrawn, to, flow, tag, 0) }
        }
    }
}

fn message(kind: EventKind, peer: Rank, flow: FlowId, tag: Tag, bytes: usize) -> Event {
    Event { peer: peer.0, flow: flow.0 as u16, tag: tag.0, bytes: bytes as u64, ..Event::new(kind) }
}

/// Makes the event of a message that leaves. It has no number: sends are numbered in the order in which they
/// are recorded.
fn leaving_event(kind: EventKind, leaving: Leaving) -> Event {
    let Leaving { to, flow, tag, bytes, variant, rail, .. } = leaving;
    Event { variant: number_of(variant), rail, ..message(kind, to, flow, tag, bytes) }
}

/// Returns the number of a variant in events.
fn number_of(variant: Option<Variant>) -> u8 {
    let variant = match variant {
        None => MessageVariant::Undecided,
        Some(Variant::ToSelf) => MessageVariant::ToSelf,
        Some(Variant::Short) => MessageVariant::Short,
        Some(Variant::Eager) => MessageVariant::Eager,
        Some(Variant::Coalesced) => MessageVariant::Coalesced,
        Some(Variant::EagerMulti) => MessageVariant::EagerMulti,
        Some(Variant::Streamed) => MessageVariant::Streamed,
        Some(Variant::DirectRead) => MessageVariant::DirectRead,
        Some(Variant::DirectWrite) => MessageVariant::DirectWrite,
        Some(Variant::DirectBoth) => MessageVariant::DirectBoth,
    };
    variant as u8
}

impl Engine {
    /// Returns the recorder of this rank's events, if it is traced.
    pub fn tracer(&self) -> Option<&Arc<Tracer>> {
        self.tracer.as_ref()
    }

    /// Records a one-sided access to memory of a rank, if this one is traced. `is_mapped` says that the memory is mapped here.
    #[inline(always)]
    pub fn trace_access(&self, name: &'static str, owner: Rank, bytes: usize, is_mapped: bool) {
        if let Some(tracer) = &self.tracer {
            record_access(tracer, name, owner, bytes, (is_mapped, None));
        }
    }

    /// Records a put with a notice, if this rank is traced.
    #[inline(always)]
    pub fn trace_notify(&self, owner: Rank, bytes: usize, is_mapped: bool, notice: u64) {
        if let Some(tracer) = &self.tracer {
            record_access(tracer, "put with a notice", owner, bytes, (is_mapped, Some(notice)));
        }
    }
}

#[cold]
fn record_access(
    tracer: &Tracer,
    name: &str,
    owner: Rank,
    bytes: usize,
    (is_mapped, notice): (bool, Option<u64>),
) {
    let route = if is_mapped { AccessRoute::Mapped } else { AccessRoute::Remote };
    tracer.record_access(name, owner.0, bytes, (route, notice));
}

impl Core {
    /// Records that a thread looks for a message of `source`, or of any rank; returns true if it is traced.
    #[inline(always)]
    pub(crate) fn begin_look(&self, source: Option<Rank>) -> bool {
        self.tracer.as_ref().is_some_and(|tracer| begin_look(tracer, source))
    }

    /// Records the end of a recorded wait.
    #[cold]
    pub(crate) fn end_wait(&self) {
        self.tracer.iter().for_each(|tracer| tracer.record(Event::new(EventKind::WaitEnd)));
    }

    /// Records that a thread enters a collective; returns true if it is traced.
    #[inline(always)]
    pub(crate) fn begin_collective(&self, flow: FlowId, spec: &CollectiveSpec<'_>) -> bool {
        self.tracer.as_ref().is_some_and(|tracer| {
            tracer.record(collective(
                tracer,
                EventKind::CollectiveBegin,
                flow,
                (spec.operation(), spec.bytes()),
            ));
            true
        })
    }

    /// Records that a non-blocking collective begins; its end is recorded when the value is dropped. Returns none without a trace.
    #[inline(always)]
    pub(crate) fn trace_started(
        &self,
        (flow, tag): (FlowId, Tag),
        (operation, bytes): (&'static str, usize),
    ) -> Option<Span> {
        let tracer = self.tracer.as_ref()?;
        let begin = collective(tracer, EventKind::CollectiveStarted, flow, (operation, bytes));
        Some(tracer.span(Event { tag: tag.0, ..begin }, EventKind::CollectiveCompleted))
    }

    /// Records that the notice of a put was taken.
    #[inline(always)]
    pub(crate) fn trace_notice(&self, notice: &Notice) {
        if let Some(tracer) = &self.tracer {
            record_notice(tracer, notice);
        }
    }

    /// Records the end of a recorded collective.
    #[cold]
    pub(crate) fn end_collective(&self) {
        self.tracer.iter().for_each(|tracer| tracer.record(Event::new(EventKind::CollectiveEnd)));
    }
}

#[cold]
fn begin_look(tracer: &Tracer, source: Option<Rank>) -> bool {
    let peer = source.map_or(NO_RANK, |rank| rank.0);
    tracer.record(Event { variant: WaitKind::Receive as u8, peer, ..Event::new(EventKind::WaitBegin) });
    true
}

#[cold]
fn record_notice(tracer: &Tracer, notice: &Notice) {
    tracer.record(Event { peer: notice.from.0, tag: notice.id as u32, ..Event::new(EventKind::Noticed) });
}

/// Makes the event at which a collective begins.
#[cold]
fn collective(tracer: &Tracer, kind: EventKind, flow: FlowId, (operation, bytes): (&str, usize)) -> Event {
    Event { name: tracer.name(operation), flow: flow.0 as u16, bytes: bytes as u64, ..Event::new(kind) }
}

impl Core {
    /// Records that a thread begins to wait; returns true if it is traced.
    #[cold]
    pub(crate) fn begin_wait(&self, awaited: &Awaited<'_>) -> bool {
        let Some(tracer) = &self.tracer else { return false };
        let wait = |kind: WaitKind| Event { variant: kind as u8, ..Event::new(EventKind::WaitBegin) };
        let event = match awaited {
            Awaited::End => return false,
            Awaited::Request(id) => self.wait_for_request(*id),
            Awaited::AnyOf([Pending { kind: PendingKind::Request(id), .. }]) => self.wait_for_request(*id),
            Awaited::AnyOf(_) | Awaited::AnyOfOrProgram(_) => wait(WaitKind::Any),
            Awaited::Probe(flow, want) => Event {
                peer: want.source.map_or(NO_RANK, |rank| rank.0),
                tag: want.tag.map_or(NO_TAG, |tag| tag.0),
                flow: flow.0 as u16,
                ..wait(WaitKind::Receive)
            },
            Awaited::Collective(call) => Event {
                name: tracer.name(call.operation),
                flow: call.flow.0 as u16,
                tag: call.tag.0,
                ..wait(WaitKind::Collective)
            },
            Awaited::Other(what, peer) => Event {
                name: tracer.name(what),
                peer: peer.map_or(NO_RANK, |rank| rank.0),
                ..wait(WaitKind::Other)
            },
            Awaited::Words(words) => Event { name: tracer.name(&words()), ..wait(WaitKind::Other) },
        };
        tracer.record(event);
        true
    }

    fn wait_for_request(&self, id: canele_sys::ids::RequestId) -> Event {
        let begin = Event::new(EventKind::WaitBegin);
        match self.lane.proto.pending_operation(id) {
            Some(pending) => Event {
                variant: if pending.is_send { WaitKind::Send } else { WaitKind::Receive } as u8,
                peer: pending.peer.map_or(NO_RANK, |rank| rank.0),
                tag: pending.tag.map_or(NO_TAG, |tag| tag.0),
                flow: pending.flow.map_or(0, |flow| flow.0 as u16),
                bytes: pending.bytes as u64,
                ..begin
            },
            None => Event { variant: WaitKind::Other as u8, ..begin },
        }
    }
}

#[cfg(test)]
mod tests {
    use canele_proto::choice::TABLE;

    use super::*;

    #[test]
    fn every_variant_of_the_protocols_has_a_number_of_its_own_and_the_same_name_in_events() {
        let variant_of = |variant| MessageVariant::of(number_of(variant));
        let mut others = MessageVariant::ALL.to_vec();
        others.retain(|other| *other != variant_of(None));
        for row in &TABLE {
            let variant = variant_of(Some(row.variant));
            assert_eq!(variant.name(), row.name);
            others.retain(|other| *other != variant);
        }
        assert!(others.is_empty(), "{others:?} stand for no variant");
    }
}
