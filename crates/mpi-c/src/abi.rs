//! Queries and declarations about the ABI (MPI 5.0, chapter 20).

use core::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use canele_mpi::info::Info;
use canele_mpi::{Class, Error, Result, fail};

use crate::constants::MPI_INFO_NULL;
use crate::error::CallResult;
use crate::handle::{MPI_Info, ObjectHandle};
use crate::pointer::Out;

/// The compiler properties that the Fortran part of a program has declared.
struct Fortran {
    info: Option<Arc<Info>>,
    booleans: Vec<Booleans>,
}

/// The two truth values of a size, as bytes.
struct Booleans {
    yes: Vec<u8>,
    no: Vec<u8>,
}

static FORTRAN: Mutex<Fortran> = Mutex::new(Fortran { info: None, booleans: Vec::new() });

/// `MPI_Abi_get_info`.
pub fn abi_get_info(info: Out<MPI_Info>) -> CallResult {
    let all = Info::new();
    for (key, bytes) in [("mpi_aint_size", "8"), ("mpi_count_size", "8"), ("mpi_offset_size", "8")] {
        all.set(key, bytes)?;
    }
    Ok(info.set(MPI_Info::new(Arc::new(all))?, "info")?)
}

/// `MPI_Abi_set_fortran_info`.
pub fn abi_set_fortran_info(info: MPI_Info) -> CallResult {
    let said = info.get()?.duplicate();
    let mut fortran = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner);
    if fortran.info.is_some() {
        return Err(twice("info"));
    }
    fortran.info = Some(Arc::new(said));
    Ok(())
}

/// `MPI_Abi_get_fortran_info`.
pub fn abi_get_fortran_info(info: Out<MPI_Info>) -> CallResult {
    let said = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner).info.clone();
    let handle = match said {
        Some(said) => MPI_Info::new(Arc::new(said.duplicate()))?,
        None => MPI_INFO_NULL,
    };
    Ok(info.set(handle, "info")?)
}

/// `MPI_Abi_set_fortran_booleans`.
pub fn abi_set_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> CallResult {
    let size = checked(logical_size)?;
    let read = |from: *mut c_void, what| Ok::<_, crate::error::Failed>(bytes(from, size, what)?.to_vec());
    let said =
        Booleans { yes: read(logical_true, "logical_true")?, no: read(logical_false, "logical_false")? };
    let mut fortran = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner);
    if fortran.booleans.iter().any(|of| of.yes.len() == size) {
        return Err(twice("logical_size"));
    }
    fortran.booleans.push(said);
    Ok(())
}

/// `MPI_Abi_get_fortran_booleans`.
pub fn abi_get_fortran_booleans(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: Out<c_int>,
) -> CallResult {
    let size = checked(logical_size)?;
    let fortran = FORTRAN.lock().unwrap_or_else(PoisonError::into_inner);
    let said = fortran.booleans.iter().find(|of| of.yes.len() == size);
    is_set.set(c_int::from(said.is_some()), "is_set")?;
    if let Some(said) = said {
        bytes(logical_true, size, "logical_true")?.copy_from_slice(&said.yes);
        bytes(logical_false, size, "logical_false")?.copy_from_slice(&said.no);
    }
    Ok(())
}

fn twice(what: &str) -> crate::error::Failed {
    let text = format!("{what}: this was said before, and can be said once only");
    Error::new(Class::Abi, text).into()
}

fn checked(logical_size: c_int) -> Result<usize> {
    match logical_size {
        1 | 2 | 4 | 8 | 16 => Ok(logical_size as usize),
        _ => fail!(Argument, "logical_size is {logical_size}: it is 1, 2, 4, 8 or 16"),
    }
}

/// Returns the bytes of a logical of the program.
fn bytes<'a>(at: *mut c_void, size: usize, what: &str) -> Result<&'a mut [u8]> {
    if at.is_null() {
        fail!(Argument, "{what} is a null pointer: a logical of {size} bytes is needed");
    }
    // SAFETY: the standard asks for a logical of this size.
    Ok(unsafe { core::slice::from_raw_parts_mut(at.cast(), size) })
}
