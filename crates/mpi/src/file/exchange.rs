//! Memory through which the members of a host exchange windows of a file. It is a region of the first member,
//! and all members map it.
//!
//! ```text
//!   page 0   for each half, the number of bytes that each reader has filled in its part
//!   bits     for each byte of each half, a bit that marks it as present or wanted
//!   data     two halves
//! ```
//! No function here waits, except where the memory is made. The exchanges of `windows` order the accesses, so
//! all accesses are relaxed.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use canele_engine::{Region, RegionMemory, Window};
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};
use canele_sys::ids::RegionId;
use rustix::io::Errno;

use super::File;
use super::runs::Runs;
use super::windows::{Scope, Span};
use crate::Result;

const HEADER: usize = 4096;
/// Number of readers that have a word in the header, for each half.
const READERS: usize = HEADER / 16;

/// The exchange memory of an open file.
pub(super) struct FileExchange {
    far: Arc<RegionMemory>,
    /// The region; only its owner has it.
    region: Option<Arc<Region>>,
    /// Bytes of a half.
    half: usize,
}

impl File {
    /// Returns true if the members of this host have memory for windows of this size.
    pub(super) fn has_exchange(&self, bytes: usize) -> bool {
        self.state().exchange.as_ref().is_some_and(|known| known.half == half_of(bytes))
    }

    /// Returns the memory of this host's members; the first call makes it. Returns none if any host of the
    /// scope has no memory for it.
    pub(super) fn exchange_of(
        &self,
        scope: Scope,
        bytes: usize,
        all_have_memory: bool,
    ) -> Result<Option<Arc<FileExchange>>> {
        let known = self.state().exchange.clone();
        let known = known.filter(|known| known.half == half_of(bytes));
        let found = if known.is_some() { known } else { self.make_exchange(half_of(bytes))? };
        if scope == Scope::Host || all_have_memory {
            return Ok(found);
        }
        let all = self.comm.numbers_of_all(&[i64::from(found.is_some())])?;
        Ok(found.filter(|_| !all.contains(&0)))
    }

    /// Makes the memory; collective over the members of the host.
    fn make_exchange(&self, half: usize) -> Result<Option<Arc<FileExchange>>> {
        let (host, engine) = (&self.host, self.comm.engine().first_lane());
        let total = HEADER + 2 * (half / 8) + 2 * half;
        let region = if host.rank() == 0 { engine.create_region(total).ok() } else { None };
        let mut id = [region.as_ref().map_or(u64::MAX, |region| region.id().to_word())];
        host.broadcast(0, bytemuck::cast_slice_mut(&mut id))?;
        let far = match &region {
            Some(region) => Some(region.far()),
            None if id[0] == u64::MAX => None,
            None => engine.reach_region(host.group().member(0), RegionId::from_word(id[0]), total, None).ok(),
        };
        let all = host.numbers_of_all(&[i64::from(far.is_some())])?;
        let Some(far) = far.filter(|_| !all.contains(&0)) else {
            return region.map_or(Ok(None), |region| Ok(engine.drop_region(region.id()).map(|()| None)?));
        };
        let made = Arc::new(FileExchange { far, region, half });
        let old = self.state().exchange.replace(made.clone());
        if let Some(old) = old {
            old.free(self)?;
        }
        Ok(Some(made))
    }
}

/// Returns the length of a half, in bytes, for memory of `bytes` bytes.
fn half_of(bytes: usize) -> usize {
    (bytes / 2).next_multiple_of(HEADER)
}

impl FileExchange {
    /// Frees the memory.
    pub fn free(&self, file: &File) -> Result<()> {
        match &self.region {
            Some(region) => Ok(file.comm.engine().first_lane().drop_region(region.id())?),
            None => Ok(()),
        }
    }

    /// Returns the length of a window in bytes.
    pub fn window_bytes(&self) -> usize {
        self.half
    }

