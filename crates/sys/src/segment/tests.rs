//! Tests of segments: two mappings of a segment are one memory, and a file whose size could change is
//! refused.

use super::memfd::SEALS;
use super::*;
use crate::atomic::Ordering;
use rustix::fs::{self, MemfdFlags};

fn page() -> usize {
    rustix::param::page_size()
}

fn refused(answer: Result<Segment, SegmentError>) -> String {
    answer.expect_err("must be refused").to_string()
}

fn memory_file(bytes: u64, seals: SealFlags) -> OwnedFd {
    let file = fs::memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    fs::ftruncate(&file, bytes).unwrap();
    fs::fcntl_add_seals(&file, seals).unwrap();
    file
}

#[test]
fn a_peer_sees_the_same_memory() {
    let ours = Segment::create("test", 1).unwrap();
    assert_eq!(ours.len(), page(), "rounded up");
    let theirs = Segment::map(ours.fd().try_clone_to_owned().unwrap()).unwrap();
    assert_ne!(ours.base(), theirs.base());
    ours.atomic_u32(8).store(7, Ordering::Relaxed);
    ours.atomic_u64(page() - 8).store(u64::MAX, Ordering::Relaxed);
    assert_eq!(ours.atomic_u64s(page() - 24, 3).len(), 3);
    assert_eq!(ours.atomic_u64s(page() - 24, 3)[2].load(Ordering::Relaxed), u64::MAX);
    drop(ours);
    assert_eq!(theirs.atomic_u32(8).load(Ordering::Relaxed), 7);
    assert_eq!(theirs.atomic_u64(page() - 8).load(Ordering::Relaxed), u64::MAX);
    assert_eq!(theirs.atomic_u32(12).load(Ordering::Relaxed), 0);
}

#[test]
fn no_process_can_resize_it() {
    let segment = Segment::create("test", page()).unwrap();
    assert_eq!(fs::ftruncate(segment.fd(), 0), Err(Errno::PERM));
    assert_eq!(fs::ftruncate(segment.fd(), 2 * page() as u64), Err(Errno::PERM));
    assert_eq!(fs::fcntl_add_seals(segment.fd(), SealFlags::WRITE), Err(Errno::PERM));
}

#[test]
fn sizes_that_no_segment_has() {
    let text = "a segment of 0 bytes, where a positive multiple of the page size was expected";
    assert_eq!(refused(Segment::create("test", 0)), text);
    assert_eq!(refused(Segment::map(memory_file(0, SEALS))), text);
    let text = refused(Segment::map(memory_file(100, SEALS)));
    assert_eq!(text, "a segment of 100 bytes, where a positive multiple of the page size was expected");
    assert!(Segment::create("test", usize::MAX).is_err());
}

#[test]
fn unsealed_descriptors_are_refused() {
    for missing in [SealFlags::SHRINK, SealFlags::GROW, SealFlags::SEAL] {
        let file = memory_file(page() as u64, SEALS.difference(missing));
        assert_eq!(Segment::map(file).unwrap_err(), SegmentError::Unsealed { missing });
    }
    let text = refused(Segment::map(memory_file(page() as u64, SealFlags::GROW | SealFlags::SEAL)));
    assert_eq!(text, "the descriptor is not a segment: the seals SealFlags(SHRINK) are missing");
}

#[test]
fn what_is_not_memory_is_refused() {
    let file = fs::open("/dev/null", fs::OFlags::RDWR, fs::Mode::empty()).unwrap();
    assert_eq!(Segment::map(file).unwrap_err(), SegmentError::Unsealed { missing: SEALS });
}

#[test]
fn a_segment_that_cannot_be_written_is_refused() {
    let file = memory_file(page() as u64, SEALS | SealFlags::WRITE);
    let text = refused(Segment::map(file));
    assert_eq!(text, "cannot map a shared segment: Operation not permitted (os error 1)");
}

#[test]
fn places_are_checked() {
    let segment = Segment::create("test", page()).unwrap();
    assert_eq!(segment.at(page() - 64, 64, 64).unwrap().addr().get() % 64, 0);
    assert_eq!(
        segment.at(page(), 0, 1).map(|place| place.addr().get() - segment.base().addr().get()),
        Ok(page())
    );
    let text = segment.at(page() - 63, 64, 1).unwrap_err().to_string();
    assert_eq!(text, format!("64 bytes at offset {} lie outside a segment of {} bytes", page() - 63, page()));
    assert!(segment.at(usize::MAX, 2, 1).is_err(), "the end overflows");
    let text = segment.at(24, 8, 16).unwrap_err().to_string();
    assert_eq!(text, "offset 24 of a segment is not a multiple of 16");
    for align in [0, 3, 2 * page()] {
        assert_eq!(segment.at(0, 1, align), Err(SegmentError::Misaligned { offset: 0, align }));
    }
}

#[test]
#[should_panic(expected = "offset 2 of a segment is not a multiple of 4")]
fn a_misaligned_word_is_a_mistake() {
    Segment::create("test", 1).unwrap().atomic_u32(2);
}

#[test]
#[should_panic(expected = "lie outside a segment")]
fn a_word_outside_is_a_mistake() {
    let segment = Segment::create("test", 1).unwrap();
    segment.atomic_u64(segment.len());
}

#[test]
#[should_panic(expected = "lie outside a segment")]
fn words_outside_are_a_mistake() {
    Segment::create("test", 1).unwrap().atomic_u64s(8, usize::MAX);
}

#[test]
fn reserved_bytes_are_memory() {
    let segment = Segment::create("test", 64 * page()).unwrap();
    let blocks = || fs::fstat(segment.fd()).unwrap().st_blocks as usize * 512;
    assert_eq!(blocks(), 0, "a new segment costs nothing");
    segment.reserve(page(), 4 * page()).unwrap();
    assert_eq!(blocks(), 4 * page());
    segment.reserve(0, 0).unwrap();
    let outside = SegmentError::Outside { offset: page(), len: 64 * page(), segment: 64 * page() };
    assert_eq!(segment.reserve(page(), 64 * page()), Err(outside));
}

#[test]
fn too_much_is_refused_before_it_kills() {
    const HUGE: usize = 1 << 45;
    let segment = Segment::create("test", HUGE).unwrap();
    match segment.reserve(page(), HUGE - page()).unwrap_err() {
        error @ SegmentError::Memory { offset, needed, available } => {
            assert_eq!((offset, needed), (page(), HUGE - page()));
            assert!(available < HUGE as u64);
            let text = error.to_string();
            let start = format!(
                "{needed} bytes at offset {offset} of a shared segment cannot be reserved: {available} "
            );
            assert!(text.starts_with(&start), "{text}");
        }
        error => panic!("{error}"),
    }
    assert_eq!(fs::fstat(segment.fd()).unwrap().st_blocks, 0);
}

#[test]
fn a_forked_child_does_not_have_it() {
    let segment = Segment::create("test", page()).unwrap();
    segment.dont_fork().unwrap();
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let start = format!("{:x}-", segment.base().addr().get());
    let entry = maps.split_once(&format!("\n{start}")).expect("mapped").1;
    let flags = entry.lines().find(|line| line.starts_with("VmFlags:")).expect("flags");
    assert!(flags.split(' ').any(|flag| flag == "dc"), "{flags}");
}
