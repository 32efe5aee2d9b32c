//! Data accesses (MPI 5.0, §14.4): the data that a call reads or writes, and the way to do it.

use std::sync::Arc;

use canele_sys::file_lock::LockKind;

use super::File;
use super::access_buffer::AccessBuffer;
use super::hints::Hints;
use super::operation::{EndGuard, Operation};
use super::position::{beyond, stream_offset};
use super::view::View;
use crate::request::Request;
use crate::status::Status;
use crate::{Class, Error, Result, fail};

/// The position at which an access begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessPosition {
    /// A given position of the view.
    At(i64),
    /// The individual file pointer.
    Individual,
    /// The shared file pointer, in the order in which processes call.
    Shared,
    /// The shared file pointer, in the order of ranks; collective.
    Ordered,
}

/// A call that reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The name of the call in the standard.
    pub name: &'static str,
    /// The position at which it begins.
    pub place: AccessPosition,
    /// True if the call is collective.
    pub together: bool,
}

/// A checked access with the state of the file that it needs.
pub(super) struct Access {
    pub view: Arc<View>,
    pub hints: Arc<Hints>,
    pub atomic: bool,
    /// The first byte of the stream.
    pub start: usize,
    /// Length in the file, in bytes.
    pub len: usize,
    /// The data, as a stream of the file's bytes.
    pub memory: AccessBuffer,
    /// Length in memory, in bytes.
    memory_bytes: usize,
}

impl Access {
    /// Returns the range of the file that the access spans.
    pub fn range(&self) -> (u64, u64) {
        self.view.tiles.range(self.start, self.len)
    }

    /// Returns true if the file offsets of the access increase.
    pub fn is_ordered(&self) -> bool {
        self.view.tiles.is_ordered(self.start, self.len)
    }

    /// Returns the status and the number of bytes in the file, after `done` bytes were transferred.
    fn end(self, done: usize) -> Result<(Status, usize)> {
        let bytes = match &self.memory {
            AccessBuffer::Decoded(data) => data.memory_bytes()?,
            _ if done == self.len => self.memory_bytes,
            _ => done,
        };
        Ok((Status { bytes, ..Status::EMPTY }, done))
    }
}

impl File {
    /// Reads or writes; collective if the call is.
    ///
    /// # Errors
    /// Fails if the access mode forbids the call, the position is invalid, or the system fails. A collective
    /// call also fails if another member fails or died.
    pub fn access(&self, call: Call, memory: AccessBuffer) -> Result<Status> {
        if call.together {
            self.begin_together(call.name)?;
            self.comm.check_call(call.name)?;
        }
        let writes = memory.is_source();
        let (access, requested) = if call.place == AccessPosition::Ordered {
            (self.prepare_in_order(call, memory)?, 0)
        } else {
            let access = self.prepare(call, memory);
            let requested = access.as_ref().map_or(0, |access| access.len);
            (access, requested)
        };
        let etype_bytes = access.as_ref().map_or(1, |access| access.view.etype_bytes());
        let (status, done) = self.carry_out(call, writes, access)?;
        if call.place == AccessPosition::Individual && done < requested {
            // The pointer moves only over the bytes that were read.
            self.state().position -= (requested / etype_bytes - done / etype_bytes) as i64;
        }
        Ok(status)
    }

    /// Starts a read or write. The request owns the memory until it has completed.
    ///
    /// # Errors
    /// Fails like [`File::access`] for the errors that the call itself detects.
    pub fn start_access(self: &Arc<Self>, call: Call, memory: AccessBuffer) -> Result<Request> {
        if call.together {
            self.check_no_split(call.name)?;
        }
        let writes = memory.is_source();
        let operation = Arc::new(Operation::default());
        let ending = EndGuard::of(&operation);
        let (file, engine) = (self.clone(), self.comm.engine().clone());
        let job: Box<dyn FnOnce() + Send> = if call.place == AccessPosition::Ordered {
            Box::new(move || {
                let access = file.prepare_in_order(call, memory);
                ending.end(
                    access.and_then(|access| file.carry_out(call, writes, access)).map(|(status, _)| status),
                );
            })
        } else {
            let access = self.prepare(call, memory);
            if !call.together && access.is_err() {
                ending.end(Ok(Status::EMPTY));
                access?;
                return Err(Error::new(Class::Internal, "an access has failed without an error"));
            }
            Box::new(move || ending.end(file.carry_out(call, writes, access).map(|(status, _)| status)))
        };
        let workers = if call.together { &self.queue } else { &self.comm.shared.file_workers };
        workers.start(&engine, job);
        Ok(Request::foreign(Some(self.comm.clone()), operation))
    }

