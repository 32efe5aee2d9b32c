//! Measures the rate of a link for large packets from their acknowledgements.
//!
//! Owns the estimates. Reads its own clock, only when a large packet leaves or is acknowledged. Short packets
//! are acknowledged late, so they carry no information, and must not pay for a clock read.
//!
//! The rate is the bytes acknowledged recently over the time in which such packets were under way, each
//! moment counted once. A rate for each packet (Cardwell et al., BBR, ACM Queue 14, 2016) would trust the
//! first packets after a pause. Traffic shapers pass those at any speed. A packet that left alone does not
//! show the capacity of the link, unless it shows more than was known. Neither does a message sent without a
//! handshake, which may wait at the receiver for a while. The shortest round trip is valid for a while; then
//! one piece is sent alone, because between others it waits in their queue.

use std::collections::VecDeque;
use std::time::Instant;

use super::outgoing::is_before;

/// Validity of the shortest round trip in ns, because routes change.
const BELIEVED_NS: u64 = 10_000_000_000;

/// Least time with packets under way that the rate covers, in ns and in round trips.
const LATELY_NS: u64 = 20_000_000;
const LATELY_TRIPS: u64 = 4;

/// An amount of bytes, and the time in which they were under way.
#[derive(Clone, Copy, Default)]
struct Carried {
    bytes: u64,
    time_ns: u64,
}

impl Carried {
    fn bytes_per_s(self) -> u64 {
        (u128::from(self.bytes) * 1_000_000_000 / u128::from(self.time_ns.max(1))) as u64
    }

    /// Forgets the part older than `most_ns`, as if the bytes had been carried evenly.
    fn forget(&mut self, most_ns: u64) {
        if self.time_ns > most_ns {
            self.bytes = (u128::from(self.bytes) * u128::from(most_ns) / u128::from(self.time_ns)) as u64;
            self.time_ns = most_ns;
        }
    }
}

/// A large packet under way.
struct Sent {
    number: u32,
    at_ns: u64,
    /// Bytes of bulk that were acknowledged at that time.
    acknowledged: u64,
    /// True if its receiver waits for it, behind other pieces.
    steady: bool,
}

/// The estimates of one link.
pub struct Pace {
    start: Instant,
    under_way: VecDeque<Sent>,
    /// The recent past.
    carried: Carried,
    bytes_per_s: u64,
    /// Bytes acknowledged at the last acknowledgement of a large packet, and its time.
    counted: u64,
    counted_at_ns: u64,
    round_trip_ns: u64,
    round_trip_at_ns: u64,
    /// True if the validity of the round trip has ended.
    stale: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            under_way: VecDeque::new(),
            carried: Carried::default(),
            bytes_per_s: 0,
            counted: 0,
            counted_at_ns: 0,
            round_trip_ns: 0,
            round_trip_at_ns: 0,
            stale: false,
        }
    }
}

impl Pace {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    /// Notes that a large packet leaves, after `acknowledged` acknowledged bytes of the link.
    pub fn handle_sent(&mut self, number: u32, acknowledged: u64, steady: bool) {
        let at_ns = self.now_ns();
        self.under_way.push_back(Sent { number, at_ns, acknowledged, steady });
    }

    /// Notes that all packets before number `ack` were acknowledged, `acknowledged` bytes in total.
    #[inline]
    pub fn handle_ack(&mut self, ack: u32, acknowledged: u64) {
        if !self.under_way.is_empty() {
            let now_ns = self.now_ns();
            self.measure(ack, acknowledged, now_ns);
        }
    }

    fn measure(&mut self, ack: u32, acknowledged: u64, now_ns: u64) {
        let Some(oldest) = self.under_way.pop_front_if(|sent| is_before(sent.number, ack)) else { return };
        let carried = Carried {
            bytes: acknowledged - self.counted.max(oldest.acknowledged),
            time_ns: now_ns - self.counted_at_ns.max(oldest.at_ns),
        };
        (self.counted, self.counted_at_ns) = (acknowledged, now_ns);
        let mut sent = oldest;
        while let Some(newer) = self.under_way.pop_front_if(|sent| is_before(sent.number, ack)) {
            sent = newer;
        }
        if sent.steady || carried.bytes_per_s() > self.bytes_per_s {
            self.carried.bytes += carried.bytes;
            self.carried.time_ns += carried.time_ns;
            self.carried.forget(LATELY_NS.max(LATELY_TRIPS * self.round_trip_ns));
            self.bytes_per_s = self.carried.bytes_per_s();
        }
        let time_ns = now_ns.saturating_sub(sent.at_ns).max(1);
        if self.round_trip_ns == 0 || time_ns <= self.round_trip_ns || self.stale && !sent.steady {
            (self.round_trip_ns, self.round_trip_at_ns) = (time_ns, now_ns);
        }
        self.stale = now_ns - self.round_trip_at_ns > BELIEVED_NS;
    }

