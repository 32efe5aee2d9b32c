//! The types of parameters, under the names in the table of kinds.

pub use crate::attributes::{CopyFunction, DeleteFunction, Value};
pub use crate::environment::Arguments;
pub use crate::errhandlers::ErrhandlerFunction;
pub use crate::file::datarep::{DatarepConversion, DatarepConversionLarge, DatarepExtent};
pub use crate::generalized::{GrequestCancel, GrequestFree, GrequestQuery};
pub use crate::groups::Range;
pub use crate::operations::{UserFunction, UserFunctionLarge};
pub use crate::pointer::{In, Out, RecvBuffer, SendBuffer, Text, TextOut};
pub use crate::status::{MPI_Status, StatusOut};
pub use crate::tools::event::{EventCallback, EventFreed, EventsDropped};
pub use crate::width::{Count, Counts, Displacements, OutCount};

/// The types of functions that MPICH's Fortran and C++ libraries call.
pub use crate::{
    attributes::languages::{CopyProxy, DeleteProxy},
    cplusplus::ErrhandlerCaller,
    fortran::ErrhandlerFunctionX,
    operations::{OperationCaller, UserFunctionX},
    program_call::Destructor,
};
