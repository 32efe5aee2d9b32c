//! Which protocol a message takes, and why: one table, one pure function.

use canele_rail::{Caps, MAX_INLINE, Speed};

/// The ways a message can travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Protocol {
    /// In one cell.
    Short,
    /// Through the payload ring, without a handshake.
    Eager,
    /// After a handshake, in pieces through the payload ring.
    Streamed,
    /// After a handshake, copied once, to or from a region.
    Direct,
}

impl Protocol {
    /// Its name in commands and counters.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|row| row.protocol == self).map_or("", |row| row.name)
    }
}

/// Which ends of a message lie in regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ends {
    /// The sender's.
    pub source: bool,
    /// The receiver's.
    pub target: bool,
}

/// One row of the table of protocols.
pub struct Row {
    /// The protocol.
    pub protocol: Protocol,
    /// Its name in commands and counters.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// Whether it can carry a message of `bytes`, and its estimated time in nanoseconds.
    pub probe: fn(&Caps, eager_bytes: usize, bytes: usize, Ends) -> Option<f64>,
}

/// How many times longer an eager message may be on links whose messages carry numbers: those lead to other hosts, where waiting for
/// an answer takes longer than two more copies do.
const TIMES_FAR: usize = 4;

/// The largest eager message on links that are `numbered` or not.
#[inline]
pub fn eager_most(eager_bytes: usize, numbered: bool) -> usize {
    if numbered { eager_bytes.saturating_mul(TIMES_FAR) } else { eager_bytes }
}

/// Nanoseconds to move `bytes` once.
fn copy_ns(caps: &Caps, bytes: usize) -> f64 {
    bytes as f64 * 1000.0 / f64::from(caps.bytes_per_us)
}

/// The protocols, in order of preference: the first that can carry a message does.
pub const TABLE: [Row; 4] = [
    Row {
        protocol: Protocol::Short,
        name: "short",
        doc: "header and payload in one 64-byte cell, whose last store publishes it",
        probe: |caps, _, bytes, _| (bytes <= MAX_INLINE).then(|| f64::from(caps.latency_ns)),
    },
    Row {
        protocol: Protocol::Eager,
        name: "eager",
        doc: "copied into the payload ring and out of it, no handshake",
        probe: |caps, eager_bytes, bytes, _| {
            let fits = bytes <= eager_most(eager_bytes, caps.numbered).min(caps.max_bulk);
            fits.then(|| f64::from(caps.latency_ns) + 2.0 * copy_ns(caps, bytes))
        },
    },
    Row {
        protocol: Protocol::Direct,
        name: "direct",
        doc: "announced, then copied once between a region and the other buffer",
        probe: |caps, eager_bytes, bytes, ends| {
            let possible =
                caps.one_sided && (ends.source || ends.target) && bytes > eager_bytes.min(caps.max_bulk);
            possible.then(|| 2.0 * f64::from(caps.latency_ns) + copy_ns(caps, bytes))
        },
    },
    Row {
        protocol: Protocol::Streamed,
        name: "streamed",
        doc: "announced, then sent in pieces through the payload ring, both processors copying at once",
        probe: |caps, _, bytes, _| Some(3.0 * f64::from(caps.latency_ns) + 1.2 * copy_ns(caps, bytes)),
    },
];

