//! Handles by the numbers that they have in Fortran, of an ABI where these are their values in C.

use core::ffi::c_int;

/// Returns the number in Fortran of a handle with this value: the value.
#[inline(always)]
pub fn number_in_fortran(value: usize) -> c_int {
    value as c_int
}

/// Returns the value of a handle of a type in C that has this number in Fortran: the number.
#[inline(always)]
pub fn value_in_c(_of: &str, number: c_int) -> usize {
    number as usize
}

/// True if the library for Fortran reads and writes fields of objects through their handles.
pub const READS_FIELDS: bool = false;

/// The memory that such a library reads and writes: there is none by this ABI, and none of these functions is called.
pub mod fields {
    /// True if the library for Fortran is loaded.
    pub fn is_library_loaded() -> bool {
        false
    }

    /// True if handles have memory.
    #[inline(always)]
    pub fn are_there() -> bool {
        false
    }

    /// Gives handles memory.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn reserve() -> Result<(), String> {
        Ok(())
    }

    /// Writes the fields of a new object.
    pub fn write_new_object(_value: usize) {}

    /// Writes the fields of an object that the library is told.
    pub fn write_object(_value: usize) {}

    /// Writes the fields of a request that the library is told.
    pub fn write_request(_value: usize) {}

    /// Writes the sizes of a communicator's groups, the remote one only of an inter-communicator.
    pub fn write_groups(_comm: usize, _local: usize, _remote: Option<usize>) {}

    /// Marks a communicator, whose groups were written, as one with a grid.
    pub fn mark_as_cart(_comm: usize) {}

    /// Marks a communicator, whose groups were written, as one with a graph that all ranks know whole.
    pub fn mark_as_graph(_comm: usize) {}

    /// True if the sizes of a communicator's groups were written.
    pub fn have_groups(_comm: usize) -> bool {
        true
    }

    /// True if the library has marked an operation as one of Fortran.
    pub fn is_fortran_op(_value: usize) -> bool {
        false
    }

    /// Marks a generalized request as one of C.
    pub fn mark_request_as_c(_value: usize) {}

    /// True if the library has marked a generalized request as one of Fortran.
    pub fn is_fortran_request(_value: usize) -> bool {
        false
    }
}
