//! The packets of the protocols: the words beside a header, as little-endian 64-bit words.
//!
//! ```text
//!   short   the message                      rts    length, sender's request, region, offset, block, stride
//!   eager   (bulk: the message)              cts    both requests, how, region, offset, block, stride
//!   fin     request, status                  piece  receiver's request, offset   (bulk: the piece)
//!   credit  bytes                            put    region, offset, notice, up to 24 bytes of data
//!   fence   ticket                           fenced ticket
//!   first   as rts   (bulk: a piece or none) more   sender's request, offset     (bulk: the piece)
//!   closed  rail and generation, expected    batch  (bulk: several packets)
//!   withdraw  sender's request               pull   up to three pairs: sender's request, receiver's key
//!   pulled  the receiver's key               (bulk: the message)
//! ```
//! Everything read here comes from another process: a packet that is too short, or of no known kind, gives
//! nothing.

use canele_mem::buffer::{RegionAddress, StridedMemory};
use canele_mem::chunk_counter::Generation;
use canele_rail::{Header, Packet};
use canele_sys::ids::{RegionId, RequestId};

mod pull;
mod put;

pub use pull::{PULLED_INLINE, Pull, PulledPart};
pub use put::{MAX_PUT, Put};

/// The kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A message beside its header.
    Short = 1,
    /// A message in the bulk.
    Eager,
    /// The announcement of a message.
    Rts,
    /// The answer to an announcement: the way in which the message is to come.
    Cts,
    /// Part of an announced message.
    Piece,
    /// The end of an announced message: it has been delivered, or has failed.
    Fin,
    /// Credit that is given back.
    Credit,
    /// Data for a region, and a notice.
    Put,
    /// Asks for an answer once everything before it has been done.
    Fence,
    /// The answer to a fence.
    Fenced,
    /// The report that a link was closed at this end, with its progress.
    LinkClosed,
    /// Several packets.
    Batch,
    /// The first packet of a multi-fragment eager message: its length, and the first fragment or none.
    EagerFirst,
    /// A fragment of a multi-fragment eager message.
    EagerMore,
    /// The sender of an announced message wants it back.
    Withdraw,
    /// The receiver of announced messages has room for them.
    Pull,
    /// A pulled message, or a note that it is gone.
    Pulled,
}

impl Kind {
    /// Returns the kind that a header names, if there is one.
    #[inline(always)]
    pub fn of(header: &Header) -> Option<Self> {
        use Kind::*;
        const ALL: [Kind; 17] = [
            Short, Eager, Rts, Cts, Piece, Fin, Credit, Put, Fence, Fenced, LinkClosed, Batch, EagerFirst,
            EagerMore, Withdraw, Pull, Pulled,
        ];
        ALL.get(usize::from(header.kind).wrapping_sub(1)).copied()
    }

    /// Returns the header of a packet of this kind with `words` words beside it.
    pub fn header(self, words: usize) -> Header {
        Header { kind: self as u8, inline_len: 8 * words as u8, ..Header::default() }
    }
}

/// The place of the buffer of one end, for the other end to copy from it or to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferPlace {
    /// In a region.
    Region(RegionAddress),
    /// In this memory of the process.
    Process(StridedMemory),
}

/// The value that stands for the memory of a process in the word of a region.
const PROCESS: u64 = u32::MAX as u64;

/// A message announced by its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rts {
    /// Its length in bytes.
    pub len: u64,
    /// The sender's request.
    pub request: RequestId,
    /// The place from which its receiver may copy it, if it may.
    pub place: Option<BufferPlace>,
    /// True if it is announced for want of credit: its receiver may give more, and pull it before it is
    /// received. False if a place is named.
    pub lacks_credit: bool,
}

/// The way in which an announced message travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CtsKind {
    /// In pieces through the payload ring.
    Stream,
    /// The sender writes it into the receiver's region.
    Write(RegionAddress),
    /// Both copy pieces into the receiver's buffer, taken from this chunk counter.
    Share(BufferPlace, u8, Generation),
}

/// The receiver's answer to an [`Rts`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cts {
    /// The sender's request.
    pub request: RequestId,
    /// The receiver's, which pieces name.
    pub receiver: RequestId,
    /// The action of the sender.
    pub how: CtsKind,
}

/// The end of an announced message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FinStatus {
    /// The message was delivered, or the receiver wants no more of it.
    Done = 0,
    /// The message was withdrawn: no receive had it.
    Withdrawn = 1,
}

/// A link that was closed at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkClosed {
    /// The number of its rail, the same at both ends.
    pub rail: u8,
    /// Tells apart the successive links over that rail.
    pub generation: u32,
    /// The number of the packet that was expected next there; `None` if this end never had that link.
    pub expected: Option<u32>,
}

fn pack(a: u32, b: u32) -> u64 {
    u64::from(a) | u64::from(b) << 32
}

fn request_word(id: RequestId) -> u64 {
    pack(id.index, id.generation)
}

fn request(word: u64) -> RequestId {
    RequestId { index: word as u32, generation: (word >> 32) as u32 }
}

fn place_words(place: Option<RegionAddress>) -> [u64; 2] {
    place.map_or([u64::MAX, 0], |p| [p.region.to_word(), p.offset])
}

fn place(words: [u64; 2]) -> Option<RegionAddress> {
    let region = RegionId::from_word(words[0]);
    (words[0] != u64::MAX).then_some(RegionAddress { region, offset: words[1] })
}

