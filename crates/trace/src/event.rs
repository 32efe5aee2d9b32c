//! Events of a rank, and the record of 32 bytes in which each is stored.
//!
//! ```text
//!   word 0   nanoseconds of the host's monotonic clock: stored last, 0 in an incomplete record
//!   word 1   kind 8 │ variant 8 │ rail 8 │ lane 8 │ thread 16 │ name 16
//!   word 2   peer 32 │ tag 32
//!   word 3   bytes 48 │ flow 16
//! ```

/// The size of a record in bytes.
pub const RECORD_BYTES: usize = 32;
/// The rank of an event that concerns any rank or none.
pub const NO_RANK: u32 = u32::MAX;
/// The tag of an event that concerns any tag or none.
pub const NO_TAG: u32 = u32::MAX;

/// The four words of a record.
pub type Record = [u64; 4];

const MOST_BYTES: u64 = (1 << 48) - 1;

/// The kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum EventKind {
    /// Defines a name. Its text follows, in as many records as its bytes need.
    Name = 1,
    /// A call of the program begins.
    CallBegin,
    /// A call of the program ends.
    CallEnd,
    /// A thread starts to wait.
    WaitBegin,
    /// A thread stops waiting.
    WaitEnd,
    /// A blocking collective begins. The bytes of the event are those of one block.
    CollectiveBegin,
    /// A blocking collective ends.
    CollectiveEnd,
    /// A message is sent. The event comes before any part of the message can arrive. The sends of a rank on a
    /// lane are numbered from 0 in the order of their events.
    Sent,
    /// A message has met its receive. Messages of one sender, flow and tag are matched in the order of their
    /// sends.
    Matched,
    /// A message that had met its receive has arrived completely.
    Completed,
    /// This rank has decided how an announced message travels.
    Chosen,
    /// A message that had to wait, or a piece of one, leaves on a rail.
    Departed,
    /// A send was withdrawn. The bytes of the event are the number of the send.
    Withdrawn,
    /// Gives a flow its name.
    FlowName,
    /// Defines a call site. Its frames follow, in as many records as the bytes of the event need.
    SiteFrames,
    /// The thread is in a call that the program makes at a call site. The name of the event is the number of
    /// the site.
    CallSite,
    /// A non-blocking collective begins. Its messages have the same flow and tag.
    CollectiveStarted,
    /// A non-blocking collective has ended.
    CollectiveCompleted,
    /// An access to the memory of the peer. If the access has a notice, the tag is the number of the notice.
    Accessed,
    /// The program has taken the notice of a put by the peer. The tag is the number of the notice.
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

/// The protocol by which a message travels: the variant of events of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum MessageVariant {
    /// No variant has been chosen yet.
    Undecided,
    /// The message stays within the rank.
    ToSelf,
    /// The message travels in one cell.
    Short,
    /// The message travels in one packet with a bulk.
    Eager,
    /// The message travels in one packet with other messages.
    Coalesced,
    /// The message travels in several packets without a handshake.
    EagerMulti,
    /// The message travels in pieces after a handshake, or the event is that of one piece.
    Streamed,
    /// The receiver reads the message from the sender's memory.
    DirectRead,
    /// The sender writes the message to the receiver's memory.
    DirectWrite,
    /// Both ends copy parts of the message.
    DirectBoth,
}

impl MessageVariant {
    /// All variants, in the order of their numbers.
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

    /// Returns the variant that has this number, or `Undecided` if there is none.
    pub fn of(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Undecided)
    }

    /// Returns the name of the variant.
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

/// The kind of operation that a thread waits for: the variant of [`EventKind::WaitBegin`].
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
    /// Returns the kind that has this number.
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

/// The way in which memory of another rank is accessed: the variant of [`EventKind::Accessed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum AccessRoute {
    /// The memory is mapped in this process.
    Mapped,
    /// The owner of the memory is asked, or the network accesses it.
    Remote,
}

impl AccessRoute {
    /// Returns the name of the route that has this number.
    pub fn name_of(number: u8) -> &'static str {
        if number == Self::Mapped as u8 { "mapped" } else { "remote" }
    }
}

/// An event, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The time of the event in nanoseconds.
    pub at_ns: u64,
    /// The kind of the event.
    pub kind: EventKind,
    /// The number of a [`MessageVariant`], [`WaitKind`] or [`AccessRoute`], depending on the kind.
    pub variant: u8,
    /// The number of the rail on which a message leaves.
    pub rail: u8,
    /// The number of the lane. Flows of different lanes may have the same number.
    pub lane: u8,
    /// The number of the thread within its process.
    pub thread: u16,
    /// The number of the event's name, or of its call site.
    pub name: u16,
    /// The other rank, or [`NO_RANK`].
    pub peer: u32,
    /// The tag of the message, or [`NO_TAG`].
    pub tag: u32,
    /// The number of the flow within its lane.
    pub flow: u16,
    /// The size of the message, access, block, name or call site in bytes. If a send was withdrawn, it is the
    /// number of the send.
    pub bytes: u64,
}

impl Event {
    /// Returns an event of this kind without further data. The recorder sets its time, lane and thread.
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

    /// Returns the lane and the flow, which identify the flow within the rank.
    pub fn flow_of_lane(&self) -> (u8, u16) {
        (self.lane, self.flow)
    }

    /// Encodes the event as a record.
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

    /// Decodes a record; returns none if it is incomplete or its kind is unknown.
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

    /// Returns the number of records for a text of this many bytes.
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
