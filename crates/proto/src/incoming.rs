//! Messages that this rank holds because they came before their receive.
//!
//! Owns these messages, the memory of their payload, and the link at which the next receive from any source
//! looks first. Never matches a message (`matching`), and never charges its sender for it (`credit.rs`).

use canele_mem::window::Window;
use canele_rail::MAX_INLINE;
use canele_sys::ids::Rank;

use crate::slab::{Key, Slab};
use crate::spare::Spare;
use crate::traffic::Traffic;
use crate::unexpected::{Body, KeptPayload, Unexpected};

/// Messages without a receive, their memory, and the turn of the links.
#[derive(Default)]
pub(crate) struct Incoming {
    /// Unexpected messages, and those that came before their turn.
    unexpected: Slab<Unexpected>,
    /// Payload memory to be used again.
    spare: Spare,
    /// The incoming link at which a receive from any source looks first.
    first_look: usize,
}

impl Incoming {
    /// Holds a message until [`Incoming::take`].
    pub fn hold(&mut self, message: Unexpected, traffic: &mut Traffic) -> Key {
        let key = self.unexpected.insert(message);
        traffic.unexpected_most.note(self.unexpected.len() as u64);
        key
    }

    /// Returns the number of messages that are held.
    pub fn len(&self) -> usize {
        self.unexpected.len()
    }

    /// Returns the messages that are held.
    pub fn iter(&self) -> impl Iterator<Item = &Unexpected> {
        self.unexpected.iter().map(|(_, message)| message)
    }

    /// Returns a message, unless it was taken.
    #[inline(always)]
    pub fn get(&self, key: Key) -> Option<&Unexpected> {
        self.unexpected.get(key)
    }

    /// Returns a message to change, unless it was taken.
    #[inline(always)]
    pub fn get_mut(&mut self, key: Key) -> Option<&mut Unexpected> {
        self.unexpected.get_mut(key)
    }

    /// Returns the message at the place that a matcher names.
    #[inline(always)]
    pub fn at(&self, place: u32) -> &Unexpected {
        self.unexpected.at(place)
    }

    /// Returns the key of the message at the place that a matcher names.
    #[inline(always)]
    pub fn key_at(&self, place: u32) -> Key {
        self.unexpected.key_at(place)
    }

    /// Takes a message out, unless that was done before.
    #[inline(always)]
    pub fn take(&mut self, key: Key) -> Option<Unexpected> {
        self.unexpected.remove(key)
    }

    /// Drops the message at the place that a matcher named.
    pub fn drop_at(&mut self, place: u32) {
        self.unexpected.remove_at(place);
    }

    /// Writes a piece into the memory of a message whose rest is still to come. Returns false if a receive
    /// took it meanwhile.
    pub fn append(&mut self, key: Key, offset: usize, piece: Window<'_>) -> bool {
        let Some(Unexpected { body: Body::Coming { data, got, .. }, .. }) = self.unexpected.get_mut(key)
        else {
            return false;
        };
        piece.read(0, &mut data[offset..offset + piece.len()]);
        *got += piece.len();
        true
    }

    /// Notes that all of a message has come, unless a receive took it meanwhile.
    pub fn complete(&mut self, key: Key) {
        let Some(message) = self.unexpected.get_mut(key) else { return };
        if let Body::Coming { data, .. } = &mut message.body {
            message.body = Body::Here(KeptPayload::Long(std::mem::take(data)));
        }
    }

    /// Drops the messages of a peer that receives have claimed and that never come; returns their lengths.
    pub fn drop_claimed(&mut self, of: Rank) -> Vec<usize> {
        let claimed = self.unexpected.iter().filter_map(|(key, message)| match message.body {
            Body::Claimed(rts, _) if message.from == of => Some((key, rts.len as usize)),
            _ => None,
        });
        let claimed: Vec<_> = claimed.collect();
        claimed.iter().for_each(|(key, _)| drop(self.unexpected.remove(*key)));
        claimed.into_iter().map(|(_, len)| len).collect()
    }

    /// Copies payload, into memory used before where possible (invariant I5).
    pub fn copy_payload(&mut self, payload: Window<'_>, traffic: &mut Traffic) -> KeptPayload {
        if payload.len() <= MAX_INLINE {
            let mut bytes = [0; MAX_INLINE];
            payload.read(0, &mut bytes[..payload.len()]);
            return KeptPayload::Short(payload.len() as u8, bytes);
        }
        let mut data = self.spare.take(payload.len());
        payload.read(0, &mut data);
        traffic.copies += 1;
        KeptPayload::Long(data)
    }

    /// Takes memory for `len` bytes of payload, with any content.
    pub fn take_memory(&mut self, len: usize) -> Vec<u8> {
        self.spare.take(len)
    }

    /// Takes memory back.
    pub fn reclaim_memory(&mut self, data: Vec<u8>) {
        self.spare.give(data);
    }

    /// Returns the incoming link at which a receive from any source looks first.
    #[inline(always)]
    pub fn first_look(&self) -> usize {
        self.first_look
    }

    /// Lets the next receive from any source begin at this link.
    #[inline(always)]
    pub fn look_next_at(&mut self, link: usize) {
        self.first_look = link;
    }
}

#[cfg(test)]
mod tests {
    use canele_sys::ids::{RequestId, Tag};

    use super::*;
    use crate::wire::Rts;

    const REQUEST: RequestId = RequestId { index: 0, generation: 0 };

    fn message(from: u32, body: Body) -> Unexpected {
        Unexpected { from: Rank(from), tag: Tag(7), body }
    }

    #[test]
    fn a_message_whose_rest_comes_is_whole_unless_it_was_taken() {
        let (mut incoming, mut traffic) = (Incoming::default(), Traffic::default());
        let coming = |data| message(1, Body::Coming { data, got: 0, request: REQUEST });
        let memory = incoming.take_memory(4);
        let key = incoming.hold(coming(memory), &mut traffic);
        let append = |incoming: &mut Incoming, at, bytes: &mut [u8]| {
            let mut appended = false;
            canele_rail::on_slice(bytes, |piece| appended = incoming.append(key, at, piece));
            appended
        };
        assert!(append(&mut incoming, 0, &mut [1, 2, 3]) && append(&mut incoming, 3, &mut [4]));
        incoming.complete(key);
        assert!(
            matches!(&incoming.at(key.index).body, Body::Here(payload) if payload.bytes() == [1, 2, 3, 4])
        );
        assert!(!append(&mut incoming, 0, &mut [5]), "all of it has come");
        assert!(incoming.take(key).is_some() && !append(&mut incoming, 0, &mut [6]));
        assert_eq!((incoming.len(), traffic.unexpected_most.most()), (0, 1));
    }

    #[test]
    fn only_claimed_messages_of_a_peer_are_dropped_with_it() {
        let (mut incoming, mut traffic) = (Incoming::default(), Traffic::default());
        let rts = |len| Rts { len, request: REQUEST, place: None, lacks_credit: true };
        for (from, body) in [
            (1, Body::Claimed(rts(10), None)),
            (1, Body::Announced(rts(20))),
            (2, Body::Claimed(rts(30), None)),
        ] {
            incoming.hold(message(from, body), &mut traffic);
        }
        assert_eq!(incoming.drop_claimed(Rank(1)), [10]);
        let left: Vec<_> = incoming.iter().map(|message| message.body.len()).collect();
        assert_eq!(left, [20, 30]);
    }
}
