//! Tests of the choice of a protocol, and of the length of packets.

use canele_rail::{Distance, LinkTraits, Verbs};
use canele_sys::device::MemoryKinds;

use super::*;

/// A rail of this host without special capabilities.
pub(crate) const CAPS: Caps = Caps {
    name: "test",
    latency_ns: 100,
    bytes_per_us: 20_000,
    max_bulk: 64 << 10,
    overhead_ns: 30,
    best_packet: 4 << 10,
    link_traits: LinkTraits::empty(),
    distance: Distance::Host,
    lends: false,
    reliable: true,
    maps_regions: true,
    memory_kinds: MemoryKinds::HOST,
    verbs: Verbs::empty(),
};

/// A network with links like those of TCP.
const FAR: Caps = Caps {
    latency_ns: 5000,
    bytes_per_us: 2000,
    overhead_ns: 1500,
    max_bulk: 1 << 20,
    link_traits: LinkTraits::RECOVERABLE,
    distance: Distance::Network,
    maps_regions: false,
    lends: true,
    ..CAPS
};

/// A network that keeps packets in order and has verbs.
const ORDERED: Caps =
    Caps { link_traits: LinkTraits::empty(), lends: false, verbs: Verbs::all(), overhead_ns: 300, ..FAR };

const HOST: HostProfile = HostProfile::SHARED_CACHES;
const EAGER: usize = 16 << 10;

fn path(caps: &Caps) -> Path {
    Path::over(caps, Limits::over(caps, &HOST, EAGER))
}

fn taken(caps: &Caps, bytes: usize, source: bool, target: bool) -> Variant {
    choose(caps, &HOST, EAGER, bytes, Ends { source, target }).variant
}

#[test]
fn the_limits_on_processors_that_share_caches_are_those_that_were_measured_there() {
    let limits = |caps: &Caps, host| Limits::over(caps, host, eager_bytes(0, host));
    let shared = limits(&CAPS, &HOST);
    assert_eq!((shared.whole_bytes, shared.multi_bytes), (16 << 10, 256 << 10));
    let far = limits(&FAR, &HOST);
    assert_eq!((far.whole_bytes, far.only_link_bytes), (48 << 10, 2560 << 10));
    let own = limits(&CAPS, &HostProfile::OWN_CACHES);
    assert_eq!((own.whole_bytes, own.multi_bytes), (20 << 10, 320 << 10));
    assert_eq!((shared.region_multi_bytes, own.region_multi_bytes), (16 << 10, 24 << 10));
    assert_eq!(limits(&FAR, &HostProfile::OWN_CACHES).whole_bytes, 48 << 10);
}

#[test]
fn a_setting_is_the_limit_on_a_host_and_moves_the_others_in_proportion() {
    for eager in [0, 64, 4096, 1 << 20] {
        let limits = Limits::over(&CAPS, &HOST, eager);
        assert_eq!((limits.whole_bytes as usize, limits.multi_bytes as usize), (eager, 16 * eager));
        assert_eq!(Limits::over(&FAR, &HOST, eager).whole_bytes, 3 * eager as u32);
    }
    assert_eq!(eager_bytes(4096, &HOST), 4096);
}

#[test]
fn a_message_takes_the_way_with_the_smallest_estimate_that_can_carry_it() {
    for host in [HOST, HostProfile::OWN_CACHES] {
        for caps in [CAPS, FAR, ORDERED, Caps { verbs: Verbs::empty(), ..ORDERED }] {
            let limits = Limits::over(&caps, &host, eager_bytes(0, &host));
            // Near a limit two estimates differ by less than the limit is rounded.
            let is_near = |bytes: usize| {
                let near = |limit: u32| bytes.abs_diff(limit as usize) <= limit as usize / 7;
                [limits.whole_bytes, limits.multi_bytes, limits.region_multi_bytes].into_iter().any(near)
            };
            let sizes = (0..1000).map(|n: usize| n * n * n / 250 + n).filter(|bytes| !is_near(*bytes));
            for (bytes, source) in sizes.flat_map(|bytes| [(bytes, false), (bytes, true)]) {
                if bytes > caps.max_bulk
                    && caps.distance == Distance::Network
                    && bytes <= limits.whole_bytes as usize
                {
                    continue;
                }
                let choice =
                    choose(&caps, &host, eager_bytes(0, &host), bytes, Ends { source, target: false });
                let possible = choice.estimates.iter().filter_map(|(name, ns)| ns.map(|ns| (ns, *name)));
                let least = possible.min_by(|one, other| one.0.total_cmp(&other.0)).expect("one can");
                let name = choice.variant.row().name;
                assert_eq!(
                    least.1, name,
                    "{bytes} bytes, region {source}, {limits:?}: {:?}",
                    choice.estimates
                );
            }
        }
    }
}

#[test]
fn size_and_buffers_decide() {
    let choice = |bytes, source, target| taken(&CAPS, bytes, source, target);
    assert_eq!(choice(0, false, false), Variant::Short);
    assert_eq!(choice(48, true, true), Variant::Short);
    assert_eq!(choice(49, true, true), Variant::Eager);
    assert_eq!(choice(EAGER, false, false), Variant::Eager);
    assert_eq!(choice(EAGER + 1, false, false), Variant::EagerMulti);
    assert_eq!(choice(16 * EAGER + 1, false, false), Variant::Streamed);
    assert_eq!(choice(1 << 20, true, false), Variant::DirectRead);
    assert_eq!(choice(1 << 20, false, true), Variant::DirectWrite);
    assert_eq!(choice(1 << 20, true, true), Variant::DirectBoth);
    // The sender does not know where the receiver's memory lies.
    assert_eq!(choice(EAGER + 1, false, true), Variant::EagerMulti);
    assert_eq!(choice(EAGER + 1, true, false), Variant::DirectRead);
}

