//! The functions and constants of the standard ABI that this library uses. The program's MPI library defines
//! them.

use core::ffi::{c_char, c_int, c_void};

/// A handle of C: a constant's number or an address.
pub type Handle = isize;

/// `MPI_SUCCESS`.
pub const SUCCESS: c_int = 0;
/// `MPI_ERR_BUFFER`.
pub const ERR_BUFFER: c_int = 1;
/// `MPI_ERR_TYPE`.
pub const ERR_TYPE: c_int = 3;
/// `MPI_IN_PLACE`.
pub const IN_PLACE: usize = 1;
/// `MPI_BUFFER_AUTOMATIC`.
pub const BUFFER_AUTOMATIC: usize = 2;
/// `MPI_UNWEIGHTED`.
pub const UNWEIGHTED: usize = 10;
/// `MPI_WEIGHTS_EMPTY`.
pub const WEIGHTS_EMPTY: usize = 11;
/// `MPI_BYTE`.
pub const BYTE: Handle = 0x247;
/// `MPI_INTEGER8`.
pub const INTEGER8: Handle = 0x2d9;
/// `MPI_MINLOC`.
pub const MINLOC: Handle = 0x38;
/// `MPI_MAXLOC`.
pub const MAXLOC: Handle = 0x39;
/// `MPI_REQUEST_NULL`.
pub const REQUEST_NULL: Handle = 0x180;
/// `MPI_DATATYPE_NULL`.
pub const DATATYPE_NULL: Handle = 0x200;

// SAFETY: these are the declarations of the standard ABI (MPI 5.0, chapter 20 and annex A).
unsafe extern "C" {
    pub fn PMPI_Comm_fromint(number: c_int) -> Handle;
    pub fn PMPI_Comm_toint(handle: Handle) -> c_int;
    pub fn PMPI_File_toint(handle: Handle) -> c_int;
    pub fn PMPI_Session_toint(handle: Handle) -> c_int;
    pub fn PMPI_Type_fromint(number: c_int) -> Handle;
    pub fn PMPI_Type_toint(handle: Handle) -> c_int;
    pub fn PMPI_Win_toint(handle: Handle) -> c_int;

    pub fn PMPI_Type_get_extent(datatype: Handle, lower: *mut isize, extent: *mut isize) -> c_int;
    pub fn PMPI_Type_get_true_extent(datatype: Handle, lower: *mut isize, extent: *mut isize) -> c_int;
    pub fn PMPI_Type_size_c(datatype: Handle, bytes: *mut i64) -> c_int;
    pub fn PMPI_Type_contiguous_c(count: i64, of: Handle, made: *mut Handle) -> c_int;
    pub fn PMPI_Type_create_hvector_c(
        count: i64,
        length: i64,
        stride: i64,
        of: Handle,
        made: *mut Handle,
    ) -> c_int;
    pub fn PMPI_Type_create_struct_c(
        count: i64,
        lengths: *const i64,
        displacements: *const i64,
        of: *const Handle,
        made: *mut Handle,
    ) -> c_int;
    pub fn PMPI_Type_create_resized_c(of: Handle, lower: i64, extent: i64, made: *mut Handle) -> c_int;
    pub fn PMPI_Type_commit(datatype: *mut Handle) -> c_int;
    pub fn PMPI_Type_free(datatype: *mut Handle) -> c_int;

    pub fn PMPI_Op_create_c(
        function: extern "C" fn(*const [i64; 2], *mut [i64; 2], *const i64, *const Handle),
        is_commutative: c_int,
        made: *mut Handle,
    ) -> c_int;

    pub fn PMPI_Comm_size(comm: Handle, size: *mut c_int) -> c_int;
    pub fn PMPI_Comm_remote_size(comm: Handle, size: *mut c_int) -> c_int;
    pub fn PMPI_Comm_test_inter(comm: Handle, is_inter: *mut c_int) -> c_int;
    pub fn PMPI_Comm_rank(comm: Handle, rank: *mut c_int) -> c_int;
    pub fn PMPI_Topo_test(comm: Handle, kind: *mut c_int) -> c_int;
    pub fn PMPI_Cartdim_get(comm: Handle, dimensions: *mut c_int) -> c_int;
    pub fn PMPI_Graph_neighbors_count(comm: Handle, rank: c_int, neighbors: *mut c_int) -> c_int;
    pub fn PMPI_Dist_graph_neighbors_count(
        comm: Handle,
        incoming: *mut c_int,
        outgoing: *mut c_int,
        is_weighted: *mut c_int,
    ) -> c_int;

    pub fn PMPI_Add_error_code(class: c_int, code: *mut c_int) -> c_int;
    pub fn PMPI_Add_error_string(code: c_int, text: *const c_char) -> c_int;
    pub fn PMPI_Comm_call_errhandler(comm: Handle, code: c_int) -> c_int;
    pub fn PMPI_File_call_errhandler(file: Handle, code: c_int) -> c_int;
    pub fn PMPI_Session_call_errhandler(session: Handle, code: c_int) -> c_int;
    pub fn PMPI_Win_call_errhandler(win: Handle, code: c_int) -> c_int;

    pub fn MPI_Request_free(request: *mut Handle) -> c_int;
    pub fn PMPI_Request_free(request: *mut Handle) -> c_int;
    pub fn PMPI_Request_get_status(request: Handle, flag: *mut c_int, status: *mut c_void) -> c_int;
    pub fn PMPI_Wait(request: *mut Handle, status: *mut c_void) -> c_int;

    pub fn PMPI_Abi_get_fortran_booleans(
        bytes: c_int,
        truth: *mut c_void,
        lie: *mut c_void,
        is_set: *mut c_int,
    ) -> c_int;
    pub fn PMPI_Abi_set_fortran_booleans(bytes: c_int, truth: *const c_void, lie: *const c_void) -> c_int;
}
