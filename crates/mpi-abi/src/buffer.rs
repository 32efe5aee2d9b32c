//! From a C buffer with count and datatype to memory that the library may touch.

use canele_mpi::datatype::Datatype;
use canele_mpi::point::Kept;
use canele_mpi::{Class, Data, Error, Result};
use canele_sys::buffer::Raw;

use crate::handle::MPI_Datatype;
use crate::pointer::{Memory, MemoryMut};
use crate::width::Count;

/// The elements that a buffer, a count and a datatype name.
///
/// # Errors
/// A negative count, a datatype that is none or not committed, no buffer though there are data.
#[inline(always)]
pub fn data<'a>(buffer: Memory, count: Count, datatype: MPI_Datatype) -> Result<Data<'a>> {
    let (count, of) = (count.get()?, datatype.get()?);
    elements(buffer, count, of)
}

/// The same with memory that is written.
///
/// # Errors
/// As [`data`].
#[inline(always)]
pub fn data_mut<'a>(buffer: MemoryMut, count: Count, datatype: MPI_Datatype) -> Result<Data<'a>> {
    data(buffer.cast_const(), count, datatype)
}

/// The same of a count and datatype that have been looked up.
///
/// # Errors
/// As [`data`].
#[inline(always)]
pub fn elements(buffer: Memory, count: usize, of: &Datatype) -> Result<Data<'_>> {
    of.check_committed()?;
    let range = if of.is_contiguous() { 0..of.total_bytes(count)?.cast_signed() } else { of.span(count) };
    // With absolute addresses the buffer is MPI_BOTTOM, which is null, and the elements lie far above it.
    if buffer.is_null() && range.start == 0 && range.end > 0 {
        return Err(no_buffer(count));
    }
    // SAFETY: the program gives the buffer to the operation until it has ended, as the standard says; the elements span
    // this range.
    let raw = unsafe { Raw::new(buffer.cast_mut().cast(), range.start, range.end) };
    Ok(Data { raw, count, of })
}

/// Elements to be kept beyond the call.
///
/// # Errors
/// As [`data`].
pub fn kept(buffer: Memory, count: usize, datatype: MPI_Datatype) -> Result<Kept> {
    let of = datatype.share()?;
    let raw = elements(buffer, count, &of)?.raw;
    Ok(Kept { raw, count, of })
}

#[cold]
fn no_buffer(count: usize) -> Box<Error> {
    Error::new(Class::Buffer, format!("the buffer is a null pointer, with a count of {count}"))
}
