//! Counts of messages and bytes per protocol, and of the copies made for them.

use crate::choice::Protocol;

/// Messages and their bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Number of messages.
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

/// The highest level of a quantity, also since it was last asked for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Watermark {
    /// The highest level since it was last taken.
    peak: u64,
    /// The highest level before that.
    before: u64,
}

impl Watermark {
    /// Notes the present level.
    #[inline(always)]
    pub(crate) fn note(&mut self, level: u64) {
        self.peak = self.peak.max(level);
    }

    /// Returns the highest level so far.
    pub fn most(self) -> u64 {
        self.peak.max(self.before)
    }

    /// Returns the highest level since the last call, and begins anew at the present level.
    pub(crate) fn take(&mut self, level: u64) -> u64 {
        self.before = self.most();
        std::mem::replace(&mut self.peak, level)
    }
}

/// Counts since the start.
#[derive(Clone, Default, Debug)]
pub struct Traffic {
    /// Messages sent, by protocol in the order of [`Protocol`].
    pub sent: [Moved; 4],
    /// Messages received, likewise.
    pub received: [Moved; 4],
    /// Messages from this rank to itself.
    pub own: Moved,
    /// Puts of this rank with a notice.
    pub put: Moved,
    /// Short messages, sent and received, that only announced one in a region, which counts in their place.
    pub told: [Moved; 2],
    /// Copies of payload made by this rank.
    pub copies: u64,
    /// Messages that came before their receive.
    pub unexpected: u64,
    /// The number of unexpected messages held at once.
    pub unexpected_most: Watermark,
    /// Bytes of credit that messages held here take.
    pub credit_held: u64,
    /// The bytes of credit taken at once.
    pub credit_most: Watermark,
    /// Answers and announcements sent.
    pub control: u64,
    /// Packets that strategies composed.
    pub packets: u64,
    /// Parts of those packets.
    pub parts: u64,
    /// Bytes copied to put several parts into one packet.
    pub aggregated: u64,
    /// Messages that joined a backlog.
    pub waited: u64,
    /// Longest backlog, in messages.
    pub deepest: u64,
    /// Messages that came before their predecessors.
    pub reordered: u64,
    /// Links that were lost.
    pub lost_links: u64,
    /// Packets sent again after the loss of a link.
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

    /// Counts the messages of a run of receives.
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

    /// Counts a message in a region that was posted to a peer; a short one of `telling` bytes announced it.
    pub fn posted(&mut self, bytes: usize, telling: usize) {
        self.sent(Protocol::Direct, bytes);
        self.told[0].add(telling);
        self.control += 1;
    }

    /// Counts a message in a region of a peer that was retrieved, likewise.
    pub fn retrieved(&mut self, bytes: usize, telling: usize) {
        self.received(Protocol::Direct, bytes);
        self.told[1].add(telling);
    }

    /// Counts a retrieved message of this rank itself: its announcement was counted as a message of its own.
    pub fn retrieved_own(&mut self, bytes: usize, telling: usize) {
        self.own.bytes = (self.own.bytes + bytes as u64).saturating_sub(telling as u64);
    }

    /// Returns the messages sent and received by each protocol, without those that only announced one in a
    /// region.
    pub fn by_protocol(&self) -> [[Moved; 4]; 2] {
        let mut all = [self.sent, self.received];
        for (moved, told) in all.iter_mut().zip(self.told) {
            let short = &mut moved[Protocol::Short as usize];
            // An announcing message may still wait for room, or have gone by another protocol.
            short.messages = short.messages.saturating_sub(told.messages);
            short.bytes = short.bytes.saturating_sub(told.bytes);
        }
        all
    }

    /// Counts a put of this rank with a notice.
    pub fn put(&mut self, bytes: usize) {
        self.put.add(bytes);
    }
}

impl Traffic {
    /// Adds the credit of a message that is held.
    pub(crate) fn hold_credit(&mut self, bytes: u64) {
        self.credit_held += bytes;
        self.credit_most.note(self.credit_held);
    }

    /// Subtracts the credit of a message that is no longer held.
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
