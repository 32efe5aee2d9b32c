//! The conformance suite of drivers, instantiated for a driver in one line.
//!
//! ```ignore
//! canele_rail::conformance!(MyHarness);
//! ```
//! or, for a driver whose memory peers do not share, `canele_rail::conformance!(MyHarness, without regions);`.
//!
//! Owns the tests and the trait by which they use a driver ([`Harness`]). Never looks into a driver: a
//! property of one driver is tested beside that driver.

mod memory;
mod network;
mod packets;
mod regions;
mod rma;
mod room;

use std::sync::Arc;

use canele_sys::ids::{LinkId, Rank, RegionId};

pub use memory::*;
pub use network::*;
pub use packets::*;
pub use regions::*;
pub use rma::*;
pub use room::*;

use crate::Region;
use crate::{Busy, Class, FastPath, FullRail, Header, MAX_INLINE_WITH_BULK, Rail};

/// The link from the rank with the first rail to the next one.
const TO_1: LinkId = LinkId::new(0, Rank(1));

/// Several rails of one driver that know each other, with rings as small as the driver allows.
pub trait Harness: Sized {
    /// The driver.
    type Rail: FullRail;

    /// Packets after which every counter of a link has wrapped. In the smallest ring of shared memory, 64 cells and
    /// 16 KiB, these are 65536 laps and more than 2^32 bytes.
    const WRAPPED: u64 = 64 * 65_536 + 1000;

    /// Creates `ranks` rails without links.
    fn new(ranks: usize) -> Self;

    /// Returns the rail of a living rank.
    fn rail(&mut self, rank: usize) -> &mut Self::Rail;

    /// Opens the link from one rank to another; afterwards both know it.
    fn connect(&mut self, from: usize, to: usize);

    /// Lets all committed packets arrive, and returns all released room to the senders.
    fn deliver(&mut self);

    /// Lets some of the pending packets arrive, if the driver can split them. Repeated calls deliver
    /// everything that is polled.
    fn advance(&mut self) {
        self.deliver();
    }

    /// Ends a rank abruptly, without notifying its peers.
    fn kill(&mut self, rank: usize);
}

/// A harness of a driver with regions and chunk counters.
pub trait RegionHarness: Harness {
    /// Allocates a region.
    fn create_region(&mut self, rank: usize, bytes: usize) -> Arc<Region>;

    /// Drops a region; afterwards its peers know that.
    fn drop_region(&mut self, rank: usize, id: RegionId);

    /// Answers every region request that `rank` has noted.
    fn serve_regions(&mut self, rank: usize);
}

/// Instantiates the suite for a driver: the whole suite for a `RegionHarness`, the suite without regions for
/// any `Harness`.
#[macro_export]
macro_rules! conformance {
    ($harness:ty) => {
        $crate::conformance!(@packets $harness);
        $crate::conformance!(@tests $harness:
            a_region_is_reached_and_written outside_of_a_region_is_refused stale_regions_are_refused
            own_regions_are_checked chunk_counters_are_shared
        );
    };
    ($harness:ty, without regions) => {
        $crate::conformance!(@packets $harness);
        $crate::conformance!(@tests $harness: regions_are_refused_without_any);
    };
    (@packets $harness:ty) => {
        $crate::conformance!(@tests $harness:
            order_is_kept every_inline_length every_inline_length_beside_bulk every_bulk_length
            content_survives_many_laps stamps_and_positions_wrap one_step_forms_are_their_steps directions_are_independent many_peers
            nothing_comes_of_nothing a_packet_stays_until_released a_dead_peer_can_be_forgotten
            busy_when_full_and_well_afterwards bulk_room_comes_back control_passes_messages
            streams_leave_half_to_messages a_stream_alone_goes_on what_has_room_can_be_sent a_claim_alone_costs_nothing a_claim_replaces_a_claim
            claims_of_links_are_apart what_is_lent_arrives_and_comes_back what_is_posted_may_be_overwritten a_bulk_lands_where_it_is_told landing_keeps_order
            verbs_are_refused_without_any arm_sees_a_packet arm_sees_room_once a_link_admits_what_can_be_claimed room_is_seen_though_control_passed
        );
    };
    (@verbs $harness:ty) => {
        $crate::conformance!(@tests $harness:
            puts_and_gets_move_what_they_say words_change_in_one_step what_is_not_registered_is_refused
            verbs_complete_once_and_make_room buffers_come_back_with_completions
            verbs_on_a_closed_link_end verbs_to_the_dead_end packets_and_verbs_do_not_mix arm_sees_a_completion
        );
    };
    (@tests $harness:ty: $($name:ident)*) => {
        $(#[test] fn $name() { $crate::conformance::$name::<$harness>(); })*
    };
}

/// Instantiates the suite of verbs for a driver that has all of them.
#[macro_export]
macro_rules! rma_conformance {
    ($harness:ty) => {
        $crate::conformance!(@verbs $harness);
    };
}

/// A packet in the form that the tests compare.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Sent {
    header: Header,
    inline: Vec<u8>,
    bulk: Vec<u8>,
}

fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..len).map(next).collect()
}

impl Sent {
    fn new(n: u64, inline: usize, bulk: usize) -> Self {
        let header = Header {
            kind: n as u8,
            inline_len: inline as u8,
            flow: (n as u32).wrapping_mul(0x0101_0101),
            tag: !(n as u32),
            sequence: (n >> 3) as u32 | 0x8000_0000,
        };
        Self { header, inline: bytes(n, inline), bulk: bytes(!n, bulk) }
    }
}

fn link_to<H: Harness>(harness: &mut H, from: usize, to: usize) -> LinkId {
    harness.rail(from).link(Rank(to as u32)).expect("a connected link")
}

/// Returns the link on which packets of `from` arrive at `at`.
fn link_from<H: Harness>(harness: &mut H, at: usize, from: usize) -> LinkId {
    let rail = harness.rail(at);
    let mut links = rail.incoming().iter().filter(|l| l.peer() == Rank(from as u32));
    *links.next().expect("packets may arrive from a connected rank")
}

fn send<H: Harness>(h: &mut H, from: usize, to: usize, packet: &Sent, class: Class) -> Result<(), Busy> {
    let link = link_to(h, from, to);
    let rail = h.rail(from);
    rail.begin_pass();
    let slot = rail.claim(link, packet.bulk.len(), class)?;
    assert!(slot.inline.len() >= if packet.bulk.is_empty() { 48 } else { MAX_INLINE_WITH_BULK });
    assert_eq!(slot.bulk.len(), packet.bulk.len());
    slot.inline.write(0, &packet.inline);
    slot.bulk.write(0, &packet.bulk);
    rail.commit(link, packet.header);
    Ok(())
}

/// Reads the oldest packet without releasing it.
fn look<H: Harness>(h: &mut H, at: usize, from: usize) -> Option<Sent> {
    let link = link_from(h, at, from);
    let was_idle = h.rail(at).is_idle(link);
    let packet = h.rail(at).poll(link).expect("an honest peer")?;
    assert!(!was_idle, "a link on which a packet has come is not idle");
    let mut sent = Sent {
        header: packet.header,
        inline: vec![0; packet.header.inline_len as usize],
        bulk: vec![0; packet.bulk.len()],
    };
    packet.inline.read(0, &mut sent.inline);
    packet.bulk.read(0, &mut sent.bulk);
    Some(sent)
}

fn receive<H: Harness>(h: &mut H, at: usize, from: usize) -> Option<Sent> {
    let sent = look(h, at, from)?;
    let link = link_from(h, at, from);
    h.rail(at).release(link);
    Some(sent)
}

fn pair<H: Harness>() -> H {
    let mut harness = H::new(2);
    harness.connect(0, 1);
    harness.connect(1, 0);
    harness
}

/// Sends a packet from 0 to 1 and expects the same packet there.
fn exchange<H: Harness>(h: &mut H, packet: &Sent, class: Class) {
    send(h, 0, 1, packet, class).expect("an empty link has room");
    h.deliver();
    assert_eq!(receive(h, 1, 0).as_ref(), Some(packet));
    h.deliver();
}

/// Sends packets with a bulk until there is no room, and returns their number.
fn fill<H: Harness>(h: &mut H, bulk: usize, class: Class) -> u64 {
    const MANY: u64 = 1 << 20;
    let count = (0..MANY).find(|&n| send(h, 0, 1, &Sent::new(n, 8, bulk), class).is_err());
    count.expect("a link is finite")
}

/// Receives at 1 all packets that `fill` has sent.
fn drain<H: Harness>(h: &mut H, count: u64, bulk: usize) {
    h.deliver();
    for n in 0..count {
        assert_eq!(receive(h, 1, 0), Some(Sent::new(n, 8, bulk)));
    }
    assert_eq!(receive(h, 1, 0), None);
    h.deliver();
}
