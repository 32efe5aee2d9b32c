//! Collectives (MPI 5.0, chapter 6): buffers, counts and datatypes become a call of the engine, in one of
//! three forms.
//!
//! ```text
//!   arguments ──▶ Call ──▶ run      (blocking)
//!                      ├─▶ start    (a request)
//!                      └─▶ persist  (a persistent request)
//! ```
//! The engine works on bytes. Elements without gaps are used in place. Other elements are first packed into
//! memory of the call, and unpacked at the end.

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