    /// Carries out a prepared access; returns the status and the number of bytes of the file.
    fn carry_out(&self, call: Call, writes: bool, access: Result<Access>) -> Result<(Status, usize)> {
        if !call.together {
            let mut access = access?;
            let done = self.access_alone(&mut access)?;
            return access.end(done);
        }
        let mut access = access;
        let done = self.access_together(&mut access, writes);
        self.agree(match (access, done) {
            (Err(error), _) | (_, Err(error)) => Err(error),
            (Ok(access), Ok(done)) => access.end(done),
        })
    }

    /// Reads or writes without the other members; returns the number of bytes.
    pub(super) fn access_alone(&self, access: &mut Access) -> Result<usize> {
        let writes = access.memory.is_source();
        let kind = if writes { LockKind::Exclusive } else { LockKind::Shared };
        let (start, end) = access.range();
        let _lock = self.lock_if(access.atomic && access.len > 0, kind, start, end)?;
        if writes { self.write_stream(access) } else { self.read_stream(access) }
    }

    /// Checks an access and advances the file pointer that it uses.
    fn prepare(&self, call: Call, memory: AccessBuffer) -> Result<Access> {
        let etypes = self.check(call, &memory)?;
        let position = match call.place {
            AccessPosition::At(offset) => offset,
            AccessPosition::Individual => {
                let mut state = self.state();
                let position = state.position;
                state.position = position.checked_add(etypes).ok_or_else(|| beyond(position))?;
                position
            }
            AccessPosition::Shared => self.shared_pointer.add(&self.comm, etypes as u64)?.cast_signed(),
            AccessPosition::Ordered => fail!(Internal, "an access in order was prepared alone"),
        };
        self.prepare_at(position, memory)
    }

    /// Prepares an access at the shared pointer in the order of ranks; collective. The inner error is the
    /// error of this member.
    fn prepare_in_order(&self, call: Call, memory: AccessBuffer) -> Result<Result<Access>> {
        let own = self.check(call, &memory);
        let mine = *own.as_ref().unwrap_or(&0);
        let all = self.comm.numbers_of_all(&[mine])?;
        let total: i64 = all.iter().sum();
        let first = if self.comm.rank() == 0 {
            self.shared_pointer.add(&self.comm, total.max(0).cast_unsigned())
        } else {
            Ok(0)
        };
        let mut first = [self.agree(first)?];
        self.comm.broadcast(0, bytemuck::cast_slice_mut(&mut first))?;
        let before: i64 = all[..self.comm.rank()].iter().sum();
        Ok(own.and_then(|_| self.prepare_at(first[0].cast_signed().saturating_add(before), memory)))
    }

    /// Checks the arguments that do not depend on the position; returns the number of etypes.
    fn check(&self, call: Call, memory: &AccessBuffer) -> Result<i64> {
        self.check_revoked()?;
        let name = call.name;
        if memory.is_source() && !self.amode.writes() {
            return Err(self.read_only(name));
        }
        if !memory.is_source() && !self.amode.reads() {
            fail!(
                Access,
                "{} was opened with MPI_MODE_WRONLY: {name} needs MPI_MODE_RDONLY or MPI_MODE_RDWR",
                self.path.display()
            );
        }
        if matches!(call.place, AccessPosition::At(_) | AccessPosition::Individual) {
            self.check_not_sequential(name)?;
        }
        let view = self.view();
        let (len, unit) = (view.datarep().file_bytes(memory)?, view.etype_bytes());
        if !len.is_multiple_of(unit) {
            fail!(
                Io,
                "the buffer has {len} bytes of data, which are no multiple of the {unit} bytes of the view's etype: whole etypes are accessed"
            );
        }
        if len > 0 && view.tiles.size() == 0 {
            fail!(Io, "the view's filetype has no data: nothing can be accessed through it");
        }
        Ok((len / unit) as i64)
    }

    fn prepare_at(&self, position: i64, memory: AccessBuffer) -> Result<Access> {
        let state = self.state();
        let (view, hints, atomic) = (state.view.clone(), state.hints.clone(), state.atomic);
        drop(state);
        let (memory_bytes, len) = (memory.bytes()?, view.datarep().file_bytes(&memory)?);
        let start = stream_offset(&view, position)?;
        if !view.tiles.has_places(start, len) {
            return Err(beyond(position));
        }
        let memory = view.datarep().convert(memory)?;
        Ok(Access { view, hints, atomic, start, len, memory, memory_bytes })
    }
}
