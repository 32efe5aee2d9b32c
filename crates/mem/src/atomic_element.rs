//! Elements of 1, 2, 4 or 8 bytes in memory that other processes may access too, each accessed atomically.
//!
//! Owns nothing. A [`Window`](crate::window::Window) returns an element where it is aligned. Values are
//! integers of the element's width; [`value_of`] and [`put_value`] convert between them and bytes.

use canele_sys::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// An aligned element in shared memory.
#[derive(Clone, Copy, Debug)]
pub enum AtomicElement<'a> {
    /// An element of 1 byte.
    One(&'a AtomicU8),
    /// An element of 2 bytes.
    Two(&'a AtomicU16),
    /// An element of 4 bytes.
    Four(&'a AtomicU32),
    /// An element of 8 bytes.
    Eight(&'a AtomicU64),
}

/// Returns the value of an element with these bytes, of which there are 1, 2, 4 or 8.
///
/// # Panics
/// The number of bytes is another one.
#[inline(always)]
pub fn value_of(bytes: &[u8]) -> u64 {
    match *bytes {
        [byte] => u64::from(byte),
        [a, b] => u64::from(u16::from_ne_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => panic!("no element has {} bytes", bytes.len()),
    }
}

/// Writes a value as the bytes of an element, of the length of `bytes`.
///
/// # Panics
/// No element has that length.
#[inline(always)]
pub fn put_value(value: u64, bytes: &mut [u8]) {
    match bytes.len() {
        1 => bytes.copy_from_slice(&(value as u8).to_ne_bytes()),
        2 => bytes.copy_from_slice(&(value as u16).to_ne_bytes()),
        4 => bytes.copy_from_slice(&(value as u32).to_ne_bytes()),
        8 => bytes.copy_from_slice(&value.to_ne_bytes()),
        len => panic!("no element has {len} bytes"),
    }
}

/// Evaluates a call on the atomic integer of each width; values of type `$value` are narrowed to it.
macro_rules! by_width {
    ($element:expr, $word:ident => $call:expr) => {
        match $element {
            AtomicElement::One($word) => u64::from($call),
            AtomicElement::Two($word) => u64::from($call),
            AtomicElement::Four($word) => u64::from($call),
            AtomicElement::Eight($word) => u64::from($call),
        }
    };
}

// Acquire and release: an accumulate publishes its rank's earlier writes to all threads that read the
// element, also in other processes.
impl AtomicElement<'_> {
    /// Returns its value.
    #[inline(always)]
    pub fn load(self) -> u64 {
        by_width!(self, word => word.load(Ordering::Acquire))
    }

    /// Stores a value.
    #[inline(always)]
    pub fn store(self, value: u64) {
        match self {
            AtomicElement::One(word) => word.store(value as u8, Ordering::Release),
            AtomicElement::Two(word) => word.store(value as u16, Ordering::Release),
            AtomicElement::Four(word) => word.store(value as u32, Ordering::Release),
            AtomicElement::Eight(word) => word.store(value, Ordering::Release),
        }
    }

    /// Stores a value; returns the old one.
    #[inline(always)]
    pub fn swap(self, value: u64) -> u64 {
        by_width!(self, word => word.swap(value as _, Ordering::AcqRel))
    }

    /// Adds, wrapping around; returns the old value.
    #[inline(always)]
    pub fn fetch_add(self, value: u64) -> u64 {
        by_width!(self, word => word.fetch_add(value as _, Ordering::AcqRel))
    }

    /// Keeps the bits that are set in both; returns the old value.
    #[inline(always)]
    pub fn fetch_and(self, value: u64) -> u64 {
        by_width!(self, word => word.fetch_and(value as _, Ordering::AcqRel))
    }

    /// Sets the bits that are set in either; returns the old value.
    #[inline(always)]
    pub fn fetch_or(self, value: u64) -> u64 {
        by_width!(self, word => word.fetch_or(value as _, Ordering::AcqRel))
    }

    /// Inverts the bits that are set in the value; returns the old value.
    #[inline(always)]
    pub fn fetch_xor(self, value: u64) -> u64 {
        by_width!(self, word => word.fetch_xor(value as _, Ordering::AcqRel))
    }

    /// Stores a value if the element is `expected`; returns the old one.
    #[inline(always)]
    pub fn compare_and_swap(self, expected: u64, new: u64) -> u64 {
        by_width!(self, word => {
            let swapped =
                word.compare_exchange(expected as _, new as _, Ordering::AcqRel, Ordering::Acquire);
            swapped.unwrap_or_else(|seen| seen)
        })
    }

    /// Replaces the value by the result of `change`, which may be called several times; returns the old
    /// value.
    #[inline(always)]
    pub fn update(self, mut change: impl FnMut(u64) -> u64) -> u64 {
        let mut seen = self.load();
        loop {
            let old = self.compare_and_swap(seen, change(seen));
            if old == seen {
                return old;
            }
            seen = old;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::window::Window;

    #[test]
    fn values_and_bytes_convert() {
        for size in [1, 2, 4, 8] {
            let mut bytes = [0; 8];
            put_value(0x1234_5678_9abc_def0, &mut bytes[..size]);
            let shown = 0x1234_5678_9abc_def0 & (u64::MAX >> (64 - 8 * size));
            assert_eq!(value_of(&bytes[..size]), shown);
        }
    }

    #[test]
    fn elements_of_every_width_are_changed_alone() {
        for size in [1, 2, 4, 8] {
            let mut memory = [0u64; 3];
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut memory);
            bytes.fill(0xee);
            let window = Window::on(bytes);
            let element = window.element(8, size).expect("aligned and inside");
            element.store(5);
            assert_eq!((element.fetch_add(3), element.load()), (5, 8), "size {size}");
            assert_eq!((element.fetch_or(1), element.fetch_and(9), element.fetch_xor(2)), (8, 9, 9));
            assert_eq!((element.compare_and_swap(0, 1), element.compare_and_swap(11, 7)), (11, 11));
            assert_eq!((element.swap(1), element.update(|value| value * 6), element.load()), (7, 1, 6));
            assert_eq!(element.fetch_add(u64::MAX), 6, "the other bits are cut off");
            let bytes: &[u8] = bytemuck::cast_slice(&memory);
            assert!(bytes[..8].iter().chain(&bytes[8 + size..]).all(|byte| *byte == 0xee), "size {size}");
            assert_eq!(
                &bytes[8..8 + size],
                &{
                    let mut five = [0; 8];
                    put_value(5, &mut five[..size]);
                    five
                }[..size]
            );
        }
    }

    #[test]
    fn what_is_not_aligned_of_another_size_or_outside_is_no_element() {
        let mut memory = [0u64; 2];
        let window = Window::on(bytemuck::cast_slice_mut(&mut memory));
        for (offset, size) in [(1, 2), (2, 4), (4, 8), (0, 3), (0, 16), (16, 1), (12, 8)] {
            assert!(window.element(offset, size).is_none(), "{size} bytes at {offset}");
        }
    }
}
