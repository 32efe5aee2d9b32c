//! Packing into a buffer of the program, one datatype behind the other (MPI 5.0, §5.2).

use std::ops::Range;

use canele_mem::buffer::{RawMut, Readable};

use super::Datatype;
use crate::{Result, fail};

/// Returns the part of a buffer of `len` bytes that `bytes` bytes take from `position` on.
pub(super) fn part(position: i64, bytes: usize, len: usize) -> Result<Range<usize>> {
    let Ok(start) = usize::try_from(position) else {
        fail!(Argument, "position is {position}: it must not be negative");
    };
    match start.checked_add(bytes) {
        Some(end) if end <= len => Ok(start..end),
        _ => {
            fail!(Truncate, "position is {position}: a buffer of {len} bytes has no {bytes} bytes from there")
        }
    }
}

impl Datatype {
    /// Packs `count` elements into a buffer from `position` on; returns the new position.
    pub fn pack_into(
        &self,
        raw: &impl Readable,
        count: usize,
        into: &mut [u8],
        position: i64,
    ) -> Result<i64> {
        let part = part(position, self.total_bytes(count)?, into.len())?;
        let end = part.end;
        self.pack(raw, count, 0, &mut into[part]);
        Ok(end as i64)
    }

    /// Unpacks `count` elements from a buffer from `position` on; returns the new position.
    pub fn unpack_from(&self, from: &[u8], position: i64, raw: &mut RawMut, count: usize) -> Result<i64> {
        let part = part(position, self.total_bytes(count)?, from.len())?;
        let end = part.end;
        self.unpack(raw, count, 0, &from[part]);
        Ok(end as i64)
    }
}
