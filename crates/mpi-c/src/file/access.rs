//! Data accesses of files, blocking and not (MPI 5.0, §14.4.2 to §14.4.4).

use canele_mpi::Result;
use canele_mpi::file::{AccessBuffer, AccessPosition, Call};

use crate::buffer::elements;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, MPI_File, MPI_Request, ObjectHandle};
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::requests;
use crate::status::StatusOut;
use crate::width::Count;

/// Returns room for data to read.
pub(super) fn target(buf: RecvBuffer, count: Count, datatype: MPI_Datatype) -> Result<AccessBuffer> {
    elements(buf, count.get()?, datatype).map(AccessBuffer::Target)
}

/// Returns data to write.
pub(super) fn source(buf: SendBuffer, count: Count, datatype: MPI_Datatype) -> Result<AccessBuffer> {
    elements(buf, count.get()?, datatype).map(AccessBuffer::Source)
}

/// Carries out an access.
fn now(fh: MPI_File, call: Call, memory: Result<AccessBuffer>, status: StatusOut) -> CallResult {
    Ok(status.set(fh.get()?.access(call, memory?)?))
}

/// Starts an access.
fn start(fh: MPI_File, call: Call, memory: Result<AccessBuffer>, request: Out<MPI_Request>) -> CallResult {
    let (file, memory) = (fh.share()?, memory?);
    let started = file.start_access(call, memory)?;
    Ok(request.set(requests::publish(started)?, "request")?)
}

/// Defines functions that read or write, blocking or not, by a table. Each line has the function's name, its
/// name in the standard, its position in the file, and true if it is collective.
macro_rules! accesses {
    ($carry_out:ident($result:ty), $data:ident($buffer:ty):
     $($function:ident $name:literal $place:ident $(($offset:ident))? $together:literal;)*) => {$(
        #[doc = concat!("`", $name, "`.")]
        pub fn $function(
            fh: MPI_File,
            $($offset: i64,)?
            buf: $buffer,
            count: Count,
            datatype: MPI_Datatype,
            result: $result,
        ) -> CallResult {
            let call = Call { name: $name, place: AccessPosition::$place $(($offset))?, together: $together };
            $carry_out(fh, call, $data(buf, count, datatype), result)
        }
    )*};
}

accesses! { now(StatusOut), target(RecvBuffer):
    file_read_at "MPI_File_read_at" At(offset) false;
    file_read_at_all "MPI_File_read_at_all" At(offset) true;
    file_read "MPI_File_read" Individual false;
    file_read_all "MPI_File_read_all" Individual true;
    file_read_shared "MPI_File_read_shared" Shared false;
    file_read_ordered "MPI_File_read_ordered" Ordered true;
}
accesses! { start(Out<MPI_Request>), target(RecvBuffer):
    file_iread_at "MPI_File_iread_at" At(offset) false;
    file_iread_at_all "MPI_File_iread_at_all" At(offset) true;
    file_iread "MPI_File_iread" Individual false;
    file_iread_all "MPI_File_iread_all" Individual true;
    file_iread_shared "MPI_File_iread_shared" Shared false;
}
accesses! { now(StatusOut), source(SendBuffer):
    file_write_at "MPI_File_write_at" At(offset) false;
    file_write_at_all "MPI_File_write_at_all" At(offset) true;
    file_write "MPI_File_write" Individual false;
    file_write_all "MPI_File_write_all" Individual true;
    file_write_shared "MPI_File_write_shared" Shared false;
    file_write_ordered "MPI_File_write_ordered" Ordered true;
}
accesses! { start(Out<MPI_Request>), source(SendBuffer):
    file_iwrite_at "MPI_File_iwrite_at" At(offset) false;
    file_iwrite_at_all "MPI_File_iwrite_at_all" At(offset) true;
    file_iwrite "MPI_File_iwrite" Individual false;
    file_iwrite_all "MPI_File_iwrite_all" Individual true;
    file_iwrite_shared "MPI_File_iwrite_shared" Shared false;
}