/// A protocol and the reason for it.
pub struct Choice {
    /// What is taken.
    pub protocol: Protocol,
    /// Every protocol's estimate in nanoseconds, or why it cannot be taken.
    pub estimates: Vec<(&'static str, Option<f64>)>,
}

/// The first row of [`TABLE`] that can carry a message of `bytes`.
pub fn choose(caps: &Caps, eager_bytes: usize, bytes: usize, ends: Ends) -> Choice {
    let estimates = TABLE.map(|row| (row.protocol, row.name, (row.probe)(caps, eager_bytes, bytes, ends)));
    let first = estimates.iter().find(|(_, _, estimate)| estimate.is_some());
    Choice {
        protocol: first.map_or(Protocol::Streamed, |(protocol, ..)| *protocol),
        estimates: estimates.iter().map(|(_, name, estimate)| (*name, *estimate)).collect(),
    }
}

/// The length of the pieces of a streamed message (BIP): a pipeline of two copies is filled fastest by
/// √(length × overhead × bandwidth) bytes, here with the overhead of a cell on each side.
pub fn piece_bytes(caps: &Caps, len: usize, most: usize) -> usize {
    let best =
        (len as f64 * f64::from(caps.latency_ns) * f64::from(caps.bytes_per_us) / 1000.0).sqrt() as usize;
    let most = most.min(caps.max_bulk);
    let best = best.next_multiple_of(4096).clamp(8192.min(most), most);
    // All about as long: what is left for the last one would be a packet of its own.
    let pieces = (len / best).max(len.div_ceil(most)).max(1);
    len.div_ceil(pieces).next_multiple_of(64).min(most)
}

/// The length of pieces that stay in the user's memory until they have arrived: as much as a link carries in half a millisecond, so
/// that a piece costs little beside its bytes and nothing waits long behind it, and no more than caches hold beside what the
/// system copies it to. Where something `urgent` may come, a part of that.
pub fn timely_bytes(speed: Speed, most: usize, urgent: bool) -> usize {
    let (micros, cached) = if urgent { (500 / 8, 64 << 10) } else { (500, 256 << 10) };
    let timely = (speed.bytes_per_us as usize).saturating_mul(micros);
    timely.next_multiple_of(4096).clamp((16 << 10).min(most), most.min(cached))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPS: Caps = Caps {
        name: "test",
        latency_ns: 100,
        bytes_per_us: 20_000,
        max_bulk: 64 << 10,
        overhead_ns: 30,
        best_packet: 4 << 10,
        ordered: true,
        numbered: false,
        lends: false,
        reliable: true,
        one_sided: true,
    };

    #[test]
    fn size_and_buffers_decide() {
        let choice = |bytes, source, target| choose(&CAPS, 16 << 10, bytes, Ends { source, target }).protocol;
        assert_eq!(choice(0, false, false), Protocol::Short);
        assert_eq!(choice(48, true, true), Protocol::Short);
        assert_eq!(choice(49, true, true), Protocol::Eager);
        assert_eq!(choice(16 << 10, false, false), Protocol::Eager);
        assert_eq!(choice((16 << 10) + 1, false, false), Protocol::Streamed);
        assert_eq!(choice(1 << 20, true, false), Protocol::Direct);
        assert_eq!(choice(1 << 20, false, true), Protocol::Direct);
    }

    #[test]
    fn longer_messages_go_unasked_where_an_answer_takes_longer() {
        let far = Caps { numbered: true, one_sided: false, max_bulk: 1 << 20, ..CAPS };
        let choice = |bytes| choose(&far, 16 << 10, bytes, Ends::default()).protocol;
        assert_eq!(choice(64 << 10), Protocol::Eager);
        assert_eq!(choice((64 << 10) + 1), Protocol::Streamed);
    }

    #[test]
    fn pieces_grow_with_the_message_up_to_what_the_rail_carries() {
        let sizes: Vec<usize> =
            [32 << 10, 256 << 10, 4 << 20, 1 << 30].map(|n| piece_bytes(&CAPS, n, 1 << 20)).into();
        assert!(sizes.is_sorted(), "{sizes:?}");
        assert_eq!(sizes[3], CAPS.max_bulk);
    }

    #[test]
    fn lent_pieces_are_as_long_as_their_link_is_fast_within_bounds() {
        let pieces = |urgent| {
            [1, 125, 1250, 20_000]
                .map(|bytes_per_us| timely_bytes(Speed { bytes_per_us, ..Speed::default() }, 1 << 20, urgent))
        };
        assert_eq!(pieces(false), [16 << 10, 64 << 10, 256 << 10, 256 << 10]);
        assert_eq!(pieces(true), [16 << 10, 16 << 10, 64 << 10, 64 << 10]);
        assert_eq!(timely_bytes(Speed::default(), 1024, false), 1024, "a rail that carries less");
    }
}
