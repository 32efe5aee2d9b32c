use std::ptr;
use std::thread;

use super::*;

fn source(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7) as u8 ^ 0x5a).collect()
}

/// Copies with each function, at some alignment, and checks the bytes around the copy.
fn check(len: usize, skew: usize) {
    let from = source(len + skew);
    for copy in [load, store, transfer] {
        let mut memory = vec![0xee; len + 24];
        // SAFETY: both ranges lie within their vectors, which do not overlap.
        unsafe { copy(memory.as_mut_ptr().add(8), from.as_ptr().add(skew), len) };
        assert_eq!(memory[8..8 + len], from[skew..]);
        let outside = memory[..8].iter().chain(&memory[8 + len..]);
        assert!(outside.into_iter().all(|byte| *byte == 0xee), "{len} bytes spilled");
    }
}

#[test]
fn every_length_is_copied_exactly() {
    let step = if cfg!(miri) { 13 } else { 1 };
    (0..200).step_by(step).for_each(|len| check(len, len % 8));
    check(if cfg!(miri) { 300 } else { 10_000 }, 3);
}

#[test]
fn long_copies_are_exact_however_target_and_source_lie_in_their_pages() {
    const PAGE: usize = 4096;
    let pages = if cfg!(miri) { 3 } else { 20 };
    let (from, mut to) = (source(pages * PAGE), vec![0u8; pages * PAGE]);
    let apart = to.as_ptr().addr().wrapping_sub(from.as_ptr().addr()) % PAGE;
    let lens: &[usize] = if cfg!(miri) { &[PAGE] } else { &[PAGE - 1, PAGE, PAGE + 77, 16 * PAGE + 5] };
    for further in [0, 1, 16, 63, 127, 128, PAGE - 1].into_iter().step_by(if cfg!(miri) { 3 } else { 1 }) {
        let at = (PAGE + further - apart) % PAGE + 1;
        for (len, copy) in lens.iter().flat_map(|len| [load, store, transfer, copy].map(|copy| (*len, copy)))
        {
            to.fill(0xee);
            // SAFETY: at <= PAGE, and both vectors have so many bytes and `len`; they do not overlap.
            unsafe { copy(to.as_mut_ptr().add(at), from.as_ptr().add(1), len) };
            assert!(to[at..at + len] == from[1..1 + len], "{len} bytes, {further} further");
            let outside = to[..at].iter().chain(&to[at + len..]);
            assert!(outside.into_iter().all(|byte| *byte == 0xee), "{len} bytes spilled");
        }
    }
}

#[test]
fn a_transfer_within_memory_may_overlap() {
    let lens: &[usize] = if cfg!(miri) { &[90, 600] } else { &[1, 7, 90, 511, 512, 513, 2000] };
    for (len, by) in lens.iter().flat_map(|len| [0, 1, 10, len / 2, *len].map(|by| (*len, by))) {
        for (to, from) in [(by, 0), (0, by)] {
            let mut memory = source(len + by);
            let mut expected = memory.clone();
            expected.copy_within(from..from + len, to);
            let start = memory.as_mut_ptr();
            // SAFETY: both ranges lie within the vector.
            unsafe { transfer(start.add(to), start.add(from), len) };
            assert!(memory == expected, "{len} bytes from {from} to {to}");
        }
    }
}

/// An address that threads share.
#[derive(Clone, Copy)]
struct Shared(*mut u8);
// SAFETY: the memory behind it is accessed by racing copies alone.
unsafe impl Send for Shared {}

impl Shared {
    /// Returns the address; a method, so that closures take the whole value.
    fn start(self) -> *mut u8 {
        self.0
    }
}

#[test]
fn each_byte_that_is_read_was_written_before() {
    let (turns, lens): (usize, &[usize]) =
        if cfg!(miri) { (3, &[8, 61]) } else { (2000, &[1, 7, 8, 24, 48, 100, 5000]) };
    for &len in lens {
        let mut memory = vec![0u8; len];
        let shared = Shared(memory.as_mut_ptr());
        thread::scope(|scope| {
            for value in [1u8, 2] {
                scope.spawn(move || {
                    let from = vec![value; len];
                    for _ in 0..turns {
                        // SAFETY: both have `len` bytes; the shared ones are accessed by racing copies alone.
                        unsafe { store(shared.start(), from.as_ptr(), len) };
                    }
                });
            }
            for _ in 0..turns {
                let mut seen = vec![9u8; len];
                // SAFETY: as above.
                unsafe { load(seen.as_mut_ptr(), shared.start(), len) };
                assert!(seen.iter().all(|byte| *byte <= 2), "{seen:?}");
            }
        });
        // SAFETY: the other threads have ended.
        let last = unsafe { ptr::read(shared.start()) };
        assert!(last == 1 || last == 2);
    }
}

#[test]
fn whole_lines_of_numbers_are_added_in_place() {
    use crate::lane_type::LaneType;
    use crate::window::Window;

    fn sums<const N: usize>(old: &[u8], data: &[u8], sum: impl Fn([u8; N], [u8; N]) -> [u8; N]) -> Vec<u8> {
        let pairs = old.as_chunks::<N>().0.iter().zip(data.as_chunks::<N>().0);
        pairs.flat_map(|(old, new)| sum(*old, *new)).collect()
    }
    let bytes = |factor: usize| (0..200).map(|n| (n * factor % 251) as u8).collect::<Vec<u8>>();
    let (old, data) = (bytes(7), bytes(13));
    for numbers in [LaneType::I8, LaneType::I16, LaneType::I32, LaneType::I64, LaneType::F32, LaneType::F64] {
        let expected = match numbers {
            LaneType::I8 => {
                sums(&old, &data, |a, b| [u8::from_ne_bytes(a).wrapping_add(u8::from_ne_bytes(b))])
            }
            LaneType::I16 => sums(&old, &data, |a, b| {
                u16::from_ne_bytes(a).wrapping_add(u16::from_ne_bytes(b)).to_ne_bytes()
            }),
            LaneType::I32 => sums(&old, &data, |a, b| {
                u32::from_ne_bytes(a).wrapping_add(u32::from_ne_bytes(b)).to_ne_bytes()
            }),
            LaneType::I64 => sums(&old, &data, |a, b| {
                u64::from_ne_bytes(a).wrapping_add(u64::from_ne_bytes(b)).to_ne_bytes()
            }),
            LaneType::F32 => {
                sums(&old, &data, |a, b| (f32::from_ne_bytes(a) + f32::from_ne_bytes(b)).to_ne_bytes())
            }
            LaneType::F64 => {
                sums(&old, &data, |a, b| (f64::from_ne_bytes(a) + f64::from_ne_bytes(b)).to_ne_bytes())
            }
        };
        let mut memory = [&[1, 2, 3][..], &old].concat();
        let done = Window::on(&mut memory).add(3, numbers, &data);
        assert!(done == 0 || done == 192, "{numbers:?}: whole lines, or nothing without instructions");
        assert_eq!(memory[..3], [1, 2, 3]);
        assert_eq!(memory[3..3 + done], expected[..done], "{numbers:?}");
        assert_eq!(memory[3 + done..], old[done..], "{numbers:?}");
        assert_eq!(Window::on(&mut memory).add(0, numbers, &data[..63]), 0);
    }
}
