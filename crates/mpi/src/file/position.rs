//! File pointers (MPI 5.0, §14.4.3, §14.4.4): positions in etypes of the view.

use super::File;
use super::view::View;
use crate::{Class, Error, Result, fail};

/// The origin of a seek.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whence {
    /// The beginning of the view.
    Set,
    /// The current pointer.
    Current,
    /// The end of the file.
    End,
}

impl Whence {
    fn number(self) -> i64 {
        match self {
            Self::Set => 0,
            Self::Current => 1,
            Self::End => 2,
        }
    }
}

impl File {
    /// Returns the individual file pointer.
    ///
    /// # Errors
    /// Fails if the file is sequential.
    pub fn position(&self) -> Result<i64> {
        self.check_not_sequential("MPI_File_get_position")?;
        Ok(self.state().position)
    }

    /// Moves the individual file pointer.
    ///
    /// # Errors
    /// Fails if the file is sequential, or on a position before the beginning.
    pub fn seek(&self, offset: i64, whence: Whence) -> Result<()> {
        self.check_not_sequential("MPI_File_seek")?;
        let from = match whence {
            Whence::Set => 0,
            Whence::Current => self.state().position,
            Whence::End => self.end_position()?,
        };
        let position = target(from, offset)?;
        self.state().position = position;
        Ok(())
    }

    /// Returns the shared file pointer.
    ///
    /// # Errors
    /// Fails if the rank that holds it died.
    pub fn shared_position(&self) -> Result<i64> {
        Ok(self.shared_pointer.get(&self.comm)?.cast_signed())
    }

    /// Moves the shared file pointer; collective over all members.
    ///
    /// # Errors
    /// Fails if the file is sequential, if members give different positions or one before the beginning, or
    /// if a member died.
    pub fn seek_shared(&self, offset: i64, whence: Whence) -> Result<()> {
        self.begin_together("MPI_File_seek_shared")?;
        let own = self.check_not_sequential("MPI_File_seek_shared");
        self.agree_on(own, [offset, whence.number()], "the members seek different places")?;
        // All members have entered the call, so the pointer does not change until the first member moves it.
        let own = if self.comm.rank() == 0 {
            let from = match whence {
                Whence::Set => Ok(0),
                Whence::Current => self.shared_position(),
                Whence::End => self.end_position(),
            };
            from.and_then(|from| target(from, offset))
        } else {
            Ok(0)
        };
        let own = own.and_then(|position| match self.comm.rank() {
            0 => self.shared_pointer.set(position.cast_unsigned()),
            _ => Ok(()),
        });
        self.agree(own)
    }

    /// Sets the shared pointer; collective over all members.
    pub(super) fn reset_shared(&self, position: u64) -> Result<()> {
        self.agree(Ok(()))?;
        let own = match self.comm.rank() {
            0 => self.shared_pointer.set(position),
            _ => Ok(()),
        };
        self.agree(own)
    }

    /// Returns the position of the shared pointer as a byte offset in the file.
    pub(super) fn shared_place(&self) -> Result<i64> {
        let position = self.shared_position()?;
        self.byte_offset(position)
    }

    /// Returns the byte offset in the file of an etype of the view.
    ///
    /// # Errors
    /// Fails on a negative position, or on one beyond the largest file.
    pub fn byte_offset(&self, offset: i64) -> Result<i64> {
        let view = self.view();
        let at = stream_offset(&view, offset)?;
        if !view.tiles.has_places(at, view.etype_bytes()) {
            return Err(beyond(offset));
        }
        Ok(view.tiles.offset_of(at).cast_signed())
    }

    /// Returns the byte offset for a program's call ([`File::byte_offset`]).
    ///
    /// # Errors
    /// Fails like [`File::byte_offset`], and if the file is sequential.
    pub fn byte_offset_of(&self, offset: i64) -> Result<i64> {
        self.check_not_sequential("MPI_File_get_byte_offset")?;
        self.byte_offset(offset)
    }

    /// Returns the first position behind the end of the file.
    fn end_position(&self) -> Result<i64> {
        let (view, size) = (self.view(), self.size()?);
        let before = view.tiles.bytes_before(size.cast_unsigned());
        Ok(before.div_ceil(view.etype_bytes()) as i64)
    }

    /// Fails if the file is sequential and therefore has only a shared pointer.
    pub(super) fn check_not_sequential(&self, call: &str) -> Result<()> {
        if self.amode.bits().sequential {
            fail!(
                UnsupportedOperation,
                "{} was opened with MPI_MODE_SEQUENTIAL: {call} is not permitted, but calls with the shared file pointer are",
                self.path.display()
            );
        }
        Ok(())
    }
}

fn target(from: i64, offset: i64) -> Result<i64> {
    match from.checked_add(offset) {
        Some(position) if position >= 0 => Ok(position),
        _ => fail!(
            Argument,
            "offset is {offset} from {from}: there is no place before the beginning of the view"
        ),
    }
}

/// Converts a position to bytes of the stream.
pub(super) fn stream_offset(view: &View, offset: i64) -> Result<usize> {
    match usize::try_from(offset) {
        Ok(position) => position.checked_mul(view.etype_bytes()).ok_or_else(|| beyond(offset)),
        Err(_) => fail!(Argument, "offset is {offset}: it must not be negative"),
    }
}

#[cold]
pub(super) fn beyond(offset: i64) -> Box<Error> {
    let text = format!("offset is {offset}: the access reaches beyond the largest place of a file");
    Error::new(Class::Argument, text)
}
