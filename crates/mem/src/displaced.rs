//! A window whose parts are named by displacements in a given unit, for short accesses.
//!
//! Owns nothing, like a [`Window`]. Limits of displacements are computed once, so that an access of a word
//! takes one comparison.

use core::marker::PhantomData;
use core::ptr::NonNull;

use canele_sys::atomic::AtomicU64;

use crate::atomic_element::AtomicElement;
use crate::racing;
use crate::window::Window;

/// Bytes of a word.
pub const WORD: usize = 8;

/// A window with displacements.
#[derive(Clone, Copy)]
pub struct DisplacedWindow<'a> {
    start: NonNull<u8>,
    len: usize,
    unit: usize,
    /// Number of displacements at which the window has a word; they begin with 0.
    words: u64,
    /// Number of displacements that do not lie after the window's end.
    displacements: u64,
    memory: PhantomData<&'a ()>,
}

impl<'a> DisplacedWindow<'a> {
    /// Returns the same memory with displacements in units of `unit` bytes; it has none if the unit is 0.
    pub fn new(window: Window<'a>, unit: usize) -> Self {
        let (start, len) = (window.start, window.len());
        let up_to = |last: usize| last.checked_div(unit).map_or(0, |last| last as u64 + 1);
        let words = len.checked_sub(WORD).map_or(0, up_to);
        Self { start, len, unit, words, displacements: up_to(len), memory: PhantomData }
    }

    /// Returns the word at a displacement, if the window has one there.
    #[inline(always)]
    fn word(&self, disp: i64) -> Option<NonNull<u8>> {
        // A negative displacement is a large one here. SAFETY: `words` says that 8 bytes from there on lie in the window.
        ((disp as u64) < self.words)
            .then(|| unsafe { self.start.add((disp as usize).wrapping_mul(self.unit)) })
    }

    /// Returns `len` bytes at a displacement, if the window has them.
    #[inline(always)]
    fn part(&self, disp: i64, len: usize) -> Option<NonNull<u8>> {
        if disp as u64 >= self.displacements {
            return None;
        }
        // The offset is at most the length of the window, by the definition of `displacements`.
        let at = (disp as usize).wrapping_mul(self.unit);
        // SAFETY: so many bytes from there on lie in the window.
        (len <= self.len - at).then(|| unsafe { self.start.add(at) })
    }

    /// Writes a word at a displacement; returns false if the window has none there.
    #[inline(always)]
    pub fn write_word(&self, disp: i64, word: &[u8; WORD]) -> bool {
        let Some(at) = self.word(disp) else { return false };
        // SAFETY: the word lies in the window, whose memory no Rust reference leads to (`Window::new`).
        unsafe { racing::store(at.as_ptr(), word.as_ptr(), WORD) };
        true
    }

    /// Reads the word at a displacement; returns false if the window has none there.
    #[inline(always)]
    pub fn read_word(&self, disp: i64, word: &mut [u8; WORD]) -> bool {
        let Some(at) = self.word(disp) else { return false };
        // SAFETY: as in `write_word`.
        unsafe { racing::load(word.as_mut_ptr(), at.as_ptr(), WORD) };
        true
    }

    /// Writes bytes at a displacement; returns false if they do not lie in the window.
    #[inline(always)]
    pub fn write(&self, disp: i64, bytes: &[u8]) -> bool {
        let Some(at) = self.part(disp, bytes.len()) else { return false };
        // SAFETY: the bytes lie in the window; the rest as in `write_word`.
        unsafe { racing::store(at.as_ptr(), bytes.as_ptr(), bytes.len()) };
        true
    }

    /// Reads the bytes at a displacement; returns false if they do not lie in the window.
    #[inline(always)]
    pub fn read(&self, disp: i64, into: &mut [u8]) -> bool {
        let Some(at) = self.part(disp, into.len()) else { return false };
        // SAFETY: as in `write`.
        unsafe { racing::load(into.as_mut_ptr(), at.as_ptr(), into.len()) };
        true
    }

    /// Returns the aligned word at a displacement, for atomic operations.
    #[inline(always)]
    pub fn atomic_word(&self, disp: i64) -> Option<&'a AtomicU64> {
        let word = self.word(disp)?.cast::<AtomicU64>();
        if !word.is_aligned() {
            return None;
        }
        // SAFETY: in the window, whose memory stays mapped for `'a` and has no other references than to atomics; aligned.
        Some(unsafe { word.as_ref() })
    }

    /// Returns the aligned element of `size` bytes at a displacement, like [`Window::element`].
    #[inline(always)]
    pub fn element(&self, disp: i64, size: usize) -> Option<AtomicElement<'a>> {
        let start = self.part(disp, size)?;
        // SAFETY: the bytes lie in the window and stay mapped for `'a`.
        unsafe { Window::new(start, size) }.element(0, size)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn accesses_at_displacements_end_with_the_window() {
        for (len, unit) in [(0, 1), (7, 1), (8, 1), (8, 8), (20, 4), (24, 8), (23, 3), (100, 0)] {
            let mut memory = vec![0u8; len];
            let window = DisplacedWindow::new(Window::on(&mut memory), unit);
            for disp in [-1, 0, 1, 2, 3, 4, 5, 12, 15, 16, i64::MAX / 8 + 1, i64::MAX, i64::MIN] {
                let at = (unit > 0 && disp >= 0).then_some(i128::from(disp) * unit as i128);
                let fits = |bytes: usize| at.is_some_and(|at| at + bytes as i128 <= len as i128);
                let mut read = [0; 8];
                assert_eq!(window.write_word(disp, b"12345678"), fits(8), "{len} {unit} {disp}");
                assert_eq!(window.read_word(disp, &mut read), fits(8), "{len} {unit} {disp}");
                assert!(!fits(8) || &read == b"12345678");
                for bytes in [0, 1, 3, 8] {
                    assert_eq!(
                        window.write(disp, &b"abcdefgh"[..bytes]),
                        fits(bytes),
                        "{len} {unit} {disp} {bytes}"
                    );
                    assert_eq!(window.read(disp, &mut read[..bytes]), fits(bytes));
                    assert!(!fits(bytes) || read[..bytes] == b"abcdefgh"[..bytes]);
                }
                assert_eq!(window.element(disp, 1).is_some(), fits(1));
            }
        }
    }

    #[test]
    fn only_aligned_words_are_atomic() {
        let mut memory = [0u64; 3];
        let bytes = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: the array lives until the end of the test and is not used through its name.
        let window = unsafe { Window::new(NonNull::new(bytes).unwrap(), 24) };
        let window = DisplacedWindow::new(window, 4);
        let aligned: Vec<bool> = (0..6).map(|disp| window.atomic_word(disp).is_some()).collect();
        assert_eq!(aligned, [true, false, true, false, true, false]);
    }
}
