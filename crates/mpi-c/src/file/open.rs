//! Opening, closing, deleting, resizing and querying files (MPI 5.0, §14.2).

use core::ffi::c_int;

use canele_mpi::file::{Amode, File, delete};
use canele_mpi::info::Info;
use std::sync::Arc;

use super::{amode_bits, amode_number};
use crate::constants::MPI_FILE_NULL;
use crate::errhandlers::of_files;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_File, MPI_Group, MPI_Info, ObjectHandle};
use crate::infos::said;
use crate::library;
use crate::pointer::{Out, Text};

/// `MPI_File_open`.
pub fn file_open(
    comm: MPI_Comm,
    filename: Text,
    amode: c_int,
    info: MPI_Info,
    fh: Out<MPI_File>,
) -> CallResult {
    let name = filename.bytes("filename")?;
    // An invalid place for the handle is detected before the file is opened.
    fh.set(MPI_FILE_NULL, "fh")?;
    let amode = amode_bits(amode).and_then(Amode::new);
    let file = File::open(comm.get()?, name, amode, said(info)?, of_files())?;
    let handle = MPI_File::new(file.clone())?;
    file.comm().set_number(handle.value());
    Ok(fh.set(handle, "fh")?)
}

/// `MPI_File_close`.
pub fn file_close(fh: Out<MPI_File>) -> CallResult {
    let handle = fh.get("fh")?;
    handle.get()?.close()?;
    handle.free()?;
    Ok(fh.set(MPI_FILE_NULL, "fh")?)
}

/// `MPI_File_delete`.
pub fn file_delete(filename: Text, _info: MPI_Info) -> CallResult {
    let rank = library::world()?.world.rank();
    Ok(delete(filename.bytes("filename")?, rank)?)
}

/// `MPI_File_set_size`.
pub fn file_set_size(fh: MPI_File, size: i64) -> CallResult {
    Ok(fh.get()?.set_size(size)?)
}

/// `MPI_File_preallocate`.
pub fn file_preallocate(fh: MPI_File, size: i64) -> CallResult {
    Ok(fh.get()?.preallocate(size)?)
}

/// `MPI_File_get_size`.
pub fn file_get_size(fh: MPI_File, size: Out<i64>) -> CallResult {
    Ok(size.set(fh.get()?.size()?, "size")?)
}

/// `MPI_File_get_group`.
pub fn file_get_group(fh: MPI_File, group: Out<MPI_Group>) -> CallResult {
    Ok(group.set(MPI_Group::new(fh.get()?.group().clone())?, "group")?)
}

/// `MPI_File_get_amode`.
pub fn file_get_amode(fh: MPI_File, amode: Out<c_int>) -> CallResult {
    Ok(amode.set(amode_number(fh.get()?.amode().bits()), "amode")?)
}

/// `MPI_File_set_info`.
pub fn file_set_info(fh: MPI_File, info: MPI_Info) -> CallResult {
    Ok(fh.get()?.set_info(said(info)?)?)
}

/// `MPI_File_get_info`.
pub fn file_get_info(fh: MPI_File, info_used: Out<MPI_Info>) -> CallResult {
    let info: Info = fh.get()?.info();
    Ok(info_used.set(MPI_Info::new(Arc::new(info))?, "info_used")?)
}

/// `MPI_File_sync`.
pub fn file_sync(fh: MPI_File) -> CallResult {
    Ok(fh.get()?.sync()?)
}

/// `MPI_File_set_atomicity`.
pub fn file_set_atomicity(fh: MPI_File, flag: c_int) -> CallResult {
    Ok(fh.get()?.set_atomic(flag != 0)?)
}

/// `MPI_File_get_atomicity`.
pub fn file_get_atomicity(fh: MPI_File, flag: Out<c_int>) -> CallResult {
    Ok(flag.set(c_int::from(fh.get()?.is_atomic()), "flag")?)
}
