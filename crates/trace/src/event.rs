//! Events, and how each is written in 32 bytes.
//!
//! ```text
//!   word 0   nanoseconds of the host's monotonic clock: stored last, 0 in a record that was not written to its end
//!   word 1   kind 8 │ variant 8 │ rail 8 │ lane 8 │ thread 16 │ name 16
//!   word 2   peer 32 │ tag 32
//!   word 3   bytes 48 │ flow 16
//! ```

/// Bytes of a record.
pub const RECORD_BYTES: usize = 32;
/// Stands for any rank, or none.
pub const NO_RANK: u32 = u32::MAX;
/// Stands for any tag, or none.
pub const NO_TAG: u32 = u32::MAX;

/// An event as it lies in memory.
pub type Record = [u64; 4];

const MOST_BYTES: u64 = (1 << 48) - 1;

/// The kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum EventKind {
    /// The text of a name follows, in as many records as its bytes need.
    Name = 1,
    /// A call of the program begins.
    CallBegin,
    /// It ends.
    CallEnd,
    /// A thread begins to wait.
    WaitBegin,
    /// It goes on.
    WaitEnd,
    /// A blocking collective begins; its bytes are those of one block.
    CollectiveBegin,
    /// It ends.
    CollectiveEnd,
    /// A message is sent: told before any of it can arrive. The sends of a rank on a lane are numbered from 0 in the order of their events.
    Sent,
    /// A message has met its receive, in the order of its sender.
    Matched,
    /// A message that has met its receive before has come.
    Completed,
    /// It was decided here how a message travels that was announced.
    Chosen,
    /// A message, or a piece of one, that had to wait is put on a rail.
    Departed,
    /// A send was withdrawn; the bytes of the event are the number of the send.
    Withdrawn,
    /// A flow has this name.
    FlowName,
    /// The return addresses of a call site follow: the bytes of the event, in as many records as they need.
    SiteFrames,
    /// The thread is inside of a call that the program makes at this site, whose number is the name's.
    CallSite,
    /// A non-blocking collective begins. Its messages have the same flow and tag.
    CollectiveStarted,
    /// It has ended.
    CollectiveCompleted,
    /// A one-sided access to the memory of the peer; one with a notice has the notice's number as its tag.
    Accessed,
    /// The notice of a put of the peer is taken; the tag is its number.
    Noticed,
}

impl EventKind {
    const ALL: [Self; 20] = [
        Self::Name,
        Self::CallBegin,
        Self::CallEnd,
        Self::WaitBegin,
        Self::WaitEnd,
        Self::CollectiveBegin,
        Self::CollectiveEnd,
        Self::Sent,
        Self::Matched,
        Self::Completed,
        Self::Chosen,
        Self::Departed,
        Self::Withdrawn,
        Self::FlowName,
        Self::SiteFrames,
        Self::CallSite,
        Self::CollectiveStarted,
        Self::CollectiveCompleted,
        Self::Accessed,
        Self::Noticed,
    ];
}

/// The way of a message: the variant of events of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum MessageVariant {
    /// It has not been decided.
    Undecided,
    /// Within the rank.
    ToSelf,
    /// In one cell.
    Short,
    /// In one packet with a bulk.
    Eager,
    /// In one packet with others.
    Coalesced,
    /// In several packets without a handshake.
    EagerMulti,
    /// In pieces after a handshake; or one such piece.
    Streamed,
    /// Read by the receiver.
    DirectRead,
    /// Written by the sender.
    DirectWrite,
    /// Copied by both ends.
    DirectBoth,
}

impl MessageVariant {
    /// All, by their numbers.
    pub const ALL: [Self; 10] = [
        Self::Undecided,
        Self::ToSelf,
        Self::Short,
        Self::Eager,
        Self::Coalesced,
        Self::EagerMulti,
        Self::Streamed,
        Self::DirectRead,
        Self::DirectWrite,
        Self::DirectBoth,
    ];

    /// The variant with a number; undecided if there is none.
    pub fn of(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Undecided)
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Undecided => "undecided",
            Self::ToSelf => "self",
            Self::Short => "short",
            Self::Eager => "eager",
            Self::Coalesced => "coalesced",
            Self::EagerMulti => "eager-multi",
            Self::Streamed => "streamed",
            Self::DirectRead => "direct-read",
            Self::DirectWrite => "direct-write",
            Self::DirectBoth => "direct-both",
        }
    }
}

/// The awaited operation: the variant of [`EventKind::WaitBegin`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum WaitKind {
    /// The end of a send.
    Send,
    /// A message.
    Receive,
    /// Any of several operations.
    Any,
    /// The other members of a collective.
    Collective,
    /// Something else.
    Other,
}

