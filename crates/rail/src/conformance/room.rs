//! Tests of room: it is finite, shared fairly between classes, given back, and reported to a sleeper.

use super::{Harness, Sent, TO_1, drain, exchange, fill, link_from, link_to, pair, receive, send};
use crate::{Armed, Class, FastPath, Rail};

/// A full link answers `Busy`, loses no packet, and accepts packets again once it is emptied, repeatedly.
pub fn busy_when_full_and_well_afterwards<H: Harness>() {
    let mut h = pair::<H>();
    let all = fill(&mut h, 0, Class::Message);
    assert!(all > 0);
    drain(&mut h, all, 0);
    for _ in 0..20 {
        let count = fill(&mut h, 0, Class::Message);
        // The receiver may report up to a quarter of the cells later.
        assert!(count <= all && count >= all / 2, "{count} of {all} cells came back");
        drain(&mut h, count, 0);
    }
}

/// Room for bulk is given back, too, for several bulk sizes.
pub fn bulk_room_comes_back<H: Harness>() {
    let mut h = pair::<H>();
    let most = h.rail(0).caps(TO_1).max_bulk;
    for bulk in [most, most - 1, most / 2 + 1, most / 3] {
        for _ in 0..20 {
            let count = fill(&mut h, bulk, Class::Message);
            assert!(count >= 1, "an empty link takes any packet");
            drain(&mut h, count, bulk);
        }
    }
}

/// Control packets have cells of their own when messages are refused.
pub fn control_passes_messages<H: Harness>() {
    let mut h = pair::<H>();
    let messages = fill(&mut h, 0, Class::Message);
    let mut controls = 0;
    while send(&mut h, 0, 1, &Sent::new(messages + controls, 8, 0), Class::Control).is_ok() {
        controls += 1;
    }
    assert!(controls >= (messages + controls) / 8, "{controls} cells beside {messages}");
    assert!(send(&mut h, 0, 1, &Sent::new(0, 8, 0), Class::Message).is_err());
    drain(&mut h, messages + controls, 0);
}

/// Streams take at most half of the room for bulk, so a message still finds room.
pub fn streams_leave_half_to_messages<H: Harness>() {
    let mut h = pair::<H>();
    let most = h.rail(0).caps(TO_1).max_bulk;
    let streamed = fill(&mut h, most, Class::Stream);
    assert_eq!(streamed, 2, "packets of a quarter in a half");
    for n in 0..2 {
        send(&mut h, 0, 1, &Sent::new(streamed + n, 8, most), Class::Message).expect("half is left");
    }
    assert!(send(&mut h, 0, 1, &Sent::new(9, 8, most), Class::Message).is_err());
    drain(&mut h, streamed + 2, most);
}

/// A stream on an empty link always finds room, at every position in the rings.
pub fn a_stream_alone_goes_on<H: Harness>() {
    let mut h = pair::<H>();
    let most = h.rail(0).caps(TO_1).max_bulk;
    for n in 0..1000 {
        let bulk = if n % 7 == 6 { most } else { 1 + n * 61 % most };
        exchange(&mut h, &Sent::new(n as u64, 8, bulk), Class::Stream);
    }
}

/// If a rail reports room for a number of pieces, all of them can be sent, at every position in the rings.
pub fn what_has_room_can_be_sent<H: Harness>() {
    let mut h = pair::<H>();
    let (link, most) = (link_to(&mut h, 0, 1), h.rail(0).caps(TO_1).max_bulk);
    assert!(!h.rail(0).has_room(link, 5, most), "five quarters");
    for n in 0..1000 {
        let (packets, bulk) = (1 + n % 12, if n % 3 == 0 { most } else { 1 + n * 61 % most });
        let count = match h.rail(0).has_room(link, packets, bulk) {
            true => packets as u64,
            false => 0,
        };
        for m in 0..count {
            send(&mut h, 0, 1, &Sent::new(m, 8, bulk), Class::Message).expect("there is room");
        }
        drain(&mut h, count, bulk);
    }
}

/// Claims that are never committed hold nothing and send nothing.
pub fn a_claim_alone_costs_nothing<H: Harness>() {
    let mut h = pair::<H>();
    let (link, most) = (link_to(&mut h, 0, 1), h.rail(0).caps(TO_1).max_bulk);
    for n in 0..10_000 {
        let slot = h.rail(0).claim(link, n % (most + 1), Class::Message).expect("nothing is held");
        slot.inline.write(0, &[0xff; 40]);
    }
    h.deliver();
    assert_eq!(receive(&mut h, 1, 0), None);
    exchange(&mut h, &Sent::new(3, 33, most), Class::Message);
}

