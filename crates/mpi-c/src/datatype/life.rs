//! Committing, copying, naming and freeing datatypes (MPI 5.0, §5.1.9, §5.1.10, §7.8).

use core::ffi::c_int;

use canele_mpi::datatype::Datatype;
use canele_mpi::fail;

use super::give;
use crate::attributes::{copy_of_datatype, datatype_goes};
use crate::constants::{MPI_DATATYPE_NULL, MPI_MAX_OBJECT_NAME};
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::{Out, Text, TextOut};

/// `MPI_Type_commit`.
pub fn type_commit(datatype: Out<MPI_Datatype>) -> CallResult {
    datatype.get("datatype")?.get()?.commit();
    Ok(())
}

/// `MPI_Type_free`.
pub fn type_free(datatype: Out<MPI_Datatype>) -> CallResult {
    let handle = datatype.get("datatype")?;
    if handle.get()?.is_predefined() {
        fail!(Datatype, "datatype {:#x} is predefined: it cannot be freed", handle.value());
    }
    datatype_goes(handle)?;
    handle.free()?;
    Ok(datatype.set(MPI_DATATYPE_NULL, "datatype")?)
}

/// `MPI_Type_dup`.
pub fn type_dup(oldtype: MPI_Datatype, newtype: Out<MPI_Datatype>) -> CallResult {
    give(newtype, Datatype::dup(&oldtype.share()?)?)?;
    let made = newtype.get("newtype")?;
    if let Err(error) = copy_of_datatype(oldtype, made) {
        // Copied attributes are deleted again; the first error is reported.
        let _ = datatype_goes(made);
        made.free()?;
        newtype.set(MPI_DATATYPE_NULL, "newtype")?;
        return Err(error.into());
    }
    Ok(())
}

/// `MPI_Type_set_name`.
pub fn type_set_name(datatype: MPI_Datatype, type_name: Text) -> CallResult {
    datatype.get()?.set_name(&type_name.read("type_name")?);
    Ok(())
}

/// `MPI_Type_get_name`.
pub fn type_get_name(datatype: MPI_Datatype, type_name: TextOut, resultlen: Out<c_int>) -> CallResult {
    // The null handle is the only one with a name but without an object.
    let name =
        if datatype == MPI_DATATYPE_NULL { "MPI_DATATYPE_NULL".to_owned() } else { datatype.get()?.name() };
    let len = type_name.write(&name, MPI_MAX_OBJECT_NAME as usize, "type_name")?;
    Ok(resultlen.set(len as c_int, "resultlen")?)
}
