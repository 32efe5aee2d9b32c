//! Views and pointers of files (MPI 5.0, §14.3, §14.4.3, §14.4.4, §14.5.1).

use core::ffi::c_int;

use canele_mpi::file::View;

use super::datarep::named;
use super::whence as whence_of;
use crate::constants::{MPI_DISPLACEMENT_CURRENT, MPI_MAX_DATAREP_STRING};
use crate::datatype::publish;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, MPI_File, MPI_Info, ObjectHandle};
use crate::infos::said;
use crate::pointer::{Out, Text, TextOut};

/// `MPI_File_set_view`.
pub fn file_set_view(
    fh: MPI_File,
    disp: i64,
    etype: MPI_Datatype,
    filetype: MPI_Datatype,
    datarep: Text,
    info: MPI_Info,
) -> CallResult {
    let file = fh.get()?;
    let writes = file.amode().writes();
    let disp = (disp != MPI_DISPLACEMENT_CURRENT).then_some(disp);
    let make = |disp| {
        let datarep = named(&datarep.read("datarep")?)?;
        View::new(disp, &etype.share()?, &filetype.share()?, datarep, writes)
    };
    Ok(file.set_view(disp, make, said(info)?)?)
}

/// `MPI_File_get_view`.
pub fn file_get_view(
    fh: MPI_File,
    disp: Out<i64>,
    etype: Out<MPI_Datatype>,
    filetype: Out<MPI_Datatype>,
    datarep: TextOut,
) -> CallResult {
    let view = fh.get()?.view();
    disp.set(view.displacement().cast_signed(), "disp")?;
    etype.set(publish(view.etype().clone())?, "etype")?;
    filetype.set(publish(view.filetype().clone())?, "filetype")?;
    datarep.write(view.datarep().name(), MPI_MAX_DATAREP_STRING as usize, "datarep")?;
    Ok(())
}

/// `MPI_File_get_type_extent`.
pub fn file_get_type_extent(fh: MPI_File, datatype: MPI_Datatype, extent: Out<i64>) -> CallResult {
    let view = fh.get()?.view();
    let found = view.datarep().extent(&datatype.share()?)?;
    Ok(extent.set(found as i64, "extent")?)
}

/// `MPI_File_get_byte_offset`.
pub fn file_get_byte_offset(fh: MPI_File, offset: i64, disp: Out<i64>) -> CallResult {
    Ok(disp.set(fh.get()?.byte_offset_of(offset)?, "disp")?)
}

/// `MPI_File_get_position`.
pub fn file_get_position(fh: MPI_File, offset: Out<i64>) -> CallResult {
    Ok(offset.set(fh.get()?.position()?, "offset")?)
}

/// `MPI_File_get_position_shared`.
pub fn file_get_position_shared(fh: MPI_File, offset: Out<i64>) -> CallResult {
    Ok(offset.set(fh.get()?.shared_position()?, "offset")?)
}

/// `MPI_File_seek`.
pub fn file_seek(fh: MPI_File, offset: i64, whence: c_int) -> CallResult {
    Ok(fh.get()?.seek(offset, whence_of(whence)?)?)
}

/// `MPI_File_seek_shared`.
pub fn file_seek_shared(fh: MPI_File, offset: i64, whence: c_int) -> CallResult {
    Ok(fh.get()?.seek_shared(offset, whence_of(whence)?)?)
}
