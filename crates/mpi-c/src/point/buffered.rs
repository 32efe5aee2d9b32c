//! Buffered sends and the memory attached for them (MPI 5.0, §3.6).

use core::ffi::{c_int, c_void};
use std::sync::Arc;

use canele_engine::{Completion, Pending};
use canele_mem::buffer::RawMut;
use canele_mpi::buffered::Pool;
use canele_mpi::point::Attachment;
use canele_mpi::request::{Foreign, Request};
use canele_mpi::session::Session;
use canele_mpi::{Comm, Result, Status, fail};

use super::{start, target};
use crate::buffer::{check_is_of_host, data};
use crate::constants::MPI_BUFFER_AUTOMATIC;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Request, MPI_Session, ObjectHandle};
use crate::library;
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::width::{Count, OutCount};

/// `MPI_Bsend`.
pub fn bsend(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> CallResult {
    let comm = comm.share()?;
    let data = data(buf, count, datatype)?;
    if let Some(to) = target(&comm, dest, tag)? {
        comm.bsend(to, data)?;
    }
    Ok(())
}

/// `MPI_Ibsend`.
pub fn ibsend(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    bsend(buf, count, datatype, dest, tag, comm)?;
    start::give(request, None)
}

/// The owner of attached memory.
enum Owner {
    Process(Arc<Comm>),
    Comm(Arc<Comm>),
    Session(Arc<Session>),
}

impl Owner {
    fn process() -> Result<Self> {
        Ok(Self::Process(library::world()?.own.clone()))
    }

    fn attachment(&self) -> &Attachment {
        match self {
            Self::Process(own) => own.process_attachment(),
            Self::Comm(comm) => comm.attachment(),
            Self::Session(session) => session.attachment(),
        }
    }

    fn attach(&self, buffer: RecvBuffer, size: Count) -> CallResult {
        let size = size.get()?;
        let pool = if buffer.cast_const() == MPI_BUFFER_AUTOMATIC {
            Pool::automatic()
        } else if buffer.is_null() && size > 0 {
            fail!(Buffer, "buffer is a null pointer, with a size of {size}");
        } else {
            check_is_of_host(buffer, size)?;
            // SAFETY: the program leaves this memory to the library until it detaches it.
            Pool::attached(unsafe { RawMut::new(buffer.cast(), 0, size.cast_signed()) }, size)
        };
        Ok(self.attachment().attach(pool)?)
    }

    fn detach(&self, address: Out<*mut c_void>, size: OutCount) -> CallResult {
        let (memory, bytes) = match self.attachment().detach(library::world()?.engine())? {
            Some(Some((memory, bytes))) => (memory.cast(), bytes),
            Some(None) => (MPI_BUFFER_AUTOMATIC.cast_mut(), 0),
            None => (core::ptr::null_mut(), 0),
        };
        address.set(memory, "buffer_addr")?;
        Ok(size.set(Some(bytes as i64), "size")?)
    }

    fn flush(&self) -> CallResult {
        Ok(self.attachment().flush(library::world()?.engine())?)
    }

    fn iflush(self, request: Out<MPI_Request>) -> CallResult {
        start::give(request, Some(Request::foreign(None, Arc::new(Flush(self)))))
    }
}

/// An operation that completes when all buffered messages have left.
struct Flush(Owner);

impl Foreign for Flush {
    fn is_complete(&self) -> bool {
        self.0.attachment().first_under_way().is_none()
    }

    fn pending(&self) -> Option<Pending> {
        self.0.attachment().first_under_way()
    }

    fn step(&self, pending: Pending, ended: Completion) {
        self.0.attachment().give_back(pending, ended.buffer);
    }

    fn status(&self) -> Result<Status> {
        Ok(Status::EMPTY)
    }

    fn cancel(&self) -> Result<()> {
        fail!(Request, "a flush cannot be cancelled");
    }

    fn release(&self) -> Result<()> {
        Ok(())
    }
}

/// `MPI_Buffer_attach`.
pub fn buffer_attach(buffer: RecvBuffer, size: Count) -> CallResult {
    Owner::process()?.attach(buffer, size)
}

/// `MPI_Buffer_detach`.
pub fn buffer_detach(buffer_addr: Out<*mut c_void>, size: OutCount) -> CallResult {
    Owner::process()?.detach(buffer_addr, size)
}

/// `MPI_Buffer_flush`.
pub fn buffer_flush() -> CallResult {
    Owner::process()?.flush()
}

/// `MPI_Buffer_iflush`.
pub fn buffer_iflush(request: Out<MPI_Request>) -> CallResult {
    Owner::process()?.iflush(request)
}

/// `MPI_Comm_attach_buffer`.
pub fn comm_attach_buffer(comm: MPI_Comm, buffer: RecvBuffer, size: Count) -> CallResult {
    Owner::Comm(comm.share()?).attach(buffer, size)
}

/// `MPI_Comm_detach_buffer`.
pub fn comm_detach_buffer(comm: MPI_Comm, buffer_addr: Out<*mut c_void>, size: OutCount) -> CallResult {
    Owner::Comm(comm.share()?).detach(buffer_addr, size)
}

/// `MPI_Comm_flush_buffer`.
pub fn comm_flush_buffer(comm: MPI_Comm) -> CallResult {
    Owner::Comm(comm.share()?).flush()
}

/// `MPI_Comm_iflush_buffer`.
pub fn comm_iflush_buffer(comm: MPI_Comm, request: Out<MPI_Request>) -> CallResult {
    Owner::Comm(comm.share()?).iflush(request)
}

/// `MPI_Session_attach_buffer`.
pub fn session_attach_buffer(session: MPI_Session, buffer: RecvBuffer, size: Count) -> CallResult {
    Owner::Session(session.share()?).attach(buffer, size)
}

/// `MPI_Session_detach_buffer`.
pub fn session_detach_buffer(
    session: MPI_Session,
    buffer_addr: Out<*mut c_void>,
    size: OutCount,
) -> CallResult {
    Owner::Session(session.share()?).detach(buffer_addr, size)
}

/// `MPI_Session_flush_buffer`.
pub fn session_flush_buffer(session: MPI_Session) -> CallResult {
    Owner::Session(session.share()?).flush()
}

/// `MPI_Session_iflush_buffer`.
pub fn session_iflush_buffer(session: MPI_Session, request: Out<MPI_Request>) -> CallResult {
    Owner::Session(session.share()?).iflush(request)
}
