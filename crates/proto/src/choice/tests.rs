//! Which protocol is taken, and how long a packet is.

use canele_rail::{LinkTraits, Verbs};
use canele_sys::device::MemoryKinds;

use super::*;

/// A rail of this host without anything special.
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

const FAR: Caps =
    Caps { link_traits: LinkTraits::RECOVERABLE, distance: Distance::Network, maps_regions: false, ..CAPS };

const EAGER: usize = 16 << 10;

fn taken(caps: &Caps, bytes: usize, source: bool, target: bool) -> Variant {
    choose(caps, EAGER, bytes, Ends { source, target }).variant
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
        // One verb moves all of it: no share of it is left for the other end.
        assert_eq!(choice(verbs, true, true), if read == Variant::DirectRead { read } else { written });
        assert_eq!(choice(verbs, false, false), Variant::Streamed);
    }
}

#[test]
fn longer_messages_go_unasked_where_an_answer_takes_longer() {
    let far = Caps { max_bulk: 1 << 20, ..FAR };
    assert_eq!(taken(&far, 64 << 10, true, true), Variant::Eager);
    assert_eq!(taken(&far, (64 << 10) + 1, true, true), Variant::Streamed);
}

#[test]
fn a_network_that_keeps_packets_in_order_is_far_and_its_messages_have_no_numbers() {
    let ordered = Caps { link_traits: LinkTraits::empty(), max_bulk: 1 << 20, ..FAR };
    assert_eq!(taken(&ordered, 64 << 10, true, true), Variant::Eager);
    assert_eq!(taken(&ordered, (64 << 10) + 1, true, true), Variant::EagerMulti);
    let numbered = Caps { distance: Distance::Host, ..FAR };
    assert_eq!(taken(&numbered, EAGER + 1, true, true), Variant::Streamed);
}

#[test]
fn a_variant_is_offered_for_messages_that_it_can_carry() {
    use Variant::*;
    const NONE: Ends = Ends { source: false, target: false };
    const SOURCE: Ends = Ends { source: true, target: false };
    const TARGET: Ends = Ends { source: false, target: true };
    const BOTH: Ends = Ends { source: true, target: true };
    let cases: [(&Caps, usize, Ends, &[Variant]); 12] = [
        (&CAPS, 48, NONE, &[Short, Streamed]),
        (&CAPS, 49, NONE, &[Eager, Streamed]),
        (&CAPS, EAGER + 1, NONE, &[EagerMulti, Streamed]),
        (&CAPS, EAGER + 1, TARGET, &[EagerMulti, DirectWrite]),
        (&CAPS, 1 << 22, NONE, &[Streamed]),
        (&CAPS, 1 << 22, SOURCE, &[DirectRead]),
        (&CAPS, 1 << 22, TARGET, &[DirectWrite]),
        (&CAPS, 1 << 22, BOTH, &[DirectBoth]),
        (&FAR, 48, NONE, &[Short, Coalesced, Streamed]),
        (&FAR, 1024, NONE, &[Eager, Coalesced, Streamed]),
        (&FAR, 64 << 10, BOTH, &[Eager, Streamed]),
        (&FAR, (64 << 10) + 1, BOTH, &[Streamed]),
    ];
    for (caps, bytes, ends, expected) in cases {
        let path = Path::over(caps, EAGER);
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
        let path = Path::over(&CAPS, EAGER);
        assert_eq!(begin(&path, bytes, Mode::Synchronous, false), Begin::Announced);
    }
}

#[test]
fn a_rail_of_short_bulks_still_takes_short_messages_whole() {
    let path = Path { eager_bytes: 16, max_bulk: 16, ..Path::default() };
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
