//! What the example programs show to a person: pictures in PNG files, progress on standard error,
//! complaints, a table of what moved between the ranks, and the same as JSON for programs. Files of unknown length are read up to a bound.
//!
//! It joins the job but never communicates: the programs bring together what the ranks have counted, and a rank that
//! must stay silent simply does not call it.
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
