//! The types of parameters, under the names that the table of kinds uses.

pub use crate::attributes::{CopyFunction, DeleteFunction, Value};
pub use crate::environment::Arguments;
pub use crate::errhandlers::ErrhandlerFunction;
pub use crate::generalized::{Cancel, Free, Query};
pub use crate::groups::Range;
pub use crate::operations::{UserFunction, UserFunctionLarge};
pub use crate::pointer::{In, Memory, MemoryMut, Out, Room, Text};
pub use crate::status::{MPI_Status, StatusOut};
pub use crate::width::{Count, Counts, Displacements, OutCount};
