//! Fortran numbers of handles, for an ABI in which they are equal to the values in C.

use core::ffi::c_int;

/// Returns the Fortran number of a handle with this value: the value.
#[inline(always)]
pub fn number_in_fortran(value: usize) -> c_int {
    value as c_int
}

/// Returns the C value of a handle with this Fortran number: the number.
#[inline(always)]
pub fn value_in_c(_of: &str, number: c_int) -> usize {
    number as usize
}

/// True if the Fortran library accesses fields of objects through their handles.
pub const READS_FIELDS: bool = false;

/// Memory for such a library. This ABI has no such memory, and these functions are never called.
pub mod fields {
    /// Returns true if the Fortran library is loaded.
    pub fn is_library_loaded() -> bool {
        false
    }

    /// Returns true if handles have memory.
    #[inline(always)]
    pub fn are_there() -> bool {
        false
    }

    /// Gives handles memory.
    ///
    /// # Errors
    /// Fails if the system refuses.
    pub fn reserve() -> Result<(), String> {
        Ok(())
    }

    /// Writes the fields of a new object.
    pub fn write_new_object(_value: usize) {}

    /// Writes the fields of an object that the library gets.
    pub fn write_object(_value: usize) {}

    /// Writes the fields of a request that the library gets.
    pub fn write_request(_value: usize) {}

    /// Writes the sizes of a communicator's groups. The size of the remote group is given only for an
    /// intercommunicator.
    pub fn write_groups(_comm: usize, _local: usize, _remote: Option<usize>) {}

    /// Marks a communicator, whose groups were written, as Cartesian.
    pub fn mark_as_cart(_comm: usize) {}

    /// Marks a communicator, whose groups were written, as a graph.
    pub fn mark_as_graph(_comm: usize) {}

    /// Returns true if the sizes of a communicator's groups were written.
    pub fn have_groups(_comm: usize) -> bool {
        true
    }

    /// Returns true if the library has marked an operation as a Fortran operation.
    pub fn is_fortran_op(_value: usize) -> bool {
        false
    }

    /// Marks a generalized request as a C request.
    pub fn mark_request_as_c(_value: usize) {}

    /// Returns true if the library has marked a generalized request as a Fortran request.
    pub fn is_fortran_request(_value: usize) -> bool {
        false
    }
}
