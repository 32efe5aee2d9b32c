//! Conversion of a C buffer with count and datatype to memory that the library may access.

use core::ffi::c_void;

use canele_mem::buffer::{Raw, RawMut};
use canele_mpi::datatype::Datatype;
use canele_mpi::{Class, Data, Elements, Error, Result};
use canele_sys::device::{self, MemoryKind};

use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::{RecvBuffer, SendBuffer};
use crate::width::Count;

/// A buffer of the program, to be read or written.
pub trait UserBuffer: Copy {
    /// The corresponding memory.
    type Raw;
    /// Returns the address.
    fn address(self) -> SendBuffer;
    /// Returns the memory from `low` to `high`, in bytes from the address.
    ///
    /// # Safety
    /// The conditions of [`Raw::new`] or [`RawMut::new`].
    unsafe fn raw(self, low: isize, high: isize) -> Self::Raw;
}

impl UserBuffer for SendBuffer {
    type Raw = Raw;

    #[inline(always)]
    fn address(self) -> SendBuffer {
        self
    }

    #[inline(always)]
    unsafe fn raw(self, low: isize, high: isize) -> Raw {
        // SAFETY: as the caller says.
        unsafe { Raw::new(self.cast(), low, high) }
    }
}

impl UserBuffer for RecvBuffer {
    type Raw = RawMut;

    #[inline(always)]
    fn address(self) -> SendBuffer {
        self
    }

    #[inline(always)]
    unsafe fn raw(self, low: isize, high: isize) -> RawMut {
        // SAFETY: as the caller says.
        unsafe { RawMut::new(self.cast(), low, high) }
    }
}

/// Returns the elements that a buffer, a count and a datatype describe.
///
/// # Errors
/// Fails on a negative count, on a null or uncommitted datatype, or without a buffer for data.
#[inline(always)]
pub fn data<'a, B: UserBuffer>(buffer: B, count: Count, datatype: MPI_Datatype) -> Result<Data<'a, B::Raw>> {
    let (count, of) = (count.get()?, datatype.get()?);
    Ok(Data { raw: memory(buffer, count, of)?, count, of })
}

/// Returns the memory of elements whose count and datatype were looked up.
///
/// # Errors
/// Fails like [`data`].
#[inline(always)]
pub fn memory<B: UserBuffer>(buffer: B, count: usize, of: &Datatype) -> Result<B::Raw> {
    of.check_committed()?;
    let range = if of.is_contiguous() { 0..of.total_bytes(count)?.cast_signed() } else { of.span(count) };
    // With absolute addresses the buffer is MPI_BOTTOM, which is null, and the elements lie far above it.
    if buffer.address().is_null() && range.start == 0 && range.end > 0 {
        return Err(no_buffer(count));
    }
    check_is_of_host(buffer.address().wrapping_byte_offset(range.start), range.len())?;
    // SAFETY: the program gives the buffer to each operation until it has ended, and neither writes what is
    // read nor touches what is written meanwhile, as the standard says; the elements span this range.
    Ok(unsafe { buffer.raw(range.start, range.end) })
}

/// Returns elements that outlive the call.
///
/// # Errors
/// Fails like [`data`].
pub fn elements<B: UserBuffer>(buffer: B, count: usize, datatype: MPI_Datatype) -> Result<Elements<B::Raw>> {
    let of = datatype.share()?;
    Ok(Elements { raw: memory(buffer, count, &of)?, count, of })
}

/// Refuses device memory, since each call copies, packs or computes with the processors of the host.
///
/// # Errors
/// Fails if the memory belongs to a device.
#[inline(always)]
pub fn check_is_of_host(start: *const c_void, len: usize) -> Result<()> {
    match device::memory_at(start, len) {
        MemoryKind::Host => Ok(()),
        memory => Err(of_device(memory)),
    }
}

#[cold]
fn of_device(memory: MemoryKind) -> Box<Error> {
    let text = format!("the buffer is {memory}, which no call takes: copy it to memory of the host first");
    Error::new(Class::Buffer, text)
}

#[cold]
fn no_buffer(count: usize) -> Box<Error> {
    Error::new(Class::Buffer, format!("the buffer is a null pointer, with a count of {count}"))
}
