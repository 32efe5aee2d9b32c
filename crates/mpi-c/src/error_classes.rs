//! Error classes, codes and strings, predefined and user-defined (MPI 5.0, §9.4, §9.5).

use core::ffi::c_int;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use canele_mpi::error_classes::ErrorClasses;
use canele_mpi::fail;

use crate::attributes;
use crate::codes::{class_number, class_of, text};
use crate::constants::{CLASSES, MPI_ERR_LASTCODE, MPI_MAX_ERROR_STRING, MPI_SUCCESS};
use crate::error::CallResult;
use crate::pointer::{Out, Text, TextOut};
use crate::tools;

static ADDED: LazyLock<Mutex<ErrorClasses>> = LazyLock::new(|| {
    let highest = CLASSES.into_iter().max().unwrap_or(0);
    Mutex::new(ErrorClasses::new(highest, MPI_ERR_LASTCODE))
});

fn added() -> MutexGuard<'static, ErrorClasses> {
    ADDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stores the largest code where the attribute `MPI_LASTUSEDCODE` points.
fn changed(classes: &ErrorClasses) {
    attributes::set_last_used_code(classes.last_used());
}

/// `MPI_Error_class`.
pub fn error_class(errorcode: c_int, errorclass: Out<c_int>) -> CallResult {
    let class = match (added().class_of(errorcode), class_of(errorcode)) {
        (Some(class), _) => class,
        (None, Some(class)) => class_number(class),
        (None, None) if errorcode == MPI_SUCCESS || tools::codes::text(errorcode).is_some() => errorcode,
        (None, None) => fail!(Argument, "errorcode is {errorcode}, which is no error code"),
    };
    Ok(errorclass.set(class, "errorclass")?)
}

/// Returns the text of a code.
pub(crate) fn meaning(code: c_int) -> Option<Vec<u8>> {
    let said = added().string(code).map(<[u8]>::to_vec);
    let known = code == MPI_SUCCESS || class_of(code).is_some();
    let said = said.or_else(|| known.then(|| text(code).into_bytes()));
    said.or_else(|| tools::codes::text(code).map(String::into_bytes))
}

/// `MPI_Error_string`.
pub fn error_string(errorcode: c_int, string: TextOut, resultlen: Out<c_int>) -> CallResult {
    let Some(said) = meaning(errorcode) else {
        fail!(Argument, "errorcode is {errorcode}, which is no error code");
    };
    let len = string.write(said, MPI_MAX_ERROR_STRING as usize, "string")?;
    Ok(resultlen.set(len as c_int, "resultlen")?)
}

/// `MPI_Add_error_class`.
pub fn add_error_class(errorclass: Out<c_int>) -> CallResult {
    let mut classes = added();
    errorclass.set(classes.add_class()?, "errorclass")?;
    Ok(changed(&classes))
}

/// `MPI_Add_error_code`.
pub fn add_error_code(errorclass: c_int, errorcode: Out<c_int>) -> CallResult {
    let mut classes = added();
    errorcode.set(classes.add_code(errorclass)?, "errorcode")?;
    Ok(changed(&classes))
}

/// `MPI_Add_error_string`.
pub fn add_error_string(errorcode: c_int, string: Text) -> CallResult {
    Ok(added().add_string(errorcode, string.bytes("string")?)?)
}

/// `MPI_Remove_error_class`.
pub fn remove_error_class(errorclass: c_int) -> CallResult {
    let mut classes = added();
    classes.remove_class(errorclass)?;
    Ok(changed(&classes))
}

/// `MPI_Remove_error_code`.
pub fn remove_error_code(errorcode: c_int) -> CallResult {
    let mut classes = added();
    classes.remove_code(errorcode)?;
    Ok(changed(&classes))
}

/// `MPI_Remove_error_string`.
pub fn remove_error_string(errorcode: c_int) -> CallResult {
    Ok(added().remove_string(errorcode)?)
}