impl WaitKind {
    /// The kind with a number.
    pub fn of(number: u8) -> Self {
        match number {
            0 => Self::Send,
            1 => Self::Receive,
            2 => Self::Any,
            3 => Self::Collective,
            _ => Self::Other,
        }
    }
}

/// The way to memory of another rank: the variant of [`EventKind::Accessed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum AccessRoute {
    /// It is mapped here.
    Mapped,
    /// Its owner is asked, or the network does it.
    Remote,
}

impl AccessRoute {
    /// The name of the route with a number.
    pub fn name_of(number: u8) -> &'static str {
        if number == Self::Mapped as u8 { "mapped" } else { "remote" }
    }
}

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// When, in ns.
    pub at_ns: u64,
    /// What.
    pub kind: EventKind,
    /// The way of a message ([`MessageVariant`]), or the awaited operation.
    pub variant: u8,
    /// The number of the rail.
    pub rail: u8,
    /// The number of the lane: flows of several lanes may have one number.
    pub lane: u8,
    /// The number of the thread in its process.
    pub thread: u16,
    /// The number of the name.
    pub name: u16,
    /// The other rank.
    pub peer: u32,
    /// The tag.
    pub tag: u32,
    /// The flow.
    pub flow: u16,
    /// Bytes of the message, of an access, of a name or of addresses; the number of a send that was withdrawn.
    pub bytes: u64,
}

impl Event {
    /// One of this kind about which nothing else is said; its time and thread are those of the thread that records it.
    pub fn new(kind: EventKind) -> Self {
        Self {
            at_ns: 0,
            kind,
            variant: 0,
            rail: 0,
            lane: 0,
            thread: 0,
            name: 0,
            peer: NO_RANK,
            tag: NO_TAG,
            flow: 0,
            bytes: 0,
        }
    }

    /// Its flow, which no other one has: that of a lane.
    pub fn flow_of_lane(&self) -> (u8, u16) {
        (self.lane, self.flow)
    }

    /// Returns its form in memory.
    #[inline]
    pub fn encode(&self) -> Record {
        let Self { at_ns, kind, variant, rail, lane, thread, name, peer, tag, flow, bytes } = *self;
        let what = kind as u64
            | u64::from(variant) << 8
            | u64::from(rail) << 16
            | u64::from(lane) << 24
            | u64::from(thread) << 32
            | u64::from(name) << 48;
        let message = u64::from(peer) | u64::from(tag) << 32;
        [at_ns, what, message, bytes.min(MOST_BYTES) | u64::from(flow) << 48]
    }

    /// The event of a record; none if it was not written to its end, or is none.
    pub fn decode([at_ns, what, message, size]: Record) -> Option<Self> {
        let kind = *EventKind::ALL.iter().find(|kind| **kind as u8 == what as u8)?;
        (at_ns != 0).then_some(Self {
            at_ns,
            kind,
            variant: (what >> 8) as u8,
            rail: (what >> 16) as u8,
            lane: (what >> 24) as u8,
            thread: (what >> 32) as u16,
            name: (what >> 48) as u16,
            peer: message as u32,
            tag: (message >> 32) as u32,
            flow: (size >> 48) as u16,
            bytes: size & MOST_BYTES,
        })
    }

    /// Records that the text of a name takes.
    pub fn records_of_text(bytes: usize) -> usize {
        bytes.div_ceil(RECORD_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_found_by_its_number_and_no_other_number_is_one() {
        for variant in MessageVariant::ALL {
            assert_eq!(MessageVariant::of(variant as u8), variant);
        }
        assert_eq!(MessageVariant::of(MessageVariant::ALL.len() as u8), MessageVariant::Undecided);
        assert_eq!(MessageVariant::of(u8::MAX), MessageVariant::Undecided);
    }

    #[test]
    fn an_event_survives_and_what_is_none_is_refused() {
        for kind in EventKind::ALL {
            let event = Event {
                at_ns: u64::MAX - 1,
                variant: 9,
                rail: 7,
                lane: 15,
                thread: 65_535,
                name: 65_534,
                peer: 3,
                tag: u32::MAX - 1,
                flow: 65_533,
                bytes: MOST_BYTES,
                ..Event::new(kind)
            };
            assert_eq!(Event::decode(event.encode()), Some(event));
        }
        let event = Event { at_ns: 5, ..Event::new(EventKind::Sent) };
        let [_, what, message, size] = event.encode();
        assert_eq!(Event::decode([0, what, message, size]), None, "not written to its end");
        assert_eq!(Event::decode([5, what & !0xff, message, size]), None);
        assert_eq!(Event::decode([5, 200, message, size]), None);
    }
}
