//! A cache of resolved handles and ranks, for the short paths of one thread.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use super::{SHARED, freed};

/// The result of resolving some arguments of a call.
pub trait Resolved: Sized {
    /// The arguments.
    type Arguments: Copy;

    /// Returns a number from whose low bits the place of an entry is chosen. They differ for arguments that
    /// programs alternate between.
    fn place(arguments: Self::Arguments) -> usize;

    /// Returns true if the value is the result for these arguments.
    fn is_of(&self, arguments: Self::Arguments) -> bool;

    /// Resolves the arguments; returns none if the short path does not support them.
    fn resolve(arguments: Self::Arguments) -> Option<Self>;
}

/// A cache with `PLACES` entries, a power of 2. The [module](super) tells when an entry is valid.
pub struct ResolvedCache<T, const PLACES: usize> {
    entries: [Entry<T>; PLACES],
}

/// An entry; its size is a power of 2, so that a shift computes its address.
#[repr(align(256))]
struct Entry<T> {
    /// The value of [`freed`] before the look-up, or [`EMPTY`].
    freed: UnsafeCell<usize>,
    /// Initialised unless the entry is empty.
    value: UnsafeCell<MaybeUninit<T>>,
}

/// A value that [`freed`] never has, so that zeroed memory is an empty cache.
const EMPTY: usize = 0;

// SAFETY: a value is read and written by one thread at a time, to which it may move; see the module.
unsafe impl<T: Send, const PLACES: usize> Sync for ResolvedCache<T, PLACES> {}

impl<T: Resolved, const PLACES: usize> ResolvedCache<T, PLACES> {
    /// Returns an empty cache.
    pub const fn new() -> Self {
        const { assert!(PLACES.is_power_of_two() && !core::mem::needs_drop::<T>()) };
        Self {
            entries: [const {
                Entry { freed: UnsafeCell::new(EMPTY), value: UnsafeCell::new(MaybeUninit::uninit()) }
            }; PLACES],
        }
    }

    /// Returns the result for these arguments, if a valid entry has it. Any thread may call it on a cache of
    /// the process, since no entry is valid while several threads may call the library.
    #[inline(always)]
    pub fn known(&self, arguments: T::Arguments) -> Option<&T> {
        self.known_at(freed(), arguments)
    }

    /// Resolves these arguments unless a valid entry has them or several threads may call the library.
    /// Returns true for a new entry. It is for a cache of the process.
    ///
    /// # Safety
    /// The caller uses no reference that [`Self::known`] returned before this call.
    #[inline]
    pub unsafe fn learn(&self, arguments: T::Arguments) -> bool {
        // SAFETY: as the caller promises.
        unsafe { self.learn_unshared_at(freed(), arguments) }
    }

    /// Resolves like [`Self::learn`], for a cache of the calling thread, even while several threads may call
    /// the library.
    ///
    /// # Safety
    /// The conditions of [`Self::learn`]; no other thread accesses this cache.
    #[inline]
    pub unsafe fn learn_alone(&self, arguments: T::Arguments) -> bool {
        // SAFETY: as the caller promises.
        unsafe { self.learn_at(freed(), arguments) }
    }

    #[inline(always)]
    fn entry(&self, arguments: T::Arguments) -> &Entry<T> {
        &self.entries[T::place(arguments) % PLACES]
    }

    #[inline(always)]
    fn known_at(&self, freed: usize, arguments: T::Arguments) -> Option<&T> {
        let entry = self.entry(arguments);
        // SAFETY: one thread calls the library, or the cache is this thread's; others compare a count without
        // the bit with one that has it.
        if unsafe { *entry.freed.get() } != freed {
            return None;
        }
        // SAFETY: the entry has a value, as its count is not `EMPTY`; it is replaced by this thread in
        // `learn` or `learn_alone`, when the reference is not used any more.
        let value = unsafe { (*entry.value.get()).assume_init_ref() };
        value.is_of(arguments).then_some(value)
    }

    /// # Safety
    /// The conditions of [`Self::learn`].
    #[inline(always)]
    unsafe fn learn_unshared_at(&self, freed: usize, arguments: T::Arguments) -> bool {
        // SAFETY: as the caller promises; without the bit one thread at a time calls the library.
        freed & SHARED == 0 && unsafe { self.learn_at(freed, arguments) }
    }

