//! Puts and gets (MPI 5.0, §12.3).

use canele_engine::Window;
use canele_mem::buffer::Readable;

use super::target::ElementsPlace;
use super::{Win, fencing};
use crate::data::{Data, DataMut};
use crate::datatype::Datatype;
use crate::request::Request;
use crate::{Result, fail};

/// Number of bytes that are packed at once if the origin's elements are not contiguous.
const STAGE: usize = 64 << 10;

/// Elements of a target.
#[derive(Clone, Copy)]
pub struct TargetData<'a> {
    /// The rank in the window.
    pub rank: usize,
    /// The displacement of the elements, in the target's units.
    pub disp: i64,
    /// The number of the elements.
    pub count: usize,
    /// The datatype of the elements.
    pub of: &'a Datatype,
}

impl TargetData<'_> {
    /// Returns the length of the data in bytes.
    #[inline(always)]
    pub(super) fn bytes(&self) -> Result<usize> {
        self.of.check_committed()?;
        self.of.total_bytes(self.count)
    }
}

impl Win {
    /// Writes elements of the origin to a target. If `tracked`, returns a request unless the access completed
    /// at once.
    ///
    /// # Errors
    /// Fails if no epoch permits it, the elements lie outside of the window, or the lengths differ.
    #[inline]
    pub fn put(&self, to: TargetData<'_>, origin: Data<'_>, tracked: bool) -> Result<Option<Request>> {
        let (len, target) = (self.common_length(to, origin.bytes()?)?, self.access(to.rank)?);
        self.trace_access("put", target, len);
        if to.of.is_contiguous()
            && origin.of.is_contiguous()
            && let Some(window) = target.here(to.disp, len)
        {
            window.write(0, origin.raw.bytes(0, len));
            fencing::store();
            return Ok(None);
        }
        self.put_otherwise(to, origin, len, tracked)
    }

    #[inline(never)]
    fn put_otherwise(
        &self,
        to: TargetData<'_>,
        origin: Data<'_>,
        len: usize,
        tracked: bool,
    ) -> Result<Option<Request>> {
        if len == 0 {
            return Ok(None);
        }
        match self.place(to.rank, to.disp, &to.of.span(to.count))? {
            ElementsPlace::Here(memory, at) => {
                let window = memory.window(0, memory.len()).unwrap_or(Window::empty());
                write_elements(window, at, to, origin, len);
                fencing::store();
                Ok(None)
            }
            ElementsPlace::Served(at) => self.put_served(to, at, origin, tracked),
        }
    }

    /// Reads elements of a target into the origin's memory; returns a request like [`Win::put`].
    ///
    /// # Errors
    /// Fails like [`Win::put`].
    #[inline]
    pub fn get(&self, from: TargetData<'_>, mut into: DataMut<'_>, tracked: bool) -> Result<Option<Request>> {
        let (len, target) = (self.common_length(from, into.bytes()?)?, self.access(from.rank)?);
        self.trace_access("get", target, len);
        if from.of.is_contiguous()
            && into.of.is_contiguous()
            && let Some(window) = target.here(from.disp, len)
        {
            fencing::load();
            window.read(0, into.raw.bytes_mut(0, len));
            return Ok(None);
        }
        self.get_otherwise(from, into, len, tracked)
    }

    #[inline(never)]
    fn get_otherwise(
        &self,
        from: TargetData<'_>,
        mut into: DataMut<'_>,
        len: usize,
        tracked: bool,
    ) -> Result<Option<Request>> {
        if len == 0 {
            return Ok(None);
        }
        match self.place(from.rank, from.disp, &from.of.span(from.count))? {
            ElementsPlace::Here(memory, at) => {
                let window = memory.window(0, memory.len()).unwrap_or(Window::empty());
                fencing::load();
                read_elements(window, at, from, &mut into, len);
                Ok(None)
            }
            ElementsPlace::Served(at) => self.get_served(from, at, into, tracked),
        }
    }

    /// Returns the length in bytes, which must be equal on both sides.
    #[inline(always)]
    pub(super) fn common_length(&self, target: TargetData<'_>, origin: usize) -> Result<usize> {
        let len = target.bytes()?;
        if len != origin {
            fail!(Truncate, "the origin has {origin} bytes and the target {len}: both are to be equal");
        }
        Ok(len)
    }
}

/// Writes `len` bytes of elements to memory; the target's elements lie around `at`.
fn write_elements(window: Window<'_>, at: isize, to: TargetData<'_>, origin: Data<'_>, len: usize) {
    let mut stage = vec![0; if origin.of.is_contiguous() { 0 } else { len.min(STAGE) }];
    for start in (0..len).step_by(STAGE) {
        let n = STAGE.min(len - start);
        let bytes = if origin.of.is_contiguous() {
            origin.raw.bytes(start.cast_signed(), n)
        } else {
            origin.of.pack(&origin.raw, origin.count, start, &mut stage[..n]);
            &stage[..n]
        };
        to.of.stretches(to.count, start, n, |place, within, len| {
            window.write((at + place).cast_unsigned(), &bytes[within..within + len]);
        });
    }
}

/// Reads `len` bytes of elements from memory; the target's elements lie around `at`.
fn read_elements(window: Window<'_>, at: isize, from: TargetData<'_>, into: &mut DataMut<'_>, len: usize) {
    let mut stage = vec![0; if into.of.is_contiguous() { 0 } else { len.min(STAGE) }];
    for start in (0..len).step_by(STAGE) {
        let n = STAGE.min(len - start);
        let is_contiguous = into.of.is_contiguous();
        let bytes = match is_contiguous {
            true => into.raw.bytes_mut(start.cast_signed(), n),
            false => &mut stage[..n],
        };
        from.of.stretches(from.count, start, n, |place, within, len| {
            window.read((at + place).cast_unsigned(), &mut bytes[within..within + len]);
        });
        if !is_contiguous {
            into.of.unpack(&mut into.raw, into.count, start, &stage[..n]);
        }
    }
}
