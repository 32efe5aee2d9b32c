//! How fast a link carries large packets, measured from their acknowledgements.
//!
//! Owns the estimates. Reads a clock of its own, and only when a large packet leaves or is acknowledged: short packets are
//! acknowledged late, so they would tell nothing, and must not pay for it.
//!
//! The rate is what was acknowledged lately over the time in which such packets were under way, each moment counted once. A rate
//! for each packet (Cardwell et al., BBR, ACM Queue 14, 2016) would believe the first packets after a rest, which shapers let
//! pass at any speed. A packet that left alone does not show what the link can carry, unless it shows more than was known; nor does
//! a message that was not asked for, which may lie with the receiver for a while.
//! The shortest round trip is believed for a while; then a piece is sent alone, because between others it waits in their queue.

use std::collections::VecDeque;
use std::time::Instant;

use super::outgoing::is_before;

/// How long the shortest round trip is believed: routes change.
const BELIEVED_NS: u64 = 10_000_000_000;

/// The rate is that of so much time with packets under way, at least, and of so many round trips.
const LATELY_NS: u64 = 20_000_000;
const LATELY_TRIPS: u64 = 4;

/// Bytes, and the time in which they were under way.
#[derive(Clone, Copy, Default)]
struct Carried {
    bytes: u64,
    time_ns: u64,
}

impl Carried {
    fn bytes_per_s(self) -> u64 {
        (u128::from(self.bytes) * 1_000_000_000 / u128::from(self.time_ns.max(1))) as u64
    }

    /// What lies further back than `most_ns` is forgotten, as if it had been carried evenly.
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
    /// Bytes of bulk that had been acknowledged.
    acknowledged: u64,
    /// Its receiver waits for it, behind other pieces.
    steady: bool,
}

/// The estimates of one link.
pub struct Pace {
    start: Instant,
    under_way: VecDeque<Sent>,
    /// Lately.
    carried: Carried,
    bytes_per_s: u64,
    /// Bytes that had been acknowledged when a large packet was acknowledged last, and when that was.
    counted: u64,
    counted_at_ns: u64,
    round_trip_ns: u64,
    round_trip_at_ns: u64,
    /// The round trip was believed for long enough.
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

    /// A large packet leaves, `acknowledged` bytes after the link's beginning.
    pub fn handle_sent(&mut self, number: u32, acknowledged: u64, steady: bool) {
        let at_ns = self.now_ns();
        self.under_way.push_back(Sent { number, at_ns, acknowledged, steady });
    }

    /// All packets before number `ack` were acknowledged, `acknowledged` bytes in all.
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

    /// Bytes of streams that may be under way when a piece follows: as many as it has, or what the link holds between its
    /// ends and a quarter more, so that the estimate grows until the link carries no more.
    #[inline]
    pub fn allowance(&self, piece: u64) -> u64 {
        if self.stale { 0 } else { self.holds().max(piece) }
    }

    /// Five quarters of the product of bandwidth and delay.
    fn holds(&self) -> u64 {
        (u128::from(self.bytes_per_s) * u128::from(self.round_trip_ns) / 800_000_000) as u64
    }

    /// Shortest time lately from the commit of a large packet to its acknowledgement, its transmission included, and bytes of
    /// bulk acknowledged in a second while such were under way; nothing while none was acknowledged.
    pub fn measured(&self) -> Option<(u64, u64)> {
        (self.round_trip_ns > 0).then_some((self.round_trip_ns, self.bytes_per_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of 100 bytes over a link of 100,000 bytes a second and 20 milliseconds there and back, as many at once as the cap
    /// allows; the estimates after `pieces`.
    fn run(pieces: u32) -> Pace {
        let mut pace = Pace::default();
        let ms = 1_000_000u64;
        // When each piece is acknowledged.
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
        // Pieces of 16 KB, always two under way, each acknowledged `apart_ns` after the one before.
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
