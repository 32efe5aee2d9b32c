//! Split collective accesses of files (MPI 5.0, §14.4.5).

use canele_mpi::Result;
use canele_mpi::file::{AccessBuffer, AccessPosition, SplitCall};

use super::access::{source, target};
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, MPI_File, ObjectHandle};
use crate::pointer::{RecvBuffer, SendBuffer};
use crate::status::StatusOut;
use crate::width::Count;

fn begin(
    fh: MPI_File,
    call: SplitCall,
    place: AccessPosition,
    buf: SendBuffer,
    memory: Result<AccessBuffer>,
) -> CallResult {
    let (file, memory) = (fh.share()?, memory?);
    Ok(file.begin_split(call, place, buf.addr(), memory)?)
}

fn end(fh: MPI_File, call: SplitCall, buf: SendBuffer, status: StatusOut) -> CallResult {
    Ok(status.set(fh.get()?.end_split(call, buf.addr())?))
}

/// Defines both halves of each access of a table. Each line has the names of the halves, their names in the
/// standard, the access, and its position in the file.
macro_rules! split_accesses {
    ($data:ident($buffer:ty):
     $($begin:ident $begin_name:literal $end:ident $end_name:literal $call:ident $place:ident $(($offset:ident))?;)*) => {$(
        #[doc = concat!("`", $begin_name, "`.")]
        pub fn $begin(
            fh: MPI_File,
            $($offset: i64,)?
            buf: $buffer,
            count: Count,
            datatype: MPI_Datatype,
        ) -> CallResult {
            begin(fh, SplitCall::$call, AccessPosition::$place $(($offset))?, buf, $data(buf, count, datatype))
        }

        #[doc = concat!("`", $end_name, "`.")]
        pub fn $end(fh: MPI_File, buf: $buffer, status: StatusOut) -> CallResult {
            end(fh, SplitCall::$call, buf, status)
        }
    )*};
}

split_accesses! { target(RecvBuffer):
    file_read_at_all_begin "MPI_File_read_at_all_begin" file_read_at_all_end "MPI_File_read_at_all_end" ReadAtAll At(offset);
    file_read_all_begin "MPI_File_read_all_begin" file_read_all_end "MPI_File_read_all_end" ReadAll Individual;
    file_read_ordered_begin "MPI_File_read_ordered_begin" file_read_ordered_end "MPI_File_read_ordered_end" ReadOrdered Ordered;
}
split_accesses! { source(SendBuffer):
    file_write_at_all_begin "MPI_File_write_at_all_begin" file_write_at_all_end "MPI_File_write_at_all_end" WriteAtAll At(offset);
    file_write_all_begin "MPI_File_write_all_begin" file_write_all_end "MPI_File_write_all_end" WriteAll Individual;
    file_write_ordered_begin "MPI_File_write_ordered_begin" file_write_ordered_end "MPI_File_write_ordered_end" WriteOrdered Ordered;
}