#[test]
fn verbs_move_messages_of_which_one_end_lies_in_a_region_that_is_not_mapped() {
    let choice = |verbs, source, target| taken(&Caps { verbs, ..FAR }, 1 << 20, source, target);
    for (verbs, read, written) in [
        (Verbs::all(), Variant::DirectRead, Variant::DirectWrite),
        (Verbs::GET, Variant::DirectRead, Variant::Streamed),
        (Verbs::PUT, Variant::Streamed, Variant::DirectWrite),
        (Verbs::FETCH_OP | Verbs::COMPARE_SWAP, Variant::Streamed, Variant::Streamed),
    ] {
        assert_eq!(choice(verbs, true, false), read);
        assert_eq!(choice(verbs, false, true), written);
        // One verb moves all of it: the other end copies no part.
        assert_eq!(choice(verbs, true, true), if read == Variant::DirectRead { read } else { written });
        assert_eq!(choice(verbs, false, false), Variant::Streamed);
    }
}

#[test]
fn longer_messages_go_unasked_where_an_answer_takes_longer() {
    assert_eq!(taken(&FAR, 256 << 10, true, true), Variant::Eager, "over the only link");
    assert_eq!(taken(&FAR, (256 << 10) + 1, true, true), Variant::Streamed);
    assert_eq!(path(&FAR).whole_bytes(), 48 << 10, "where another link may take a part");
    let slow = Caps { bytes_per_us: 100, ..FAR };
    let (limit, piece) = (path(&slow).whole_bytes(), 52 << 10);
    assert_eq!((limit, taken(&slow, piece, true, true)), (2 << 10, Variant::Eager), "no longer than a piece");
    assert_eq!(taken(&slow, piece + 1, true, true), Variant::Streamed);
}

#[test]
fn messages_go_in_several_packets_only_where_they_have_no_numbers() {
    let ordered = Caps { verbs: Verbs::empty(), ..ORDERED };
    let whole = path(&ordered).whole_bytes();
    assert_eq!(taken(&ordered, whole, true, true), Variant::Eager);
    assert_eq!(taken(&ordered, whole + 1, true, true), Variant::EagerMulti);
    let numbered = Caps { maps_regions: false, link_traits: LinkTraits::RECOVERABLE, ..CAPS };
    assert_eq!(taken(&numbered, EAGER + 1, true, true), Variant::Streamed);
}

#[test]
fn a_variant_is_offered_for_messages_that_it_can_carry() {
    use Variant::*;
    const NONE: Ends = Ends { source: false, target: false };
    const SOURCE: Ends = Ends { source: true, target: false };
    const TARGET: Ends = Ends { source: false, target: true };
    const BOTH: Ends = Ends { source: true, target: true };
    let cases: [(&Caps, usize, Ends, &[Variant]); 11] = [
        (&CAPS, 48, NONE, &[Short, Streamed]),
        (&CAPS, 49, NONE, &[Eager, EagerMulti, Streamed]),
        (&CAPS, 64 << 10, NONE, &[Eager, EagerMulti, Streamed]),
        (&CAPS, (64 << 10) + 1, TARGET, &[EagerMulti, DirectWrite]),
        (&CAPS, 1 << 22, NONE, &[EagerMulti, Streamed]),
        (&CAPS, 1 << 22, SOURCE, &[EagerMulti, DirectRead]),
        (&CAPS, 1 << 22, BOTH, &[EagerMulti, DirectBoth]),
        (&FAR, 48, NONE, &[Short, Coalesced, Streamed]),
        (&FAR, 1024, NONE, &[Eager, Coalesced, Streamed]),
        (&FAR, 1 << 20, BOTH, &[Eager, Streamed]),
        (&FAR, (1 << 20) + 1, BOTH, &[Streamed]),
    ];
    for (caps, bytes, ends, expected) in cases {
        let path = path(caps);
        let offered: Vec<Variant> = TABLE
            .iter()
            .map(|row| row.variant)
            .filter(|variant| variant.can_carry(&path, bytes, ends))
            .collect();
        assert_eq!(offered, expected, "{bytes} bytes, {ends:?}, numbered: {}", path.numbered);
        assert!(offered.contains(&variant(&path, bytes, Mode::Standard, ends)));
    }
}

#[test]
fn a_synchronous_send_announces_its_message() {
    for bytes in [0, 48, EAGER, 1 << 22] {
        let path = path(&CAPS);
        assert_eq!(begin(&path, bytes, Mode::Synchronous, false), Begin::Announced);
    }
}

#[test]
fn a_rail_of_short_bulks_still_takes_short_messages_whole() {
    let path = Path { max_bulk: 16, ..Path::default() };
    assert_eq!(begin(&path, MAX_INLINE, Mode::Standard, false), Begin::Whole);
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

#[test]
fn blocks_with_gaps_count_as_a_longer_beginning() {
    assert_eq!(bytes_without_gaps(1 << 20, (16 << 10) - 1), None, "too short");
    assert_eq!(
        bytes_without_gaps(128 << 10, 16 << 10),
        Some(64 << 10),
        "eight blocks are a second beginning"
    );
    // A message of any length counts no more than eight of its blocks.
    for len in [1 << 20, 1 << 30, isize::MAX as usize] {
        let bytes = bytes_without_gaps(len, 64 << 10).unwrap();
        assert!(bytes < 8 * (64 << 10) && bytes > len.min(4 * (64 << 10)), "{bytes} of {len}");
    }
}
