//! Tests that regions are reached only within their bounds, and that both ends see the chunk counters.

use canele_mem::buffer::RegionAddress;
use canele_mem::chunk_counter::{CopyProgress, Generation};
use canele_sys::ids::RegionId;

use super::{Harness, RegionHarness, TO_1, bytes, link_to, pair};
use crate::{CHUNK_COUNTERS, OneSided, Rail, Reach};

#[derive(Clone, PartialEq, Eq, Debug)]
enum Reached {
    Here(Vec<u8>),
    Wanted,
    Refused,
}

/// Tries once to reach a region of rank 1 from rank 0.
fn look<H: RegionHarness>(h: &mut H, place: RegionAddress, len: usize) -> Reached {
    let link = link_to(h, 0, 1);
    match h.rail(0).reach(link, place, len) {
        Reach::Here(window) => {
            let mut bytes = vec![0; window.len()];
            window.read(0, &mut bytes);
            Reached::Here(bytes)
        }
        Reach::Wanted => Reached::Wanted,
        Reach::Refused => Reached::Refused,
    }
}

/// Tries to reach a region until the request for it has been answered.
fn reach<H: RegionHarness>(h: &mut H, place: RegionAddress, len: usize) -> Reached {
    for _ in 0..100 {
        let reached = look(h, place, len);
        if reached != Reached::Wanted {
            return reached;
        }
        h.serve_regions(0);
        h.deliver();
    }
    panic!("a region stays wanted")
}

/// Bytes written at one end are read at the other, in both directions.
pub fn a_region_is_reached_and_written<H: RegionHarness>() {
    let mut h = pair::<H>();
    let region = h.create_region(1, 10_000);
    let at = |offset| RegionAddress { region: region.id(), offset };
    h.rail(1).own(at(100), 5000).expect("inside").write(0, &bytes(1, 5000));
    assert_eq!(reach(&mut h, at(100), 5000), Reached::Here(bytes(1, 5000)));
    assert_eq!(reach(&mut h, at(0), 10_000), reach(&mut h, at(0), 10_000));
    let link = link_to(&mut h, 0, 1);
    let Reach::Here(window) = h.rail(0).reach(link, at(7000), 3000) else { panic!("known by now") };
    window.write(0, &bytes(2, 3000));
    let mut back = vec![0; 3000];
    region.window(7000, 3000).unwrap().read(0, &mut back);
    assert_eq!(back, bytes(2, 3000));
}

/// Ranges outside of a region are refused, also those whose end overflows.
pub fn outside_of_a_region_is_refused<H: RegionHarness>() {
    let mut h = pair::<H>();
    // The region has whole pages, because a driver may know its size in pages only.
    let region = h.create_region(1, 8192);
    let at = |offset| RegionAddress { region: region.id(), offset };
    assert_eq!(reach(&mut h, at(8192), 0), Reached::Here(vec![]));
    assert_eq!(reach(&mut h, at(8191), 1), Reached::Here(vec![0]));
    for (offset, len) in [(8192, 1), (0, 8193), (8191, 2), (u64::MAX, 1), (u64::MAX, 0), (1, usize::MAX)] {
        assert_eq!(reach(&mut h, at(offset), len), Reached::Refused, "{len} bytes at {offset}");
    }
    let nowhere = RegionAddress { region: RegionId { index: 77, generation: 1 }, offset: 0 };
    assert_eq!(reach(&mut h, nowhere, 1), Reached::Refused);
}

/// The old id of a replaced region does not reach the new region.
pub fn stale_regions_are_refused<H: RegionHarness>() {
    let mut h = pair::<H>();
    let old = h.create_region(1, 4096).id();
    assert_eq!(reach(&mut h, RegionAddress { region: old, offset: 0 }, 1), Reached::Here(vec![0]));
    h.drop_region(1, old);
    let new = h.create_region(1, 4096);
    assert_eq!(new.id().index, old.index, "the place is used again");
    new.window(0, 1).unwrap().write(0, &[9]);
    assert_eq!(reach(&mut h, RegionAddress { region: old, offset: 0 }, 1), Reached::Refused);
    assert!(h.rail(1).own(RegionAddress { region: old, offset: 0 }, 1).is_none());
    assert_eq!(reach(&mut h, RegionAddress { region: new.id(), offset: 0 }, 1), Reached::Here(vec![9]));
}

/// A range that a peer asks to be written is checked to the byte.
pub fn own_regions_are_checked<H: RegionHarness>() {
    let mut h = pair::<H>();
    let region = h.create_region(1, 100);
    let mut own = |offset, len| {
        h.rail(1).own(RegionAddress { region: region.id(), offset }, len).map(|window| window.len())
    };
    assert_eq!(own(0, 100), Some(100));
    assert_eq!(own(100, 0), Some(0));
    for (offset, len) in [(0, 101), (100, 1), (101, 0), (u64::MAX, 2), (2, usize::MAX)] {
        assert_eq!(own(offset, len), None, "{len} bytes at {offset}");
    }
    let other = RegionAddress { region: RegionId { index: 5, generation: 0 }, offset: 0 };
    assert!(h.rail(1).own(other, 1).is_none());
}

/// Both ends of a link use the same chunk counter; each direction has its own counters.
pub fn chunk_counters_are_shared<H: RegionHarness>() {
    let mut h = pair::<H>();
    let link = [link_to(&mut h, 0, 1), link_to(&mut h, 1, 0)];
    for index in 0..CHUNK_COUNTERS {
        let generation = Generation(index as u32 + 1);
        let other = Generation(1000);
        h.rail(1).chunk_counter(link[1], true, index).unwrap().start(generation);
        h.rail(0).chunk_counter(link[0], true, index).unwrap().start(other);
        let mut pieces = vec![];
        for n in 0..4 {
            let chunk_counter = h.rail(n % 2).chunk_counter(link[n % 2], n % 2 == 1, index).unwrap();
            assert_eq!(chunk_counter.progress(generation, 4), CopyProgress::Copying);
            pieces.push(match n % 2 {
                1 => chunk_counter.take_front(generation, 4).unwrap(),
                _ => {
                    chunk_counter.take_back(generation, 4).inspect(|_| chunk_counter.finish_piece()).unwrap()
                }
            });
        }
        assert_eq!(pieces, [3, 0, 2, 1]);
        let chunk_counter = h.rail(0).chunk_counter(link[0], false, index).unwrap();
        assert!(chunk_counter.take_back(generation, 4).is_none());
        let chunk_counter = h.rail(1).chunk_counter(link[1], true, index).unwrap();
        assert!(chunk_counter.take_front(generation, 4).is_none());
        assert_eq!(chunk_counter.progress(generation, 4), CopyProgress::Done);
        let other_way = h.rail(1).chunk_counter(link[1], false, index).unwrap();
        assert_eq!(other_way.take_back(other, 1), Some(0));
    }
}

/// A driver without regions refuses each request for one.
pub fn regions_are_refused_without_any<H: Harness>() {
    let mut h = pair::<H>();
    let link = link_to(&mut h, 0, 1);
    let place = RegionAddress { region: RegionId { index: 0, generation: 0 }, offset: 0 };
    let rail = h.rail(0);
    assert!(!rail.caps(TO_1).maps_regions);
    assert!(matches!(rail.reach(link, place, 0), Reach::Refused));
    assert!(rail.own(place, 0).is_none());
    assert!([true, false].iter().all(|mine| rail.chunk_counter(link, *mine, 0).is_none()));
}
