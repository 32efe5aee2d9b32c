//! Symbols beyond MPI functions that Intel MPI's Fortran and C++ libraries (`libmpifort.so.12`,
//! `libmpicxx.so.12`) use from the C library. They are addresses of Fortran's named constants, memory
//! functions, and error codes. MPICH's Fortran library has its own, and uses the questions for support of
//! accelerators.

use core::ffi::{CStr, c_char, c_int, c_void};

/// The value of `.true.` in Fortran.
// SAFETY: the name is Intel MPI's, and this crate alone defines it; so for all names below.
#[unsafe(no_mangle)]
pub static MPII_F_TRUE: c_int = 1;
/// The value of `.false.` in Fortran.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub static MPII_F_FALSE: c_int = 0;

macro_rules! addresses {
    ($($name:ident: $block:literal + $offset:literal;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`: the address of a constant of Fortran, with which arguments are compared.")]
            // SAFETY: as above.
            #[unsafe(no_mangle)]
            pub static mut $name: *mut c_void = core::ptr::null_mut();
        )*

        /// `mpirinitf_`: finds the Fortran constants in common blocks of the program or of the Fortran
        /// library.
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub extern "C" fn mpirinitf_() {
            $(if let Some(block) = common_block($block) {
                // SAFETY: a variable of this library, which no other thread uses while the library for
                // Fortran is initialised.
                unsafe { $name = block.wrapping_byte_add($offset) };
            })*
            if let Some((one, many)) = common_block(c"mpipriv1_").zip(common_block(c"mpipriv2_")) {
                // SAFETY: as above.
                unsafe {
                    crate::variables::MPI_F_STATUS_IGNORE = one.wrapping_byte_add(8).cast();
                    crate::variables::MPI_F_STATUSES_IGNORE = many.cast();
                }
            }
        }
    };
}
addresses! {
    MPIR_F_MPI_BOTTOM: c"mpipriv1_" + 0;
    MPIR_F_MPI_IN_PLACE: c"mpipriv1_" + 4;
    MPI_F_ERRCODES_IGNORE: c"mpipriv2_" + 20;
    MPI_F_ARGVS_NULL: c"mpiprivc_" + 0;
    MPIR_F_MPI_UNWEIGHTED: c"mpifcmb5_" + 0;
    MPIR_F_MPI_WEIGHTS_EMPTY: c"mpifcmb9_" + 0;
    MPIR_F_MPI_BUFFER_AUTOMATIC: c"mpifcmba_" + 0;
}

/// Returns the common block with a name, if the program or a library has it.
fn common_block(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a string.
    let block = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!block.is_null()).then_some(block)
}

/// `impi_malloc`: allocates memory for the Fortran library.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn impi_malloc(bytes: usize) -> *mut c_void {
    // SAFETY: always permitted.
    unsafe { libc::malloc(bytes) }
}

/// `impi_realloc`: resizes memory like `realloc`.
///
/// # Safety
/// The memory comes from [`impi_malloc`] or is null.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn impi_realloc(memory: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: as the caller says.
    unsafe { libc::realloc(memory, bytes) }
}

/// `impi_free`: frees memory like `free`.
///
/// # Safety
/// The memory comes from [`impi_malloc`] or is null.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn impi_free(memory: *mut c_void) {
    // SAFETY: as the caller says.
    unsafe { libc::free(memory) }
}

/// `MPIR_Err_create_code`: returns the class of an error that the Fortran library has found as its code.
// SAFETY: as above. Callers pass more arguments, which are not looked at.
#[unsafe(no_mangle)]
pub extern "C" fn MPIR_Err_create_code(
    _last: c_int,
    _fatal: c_int,
    _function: *const c_char,
    _line: c_int,
    class: c_int,
) -> c_int {
    class
}

/// `MPIR_Err_return_comm`: returns the code; it calls no handler, since the communicator is an object of
/// Intel MPI.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn MPIR_Err_return_comm(_comm: *mut c_void, _function: *const c_char, code: c_int) -> c_int {
    code
}

macro_rules! without_support {
    ($($name:ident $profiled:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: reports no support for memory of accelerators.")]
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> c_int {
            0
        }
        #[doc = concat!("`", stringify!($profiled), "`: [`", stringify!($name), "`] for profiling libraries.")]
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub extern "C" fn $profiled() -> c_int {
            0
        }
    )*};
}
without_support! {
    MPIX_Query_cuda_support PMPIX_Query_cuda_support;
    MPIX_Query_ze_support PMPIX_Query_ze_support;
    MPIX_Query_hip_support PMPIX_Query_hip_support;
}

/// `MPIX_GPU_query_support`: reports no support for memory of such accelerators.
///
/// # Safety
/// The place of the result is valid or null.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIX_GPU_query_support(_gpu_type: c_int, is_supported: *mut c_int) -> c_int {
    if !is_supported.is_null() {
        // SAFETY: as the caller says.
        unsafe { is_supported.write(0) };
    }
    0
}

/// `PMPIX_GPU_query_support`: [`MPIX_GPU_query_support`] for profiling libraries.
///
/// # Safety
/// As there.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPIX_GPU_query_support(gpu_type: c_int, is_supported: *mut c_int) -> c_int {
    // SAFETY: as the caller says.
    unsafe { MPIX_GPU_query_support(gpu_type, is_supported) }
}
