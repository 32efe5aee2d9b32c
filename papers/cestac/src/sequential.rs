//! The sequential form: the three samples of a number lie in one process.

use std::cmp::Ordering;
use std::fmt;
use std::panic::Location;

use crate::instability::{self, CANCELLED_DIGITS, Kind, Watch};
use crate::operators::operators;
use crate::random::Streams;
use crate::real::Real;
use crate::rounding::{Directions, Float, Instructions};
use crate::samples::{self, SAMPLES, Samples};

thread_local! {
    static STREAMS: Streams<SAMPLES> = const { Streams::new() };
}

/// Starts the streams of a seed on this thread.
pub(crate) fn start(seed: u64, instructions: Option<Instructions>) {
    STREAMS.with(|streams| streams.start(seed, 0, instructions));
}

/// Lets operations of this thread check from now on if they are watched.
pub(crate) fn watch(what: Watch) {
    STREAMS.with(|streams| streams.slow_down(what == Watch::Operations));
}

/// Returns a random direction for each sample.
#[inline(always)]
fn take() -> Directions<SAMPLES> {
    STREAMS.with(Streams::take)
}

/// Does an operation on the fast path, unless random bits have to be renewed, operations are watched, or the
/// operation needs another path. An operation that returns none has taken no bits.
#[inline(always)]
fn fast<R>(operation: impl FnOnce(Directions<SAMPLES>) -> Option<R>) -> Option<R> {
    STREAMS.with(|streams| streams.take_for(operation))
}

/// A stochastic number with all of its samples.
#[derive(Clone, Copy)]
pub struct Sequential<F>(Samples<F>);

operators!(Sequential);

impl<F: Float> From<F> for Sequential<F> {
    #[inline]
    fn from(value: F) -> Self {
        Self([value; SAMPLES])
    }
}

impl<F: Float> Real for Sequential<F> {
    type Float = F;

    #[inline]
    #[track_caller]
    fn sqrt(self) -> Self {
        match fast(|directions| F::sqrt_fast(self.0, directions)) {
            Some(roots) => Self(roots),
            None => self.copy().sqrt_watched(Location::caller()).copy(),
        }
    }

    #[track_caller]
    fn abs(self) -> Self {
        if instability::watches(Watch::Tests) && samples::is_noise(self.0) {
            instability::count(Kind::AbsoluteValue, Location::caller());
        }
        if samples::is_negative(self.0) { -self } else { self }
    }

    fn samples(self) -> Samples<F> {
        self.0
    }
}

impl<F: Float> Sequential<F> {
    #[inline(always)]
    fn operate_add(self, other: Self, place: &'static Location<'static>) -> Self {
        match fast(|directions| F::add_fast(self.0, other.0, directions)) {
            Some(results) => Self(results),
            None => self.copy().add_watched(&other.copy(), place).copy(),
        }
    }

    #[inline(always)]
    fn operate_sub(self, other: Self, place: &'static Location<'static>) -> Self {
        self.operate_add(-other, place)
    }

    #[inline(always)]
    fn operate_mul(self, other: Self, place: &'static Location<'static>) -> Self {
        match fast(|directions| F::mul_fast(self.0, other.0, directions)) {
            Some(results) => Self(results),
            None => self.copy().mul_watched(&other.copy(), place).copy(),
        }
    }

    #[inline(always)]
    fn operate_div(self, other: Self, place: &'static Location<'static>) -> Self {
        match fast(|directions| F::div_fast(self.0, other.0, directions)) {
            Some(results) => Self(results),
            None => self.copy().div_watched(&other.copy(), place).copy(),
        }
    }

    fn compare_at(self, other: Self, place: &'static Location<'static>) -> Option<Ordering> {
        let comparison = samples::compare(self.0, other.0);
        if comparison.is_unstable && instability::watches(Watch::Tests) {
            instability::count(Kind::Test, place);
        }
        comparison.order
    }

    /// Returns a copy in separate memory for a function that is rarely called; the number itself can stay in
    /// registers.
    #[inline(always)]
    fn copy(self) -> Self {
        let [first, second, third] = self.0;
        Self([first, second, third])
    }

    /// Returns the sum on the slow path. It renews used-up random bits and watches the operation if required.
    /// It takes the numbers from memory, so that no caller keeps them there for it.
    #[cold]
    #[inline(never)]
    fn add_watched(&self, other: &Self, place: &'static Location<'static>) -> Self {
        let sum = Self(F::add(self.0, other.0, take()));
        if instability::watches(Watch::Operations)
            && sum.digits() + CANCELLED_DIGITS <= self.digits().min(other.digits())
        {
            instability::count(Kind::Cancellation, place);
        }
        sum
    }

    /// Returns the product on the slow path.
    #[cold]
    #[inline(never)]
    fn mul_watched(&self, other: &Self, place: &'static Location<'static>) -> Self {
        if instability::watches(Watch::Operations) && samples::is_noise(self.0) && samples::is_noise(other.0)
        {
            instability::count(Kind::Multiplication, place);
        }
        Self(F::mul(self.0, other.0, take()))
    }

    /// Returns the quotient on the slow path.
    #[cold]
    #[inline(never)]
    fn div_watched(&self, other: &Self, place: &'static Location<'static>) -> Self {
        if instability::watches(Watch::Operations) && samples::is_computed_zero(other.0) {
            instability::count(Kind::Division, place);
        }
        Self(F::div(self.0, other.0, take()))
    }

    /// Returns the square root on the slow path.
    #[cold]
    #[inline(never)]
    fn sqrt_watched(&self, place: &'static Location<'static>) -> Self {
        if instability::watches(Watch::Operations) && samples::is_noise(self.0) {
            instability::count(Kind::SquareRoot, place);
        }
        Self(F::sqrt(self.0, take()))
    }
}

/// Writes the significant digits, or `@.0` for a computed zero.
impl<F: Float> fmt::Display for Sequential<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        samples::write(self.0, out)
    }
}

/// Writes the samples.
impl<F: Float> fmt::Debug for Sequential<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Sequential").field(&self.0).finish()
    }
}