fn buffer_words(place: Option<BufferPlace>) -> [u64; 3] {
    let of_region = |place| {
        let [region, offset] = place_words(place);
        [region, offset, 0]
    };
    match place {
        Some(BufferPlace::Process(memory)) => {
            [PROCESS, memory.address, pack(memory.block_bytes, memory.stride_bytes)]
        }
        Some(BufferPlace::Region(place)) => of_region(Some(place)),
        None => of_region(None),
    }
}

/// Returns a place, if there is one, by its first two words. The third one is read for memory of a process
/// only; fails if it is missing.
fn buffer_place(words: [u64; 2], blocks: impl FnOnce() -> Option<u64>) -> Option<Option<BufferPlace>> {
    let [PROCESS, address] = words else { return Some(place(words).map(BufferPlace::Region)) };
    let blocks = blocks()?;
    let (block_bytes, stride_bytes) = (blocks as u32, (blocks >> 32) as u32);
    Some(Some(BufferPlace::Process(StridedMemory { address, block_bytes, stride_bytes })))
}

/// Returns the first `N` words beside a header, if there are as many.
pub fn words<const N: usize>(packet: &Packet<'_>) -> Option<[u64; N]> {
    if (packet.header.inline_len as usize) < 8 * N {
        return None;
    }
    Some(packet.inline.read_words(0))
}

impl Rts {
    /// Its length beside a header, in bytes.
    pub const BYTES: usize = 40;

    /// Returns its words.
    pub fn to_words(self) -> [u64; 5] {
        let [region, offset, blocks] = match self.place {
            None => [place_words(None)[0], u64::from(self.lacks_credit), 0],
            place => buffer_words(place),
        };
        [self.len, request_word(self.request), region, offset, blocks]
    }

    /// Reads it from a packet.
    pub fn read(packet: &Packet<'_>) -> Option<Self> {
        let [len, id, region, offset] = words(packet)?;
        let place = buffer_place([region, offset], || words(packet).map(|[_, _, _, _, blocks]| blocks))?;
        Some(Self { len, request: request(id), place, lacks_credit: place.is_none() && offset == 1 })
    }
}

impl Cts {
    /// Its length beside a header, in bytes.
    pub const BYTES: usize = 48;

    /// Returns its words.
    pub fn to_words(self) -> [u64; 6] {
        let (how, at) = match self.how {
            CtsKind::Stream => (0, None),
            CtsKind::Write(place) => (1, Some(BufferPlace::Region(place))),
            CtsKind::Share(place, chunk_counter, generation) => {
                (2 | u64::from(chunk_counter) << 8 | u64::from(generation.0) << 32, Some(place))
            }
        };
        let [region, offset, blocks] = buffer_words(at);
        [request_word(self.request), request_word(self.receiver), how, region, offset, blocks]
    }

    /// Reads it from a packet.
    pub fn read(packet: &Packet<'_>) -> Option<Self> {
        let [sender, receiver, how, region, offset] = words(packet)?;
        let at = buffer_place([region, offset], || words(packet).map(|[_, _, _, _, _, blocks]| blocks))?;
        let how = match (how as u8, at) {
            (0, _) => CtsKind::Stream,
            (1, Some(BufferPlace::Region(place))) => CtsKind::Write(place),
            (2, Some(place)) => CtsKind::Share(place, (how >> 8) as u8, Generation((how >> 32) as u32)),
            _ => return None,
        };
        Some(Self { request: request(sender), receiver: request(receiver), how })
    }
}

/// Returns the words of a fin.
pub fn fin_words(id: RequestId, ending: FinStatus) -> [u64; 2] {
    [request_word(id), ending as u64]
}

/// Reads a fin: the request and its end.
pub fn read_fin(packet: &Packet<'_>) -> Option<(RequestId, FinStatus)> {
    let [id, ending] = words(packet)?;
    let ending = match ending {
        0 => FinStatus::Done,
        1 => FinStatus::Withdrawn,
        _ => return None,
    };
    Some((request(id), ending))
}

/// Returns the word of a withdrawal.
pub fn withdraw_word(id: RequestId) -> u64 {
    request_word(id)
}

/// Reads a withdrawal: the sender's request.
pub fn read_withdraw(packet: &Packet<'_>) -> Option<RequestId> {
    words(packet).map(|[id]| request(id))
}

/// Returns the words of a piece.
pub fn piece_words(receiver: RequestId, offset: u64) -> [u64; 2] {
    [request_word(receiver), offset]
}

/// Reads a piece: the receiver's request and the offset of the piece in the message.
pub fn read_piece(packet: &Packet<'_>) -> Option<(RequestId, u64)> {
    let [id, offset] = words(packet)?;
    Some((request(id), offset))
}

impl LinkClosed {
    /// Returns its words.
    pub fn to_words(self) -> [u64; 2] {
        [pack(u32::from(self.rail), self.generation), self.expected.map_or(u64::MAX, u64::from)]
    }

    /// Reads it from a packet.
    pub fn read(packet: &Packet<'_>) -> Option<Self> {
        let [link, expected] = words(packet)?;
        let rail = u8::try_from(link as u32).ok()?;
        let expected = match expected {
            u64::MAX => None,
            number => Some(u32::try_from(number).ok()?),
        };
        Some(Self { rail, generation: (link >> 32) as u32, expected })
    }
}
