//! Tests that each packet arrives whole, once and in order.

use super::{Harness, Sent, TO_1, exchange, link_from, link_to, look, pair, receive, send};
use crate::{Class, FastPath, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Rail, TakeIf, TryPost, TryTake};
use canele_mem::window::Window;

/// Packets of a link arrive in the order of their commits.
pub fn order_is_kept<H: Harness>() {
    let mut h = pair::<H>();
    let (mut sent, mut received) = (0, 0);
    while received < 5000 {
        while sent < 5000 {
            let packet = Sent::new(sent, sent as usize % 41, sent as usize * 13 % 64);
            if send(&mut h, 0, 1, &packet, Class::Message).is_err() {
                break;
            }
            sent += 1;
        }
        h.deliver();
        while let Some(packet) = receive(&mut h, 1, 0) {
            let n = received as usize;
            assert_eq!(packet, Sent::new(received, n % 41, n * 13 % 64));
            received += 1;
        }
        h.deliver();
    }
    assert_eq!(receive(&mut h, 1, 0), None);
}

/// Packets without bulk arrive, for every inline length.
pub fn every_inline_length<H: Harness>() {
    let mut h = pair::<H>();
    for len in 0..=MAX_INLINE {
        for class in [Class::Control, Class::Message, Class::Stream] {
            exchange(&mut h, &Sent::new(len as u64 + 7, len, 0), class);
        }
    }
}

/// Packets with inline bytes of every length beside a bulk arrive.
pub fn every_inline_length_beside_bulk<H: Harness>() {
    let mut h = pair::<H>();
    for len in 0..=MAX_INLINE_WITH_BULK {
        exchange(&mut h, &Sent::new(len as u64, len, len % 60 + 1), Class::Message);
    }
}

/// Bulks arrive whose lengths are near those at which a driver may change its behaviour.
pub fn every_bulk_length<H: Harness>() {
    let mut h = pair::<H>();
    let most = h.rail(0).caps(TO_1).max_bulk;
    let around = |n: usize| n.saturating_sub(2)..=n + 2;
    let powers = (0..=most.ilog2()).flat_map(|shift| around(1 << shift));
    let lens = (1..=200).chain(powers).chain(most - 2..=most);
    for (n, len) in lens.filter(|len| (1..=most).contains(len)).enumerate() {
        for class in [Class::Message, Class::Stream] {
            exchange(&mut h, &Sent::new(n as u64, n % 41, len), class);
        }
    }
}

/// Content is exact over many laps of both rings, with the rings full most of the time.
pub fn content_survives_many_laps<H: Harness>() {
    const PACKETS: u64 = 20_000;
    let mut h = pair::<H>();
    let most = h.rail(0).caps(TO_1).max_bulk as u64;
    let packet = |n: u64| {
        let bulk = if n.is_multiple_of(3) { 0 } else { 1 + n * n * 31 % most };
        Sent::new(n, (n % 41) as usize, bulk as usize)
    };
    let (mut sent, mut received) = (0, 0);
    while received < PACKETS {
        while sent < PACKETS && send(&mut h, 0, 1, &packet(sent), Class::Message).is_ok() {
            sent += 1;
        }
        h.deliver();
        // Leaves some packets behind, so that the rings are entered at every place.
        for _ in 0..1 + (sent - received) * 2 / 3 {
            if let Some(got) = receive(&mut h, 1, 0) {
                assert_eq!(got, packet(received), "packet {received}");
                received += 1;
            }
        }
        h.deliver();
    }
}

/// Counters of 16 bits in cells and of 32 bits in places wrap without harm.
pub fn stamps_and_positions_wrap<H: Harness>() {
    let mut h = pair::<H>();
    let (to, from) = (link_to(&mut h, 0, 1), link_from(&mut h, 1, 0));
    let most = h.rail(0).caps(TO_1).max_bulk;
    for n in 0..H::WRAPPED {
        let bulk = if n % 3 == 0 { most } else { 0 };
        let header = Sent::new(n, 0, 0).header;
        h.rail(0).begin_pass();
        let Ok(_) = h.rail(0).claim(to, bulk, Class::Message) else { panic!("busy at packet {n}") };
        h.rail(0).commit(to, header);
        h.deliver();
        let Ok(Some(packet)) = h.rail(1).poll(from) else { panic!("packet {n} is missing") };
        assert_eq!((packet.header, packet.bulk.len()), (header, bulk));
        h.rail(1).release(from);
        h.deliver();
    }
    exchange(&mut h, &Sent::new(1, 40, most), Class::Message);
}

