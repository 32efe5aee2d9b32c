//! Collectives (MPI 5.0, chapter 6): from buffers, counts and datatypes to a call of the engine, in one of three ways.
//!
//! ```text
//!   arguments ──▶ Call ──▶ run      (blocking)
//!                      ├─▶ start    (a request)
//!                      └─▶ persist  (a request that can be started)
//! ```
//! The engine works on bytes. Elements without gaps are used where they lie; others are packed into memory of the
//! call's own first, and unpacked in the end.

mod call;
pub(crate) mod check;
mod even;
mod neighbours;
mod reduce;
mod side;
mod uneven;

pub use call::Call;
pub use even::Root;
pub use reduce::Reducing;
pub use side::{Scattered, ScatteredMut, TypedPart, span};
