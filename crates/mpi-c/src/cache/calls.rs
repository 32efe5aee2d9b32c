//! A cache of collectives: some calls of each exported function, with their arguments.

use core::ffi::c_int;

use canele_mpi::Result;
use canele_mpi::collective::Call;
use canele_sys::atomic::{AtomicUsize, Ordering};

use super::{freed, is_mixed, is_shared};
use crate::error::Failed;
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Op};

/// Number of cached calls of each function, a power of 2. Rotating roots need as many as there are ranks.
const CALLS: usize = 32;

/// A cache of the calls of one function with `N` arguments. The [module](super) tells when a call is valid.
pub struct CallCache<const N: usize> {
    /// A `Box<Made<N>>` as a raw pointer, or 0.
    places: [AtomicUsize; CALLS],
    of: core::marker::PhantomData<fn() -> Box<Made<N>>>,
}

/// A call with its arguments.
struct Made<const N: usize> {
    /// The value of [`freed`] before the call was made.
    freed: usize,
    words: [usize; N],
    call: Call,
}

impl<const N: usize> Default for CallCache<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> CallCache<N> {
    /// Returns an empty cache.
    pub const fn new() -> Self {
        Self { places: [const { AtomicUsize::new(0) }; CALLS], of: core::marker::PhantomData }
    }

    /// Runs the call with these arguments; makes it unless it is cached.
    ///
    /// # Errors
    /// Fails like `make` and `run`.
    #[inline(always)]
    pub fn with(
        &self,
        words: [usize; N],
        make: impl FnOnce() -> Result<Call>,
        run: impl FnOnce(&mut Call) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        if is_mixed() {
            // A single thread from before may be inside and take calls without an atomic exchange.
            return run(&mut make()?);
        }
        let place = &self.places[place(&words)];
        let freed = freed();
        // While a thread uses the call, its place is empty.
        let cached = exchange(place, 0) as *mut Made<N>;
        // SAFETY: it came from `Box::into_raw` below, and the exchange gave it to this caller alone: the
        // program promised one thread at a time, or it was an atomic one.
        let cached = (!cached.is_null()).then(|| unsafe { Box::from_raw(cached) });
        let mut made = match cached {
            Some(made) if made.freed == freed && made.words == words => made,
            cached => renew(cached, Made { freed, words, call: make()? }),
        };
        let result = run(&mut made.call);
        let before = exchange(place, Box::into_raw(made) as usize) as *mut Made<N>;
        if !before.is_null() {
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(before) });
        }
        result
    }
}

/// Stores a value in a place and returns the previous one.
#[inline(always)]
fn exchange(place: &AtomicUsize, new: usize) -> usize {
    if !is_shared() {
        // This takes half the time, and the next call of this thread comes after this one.
        let before = place.load(Ordering::Relaxed);
        place.store(new, Ordering::Relaxed);
        return before;
    }
    // Acquire and release: another thread may have made the loaded call, and may load the stored one.
    place.swap(new, Ordering::AcqRel)
}

/// Stores the call in the memory of the previous one, if there was one.
#[inline(never)]
fn renew<const N: usize>(before: Option<Box<Made<N>>>, made: Made<N>) -> Box<Made<N>> {
    match before {
        Some(mut place) => {
            *place = made;
            place
        }
        None => Box::new(made),
    }
}

/// Returns the place of a call with these arguments.
#[inline(always)]
fn place(words: &[usize]) -> usize {
    let mixed = words.iter().fold(0usize, |mixed, word| mixed.rotate_left(7) ^ word);
    mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - CALLS.trailing_zeros())
}

/// An argument of one word.
pub trait Word {
    /// Returns the word.
    fn word(self) -> usize;
}

macro_rules! words {
    ($($of:ty: $value:ident => $word:expr;)*) => {$(
        impl Word for $of {
            #[inline(always)]
            fn word(self) -> usize {
                let $value = self;
                $word
            }
        }
    )*};
}

words! {
    c_int: number => number as usize;
    i64: number => number as usize;
    MPI_Comm: handle => handle.value();
    MPI_Datatype: handle => handle.value();
    MPI_Op: handle => handle.value();
}

impl<T> Word for *const T {
    #[inline(always)]
    fn word(self) -> usize {
        self.addr()
    }
}

impl<T> Word for *mut T {
    #[inline(always)]
    fn word(self) -> usize {
        self.addr()
    }
}