    /// # Safety
    /// The conditions of [`Self::learn`]; one thread at a time calls it.
    #[inline(always)]
    unsafe fn learn_at(&self, freed: usize, arguments: T::Arguments) -> bool {
        if self.known_at(freed, arguments).is_some() {
            return false;
        }
        let Some(value) = T::resolve(arguments) else { return false };
        let entry = self.entry(arguments);
        // SAFETY: no other thread reaches the entry meanwhile, and no reference to the value before is used
        // any more.
        unsafe { *entry.value.get() = MaybeUninit::new(value) };
        // SAFETY: as above.
        unsafe { *entry.freed.get() = freed };
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    const PLACES: usize = 4;

    /// The double of an even number.
    struct Double {
        of: usize,
        double: usize,
    }

    impl Resolved for Double {
        type Arguments = usize;

        fn place(of: usize) -> usize {
            of / 2
        }

        fn is_of(&self, of: usize) -> bool {
            self.of == of
        }

        fn resolve(of: usize) -> Option<Self> {
            of.is_multiple_of(2).then_some(Self { of, double: 2 * of })
        }
    }

    /// Looks up what a cache knows.
    fn known(cache: &ResolvedCache<Double, PLACES>, freed: usize, of: usize) -> Option<usize> {
        cache.known_at(freed, of).map(|known| known.double)
    }

    #[test]
    fn an_empty_cache_knows_nothing_at_any_count() {
        let cache = ResolvedCache::<Double, PLACES>::new();
        for freed in [1, 2, SHARED | 1, SHARED | 2] {
            assert_eq!(known(&cache, freed, 0), None);
        }
    }

    #[test]
    fn an_entry_is_valid_until_a_handle_is_freed_and_while_one_thread_calls() {
        let cache = ResolvedCache::<Double, PLACES>::new();
        // SAFETY: `known` keeps no reference, here and below.
        let learn = |freed, of| unsafe { cache.learn_unshared_at(freed, of) };
        assert!(learn(7, 2) && !learn(7, 2), "learned once");
        assert_eq!(known(&cache, 7, 2), Some(4));
        assert_eq!((known(&cache, 8, 2), known(&cache, 7 | SHARED, 2)), (None, None));
        assert!(!learn(7 | SHARED, 4), "several threads");
        assert_eq!((known(&cache, 7 | SHARED, 4), known(&cache, 7, 4)), (None, None));
        assert!(!learn(7, 3) && known(&cache, 7, 3).is_none(), "not for the short path");
        assert!(learn(8, 2));
        assert_eq!(known(&cache, 8, 2), Some(4));
    }

    #[test]
    fn a_cache_of_one_thread_has_entries_while_several_threads_call() {
        let cache = ResolvedCache::<Double, PLACES>::new();
        // SAFETY: as above.
        assert!(unsafe { cache.learn_at(7 | SHARED, 2) });
        assert_eq!((known(&cache, 7 | SHARED, 2), known(&cache, 7, 2)), (Some(4), None));
        assert_eq!(known(&cache, 8 | SHARED, 2), None, "a handle was freed");
    }

    #[test]
    fn memory_of_zeros_is_an_empty_cache() {
        // SAFETY: zeros are numbers, and the values are not initialised.
        let cache: Box<ResolvedCache<Double, PLACES>> = unsafe { Box::new_zeroed().assume_init() };
        assert_eq!(known(&cache, freed(), 0), None);
        // SAFETY: `known` keeps no reference.
        assert!(unsafe { cache.learn_alone(0) });
        assert_eq!(known(&cache, freed(), 0), Some(0));
    }

    #[test]
    fn a_cache_knows_what_a_model_of_it_knows() {
        let cache = ResolvedCache::<Double, PLACES>::new();
        // Place to arguments and count.
        let mut model = HashMap::new();
        let (mut freed, mut random) = (1, 1u64);
        let (mut hits, mut misses) = (0, 0);
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (of, choice) = ((random >> 40) as usize % 12, (random >> 56) % 64);
            match choice {
                0 => freed += 1,
                1 => freed ^= SHARED,
                2..=20 => {
                    let is_new = of % 2 == 0
                        && freed & SHARED == 0
                        && model.get(&(of / 2 % PLACES)) != Some(&(of, freed));
                    // SAFETY: as above.
                    assert_eq!(unsafe { cache.learn_unshared_at(freed, of) }, is_new);
                    if is_new {
                        model.insert(of / 2 % PLACES, (of, freed));
                    }
                }
                _ => {
                    let expected = (model.get(&(of / 2 % PLACES)) == Some(&(of, freed))).then_some(2 * of);
                    assert_eq!(known(&cache, freed, of), expected);
                    *if expected.is_some() { &mut hits } else { &mut misses } += 1;
                }
            }
        }
        assert!(hits > 1000 && misses > 1000, "{hits} {misses}");
    }
}
