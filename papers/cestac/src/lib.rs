//! Stochastic arithmetic after the CESTAC method (Vignes; the library CADNA): numbers with a known number of
//! significant digits.
//!
//! A stochastic number is three samples of one result. Each operation is computed for each sample and rounded up or
//! down at random ([`rounding`]). The samples agree in the digits that rounding has not touched: with the mean R and
//! the standard deviation s, C = log10(√3 |R| / (4.303 s)) decimal digits are significant with a probability of 95 %.
//! A number with less than one such digit, or with three samples of 0, is a *computed zero*, printed `@.0`.
//!
//! ```
//! use cestac::{Real, Sequential, Session};
//!
//! let session = Session::sequential(1);
//! let [a, b, c] = [0.3, -2.1, 3.675].map(Sequential::<f64>::from);
//! let discriminant = b * b - Sequential::from(4.0) * a * c;
//! assert!(discriminant.is_computed_zero()); // f64 alone says 8.9e-16 or so.
//! assert_eq!(discriminant.to_string(), "@.0");
//! assert_eq!(discriminant, Sequential::from(0.0));
//! ```
//!
//! Two forms have one interface, [`Real`]: [`Sequential`] holds the samples in one process, [`Parallel`] one sample on
//! each of three ranks of a job. For the same seed both have the same samples to the last bit.
//!
//! Comparisons respect the accuracy. `a == b` holds if a − b is a computed zero. `a > b` holds if it is none
//! and the mean of a − b is positive. `a >= b` holds if one of both holds. Results that depend on noise can
//! be counted: [`Watch`].
#![deny(unsafe_code)]

mod error;
mod exchange;
mod instability;
mod operators;
mod parallel;
mod random;
mod real;
pub mod rounding;
mod samples;
mod sequential;
mod session;

pub use error::SessionError;
pub use exchange::Exchanges;
pub use instability::{Instabilities, Instability, Kind, Watch};
pub use parallel::Parallel;
pub use real::Real;
pub use samples::{SAMPLES, Samples};
pub use sequential::Sequential;
pub use session::Session;