    /// Returns the bytes of streams that may be under way before a piece of `piece` bytes. These are the
    /// bytes that the link holds plus a quarter, but at least `piece`. So the estimate grows up to the
    /// capacity of the link. It returns 0 if the round trip is to be measured again by a piece alone.
    #[inline]
    pub fn allowance(&self, piece: u64) -> u64 {
        if self.stale { 0 } else { self.holds().max(piece) }
    }

    /// Returns five quarters of the product of bandwidth and delay.
    fn holds(&self) -> u64 {
        (u128::from(self.bytes_per_s) * u128::from(self.round_trip_ns) / 800_000_000) as u64
    }

    /// Returns two recent measurements; none before an acknowledgement. The first is the shortest time from
    /// the commit of a large packet to its acknowledgement, including transmission. The second is the bytes
    /// of bulk acknowledged per second while such packets were under way.
    pub fn measured(&self) -> Option<(u64, u64)> {
        (self.round_trip_ns > 0).then_some((self.round_trip_ns, self.bytes_per_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a link of 100,000 bytes a second and 20 ms round trip with pieces of 100 bytes. The cap
    /// limits the pieces under way. Returns the estimates after `pieces`.
    fn run(pieces: u32) -> Pace {
        let mut pace = Pace::default();
        let ms = 1_000_000u64;
        // The times at which the pieces are acknowledged.
        let (mut due, mut free_ns, mut sent, mut done) = (VecDeque::new(), 0, 0, 0u32);
        let mut now_ns = ms;
        while done < pieces {
            while u64::from(sent - done) * 100 <= pace.allowance(100) {
                let under_way = sent - done;
                pace.under_way.push_back(Sent {
                    number: sent,
                    at_ns: now_ns,
                    acknowledged: u64::from(done) * 100,
                    steady: under_way > 0,
                });
                free_ns = now_ns.max(free_ns) + ms;
                due.push_back(free_ns + 20 * ms);
                sent += 1;
            }
            now_ns = due.pop_front().unwrap();
            done += 1;
            pace.measure(done, u64::from(done) * 100, now_ns);
        }
        pace
    }

    #[test]
    fn the_cap_grows_to_what_the_link_holds_and_no_further() {
        let pace = run(55_000);
        assert!((95_000..=105_000).contains(&pace.bytes_per_s), "{} bytes/s", pace.bytes_per_s);
        assert!((2400..=3000).contains(&pace.holds()), "{} bytes, {} ns", pace.holds(), pace.round_trip_ns);
    }

    #[test]
    fn what_a_shaper_lets_pass_after_a_rest_is_not_believed() {
        let mut pace = Pace::default();
        let (mut number, mut done, mut now_ns) = (0u32, 0u64, 1_000_000u64);
        // Sends pieces of 16 KB, always two under way, acknowledged at intervals of `apart_ns`.
        let mut run = |pace: &mut Pace, pieces: u32, apart_ns: u64| {
            for n in 0..pieces + 1 {
                let sent = Sent { number, at_ns: now_ns, acknowledged: done, steady: n > 0 };
                pace.under_way.push_back(sent);
                number += 1;
                if n > 0 {
                    now_ns += apart_ns;
                    done += 16 << 10;
                    pace.measure(number - 1, done, now_ns);
                }
            }
            now_ns += apart_ns;
            done += 16 << 10;
            pace.measure(number, done, now_ns);
            now_ns += 50_000_000;
        };
        run(&mut pace, 100, 1_300_000);
        let steady = pace.bytes_per_s;
        assert!((12_000_000..13_000_000).contains(&steady), "{steady} bytes/s");
        run(&mut pace, 8, 10_000);
        assert!(pace.bytes_per_s < 2 * steady, "{} bytes/s", pace.bytes_per_s);
    }

    #[test]
    fn nothing_is_known_before_an_acknowledgement() {
        let mut pace = Pace::default();
        assert_eq!((pace.holds(), pace.measured()), (0, None));
        pace.handle_ack(5, 0);
        pace.handle_sent(5, 0, false);
        pace.handle_ack(5, 0);
        assert_eq!(pace.holds(), 0, "its own acknowledgement is still to come");
        pace.handle_ack(6, 100);
        assert!(pace.holds() > 0 && pace.under_way.is_empty());
    }
}
