//! The types of a message's content: runs of items of one type, in packing order.
//!
//! All types can be unpacked from bytes (`u8`), so a message of bytes only carries no types. Otherwise each
//! run travels as its type and its count, two or more bytes, behind the message's bytes.

use std::any::TypeId;

use crate::{Error, Plain};

/// Types that are identified by this list of names. Other types are identified by size, since programs of one
/// job may be compiled separately.
const NAMES: [&str; 14] =
    ["", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "u128", "i128", "f32", "f64", "bytes"];
const BYTES: u8 = 1;
const OTHER: u8 = 13;
/// The code of an empty run. It makes a message one byte longer, so that its length is not that of a cell.
pub const PAD: u8 = 0;

/// Consecutive items of one type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    code: u8,
    size: u32,
    count: u64,
}

impl Run {
    fn of<T: Plain>(count: usize) -> Self {
        let is = TypeId::of::<T>();
        let known = [
            TypeId::of::<u8>(),
            TypeId::of::<i8>(),
            TypeId::of::<u16>(),
            TypeId::of::<i16>(),
            TypeId::of::<u32>(),
            TypeId::of::<i32>(),
            TypeId::of::<u64>(),
            TypeId::of::<i64>(),
            TypeId::of::<u128>(),
            TypeId::of::<i128>(),
            TypeId::of::<f32>(),
            TypeId::of::<f64>(),
        ];
        let code = known.iter().position(|id| *id == is).map_or(OTHER, |at| at as u8 + 1);
        Self { code, size: size_of::<T>() as u32, count: count as u64 }
    }

    fn same_type(&self, other: &Run) -> bool {
        (self.code, self.size) == (other.code, other.size)
    }

    fn describe(&self) -> String {
        match NAMES.get(self.code as usize) {
            Some(name) if self.code != OTHER => format!("{} {name}", self.count),
            _ => format!("{} items of {} bytes", self.count, self.size),
        }
    }
}

/// The runs of a message, and the position of unpacking.
#[derive(Debug)]
pub struct Types {
    /// The first run, in place, so that most messages need no list.
    first: Option<Run>,
    more: Vec<Run>,
    /// The run to unpack next, and the number of its items already unpacked.
    at: usize,
    done: u64,
}

impl Types {
    pub const fn new() -> Self {
        Self { first: None, more: Vec::new(), at: 0, done: 0 }
    }

    #[inline(always)]
    pub fn push<T: Plain>(&mut self, count: usize) {
        if count > 0 {
            self.push_run(Run::of::<T>(count));
        }
    }

    fn push_run(&mut self, run: Run) {
        let last = self.more.last_mut().or(self.first.as_mut());
        match last {
            Some(last) if last.same_type(&run) => last.count += run.count,
            Some(_) => self.more.push(run),
            None => self.first = Some(run),
        }
    }

    /// Returns true if all runs are bytes, so that only the length is known.
    pub fn is_bytes(&self) -> bool {
        self.more.is_empty() && self.first.is_none_or(|run| run.code == BYTES)
    }

    /// Skips `count` items, if the next items have this type.
    pub fn take<T: Plain>(&mut self, count: usize) -> Result<(), Error> {
        if self.is_bytes() || count == 0 {
            return Ok(());
        }
        let asked = Run::of::<T>(count);
        let run = if self.at == 0 { self.first.as_ref() } else { self.more.get(self.at - 1) };
        let left = run.map(|run| Run { count: run.count - self.done, ..*run });
        match left {
            Some(left) if left.same_type(&asked) && asked.count <= left.count => {
                self.done += asked.count;
                if asked.count == left.count {
                    (self.at, self.done) = (self.at + 1, 0);
                }
                Ok(())
            }
            other => Err(Error::Unpack {
                asked: asked.describe(),
                there: other.map_or_else(|| "nothing more".to_owned(), |run| run.describe()),
            }),
        }
    }

    /// Writes the runs: code, size of an unnamed type, count.
    pub fn encode(&self, mut out: impl FnMut(&[u8])) {
        if self.is_bytes() {
            return;
        }
        for run in self.first.iter().chain(&self.more) {
            out(&[run.code]);
            if run.code == OTHER {
                varint(u64::from(run.size), &mut out);
            }
            varint(run.count, &mut out);
        }
    }

    /// Reads the output of `encode` for a message of `bytes` bytes; none if it is invalid.
    pub fn decode(mut from: &[u8], bytes: usize) -> Option<Self> {
        let mut types = Self::new();
        let mut sum = 0u64;
        while let Some((code, rest)) = from.split_first() {
            from = rest;
            let size = match *code {
                PAD => continue,
                OTHER => u32::try_from(read_varint(&mut from)?).ok()?,
                code => size_of_code(code)?,
            };
            let count = read_varint(&mut from)?;
            sum = sum.checked_add(u64::from(size).checked_mul(count)?)?;
            types.push_run(Run { code: *code, size, count });
        }
        (types.is_bytes() || sum == bytes as u64).then_some(types)
    }
}

fn size_of_code(code: u8) -> Option<u32> {
    const SIZES: [u32; 13] = [0, 1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 4, 8];
    SIZES.get(code as usize).copied()
}

fn varint(mut n: u64, out: &mut impl FnMut(&[u8])) {
    while n >= 0x80 {
        out(&[n as u8 | 0x80]);
        n >>= 7;
    }
    out(&[n as u8]);
}

fn read_varint(from: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for shift in (0..63).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        n |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_travel_and_come_back() {
        let mut types = Types::new();
        types.push::<u32>(3);
        types.push::<u32>(200);
        types.push::<f64>(1);
        types.push::<[u16; 5]>(70_000);
        let mut bytes = Vec::new();
        types.encode(|part| bytes.extend_from_slice(part));
        assert_eq!(bytes.len(), 3 + 2 + 5, "a run takes two bytes and few more");
        let mut back = Types::decode(&bytes, 203 * 4 + 8 + 700_000).unwrap();
        back.take::<u32>(203).unwrap();
        assert!(
            matches!(back.take::<f32>(1), Err(Error::Unpack { asked, there }) if asked == "1 f32" && there == "1 f64")
        );
        back.take::<f64>(1).unwrap();
        back.take::<[u16; 5]>(69_999).unwrap();
        assert!(back.take::<[u16; 5]>(2).is_err());
        back.take::<[u16; 5]>(1).unwrap();
        assert!(matches!(back.take::<u8>(1), Err(Error::Unpack { there, .. }) if there == "nothing more"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(Types::decode(&[5, 2], 8).is_some());
        assert!(Types::decode(&[5, 2], 9).is_none(), "runs longer or shorter than the message");
        assert!(Types::decode(&[99, 1], 1).is_none(), "an unknown type");
        assert!(Types::decode(&[5], 4).is_none(), "no count");
        assert!(
            Types::decode(&[5, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], 4).is_none()
        );
        assert!(Types::decode(&[PAD], 47).is_some_and(|types| types.is_bytes()));
    }
}