/// Claims on different links are independent, in whichever order they are committed.
pub fn claims_of_links_are_apart<H: Harness>() {
    let mut h = H::new(3);
    h.connect(0, 1);
    h.connect(0, 2);
    let most = h.rail(0).caps(TO_1).max_bulk;
    for n in 0..100 {
        let packets = [Sent::new(n, 40, n as usize * 61 % (most + 1)), Sent::new(!n, 33, n as usize % 7)];
        h.rail(0).begin_pass();
        for (packet, to) in packets.iter().zip([1, 2]) {
            let link = link_to(&mut h, 0, to);
            let slot =
                h.rail(0).claim(link, packet.bulk.len(), Class::Message).expect("an empty link has room");
            slot.inline.write(0, &packet.inline);
            slot.bulk.write(0, &packet.bulk);
        }
        for to in if n % 2 == 0 { [1, 2] } else { [2, 1] } {
            let link = link_to(&mut h, 0, to);
            h.rail(0).commit(link, packets[to - 1].header);
        }
        h.deliver();
        for (packet, to) in packets.iter().zip([1, 2]) {
            assert_eq!(receive(&mut h, to, 0).as_ref(), Some(packet));
        }
        h.deliver();
    }
}

/// Only the last claim counts, whatever the size of earlier claims.
pub fn a_claim_replaces_a_claim<H: Harness>() {
    let mut h = pair::<H>();
    let (link, most) = (link_to(&mut h, 0, 1), h.rail(0).caps(TO_1).max_bulk);
    for n in 0..100 {
        h.rail(0).begin_pass();
        assert!(h.rail(0).claim(link, most, Class::Message).is_ok());
        exchange(&mut h, &Sent::new(n, 48, 0), Class::Message);
        h.rail(0).begin_pass();
        assert!(h.rail(0).claim(link, 0, Class::Control).is_ok());
        assert!(h.rail(0).claim(link, 1, Class::Stream).is_ok());
        exchange(&mut h, &Sent::new(n, 40, 65), Class::Message);
        h.rail(0).begin_pass();
    }
}

/// `arm` reports a packet as long as it is there.
pub fn arm_sees_a_packet<H: Harness>() {
    let mut h = pair::<H>();
    assert!(matches!(h.rail(1).arm(), Armed::Ready));
    send(&mut h, 0, 1, &Sent::new(1, 2, 3), Class::Message).unwrap();
    h.deliver();
    assert!(matches!(h.rail(1).arm(), Armed::Work));
    assert!(matches!(h.rail(1).arm(), Armed::Work));
    assert_eq!(receive(&mut h, 1, 0), Some(Sent::new(1, 2, 3)));
    h.deliver();
    assert!(matches!(h.rail(1).arm(), Armed::Ready));
    assert!(matches!(h.rail(0).arm(), Armed::Ready));
}

/// A rank that found no room learns once that room was given back, and can then sleep on.
pub fn arm_sees_room_once<H: Harness>() {
    let mut h = pair::<H>();
    let most = h.rail(0).caps(TO_1).max_bulk;
    for bulk in [0, most] {
        let count = fill(&mut h, bulk, Class::Message);
        assert!(matches!(h.rail(0).arm(), Armed::Ready), "no room has come");
        drain(&mut h, count, bulk);
        assert!(matches!(h.rail(0).arm(), Armed::Work), "room has come");
        assert!(matches!(h.rail(0).arm(), Armed::Ready), "and is no news any more");
    }
}

/// A link admits a message exactly if one can be claimed. After a refusal, the rank learns that room was
/// given back.
pub fn a_link_admits_what_can_be_claimed<H: Harness>() {
    let mut h = pair::<H>();
    let link = link_to(&mut h, 0, 1);
    for _ in 0..3 {
        let mut count = 0;
        while h.rail(0).admits_message(link) {
            send(&mut h, 0, 1, &Sent::new(count, 8, 0), Class::Message).expect("one is admitted");
            count += 1;
            h.rail(0).begin_pass();
        }
        assert!(matches!(h.rail(0).arm(), Armed::Ready), "no room has come");
        drain(&mut h, count, 0);
        assert!(matches!(h.rail(0).arm(), Armed::Work), "room has come");
    }
    h.rail(0).begin_pass();
    assert!(h.rail(0).admits_message(link));
}

/// A packet of another class that finds room does not make the rail forget a refused one.
pub fn room_is_seen_though_control_passed<H: Harness>() {
    let mut h = pair::<H>();
    let count = fill(&mut h, 0, Class::Message);
    send(&mut h, 0, 1, &Sent::new(count, 8, 0), Class::Control).expect("control passes");
    assert!(matches!(h.rail(0).arm(), Armed::Ready));
    drain(&mut h, count + 1, 0);
    assert!(matches!(h.rail(0).arm(), Armed::Work), "the message could go now");
    let most = h.rail(0).caps(TO_1).max_bulk;
    let count = fill(&mut h, most, Class::Stream);
    send(&mut h, 0, 1, &Sent::new(count, 8, 1), Class::Message).expect("half is left");
    let link = link_from(&mut h, 1, 0);
    assert!(matches!(h.rail(0).arm(), Armed::Ready));
    h.deliver();
    for _ in 0..count {
        assert!(h.rail(1).poll(link).unwrap().is_some());
        h.rail(1).release(link);
    }
    h.deliver();
    assert!(matches!(h.rail(0).arm(), Armed::Work), "the stream could go on now");
}
