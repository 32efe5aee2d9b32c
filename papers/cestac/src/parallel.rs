//! The parallel form: each of three ranks holds one sample of a number.
//!
//! Operations do not communicate. Functions that need all samples use [`exchange`](crate::exchange): each
//! rank then computes the same result from the same samples.

use std::cmp::Ordering;
use std::fmt;
use std::panic::Location;

use crate::exchange::exchange;
use crate::instability::{self, Kind, Watch};
use crate::operators::operators;
use crate::random::Streams;
use crate::real::Real;
use crate::rounding::{Directions, Float};
use crate::samples::{self, Samples};

thread_local! {
    static STREAM: Streams<1> = const { Streams::new() };
}

/// Starts stream `rank` of a seed on this thread.
pub(crate) fn start(seed: u64, rank: u64) {
    STREAM.with(|stream| stream.start(seed, rank, None));
}

/// Returns a random direction for this rank's sample.
#[inline(always)]
fn take() -> Directions<1> {
    STREAM.with(Streams::take)
}

/// A stochastic number of which this rank holds one sample.
///
/// It needs [`Session::parallel`](crate::Session::parallel).
///
/// # Panics
/// A function that communicates panics if no session is open on this thread, or if a rank has finished or died.
#[derive(Clone, Copy)]
pub struct Parallel<F>([F; 1]);

operators!(Parallel);

impl<F: Float> From<F> for Parallel<F> {
    #[inline]
    fn from(value: F) -> Self {
        Self([value])
    }
}

impl<F: Float> Real for Parallel<F> {
    type Float = F;

    #[inline]
    fn sqrt(self) -> Self {
        Self(F::sqrt(self.0, take()))
    }

    #[track_caller]
    fn abs(self) -> Self {
        let place = Location::caller();
        let all = self.samples();
        if instability::watches(Watch::Tests) && samples::is_noise(all) {
            instability::count(Kind::AbsoluteValue, place);
        }
        if samples::is_negative(all) { -self } else { self }
    }

    fn samples(self) -> Samples<F> {
        let [samples] = exchange(self.0);
        samples
    }
}

impl<F: Float> Parallel<F> {
    /// Returns this rank's own sample.
    pub fn own_sample(self) -> F {
        self.0[0]
    }

    #[inline(always)]
    fn operate_add(self, other: Self, _: &'static Location<'static>) -> Self {
        Self(F::add(self.0, other.0, take()))
    }

    #[inline(always)]
    fn operate_sub(self, other: Self, place: &'static Location<'static>) -> Self {
        self.operate_add(-other, place)
    }

    #[inline(always)]
    fn operate_mul(self, other: Self, _: &'static Location<'static>) -> Self {
        Self(F::mul(self.0, other.0, take()))
    }

    #[inline(always)]
    fn operate_div(self, other: Self, _: &'static Location<'static>) -> Self {
        Self(F::div(self.0, other.0, take()))
    }

    fn compare_at(self, other: Self, place: &'static Location<'static>) -> Option<Ordering> {
        let [a, b] = exchange([self.own_sample(), other.own_sample()]);
        let comparison = samples::compare(a, b);
        if comparison.is_unstable && instability::watches(Watch::Tests) {
            instability::count(Kind::Test, place);
        }
        comparison.order
    }
}

/// Writes the significant digits, or `@.0` for a computed zero. All ranks must write, even if their text is
/// dropped.
impl<F: Float> fmt::Display for Parallel<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        samples::write(self.samples(), out)
    }
}

/// Writes this rank's sample, without communication.
impl<F: Float> fmt::Debug for Parallel<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Parallel").field(&self.own_sample()).finish()
    }
}
