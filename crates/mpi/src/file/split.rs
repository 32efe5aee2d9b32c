//! Split collective accesses (MPI 5.0, §14.4.5): one call begins the access, another one ends it.

use std::sync::Arc;

use super::File;
use super::access::{AccessPosition, Call};
use super::access_buffer::AccessBuffer;
use crate::awaited;
use crate::request::Request;
use crate::status::Status;
use crate::{Result, fail};

/// The pair of calls of a split access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SplitCall {
    /// `MPI_File_read_at_all_begin` and `_end`.
    ReadAtAll,
    /// `MPI_File_read_all_begin` and `_end`.
    ReadAll,
    /// `MPI_File_read_ordered_begin` and `_end`.
    ReadOrdered,
    /// `MPI_File_write_at_all_begin` and `_end`.
    WriteAtAll,
    /// `MPI_File_write_all_begin` and `_end`.
    WriteAll,
    /// `MPI_File_write_ordered_begin` and `_end`.
    WriteOrdered,
}

impl SplitCall {
    /// Returns the name of the call that begins the access.
    pub fn begin_name(self) -> &'static str {
        match self {
            Self::ReadAtAll => "MPI_File_read_at_all_begin",
            Self::ReadAll => "MPI_File_read_all_begin",
            Self::ReadOrdered => "MPI_File_read_ordered_begin",
            Self::WriteAtAll => "MPI_File_write_at_all_begin",
            Self::WriteAll => "MPI_File_write_all_begin",
            Self::WriteOrdered => "MPI_File_write_ordered_begin",
        }
    }

    /// Returns the name of the call that ends the access.
    pub fn end_name(self) -> &'static str {
        match self {
            Self::ReadAtAll => "MPI_File_read_at_all_end",
            Self::ReadAll => "MPI_File_read_all_end",
            Self::ReadOrdered => "MPI_File_read_ordered_end",
            Self::WriteAtAll => "MPI_File_write_at_all_end",
            Self::WriteAll => "MPI_File_write_all_end",
            Self::WriteOrdered => "MPI_File_write_ordered_end",
        }
    }
}

/// A split access that has begun.
pub(super) struct Split {
    call: SplitCall,
    /// The address of the buffer.
    buffer: usize,
    request: Request,
}

impl Split {
    pub fn call(&self) -> SplitCall {
        self.call
    }

    /// Returns the request that waits for the end of the access.
    pub fn into_request(self) -> Request {
        self.request
    }
}

impl File {
    /// Begins a split access with the buffer at `buffer`; collective over all members.
    ///
    /// # Errors
    /// Fails if another split access has begun on the file.
    pub fn begin_split(
        self: &Arc<Self>,
        call: SplitCall,
        place: AccessPosition,
        buffer: usize,
        memory: AccessBuffer,
    ) -> Result<()> {
        self.begin_together(call.begin_name())?;
        let request = self.start_access(Call { name: call.begin_name(), place, together: true }, memory)?;
        self.state().split = Some(Split { call, buffer, request });
        Ok(())
    }

    /// Ends the split access.
    ///
    /// # Errors
    /// Fails if no access has begun, if call or buffer differ from the beginning, or if the access failed on
    /// any member.
    pub fn end_split(&self, call: SplitCall, buffer: usize) -> Result<Status> {
        let mut state = self.state();
        let Some(begun) = &state.split else {
            fail!(Other, "no split collective call has begun on the file: call {} first", call.begin_name());
        };
        if begun.call != call {
            let (begun, end) = (begun.call.begin_name(), begun.call.end_name());
            fail!(Other, "{begun} has begun on the file: {end} ends it");
        }
        if begun.buffer != buffer {
            fail!(
                Buffer,
                "buf is {buffer:#x}, but {} was given {:#x}: both calls take the same buffer",
                call.begin_name(),
                begun.buffer
            );
        }
        let request = state.split.take().map(|split| split.request);
        drop(state);
        request.map_or(Ok(Status::EMPTY), |request| awaited::finish(self.comm.engine(), request))
    }
}
