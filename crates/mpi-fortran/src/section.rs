//! Datatypes for array elements that are not contiguous.

use core::ffi::c_int;

use crate::descriptor::{Array, Dimension};
use crate::mpi::*;

/// A datatype, and true if it was made here.
struct Made {
    handle: Handle,
    is_own: bool,
}

impl Made {
    fn commit(mut self) -> Result<Handle, NoType> {
        // SAFETY: the handle is valid, and so is its place.
        check(unsafe { PMPI_Type_commit(&mut self.handle) })?;
        self.is_own = false;
        Ok(self.handle)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if self.is_own {
            // SAFETY: the handle was made here, and its place is valid. MPI keeps what another datatype is
            // made of.
            unsafe { PMPI_Type_free(&mut self.handle) };
        }
    }
}

/// The reason why there is no such datatype.
#[derive(Debug, PartialEq, Eq)]
pub enum NoType {
    /// The datatype has gaps, or the elements of the message do not fill whole elements of the array.
    Unfit,
    /// The error code of a function of MPI.
    Failed(c_int),
}

fn check(code: c_int) -> Result<(), NoType> {
    if code == SUCCESS { Ok(()) } else { Err(NoType::Failed(code)) }
}

/// Returns a committed datatype for `count` elements of `datatype`, taken from the elements of an array in
/// order.
///
/// # Errors
/// Fails if the datatype has gaps, its elements are not whole array elements, or MPI refuses.
pub fn datatype(array: &Array, count: i64, datatype: Handle) -> Result<Handle, NoType> {
    let (bytes, extent) = measures(datatype)?;
    if extent == array.element && count >= 0 {
        // Each element of the message is one array element, including its gaps.
        return part(&array.dimensions, count, &Made { handle: datatype, is_own: false })?.commit();
    }
    if bytes != extent || array.element == 0 || count < 0 {
        return Err(NoType::Unfit);
    }
    let whole = count.checked_mul(bytes).ok_or(NoType::Unfit)?;
    if whole % array.element != 0 {
        return Err(NoType::Unfit);
    }
    let element = element(array.element, bytes, datatype)?;
    part(&array.dimensions, whole / array.element, &element)?.commit()
}

/// Returns a committed datatype for one element of `datatype`, taken from the elements of an array.
/// Consecutive elements follow each other in the array.
///
/// # Errors
/// Fails like [`datatype`], or if the array elements are not equally spaced.
pub fn element_type(array: &Array, datatype: Handle) -> Result<Handle, NoType> {
    let (bytes, extent) = measures(datatype)?;
    let stride = array.stride().ok_or(NoType::Unfit)? as i64;
    if bytes != extent || array.element == 0 || bytes % array.element != 0 {
        return Err(NoType::Unfit);
    }
    let elements = bytes / array.element;
    let all = repeated(elements, stride, &element(array.element, bytes, datatype)?)?;
    // SAFETY: the handle is valid, and so is the place.
    new(|made| unsafe { PMPI_Type_create_resized_c(all.handle, 0, elements * stride, made) })?.commit()
}

/// Returns three places in bytes from the address of a buffer: where elements of a datatype begin and end,
/// and where the next elements would begin.
///
/// # Errors
/// Fails with MPI's code for the datatype.
pub fn span(count: i64, datatype: Handle) -> Result<(i64, i64, i64), c_int> {
    let (mut lower, mut extent, mut first, mut length) = (0, 0, 0, 0);
    // SAFETY: the places are valid. MPI checks the handle.
    let codes = unsafe {
        [
            PMPI_Type_get_extent(datatype, &mut lower, &mut extent),
            PMPI_Type_get_true_extent(datatype, &mut first, &mut length),
        ]
    };
    match codes.into_iter().find(|code| *code != SUCCESS) {
        Some(code) => Err(code),
        None => {
            let next = count.saturating_mul(extent as i64);
            let begin = (first as i64).saturating_add(next.saturating_sub(extent as i64).min(0));
            Ok((begin, next.saturating_add((first + length - extent) as i64), next))
        }
    }
}

/// Returns the size and the extent of a datatype in bytes.
fn measures(datatype: Handle) -> Result<(i64, i64), NoType> {
    let (mut bytes, mut lower, mut extent) = (0, 0, 0);
    // SAFETY: the places are valid. MPI checks the handle.
    check(unsafe { PMPI_Type_size_c(datatype, &mut bytes) })?;
    // SAFETY: as above.
    check(unsafe { PMPI_Type_get_extent(datatype, &mut lower, &mut extent) })?;
    if lower != 0 || bytes == 0 { Err(NoType::Unfit) } else { Ok((bytes, extent as i64)) }
}

/// Returns the datatype of an array element, made of the message's datatype if its size fits.
fn element(element: i64, bytes: i64, datatype: Handle) -> Result<Made, NoType> {
    let (count, of) = if element % bytes == 0 { (element / bytes, datatype) } else { (element, BYTE) };
    if count == 1 {
        return Ok(Made { handle: of, is_own: false });
    }
    // SAFETY: the place is valid. MPI checks the handle.
    new(|made| unsafe { PMPI_Type_contiguous_c(count, of, made) })
}

fn new(make: impl FnOnce(&mut Handle) -> c_int) -> Result<Made, NoType> {
    let mut handle = 0;
    check(make(&mut handle))?;
    Ok(Made { handle, is_own: true })
}

/// Returns a datatype of the first elements of an array: whole rows, and a part of the last one.
fn part(dimensions: &[Dimension], elements: i64, element: &Made) -> Result<Made, NoType> {
    let Some((last, rows)) = dimensions.split_last() else { return Err(NoType::Unfit) };
    let row: i64 = rows.iter().map(|dimension| dimension.extent.max(0) as i64).product();
    if row == 0 || elements > row.saturating_mul(last.extent as i64) {
        return Err(NoType::Unfit);
    }
    let stride = last.stride as i64;
    if rows.is_empty() {
        return repeated(elements, stride, element);
    }
    let (whole, rest) = (elements / row, elements % row);
    let all = repeated(whole, stride, &part(rows, row, element)?)?;
    if rest == 0 {
        return Ok(all);
    }
    let rest = part(rows, rest, element)?;
    let (lengths, places, of) = ([1, 1], [0, whole * stride], [all.handle, rest.handle]);
    // SAFETY: the arrays have two elements each, and the handles are valid.
    new(|made| unsafe { PMPI_Type_create_struct_c(2, lengths.as_ptr(), places.as_ptr(), of.as_ptr(), made) })
}

fn repeated(count: i64, stride: i64, of: &Made) -> Result<Made, NoType> {
    // SAFETY: the handle is valid, and so is the place.
    new(|made| unsafe { PMPI_Type_create_hvector_c(count, 1, stride, of.handle, made) })
}
