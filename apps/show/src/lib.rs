//! Output of the example programs for a person: PNG pictures, progress and errors on standard error, and a
//! table of moved data. For programs there is the table as JSON. Files of unknown length are read up to a
//! bound.
//!
//! It joins the job but never communicates: the programs collect the counters of the ranks. A rank that must
//! stay silent does not call it.
#![forbid(unsafe_code)]

pub mod measured;
pub mod moved;
pub mod picture;
pub mod program;
pub mod progress;

pub use canele_sys::bounded_read;
pub use measured::{Measured, share};
pub use moved::{Moved, grouped, percent, print_table, readable_bytes, significant};
pub use picture::{Picture, PictureError};
pub use progress::Progress;
