//! What C is called with for an array: its address, or a datatype that knows its strides, or a copy without gaps.

use core::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use crate::descriptor::{Array, Descriptor};
use crate::mpi::*;
use crate::place;
use crate::section::{self, NoType};

/// The buffer is the caller's again when the procedure returns: it may be copied.
const BLOCKING: c_int = 1;
/// The buffer is written.
const WRITTEN: c_int = 2;
/// A count and a datatype belong to the buffer: others can stand for them.
const PAIR: c_int = 4;
/// The address alone is asked for.
const ADDRESS: c_int = 8;

/// A datatype belongs to the buffer, which has a block for each rank.
const BLOCKS: c_int = 16;

/// `MPI_ERR_BUFFER`.
const ERR_BUFFER: c_int = 1;
const TEXT: &CStr =
    c"a part of an array whose elements do not lie beside each other cannot be the buffer here: \
copy it into an array of its own, or describe it by a datatype";

/// A buffer as C's functions take it: `canele_buffer` of the module `canele_support`.
#[repr(C)]
pub struct Buffer {
    address: *const c_void,
    count: i64,
    datatype: Handle,
    copy: *mut Copied,
    made: c_int,
}

/// The datatype was made here.
const MADE_A_TYPE: c_int = 1;
/// A copy was made.
const MADE_A_COPY: c_int = 2;

/// A copy of an array, and the array.
pub struct Copied {
    bytes: Vec<u64>,
    array: Array,
    is_written: bool,
}

/// Finds what a function is called with for a buffer.
///
/// # Safety
/// `buffer` is a descriptor of the compiler, `made` a place for a buffer.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub unsafe extern "C" fn canele_fort_begin(
    buffer: *const Descriptor,
    places: *const c_int,
    flags: c_int,
    count: i64,
    datatype: c_int,
    made: *mut Buffer,
) -> c_int {
    // SAFETY: the modules pass a descriptor and a place of their own.
    let (buffer, made) = unsafe { (&*buffer, &mut *made) };
    made.address = place::of_c(buffer.address(), places);
    made.count = count;
    if flags & (PAIR | BLOCKS) != 0 {
        // SAFETY: any number may be asked about.
        made.datatype = unsafe { PMPI_Type_fromint(datatype) };
    }
    if flags & ADDRESS != 0 || made.address.addr() != buffer.address().addr() || buffer.is_contiguous() {
        return SUCCESS;
    }
    made.take_parts(&buffer.array(), flags)
}

/// Ends what was begun: a copy is copied back.
///
/// # Safety
/// `made` comes from [`canele_fort_begin`].
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_end(made: *mut Buffer) {
    // SAFETY: the modules pass a place of their own.
    let made = unsafe { &mut *made };
    match made.made {
        // SAFETY: the handle was made here, and MPI keeps the datatype as long as a message has it.
        MADE_A_TYPE => drop(unsafe { PMPI_Type_free(&mut made.datatype) }),
        // SAFETY: the copy was made by `copy` below, and is taken once.
        MADE_A_COPY => unsafe { Box::from_raw(made.copy) }.end(),
        _ => {}
    }
    made.made = 0;
}

/// Returns the bytes of an element.
///
/// # Safety
/// `buffer` is a descriptor of the compiler.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_size(buffer: *const Descriptor) -> c_int {
    // SAFETY: the modules pass a descriptor.
    unsafe { &*buffer }.element() as c_int
}

impl Buffer {
    /// Takes the elements of an array that do not lie beside each other.
    fn take_parts(&mut self, array: &Array, flags: c_int) -> c_int {
        if array.elements() == 0 || (flags & PAIR != 0 && self.count == 0) {
            return SUCCESS;
        }
        let datatype = match flags & (PAIR | BLOCKS) {
            PAIR => section::datatype(array, self.count, self.datatype),
            BLOCKS => section::element_type(array, self.datatype),
            _ => Err(NoType::Unfit),
        };
        match datatype {
            Ok(datatype) => {
                let count = if flags & PAIR != 0 { 1 } else { self.count };
                (self.datatype, self.count, self.made) = (datatype, count, MADE_A_TYPE);
                return SUCCESS;
            }
            Err(NoType::Failed(code)) => return code,
            Err(NoType::Unfit) => {}
        }
        if flags & BLOCKING == 0 {
            return refused();
        }
        let copied = Box::new(Copied::new(array, flags & WRITTEN != 0));
        self.address = copied.bytes.as_ptr().cast();
        (self.copy, self.made) = (Box::into_raw(copied), MADE_A_COPY);
        SUCCESS
    }
}

impl Copied {
    /// Copies the elements beside each other. What will be written may be written in part, so it is copied too.
    fn new(array: &Array, is_written: bool) -> Self {
        let element = array.element as usize;
        let bytes = element * array.elements() as usize;
        let mut all = vec![0u64; bytes.div_ceil(size_of::<u64>())];
        let mut to = all.as_mut_ptr().cast::<u8>();
        array.each(|from| {
            // SAFETY: the element is of the program's array, and there is room for as many as are visited.
            unsafe { core::ptr::copy_nonoverlapping(from.cast::<u8>(), to, element) };
            to = to.wrapping_add(element);
        });
        Self { bytes: all, array: array.clone(), is_written }
    }

    fn end(self) {
        if !self.is_written {
            return;
        }
        let (element, mut from) = (self.array.element as usize, self.bytes.as_ptr().cast::<u8>());
        self.array.each(|to| {
            // SAFETY: as in `new`, the other way.
            unsafe { core::ptr::copy_nonoverlapping(from, to.cast::<u8>(), element) };
            from = from.wrapping_add(element);
        });
    }
}

/// Raises the error of a buffer that has gaps, and returns its code.
fn refused() -> c_int {
    static CODE: OnceLock<c_int> = OnceLock::new();
    let code = *CODE.get_or_init(|| {
        let mut code = ERR_BUFFER;
        // SAFETY: the place is valid and the text ends with a zero.
        unsafe {
            if PMPI_Add_error_code(ERR_BUFFER, &mut code) != SUCCESS
                || PMPI_Add_error_string(code, TEXT.as_ptr()) != SUCCESS
            {
                code = ERR_BUFFER;
            }
        }
        code
    });
    // SAFETY: the handle is a constant.
    unsafe { PMPI_Comm_call_errhandler(COMM_SELF, code) };
    code
}
