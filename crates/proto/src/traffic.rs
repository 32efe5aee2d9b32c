//! What has moved: messages and bytes per protocol, and the copies made for it.

use crate::choice::Protocol;

/// Messages and their bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Messages.
    pub messages: u64,
    /// Bytes of payload.
    pub bytes: u64,
}

impl Moved {
    #[inline(always)]
    pub(crate) fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes as u64;
    }
}

/// The highest level of something, also since it was last asked for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Watermark {
    /// Since it was last taken.
    peak: u64,
    /// Before that.
    before: u64,
}

impl Watermark {
    /// The level is this now.
    #[inline(always)]
    pub(crate) fn note(&mut self, level: u64) {
        self.peak = self.peak.max(level);
    }

    /// The highest level so far.
    pub fn most(self) -> u64 {
        self.peak.max(self.before)
    }

    /// Returns the highest level since the last call, and begins anew at the level of now.
    pub(crate) fn take(&mut self, level: u64) -> u64 {
        self.before = self.most();
        std::mem::replace(&mut self.peak, level)
    }
}

/// Counts since the start.
#[derive(Clone, Default, Debug)]
pub struct Traffic {
    /// Sent, by protocol in the order of [`Protocol`].
    pub sent: [Moved; 4],
    /// Received, likewise.
    pub received: [Moved; 4],
    /// From this rank to itself.
    pub own: Moved,
    /// Puts of this rank with a notice.
    pub put: Moved,
    /// Of the short messages sent and received, those that only told of one in a region, which counts in their place.
    pub told: [Moved; 2],
    /// Copies of payload made by this rank.
    pub copies: u64,
    /// Messages that came before their receive.
    pub unexpected: u64,
    /// How many of them were held at once.
    pub unexpected_most: Watermark,
    /// Bytes of credit that messages held here take.
    pub credit_held: u64,
    /// How many they took at once.
    pub credit_most: Watermark,
    /// Answers and announcements sent.
    pub control: u64,
    /// Packets that strategies put together, and the parts in them.
    pub packets: u64,
    /// Parts of those packets.
    pub parts: u64,
    /// Bytes copied to put several parts into one packet.
    pub aggregated: u64,
    /// Messages that joined a backlog, and the most that waited in one.
    pub waited: u64,
    /// Longest backlog, in messages.
    pub deepest: u64,
    /// Messages that came before one that stands before them.
    pub reordered: u64,
    /// Links that were lost, and packets sent again because of it.
    pub lost_links: u64,
    /// Packets sent again.
    pub sent_again: u64,
}

impl Traffic {
    #[inline(always)]
    pub(crate) fn sent(&mut self, protocol: Protocol, bytes: usize) {
        self.sent[protocol as usize].add(bytes);
    }

    #[inline(always)]
    pub(crate) fn received(&mut self, protocol: Protocol, bytes: usize) {
        self.received[protocol as usize].add(bytes);
    }

    /// Several messages of a run of receives were received.
    #[inline(always)]
    pub(crate) fn received_run(&mut self, short: Moved, eager: Moved) {
        let add = |received: &mut Moved, moved: Moved| {
            received.messages += moved.messages;
            received.bytes += moved.bytes;
        };
        add(&mut self.received[Protocol::Short as usize], short);
        if eager.messages > 0 {
            add(&mut self.received[Protocol::Eager as usize], eager);
            self.copies += eager.messages;
        }
    }

    pub(crate) fn own(&mut self, bytes: usize) {
        self.own.add(bytes);
    }

    /// A message that lies in a region was posted to a peer; a short one of `telling` bytes told of it.
    pub fn posted(&mut self, bytes: usize, telling: usize) {
        self.sent(Protocol::Direct, bytes);
        self.told[0].add(telling);
        self.control += 1;
    }

    /// A message that lies in a region of a peer was retrieved, likewise.
    pub fn retrieved(&mut self, bytes: usize, telling: usize) {
        self.received(Protocol::Direct, bytes);
        self.told[1].add(telling);
    }

    /// The same from this rank itself: what told of it has been counted as a message of its own.
    pub fn retrieved_own(&mut self, bytes: usize, telling: usize) {
        self.own.bytes = (self.own.bytes + bytes as u64).saturating_sub(telling as u64);
    }

    /// What was sent and received by each protocol: one that told of a message in a region is none beside it.
    pub fn by_protocol(&self) -> [[Moved; 4]; 2] {
        let mut all = [self.sent, self.received];
        for (moved, told) in all.iter_mut().zip(self.told) {
            let short = &mut moved[Protocol::Short as usize];
            // What tells may still wait for room, or have had to be announced.
            short.messages = short.messages.saturating_sub(told.messages);
            short.bytes = short.bytes.saturating_sub(told.bytes);
        }
        all
    }

    /// A put of this rank with a notice.
    pub fn put(&mut self, bytes: usize) {
        self.put.add(bytes);
    }
}

impl Traffic {
    /// A message that is held takes so much credit.
    pub(crate) fn hold_credit(&mut self, bytes: u64) {
        self.credit_held += bytes;
        self.credit_most.note(self.credit_held);
    }

    /// A message is held no more.
    pub(crate) fn release_credit(&mut self, bytes: u64) {
        self.credit_held -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watermark_that_is_taken_begins_at_the_level_of_now() {
        let mut traffic = Traffic::default();
        traffic.hold_credit(300);
        traffic.hold_credit(200);
        traffic.release_credit(400);
        assert_eq!((traffic.credit_held, traffic.credit_most.most()), (100, 500));
        assert_eq!(traffic.credit_most.take(traffic.credit_held), 500);
        assert_eq!(traffic.credit_most.take(traffic.credit_held), 100);
        traffic.hold_credit(50);
        assert_eq!(traffic.credit_most.take(traffic.credit_held), 150);
        assert_eq!(traffic.credit_most.most(), 500, "the highest so far stays");
    }
}
