//! The arguments of C's functions for an array. They are its address with a datatype for its strides, or the
//! address of a copy without gaps.

use core::ffi::{c_int, c_void};

use crate::copy::Copied;
use crate::descriptor::{Array, Descriptor};
use crate::error::{is_longer, refused};
use crate::mpi::*;
use crate::place;
use crate::section::{self, NoType};

/// The flag of a buffer that may be copied, because the caller gets it back when the procedure returns.
const BLOCKING: c_int = 1;
/// The flag of a buffer that the call writes.
const WRITTEN: c_int = 2;
/// The flag of a buffer whose count and datatype are arguments, so the two may be replaced.
const PAIR: c_int = 4;
/// The flag of a buffer of which the call needs the address alone.
const ADDRESS: c_int = 8;

/// The flag of a buffer whose datatype is an argument. It has a block for each rank, or partitions of `count`
/// elements.
const BLOCKS: c_int = 16;
/// The flag of a call that returns a request, to which a copy may be attached.
const REQUEST: c_int = 32;

/// A buffer for C's functions: `canele_buffer` of the module `canele_support`.
#[repr(C)]
pub struct Buffer {
    address: *const c_void,
    count: i64,
    datatype: Handle,
    copy: *mut Copied,
    made: c_int,
}

/// Says that this library made the datatype.
const MADE_A_TYPE: c_int = 1;
/// Says that this library made a copy.
const MADE_A_COPY: c_int = 2;

/// Computes the arguments of C's function for a buffer.
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
    let datatype = match flags & (PAIR | BLOCKS) {
        0 => DATATYPE_NULL,
        // SAFETY: any number may be asked about.
        _ => unsafe { PMPI_Type_fromint(datatype) },
    };
    begin(buffer, place::of_c(buffer.address(), places), flags, count, datatype, made)
}

/// Computes the arguments of C's function for a buffer, whose address in C is `address`.
pub fn begin(
    buffer: &Descriptor,
    address: *const c_void,
    flags: c_int,
    count: i64,
    datatype: Handle,
    made: &mut Buffer,
) -> c_int {
    (made.address, made.count, made.datatype) = (address, count, datatype);
    let is_constant = address.addr() != buffer.address().addr();
    if flags & ADDRESS != 0 || is_constant || buffer.is_contiguous() {
        return SUCCESS;
    }
    made.take_parts(&buffer.array(), flags)
}

/// Ends the use of a buffer; a copy is written back.
///
/// # Safety
/// `made` comes from [`canele_fort_begin`].
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_end(made: *mut Buffer) {
    // SAFETY: the modules pass a place of their own.
    if let Some(mut copied) = unsafe { &mut *made }.end() {
        copied.write_back();
    }
}

/// Returns the size of an element in bytes.
///
/// # Safety
/// `buffer` is a descriptor of the compiler.
#[unsafe(no_mangle)] // SAFETY: as above.
pub unsafe extern "C" fn canele_fort_size(buffer: *const Descriptor) -> c_int {
    // SAFETY: the modules pass a descriptor.
    unsafe { &*buffer }.element() as c_int
}

impl Buffer {
    /// Frees the datatype, if one was made; returns the copy, if one was made.
    pub fn end(&mut self) -> Option<Copied> {
        match core::mem::take(&mut self.made) {
            MADE_A_TYPE => {
                // SAFETY: the handle was made here, and MPI keeps the datatype as long as a message has it.
                unsafe { PMPI_Type_free(&mut self.datatype) };
                None
            }
            // SAFETY: the copy was made below, and is taken once.
            MADE_A_COPY => Some(*unsafe { Box::from_raw(self.copy) }),
            _ => None,
        }
    }

    /// Prepares an array whose elements are not contiguous.
    fn take_parts(&mut self, array: &Array, flags: c_int) -> c_int {
        if array.elements() == 0 || (flags & PAIR != 0 && self.count == 0) {
            return SUCCESS;
        }
        let datatype = match flags & (PAIR | BLOCKS) {
            0 => Err(NoType::Unfit),
            _ if self.datatype == DATATYPE_NULL => return ERR_TYPE,
            PAIR => section::datatype(array, self.count, self.datatype),
            _ => section::element_type(array, self.datatype),
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
        if flags & (BLOCKING | REQUEST) == 0 {
            return refused();
        }
        self.copy(array, flags)
    }

    fn copy(&mut self, array: &Array, flags: c_int) -> c_int {
        let message = match flags & (PAIR | BLOCKS) {
            0 => Ok((0, 0, 0)),
            _ => section::span(self.count, self.datatype),
        };
        let has = array.elements() * array.element;
        let partition = match message {
            // A copy has no memory in front of its first element.
            Ok((begin, ..)) if flags & PAIR != 0 && begin < 0 && self.count > 0 => return refused(),
            Ok((_, end, _)) if flags & PAIR != 0 && end > has => return is_longer(),
            Ok((.., bytes)) => usize::try_from(bytes).unwrap_or(0),
            Err(code) => return code,
        };
        let copied = Box::new(Copied::new(array, flags & WRITTEN != 0, partition));
        self.address = copied.address().cast();
        (self.copy, self.made) = (Box::into_raw(copied), MADE_A_COPY);
        SUCCESS
    }
}
