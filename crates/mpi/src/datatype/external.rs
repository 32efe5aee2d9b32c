//! Packing in the representation "external32", which is equal on all machines (MPI 5.0, §5.3, §14.5.2).
//!
//! The packed bytes of this machine pass through a small window, in which runs of equal numbers are
//! converted. So no memory of the size of a message is allocated, whatever the layout of the datatype.

use canele_mem::buffer::{RawMut, Readable};

use super::basic::Basic;
use super::convert::Code;
use super::{Datatype, pack};
use crate::{Result, fail};

/// Size of the window in bytes; single reads and writes are never longer.
const WINDOW: usize = 16 << 10;

/// The packed bytes of elements, read or written sequentially through a window.
struct Stream<'a, M> {
    datatype: &'a Datatype,
    raw: M,
    count: usize,
    total: usize,
    /// Offset of the window in the packed bytes.
    start: usize,
    window: Vec<u8>,
    /// Number of processed bytes of the window.
    done: usize,
}

impl<'a, M> Stream<'a, M> {
    fn new(datatype: &'a Datatype, raw: M, count: usize) -> Result<Self> {
        let total = datatype.total_bytes(count)?;
        Ok(Self { datatype, raw, count, total, start: 0, window: Vec::new(), done: 0 })
    }
}

impl<M: Readable> Stream<'_, &M> {
    /// Returns the next bytes to read.
    fn read(&mut self, len: usize) -> &[u8] {
        if self.window.len() - self.done < len {
            self.start += self.done;
            self.done = 0;
            self.window.resize(WINDOW.min(self.total - self.start), 0);
            self.datatype.pack(self.raw, self.count, self.start, &mut self.window);
        }
        self.done += len;
        &self.window[self.done - len..self.done]
    }
}

impl Stream<'_, &mut RawMut> {
    /// Returns room for the next bytes to write.
    fn write(&mut self, len: usize) -> &mut [u8] {
        if self.done + len > WINDOW {
            self.flush();
        }
        self.done += len;
        self.window.resize(self.done, 0);
        &mut self.window[self.done - len..]
    }

    fn flush(&mut self) {
        self.datatype.unpack(self.raw, self.count, self.start, &self.window);
        self.start += self.done;
        self.done = 0;
        self.window.clear();
    }
}

/// Calls `each` with a conversion and a count for each run of numbers of `count` elements, in order. A run
/// has at most the size of a window.
fn each_run(
    datatype: &Datatype,
    count: usize,
    mut each: impl FnMut(Code, usize) -> Result<()>,
) -> Result<()> {
    let mut run = |basic: Basic, numbers: usize| {
        let mut equal = |code: Code, numbers: usize| {
            let most = WINDOW / code.native_size();
            (0..numbers).step_by(most).try_for_each(|done| each(code, most.min(numbers - done)))
        };
        match basic.codes() {
            (one, None) => equal(one, numbers),
            (one, Some(two)) if one == two => equal(one, numbers * 2),
            (one, Some(two)) => (0..numbers).try_for_each(|_| {
                equal(one, 1)?;
                equal(two, 1)
            }),
        }
    };
    if let Some((basic, numbers)) = datatype.uniform()
        && let Some(all) = numbers.checked_mul(count)
    {
        return run(basic, all);
    }
    (0..count).try_for_each(|_| datatype.map.elements.runs(&mut run))
}

impl Datatype {
    /// Returns the size of `count` elements in "external32", in bytes.
    pub fn external_size(&self, count: usize) -> Result<usize> {
        match self.map.elements.totals().external.checked_mul(count) {
            Some(size) => Ok(size),
            None => fail!(Count, "count is {count}: so many elements exceed the address space"),
        }
    }

    /// Packs `count` elements as "external32" into a buffer from `position` on; returns the new position.
    pub fn pack_external(
        &self,
        raw: &impl Readable,
        count: usize,
        into: &mut [u8],
        position: i64,
    ) -> Result<i64> {
        let part = pack::part(position, self.external_size(count)?, into.len())?;
        let (mut at, end) = (part.start, part.end);
        let mut stream = Stream::new(self, raw, count)?;
        each_run(self, count, |code, numbers| {
            let to = &mut into[at..at + numbers * code.external_size()];
            at += to.len();
            code.encode_all(stream.read(numbers * code.native_size()), to)
        })?;
        Ok(end as i64)
    }

    /// Unpacks `count` elements of "external32" from a buffer from `position` on; returns the new position.
    pub fn unpack_external(&self, from: &[u8], position: i64, raw: &mut RawMut, count: usize) -> Result<i64> {
        let part = pack::part(position, self.external_size(count)?, from.len())?;
        let (mut at, end) = (part.start, part.end);
        let mut stream = Stream::new(self, raw, count)?;
        each_run(self, count, |code, numbers| {
            let from = &from[at..at + numbers * code.external_size()];
            at += from.len();
            code.decode_all(from, stream.write(numbers * code.native_size()));
            Ok(())
        })?;
        stream.flush();
        Ok(end as i64)
    }
}
