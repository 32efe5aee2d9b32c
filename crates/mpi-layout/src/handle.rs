//! The handle types of the ABI, and their values inside of the library. `canele-mpi-c` maps them to objects.
//!
//! All ABIs share this file. A handle is compared with a constant:
//!
//! ```
//! use canele_mpi_layout::{constants::MPI_COMM_NULL, handle::MPI_Comm};
//! let is_null = |comm: MPI_Comm| comm == MPI_COMM_NULL;
//! ```
//!
//! A constant cannot be used as a pattern:
//!
//! ```compile_fail
//! use canele_mpi_layout::{constants::MPI_COMM_NULL, handle::MPI_Comm};
//! let is_null = |comm: MPI_Comm| matches!(comm, MPI_COMM_NULL);
//! ```

use crate::{FileNumber, HandleNumber, constant_row, file_in_program, in_program};

/// Number of rows for constants in the table of handles.
pub const CONSTANT_ROWS: usize = 1 << 12;

/// The form of a handle in the program's memory.
pub trait ProgramHandle: Copy {
    /// Returns the handle's value inside of the library.
    fn value(self) -> usize;

    /// Returns the handle's bits in the program's memory.
    fn bits(self) -> usize {
        self.value()
    }
}

/// A handle of any kind.
pub trait Handle: Copy {
    /// The name of its type.
    const NAME: &'static str;

    /// Returns the handle with this value.
    fn of(value: usize) -> Self;
    /// Returns the handle's value.
    fn value(self) -> usize;
    /// Returns the bits in the program's memory, which may be no handle of this ABI.
    fn bits(self) -> usize;

    /// Returns true if the handle is a constant, which always names the same object.
    #[inline]
    fn is_constant(self) -> bool {
        constant_row(self.value()).is_some()
    }
}

macro_rules! handles {
    ($($name:ident($number:ty, $in_program:path) $what:literal;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: ", $what, ".")]
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name($number);

        // The trait is not derived, so that a constant cannot be a pattern, and its value may be unknown at
        // compile time.
        impl PartialEq for $name {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }

        impl Eq for $name {}

        impl Handle for $name {
            const NAME: &'static str = stringify!($name);

            #[inline(always)]
            fn of(value: usize) -> Self {
                Self::of(value)
            }

            #[inline(always)]
            fn value(self) -> usize {
                self.value()
            }

            #[inline(always)]
            fn bits(self) -> usize {
                ProgramHandle::bits(self.0)
            }
        }

        impl $name {
            /// Returns the handle with this value inside of the library.
            #[inline(always)]
            pub const fn of(value: usize) -> Self {
                Self($in_program(value))
            }

            /// Returns the handle's value inside of the library.
            #[inline(always)]
            pub fn value(self) -> usize {
                self.0.value()
            }
        }
    )*};
}
handles! {
    MPI_Op(HandleNumber, in_program) "an operation";
    MPI_Comm(HandleNumber, in_program) "a communicator";
    MPI_Group(HandleNumber, in_program) "a group";
    MPI_Win(HandleNumber, in_program) "a window";
    MPI_File(FileNumber, file_in_program) "a file, by a pointer in every ABI";
    MPI_Session(HandleNumber, in_program) "a session";
    MPI_Message(HandleNumber, in_program) "a message that a probe has matched";
    MPI_Info(HandleNumber, in_program) "an info object";
    MPI_Errhandler(HandleNumber, in_program) "an error handler";
    MPI_Request(HandleNumber, in_program) "a request";
    MPI_Datatype(HandleNumber, in_program) "a datatype";
}