/// Each one-step form does the same as its separate steps: it keeps the order, and leaves a packet that is
/// not accepted.
pub fn one_step_forms_are_their_steps<H: Harness>() {
    let mut h = pair::<H>();
    let (to, from) = (link_to(&mut h, 0, 1), link_from(&mut h, 1, 0));
    let (short, bulky) = (Sent::new(1, 48, 0), Sent::new(2, 40, 100));
    let mut choosy = Choosy { accepts: false, seen: None };
    assert_eq!(h.rail(1).try_take(from, &mut choosy), TryTake::Nothing);
    assert_ne!(h.rail(0).try_post(to, short.header, &short.inline), TryPost::Left, "nothing is held");
    send(&mut h, 0, 1, &bulky, Class::Message).expect("nothing is held");
    h.deliver();

    assert_eq!(h.rail(1).try_take(from, &mut choosy), TryTake::Left);
    assert_eq!(choosy.seen.take(), Some((short.header, short.inline.clone(), Vec::new())));
    assert!(!h.rail(1).take_short(from, &mut choosy));
    choosy.accepts = true;
    assert!(h.rail(1).take_short(from, &mut choosy));
    assert_eq!(choosy.seen.take(), Some((short.header, short.inline, Vec::new())));
    h.deliver();
    assert_eq!(h.rail(1).try_take(from, &mut choosy), TryTake::Taken);
    assert_eq!(choosy.seen.take(), Some((bulky.header, bulky.inline, bulky.bulk)));

    let bulky = Sent::new(3, 0, 100);
    h.rail(0).begin_pass();
    h.rail(0).post_bulk(to, bulky.header, &bulky.bulk).expect("nothing is held");
    h.deliver();
    choosy.accepts = false;
    assert_eq!(h.rail(1).try_take(from, &mut choosy), TryTake::Left);
    assert_eq!(receive(&mut h, 1, 0), Some(bulky));
    assert_eq!(h.rail(1).try_take(from, &mut choosy), TryTake::Nothing);
}

/// Stores the packet that it is shown.
struct Choosy {
    accepts: bool,
    seen: Option<(Header, Vec<u8>, Vec<u8>)>,
}

impl TakeIf for Choosy {
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool {
        let [inline, bulk] = [inline, bulk].map(|window| {
            let mut bytes = vec![0; window.len()];
            window.read(0, &mut bytes);
            bytes
        });
        self.seen = Some((header, inline, bulk));
        self.accepts
    }
}

/// A full direction does not block the other direction.
pub fn directions_are_independent<H: Harness>() {
    let mut h = pair::<H>();
    let count = super::fill(&mut h, 0, Class::Message);
    for n in 0..3 * count {
        let packet = Sent::new(n, 48, 0);
        send(&mut h, 1, 0, &packet, Class::Message).expect("the other direction has room");
        h.deliver();
        assert_eq!(receive(&mut h, 0, 1), Some(packet));
        h.deliver();
    }
    super::drain(&mut h, count, 0);
}

/// Every rank sends to every other rank, and no packets are mixed up.
pub fn many_peers<H: Harness>() {
    const RANKS: usize = 7;
    let mut h = H::new(RANKS);
    let pairs = || (0..RANKS).flat_map(|a| (0..RANKS).map(move |b| (a, b)).filter(|(a, b)| a != b));
    for (a, b) in pairs() {
        h.connect(a, b);
    }
    let packet = |a: usize, b: usize, n: usize| Sent::new((a * 64 + b * 8 + n) as u64, 11 + n, a * 9 + b);
    for n in 0..5 {
        for (a, b) in pairs() {
            send(&mut h, a, b, &packet(a, b, n), Class::Message).expect("room");
        }
    }
    h.deliver();
    for (a, b) in pairs() {
        for n in 0..5 {
            assert_eq!(receive(&mut h, b, a), Some(packet(a, b, n)));
        }
        assert_eq!(receive(&mut h, b, a), None);
    }
}

/// A new link is empty, and there is no link to a peer that did not connect.
pub fn nothing_comes_of_nothing<H: Harness>() {
    let mut h = H::new(3);
    assert_eq!(h.rail(0).link(canele_sys::ids::Rank(1)), None);
    assert!(h.rail(0).incoming().is_empty());
    h.connect(0, 1);
    assert_eq!(look(&mut h, 1, 0), None);
    assert!(h.rail(2).incoming().is_empty());
}

/// A packet that is polled and not released is polled again.
pub fn a_packet_stays_until_released<H: Harness>() {
    let mut h = pair::<H>();
    for n in 0..200 {
        let packets = [Sent::new(2 * n, 5, 70), Sent::new(2 * n + 1, 6, 0)];
        for packet in &packets {
            send(&mut h, 0, 1, packet, Class::Message).unwrap();
        }
        h.deliver();
        for packet in &packets {
            for _ in 0..3 {
                assert_eq!(look(&mut h, 1, 0).as_ref(), Some(packet));
            }
            assert_eq!(receive(&mut h, 1, 0).as_ref(), Some(packet));
        }
        h.deliver();
    }
}

/// The end of a rank does not affect the links of the others, and its own link can be forgotten.
pub fn a_dead_peer_can_be_forgotten<H: Harness>() {
    let mut h = H::new(4);
    for (a, b) in [(0, 1), (1, 0), (0, 2), (2, 0)] {
        h.connect(a, b);
    }
    send(&mut h, 2, 0, &Sent::new(1, 1, 1), Class::Message).unwrap();
    h.deliver();
    h.kill(2);
    assert_eq!(receive(&mut h, 0, 2), Some(Sent::new(1, 1, 1)), "what has arrived can be read");
    let link = link_to(&mut h, 0, 2);
    while send(&mut h, 0, 2, &Sent::new(0, 0, 0), Class::Message).is_ok() {}
    h.rail(0).disconnect(link);
    assert_eq!(h.rail(0).link(canele_sys::ids::Rank(2)), None);
    assert_eq!(h.rail(0).incoming().len(), 1);
    assert!(h.rail(0).claim(link, 0, Class::Message).is_err());
    exchange(&mut h, &Sent::new(2, 2, 2), Class::Message);
    // A new peer makes the rail check its arrivals. The dead peer does not come back, and the rail does not
    // report it again.
    h.connect(3, 0);
    assert_eq!(h.rail(0).incoming().len(), 2);
    h.deliver();
    assert!(matches!(h.rail(0).arm(), crate::Armed::Ready));
}
