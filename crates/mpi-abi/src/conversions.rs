//! Handles as integers and back (MPI 5.0, §19.3.5): all values fit into an `int`, so they stay as they are.

use core::ffi::c_int;

use canele_mpi_macros::mpi;

use crate::handle::*;

#[mpi(plain)]
fn MPI_Comm_toint(comm: MPI_Comm) -> c_int {
    comm.value() as c_int
}

#[mpi(plain)]
fn MPI_Comm_fromint(comm: c_int) -> MPI_Comm {
    MPI_Comm::of(comm as usize)
}

#[mpi(plain)]
fn MPI_Errhandler_toint(errhandler: MPI_Errhandler) -> c_int {
    errhandler.value() as c_int
}

#[mpi(plain)]
fn MPI_Errhandler_fromint(errhandler: c_int) -> MPI_Errhandler {
    MPI_Errhandler::of(errhandler as usize)
}

#[mpi(plain)]
fn MPI_File_toint(file: MPI_File) -> c_int {
    file.value() as c_int
}

#[mpi(plain)]
fn MPI_File_fromint(file: c_int) -> MPI_File {
    MPI_File::of(file as usize)
}

#[mpi(plain)]
fn MPI_Group_toint(group: MPI_Group) -> c_int {
    group.value() as c_int
}

#[mpi(plain)]
fn MPI_Group_fromint(group: c_int) -> MPI_Group {
    MPI_Group::of(group as usize)
}

#[mpi(plain)]
fn MPI_Info_toint(info: MPI_Info) -> c_int {
    info.value() as c_int
}

#[mpi(plain)]
fn MPI_Info_fromint(info: c_int) -> MPI_Info {
    MPI_Info::of(info as usize)
}

#[mpi(plain)]
fn MPI_Message_toint(message: MPI_Message) -> c_int {
    message.value() as c_int
}

#[mpi(plain)]
fn MPI_Message_fromint(message: c_int) -> MPI_Message {
    MPI_Message::of(message as usize)
}

#[mpi(plain)]
fn MPI_Op_toint(op: MPI_Op) -> c_int {
    op.value() as c_int
}

#[mpi(plain)]
fn MPI_Op_fromint(op: c_int) -> MPI_Op {
    MPI_Op::of(op as usize)
}

#[mpi(plain)]
fn MPI_Request_toint(request: MPI_Request) -> c_int {
    request.value() as c_int
}

#[mpi(plain)]
fn MPI_Request_fromint(request: c_int) -> MPI_Request {
    MPI_Request::of(request as usize)
}

#[mpi(plain)]
fn MPI_Session_toint(session: MPI_Session) -> c_int {
    session.value() as c_int
}

#[mpi(plain)]
fn MPI_Session_fromint(session: c_int) -> MPI_Session {
    MPI_Session::of(session as usize)
}

#[mpi(plain)]
fn MPI_Win_toint(win: MPI_Win) -> c_int {
    win.value() as c_int
}

#[mpi(plain)]
fn MPI_Win_fromint(win: c_int) -> MPI_Win {
    MPI_Win::of(win as usize)
}

#[mpi(plain)]
fn MPI_Type_toint(datatype: MPI_Datatype) -> c_int {
    datatype.value() as c_int
}

#[mpi(plain)]
fn MPI_Type_fromint(datatype: c_int) -> MPI_Datatype {
    MPI_Datatype::of(datatype as usize)
}