    fn data(&self, half: usize) -> Window<'_> {
        let start = HEADER + 2 * (self.half / 8) + half * self.half;
        self.far.window(start, self.half).unwrap_or_else(Window::empty)
    }

    fn bits(&self, half: usize) -> Window<'_> {
        self.far.window(HEADER + half * (self.half / 8), self.half / 8).unwrap_or_else(Window::empty)
    }

    /// Returns one half.
    pub fn half(&self, half: usize) -> ExchangeHalf<'_> {
        ExchangeHalf { data: self.data(half), bits: self.bits(half) }
    }

    /// Returns the runs of present or wanted bytes of a part, counted from the beginning of the part.
    pub fn runs(&self, half: usize, part: Span, origin: u64) -> Runs {
        let (mut runs, start) = (Runs::default(), (part.start - origin) as usize);
        let found = self.each_run(half, part, origin, |at, len| {
            runs.push(at - start, len);
            Ok(())
        });
        debug_assert!(found.is_ok(), "nothing here fails");
        runs
    }

    /// Appends the bytes of a part's runs to a message.
    pub fn append(&self, half: usize, part: Span, origin: u64, runs: &Runs, message: &mut Vec<u8>) {
        let (data, start) = (self.data(half), (part.start - origin) as usize);
        let mut done = message.len();
        message.resize(done + runs.total(), 0);
        for (at, len) in runs.iter() {
            data.read(start + at, &mut message[done..done + len]);
            done += len;
        }
    }

    /// Copies the bytes of runs into a part and marks them present. Returns false if the number of bytes
    /// differs from that of the runs.
    pub fn store(&self, half: usize, part: Span, origin: u64, runs: &Runs, mut bytes: &[u8]) -> bool {
        if runs.total() != bytes.len() {
            return false;
        }
        let (start, into) = ((part.start - origin) as usize, self.half(half));
        for (at, len) in runs.iter() {
            let (run, rest) = bytes.split_at(len);
            into.put(start + at, run);
            bytes = rest;
        }
        true
    }

    /// Calls `each(at, len)` for each run of present bytes of a part. The window begins at offset `origin` of
    /// the file.
    pub fn each_run(
        &self,
        half: usize,
        part: Span,
        origin: u64,
        mut each: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let bits = self.bits(half);
        let (first, end) = ((part.start - origin) as usize, (part.end - origin) as usize);
        let mut run: Option<usize> = None;
        for at in (first..end).step_by(64) {
            let found = word(bits, at).load(Relaxed);
            match (found, run) {
                (u64::MAX, Some(_)) | (0, None) => continue,
                (u64::MAX, None) => {
                    run = Some(at);
                    continue;
                }
                _ => {}
            }
            let mut bit = 0;
            while bit < 64 {
                let rest = found >> bit;
                match run {
                    Some(start) => {
                        bit += rest.trailing_ones() as usize;
                        if bit < 64 {
                            each(start, at + bit - start)?;
                            run = None;
                        }
                    }
                    None => {
                        bit += (rest.trailing_zeros() as usize).min(64 - bit);
                        run = (bit < 64).then_some(at + bit);
                    }
                }
            }
        }
        run.map_or(Ok(()), |start| each(start, end - start))
    }

    /// Clears the marks of a part of a window.
    pub fn clear(&self, half: usize, part: Span, origin: u64) {
        let bits = self.bits(half);
        for at in ((part.start - origin) as usize..(part.end - origin) as usize).step_by(64) {
            word(bits, at).store(0, Relaxed);
        }
    }

    /// Writes bytes of a half to a file.
    pub fn write_to(
        &self,
        half: usize,
        at: usize,
        len: usize,
        file: &OwnedFd,
        offset: u64,
    ) -> Result<(), Errno> {
        let bytes = self.data(half).part(at, len).unwrap_or_else(Window::empty);
        bytes.write_to_file(file.as_fd(), offset).map_err(errno)
    }

    /// Reads bytes of a file into a half, up to the end of the file; returns the number of bytes.
    pub fn read_from(
        &self,
        half: usize,
        at: usize,
        len: usize,
        file: &OwnedFd,
        offset: u64,
    ) -> Result<usize, Errno> {
        let room = self.data(half).part(at, len).unwrap_or_else(Window::empty);
        room.read_from_file(file.as_fd(), offset).map_err(errno)
    }

    /// Stores the number of bytes that a reader has filled in its part.
    pub fn set_filled(&self, half: usize, reader: usize, bytes: usize) {
        if let Some(word) = self.far.word(8 * (half * READERS + reader)) {
            word.store(bytes as u64, Relaxed);
        }
    }

    /// Returns the number of bytes that a reader has filled in its part.
    pub fn filled(&self, half: usize, reader: usize) -> usize {
        self.far.word(8 * (half * READERS + reader)).map_or(0, |word| word.load(Relaxed) as usize)
    }

    /// Returns the largest number of readers.
    pub const fn most_readers() -> usize {
        READERS
    }
}

/// A half, looked up once for many copies.
#[derive(Clone, Copy)]
pub(super) struct ExchangeHalf<'a> {
    data: Window<'a>,
    bits: Window<'a>,
}

impl ExchangeHalf<'_> {
    /// Copies bytes in and marks them present.
    #[inline(always)]
    pub fn put(&self, at: usize, bytes: &[u8]) {
        self.data.write(at, bytes);
        mark(self.bits, at, at + bytes.len());
    }

    /// Marks bytes as wanted.
    #[inline(always)]
    pub fn mark(&self, at: usize, len: usize) {
        mark(self.bits, at, at + len);
    }

    /// Copies bytes out.
    #[inline(always)]
    pub fn get(&self, at: usize, bytes: &mut [u8]) {
        self.data.read(at, bytes);
    }
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Returns the word that holds the bit of a byte.
#[inline(always)]
fn word(bits: Window<'_>, at: usize) -> &AtomicU64 {
    bits.word(at / 64 * 8).expect("a window has a bit for each of its bytes")
}

/// Sets the bits of a range. Words that other members also change are updated atomically.
#[inline(always)]
fn mark(bits: Window<'_>, from: usize, to: usize) {
    let mut at = from;
    while at < to {
        let (bit, n) = (at % 64, (to - at).min(64 - at % 64));
        if n == 64 {
            word(bits, at).store(u64::MAX, Relaxed);
        } else {
            word(bits, at).fetch_or(((1 << n) - 1) << bit, Relaxed);
        }
        at += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_what_was_put(puts in prop::collection::vec((0usize..8000, 1usize..300), 0..40)) {
            let half = 8192;
            let far = Arc::new(RegionMemory::private(HEADER + 2 * (half / 8) + 2 * half).unwrap());
            let exchange = FileExchange { far, region: None, half };
            let mut there = vec![false; half];
            for (at, len) in puts {
                let len = len.min(half - at);
                exchange.half(1).put(at, &vec![7; len]);
                there[at..at + len].fill(true);
            }
            let whole = Span { start: 4096, end: 4096 + half as u64 };
            let runs = |exchange: &FileExchange| {
                let mut seen = vec![false; half];
                exchange.each_run(1, whole, 4096, |at, len| {
                    assert!(len > 0 && (at == 0 || !seen[at - 1]), "runs do not touch");
                    seen[at..at + len].fill(true);
                    Ok(())
                }).unwrap();
                seen
            };
            prop_assert_eq!(runs(&exchange), there);
            exchange.clear(1, whole, 4096);
            prop_assert_eq!(runs(&exchange), vec![false; half]);
        }
    }
}
